"""A lake as a filesystem, in its folder and through its server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.served import served
from trunkline import Lake
from trunkline.filesystem import LakeFileSystem


@pytest.fixture(scope="session")
def made_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    with tl.init(folder) as lake:
        lake.create_repo("orders")
        lake.create_project("shop")
        lake.create_repo("shop/prices")
    return folder


@pytest.fixture
def lake(made_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(made_lake, folder)
    with tl.open(folder, author="ada", direct=True) as opened:
        yield opened


@pytest.fixture(params=["folder", "server"])
def fs(request: pytest.FixtureRequest, lake: Lake) -> Iterator[LakeFileSystem]:
    if request.param == "folder":
        made = LakeFileSystem(lake.location, skip_instance_cache=True)
        yield made
        made.lake.close()
        return
    with served(lake) as url:
        made = LakeFileSystem(url, skip_instance_cache=True)
        yield made
        made.lake.close()
