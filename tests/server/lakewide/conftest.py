"""A lake with two repos, served to people with different roles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.server.lakewide.people import asked_by
from trunkline import Lake
from trunkline.sdk.remote.lake import RemoteLake

PEOPLE = {
    "root": {"lake": "admin"},
    "writer": {"lake": "writer"},
    "reader": {"lake": "reader"},
    "keeper": {"lake": "maintainer"},
    "outsider": {"default/orders": "maintainer"},
    "nobody": {},
}
As = Callable[[str], RemoteLake]


@pytest.fixture(scope="session")
def made_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    with tl.init(folder) as lake:
        lake.create_repo("orders")
        lake.create_repo("payroll")
    return folder


@pytest.fixture
def lake(made_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(made_lake, folder)
    with tl.open(folder, author="ada", direct=True) as opened:
        yield opened


@pytest.fixture
def as_(lake: Lake) -> Iterator[As]:
    """The lake as each of PEOPLE has it, over HTTP."""
    with asked_by(lake, PEOPLE) as ask:
        yield ask


@pytest.fixture
def remote(as_: As) -> RemoteLake:
    return as_("root")
