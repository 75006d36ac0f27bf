"""A lake with two repos, and a short way to declare pipelines in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.graphs import Graph
from tests.served import through_door
from trunkline import Lake


@pytest.fixture(scope="session")
def new_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jobs")
    with tl.init(folder) as lake:
        lake.create_repo("orders")
        lake.create_repo("rates")
    return folder


@pytest.fixture
def lake(new_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(new_lake, folder)
    with tl.open(folder, author="ada") as opened:
        yield opened


@pytest.fixture(params=["local", "http"])
def idle(request: pytest.FixtureRequest, lake: Lake, tmp_path: Path) -> Iterator[Graph]:
    """For tests of what is started: its jobs have no datums, so they end without Spark.

    The lake in its folder, and the same through a server; its jobs are run in the folder.
    """
    if request.param == "local":
        yield Graph(lake, tmp_path / "code")
        return
    with through_door(lake) as remote:
        yield Graph(remote, tmp_path / "code")


@pytest.fixture
def graph(spark: object, lake: Lake, tmp_path: Path) -> Graph:
    """For tests of what is run."""
    return Graph(lake, tmp_path / "code")
