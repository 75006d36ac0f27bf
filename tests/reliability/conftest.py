"""A lake to be hard on, and where it may live."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import trunkline as tl
from tests.postgres import postgres


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.slow)  # crashes at every place


@pytest.fixture(scope="session")
def fast_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in memory where there is one: what is synced survives `kill -9` there too."""
    memory = Path("/dev/shm")
    if not (os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 << 30):
        yield tmp_path_factory.mktemp("reliability")
        return
    folder = Path(tempfile.mkdtemp(prefix="trunkline-", dir=memory))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def tmp_path(fast_folder: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(dir=fast_folder))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tl.Lake]:
    """An empty lake in `tmp_path` with the repo r."""
    with tl.init(tmp_path) as made:
        made.create_repo("r")
        yield made


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    with mounted(folder, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        yield folder


@contextmanager
def mounted(folder: Path, *options: str | Path) -> Iterator[None]:
    """Mount at `folder`, or skip the test where that is not permitted."""
    done = subprocess.run(["mount", *options, folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not permitted here (user {os.getuid()}): {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
def postgres_catalog() -> str:
    """The address of an empty catalog on a server."""
    return postgres().catalog()
