"""A lake with an empty repo behind an open S3 door. Lake and door are shared by a file's tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.s3.doors import OpenDoor, open_door
from trunkline.sdk.lake import init


@pytest.fixture(scope="module")
def shared_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenDoor]:
    with init(tmp_path_factory.mktemp("open") / "lake") as lake, open_door(lake) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_client(shared_door: OpenDoor) -> Any:
    return shared_door.client()


@pytest.fixture
def door(shared_door: OpenDoor) -> OpenDoor:
    """An open door to one empty repo."""
    lake = shared_door.lake
    for repo in lake.repos(all_projects=True):
        lake.delete_repo(f"{repo.name.project}/{repo.name.repo}", force=True)
    lake.create_repo("orders")
    return shared_door


@pytest.fixture
def s3(door: OpenDoor, shared_client: Any) -> Any:
    return shared_client


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenDoor]:
    """A door that asks who comes, to a lake of two projects."""
    folder = tmp_path_factory.mktemp("locked")
    with init(folder / "lake") as lake, open_door(lake, authenticated=True) as opened:
        lake.create_repo("orders")
        lake.create_project("shop")
        lake.create_repo("shop/items")
        yield opened
