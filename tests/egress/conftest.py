"""A lake to deliver from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.egress.worlds import REPO, World
from tests.notices.receivers import Receiver, receiving
from tests.s3 import S3Server, s3_server


@pytest.fixture(scope="session")
def new_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("egress")
    with tl.init(folder) as lake:
        lake.create_repo(REPO)
    return folder


@pytest.fixture
def world(new_lake: Path, tmp_path: Path) -> Iterator[World]:
    folder = tmp_path / "lake"
    copy_lake(new_lake, folder)
    with tl.open(folder, author="ada") as lake:
        yield World(lake)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server
