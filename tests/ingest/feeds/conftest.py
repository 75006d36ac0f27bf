"""A lake, and a short way to declare ingests in it and to look at what they brought."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.ingest.feeds.lakes import Ingests


@pytest.fixture(scope="session")
def new_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ingests")
    tl.init(folder).close()
    return folder


@pytest.fixture
def lake(new_lake: Path, tmp_path: Path) -> Iterator[Ingests]:
    folder = tmp_path / "lake"
    copy_lake(new_lake, folder)
    with tl.open(folder, author="ada") as opened:
        ingests = Ingests(opened, folder)
        try:
            yield ingests
        finally:
            ingests.stop()
