"""Ctrl-C in the middle of something long: exit code 130, and nothing is left of it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.reliability.harness import (
    assert_no_orphans,
    finish,
    start,
    state,
    unfinished_writes,
)

SIZE = 1 << 30  # takes a second or so, and as a hole it takes no room before it is put


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    with open(path, "wb") as stream:
        stream.truncate(SIZE)
    return path


def interrupt(*args: object, when: Callable[[], object]):
    """Start the command and send it SIGINT as soon as `when` holds."""
    process = start("-m", "trunkline", *args)
    until = time.monotonic() + 90
    while not when():
        assert process.poll() is None, f"it ended before it was interrupted: {finish(process)}"
        assert time.monotonic() < until
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGINT)
    return finish(process)


def begun(folder: Path, pattern: str) -> Callable[[], bool]:
    """Whether a file that matches has been written to."""
    return lambda: any(path.stat().st_size for path in _existing(folder, pattern))


def _existing(folder: Path, pattern: str) -> list[Path]:
    return [path for path in folder.glob(pattern) if path.is_file()]


@pytest.mark.parametrize("how", ["a file", "standard input", "append"])
def test_a_put_that_is_interrupted_leaves_nothing(lake, tmp_path, large, how):
    before = state(lake)
    tmp = tmp_path / ".trunkline" / "objects" / "tmp"
    options = {"a file": [large], "append": [large, "--append"], "standard input": ["-"]}[how]
    if how == "standard input":
        source = start("-c", f"import sys; sys.stdout.write('x' * {1 << 22}); input()", stdin=-1)
        result = _interrupt_reader(source, tmp_path, tmp)
    else:
        arguments = ["put", "--lake", tmp_path, "r@main:/large", *options]
        result = interrupt(*arguments, when=begun(tmp, "*"))
    assert (result.code, result.err) == (130, "interrupted\n")
    assert state(lake) == before
    assert unfinished_writes(tmp_path) == []
    with lake._core.database.read() as session:
        assert session.all("SELECT * FROM leases") == []
    assert_no_orphans(lake)


def _interrupt_reader(source, tmp_path: Path, tmp: Path):
    """`put -` reads from a pipe whose other end says no more for now."""
    process = start(
        "-m", "trunkline", "put", "--lake", tmp_path, "r@main:/x", "-", stdin=source.stdout.fileno()
    )
    try:
        until = time.monotonic() + 90
        while not begun(tmp, "*")():
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        return finish(process)
    finally:
        source.kill()
        source.communicate()


def test_a_put_of_many_files_that_is_interrupted_leaves_nothing(lake, tmp_path):
    """Helper processes are at work then; they end with the one that started them."""
    many = tmp_path / "many"
    many.mkdir()
    for number in range(12_000):
        (many / f"{number}").write_bytes(b"%d" % number * 200)
    tmp = tmp_path / ".trunkline" / "objects" / "tmp"
    put = ["put", "--lake", tmp_path, "-r", "r@main:/", many]
    result = interrupt(*put, when=begun(tmp, "*"))
    assert (result.code, result.err) == (130, "interrupted\n")
    assert lake.commits("r@main") == []
    assert unfinished_writes(tmp_path) == []
    assert_no_orphans(lake)


@pytest.mark.parametrize("how", ["file", "folder", "archive"])
def test_a_get_that_is_interrupted_leaves_nothing(lake, tmp_path, large, how):
    lake.put("r@main:/d/large.bin", large)
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("mine")
    options = {
        "file": ["r@main:/d/large.bin"],
        "folder": ["-r", "r@main"],
        "archive": ["--tar", "r@main"],
    }
    get = ["get", "--lake", tmp_path, *options[how], out / "got"]
    result = interrupt(*get, when=begun(out, ".got*" if how != "folder" else ".got*/**/*"))
    assert (result.code, result.err) == (130, "interrupted\n")
    assert os.listdir(out) == ["mine"]
    with lake._core.database.read() as session:
        assert session.all("SELECT * FROM leases") == []


def test_an_exception_in_a_commit_leaves_nothing(lake, tmp_path):
    before = state(lake)
    with pytest.raises(KeyboardInterrupt), lake.commit("r@main") as commit:
        commit.put("/small", b"small")
        commit.put("/large", bytes(5 << 20))
        raise KeyboardInterrupt
    assert state(lake) == before
    assert unfinished_writes(tmp_path) == []
    assert_no_orphans(lake)
