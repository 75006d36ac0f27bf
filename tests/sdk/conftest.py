"""A lake with the repo orders, made once and copied for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.served import home, through_door
from trunkline import Lake
from trunkline.lake.own_folders import MARK


@pytest.fixture(scope="session")
def new_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    with tl.init(folder) as lake:
        lake.create_repo("orders", "what is sold")
    return folder


@pytest.fixture(params=["local", "http"])
def lake(request: pytest.FixtureRequest, new_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    """The lake in its folder, and the same through a server."""
    with copied(new_lake, tmp_path / "lake", request.param) as opened:
        yield opened


@contextmanager
def copied(lake: Path, folder: Path, how: str) -> Iterator[Lake]:
    """A copy of a lake, opened `local` or by `http`."""
    copy_lake(lake, folder)
    with tl.open(folder, author="ada") as opened:
        if how == "local":
            yield opened
            return
        with through_door(opened) as remote:
            yield remote


local = pytest.mark.parametrize("lake", ["local"], indirect=True)
"""For what is done to the lake in its folder, and never through a server."""


def put(lake: Lake, ref: str, **files: bytes | str) -> str:
    """One commit with these files, named without their leading slash; its id."""
    with lake.commit(ref, message=f"put {', '.join(files)}") as commit:
        for name, content in files.items():
            commit.put(f"/{name}", content.encode() if isinstance(content, str) else content)
    return commit.result.id


def tree(lake: Lake, ref: str) -> dict[str, str]:
    """Every file and what is in it."""
    where = ref.partition(":")[0]
    return {
        info.path: lake.read(f"{where}:{info.path}").decode()
        for info in lake.ls(ref, recursive=True)
    }


def head(lake: Lake, ref: str) -> str | None:
    repo, _, name = ref.partition("@")
    return next(b.head for b in lake.branches(repo) if b.name == name)


def objects(lake: Lake) -> list[Path]:
    """Every object of a lake in a folder; the mark that says whose it is is none."""
    folder = Path(home(lake).location) / ".trunkline" / "objects"
    found = (path for path in folder.rglob("*") if path.is_file())
    own = ("tmp", MARK)
    return sorted(path for path in found if path.relative_to(folder).parts[0] not in own)


def data_objects(lake: Lake) -> list[Path]:
    return [path for path in objects(lake) if path.suffix != ".tlm"]


def damage(path: Path, content: bytes) -> None:
    """Change an object behind the lake's back; objects are not writable."""
    path.chmod(0o600)
    path.write_bytes(content)
