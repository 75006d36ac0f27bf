"""One sample lake for all tests of the Iceberg door, served with and without authentication."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog

import trunkline as tl
from tests.server.iceberg.catalogs import OpenCatalog, open_catalog
from tests.server.iceberg.sample import Sample, fill


@pytest.fixture(scope="package")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    with tl.init(tmp_path_factory.mktemp("iceberg") / "lake") as lake:
        yield fill(lake)


@pytest.fixture(scope="package")
def opened(sample: Sample) -> Iterator[OpenCatalog]:
    with open_catalog(sample.lake) as found:
        yield found


@pytest.fixture(scope="package")
def locked(sample: Sample) -> Iterator[OpenCatalog]:
    """The same lake, where everybody is asked who they are."""
    with open_catalog(sample.lake, authenticated=True) as found:
        yield found


@pytest.fixture(scope="package")
def catalog(opened: OpenCatalog) -> Catalog:
    return opened.connect()
