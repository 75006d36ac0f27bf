"""Files that change, vanish or cannot be read while they are being put: nothing is put."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.harness import (
    Result,
    assert_no_orphans,
    cli,
    finish,
    start,
    state,
    unfinished_writes,
)

LARGE = 1 << 30


@pytest.fixture
def hole(tmp_path: Path) -> Path:
    """A file that takes long enough to read that something can happen to it meanwhile."""
    path = tmp_path / "hole"
    with open(path, "wb") as stream:
        stream.truncate(LARGE)
    return path


def put_while(tmp_path: Path, source: Path, happens) -> Result:
    """Put a large file; when its bytes begin to arrive, something happens."""
    process = start("-m", "trunkline", "put", "--lake", tmp_path, "r@main:/x", source, "--json")
    until = time.monotonic() + 90
    while not any(path.stat().st_size for path in unfinished_writes(tmp_path)):
        assert process.poll() is None, finish(process)
        assert time.monotonic() < until
        time.sleep(0.001)
    happens()
    return finish(process)


def test_a_file_that_changes_while_it_is_put_is_refused(lake, tmp_path, hole):
    before = state(lake)

    def write() -> None:
        with open(hole, "r+b") as stream:
            stream.seek(LARGE - 10)
            stream.write(b"changed")

    result = put_while(tmp_path, hole, write)
    assert (result.code, result.error["code"]) == (1, "source_changed"), result
    assert str(hole) in result.error["message"]
    assert state(lake) == before
    assert unfinished_writes(tmp_path) == []
    assert_no_orphans(lake)


@pytest.mark.parametrize("size", [LARGE + 100, LARGE // 2, 0])
def test_a_file_that_grows_or_shrinks_while_it_is_put_is_refused(lake, tmp_path, hole, size):
    result = put_while(tmp_path, hole, lambda: os.truncate(hole, size))
    assert (result.code, result.error["code"]) == (1, "source_changed"), result
    assert lake.commits("r@main") == []
    assert unfinished_writes(tmp_path) == []
    assert_no_orphans(lake)


def test_a_file_that_is_deleted_while_it_is_put_is_put_as_it_was(lake, tmp_path, hole):
    """It was opened before, so its bytes are there and do not change."""
    result = put_while(tmp_path, hole, hole.unlink)
    assert result.code == 0, result
    assert lake.stat("r@main:/x").size == LARGE


def test_small_files_that_are_written_to_are_whole_or_refused(lake, tmp_path):
    """A writer replaces the files' bytes in place all the time."""
    folder = tmp_path / "in"
    folder.mkdir()
    files = [folder / f"{number}" for number in range(40)]
    for file in files:
        file.write_bytes(b"a" * 50_000)
    with _changing(files):
        for _ in range(4):
            result = cli("put", "--lake", tmp_path, "-r", "r@main:/", folder, "--json")
            if result.code:
                assert (result.code, result.error["code"]) == (1, "source_changed")
    for commit in lake.commits("r@main"):
        for info in lake.ls(f"r@{commit.id}", recursive=True):
            assert len(set(lake.read(f"r@{commit.id}:{info.path}"))) == 1
    assert_no_orphans(lake)


class _changing:
    def __init__(self, files: list[Path]) -> None:
        self._files = files
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._change)

    def _change(self) -> None:
        letter = 0
        while not self._stop.is_set():
            letter = (letter + 1) % 26
            for file in self._files:
                with open(file, "r+b") as stream:
                    stream.write(bytes([97 + letter]) * 50_000)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_files_that_vanish_are_named(lake, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number}").write_bytes(b"x")

    def vanishing() -> Iterator[tuple[str, Path]]:
        for number in range(20):
            yield f"/{number}", folder / f"{number}"
        (folder / "7").unlink()

    with pytest.raises(Exception, match="Cannot read .*/7: No such file"):
        with lake.commit("r@main") as commit:
            commit.put_files(vanishing())
    assert lake.commits("r@main") == []
    missing = cli("put", "--lake", tmp_path, "r@main:/x", folder / "7", "--json")
    assert (missing.code, missing.error["code"]) == (3, "not_found")
    dangling = folder / "dangling"
    dangling.symlink_to("nowhere")
    result = cli("put", "--lake", tmp_path, "r@main:/x", dangling, "--json")
    assert result.code in (1, 3)
    assert "dangling" in result.error["message"]
    assert lake.commits("r@main") == []


@pytest.mark.parametrize("options", [[], ["--append"], ["--untar"]])
@pytest.mark.parametrize("what", ["no permission", "not readable", "a pipe"])
def test_a_file_that_cannot_be_read_is_named(lake, tmp_path, what, options):
    source = tmp_path / "source"
    if what == "a pipe":
        os.mkfifo(source)
    elif what == "not readable":
        source = Path("/proc/self/mem")
    else:
        source.write_bytes(b"secret")
        source.chmod(0)
    command = ["put", "--lake", tmp_path, "r@main:/x", source, "--json", *options]
    result = without_privileges(*command) if what == "no permission" else cli(*command)
    refused = (5, "not_allowed") if what == "a pipe" else (1, "source_unreadable")
    assert (result.code, result.error["code"]) == refused, result
    assert str(source) in result.error["message"]
    assert lake.commits("r@main") == []
    assert_no_orphans(lake)


def without_privileges(*command: object) -> Result:
    """The command by a user who may not read everything, as root may."""
    if os.getuid() != 0:
        return cli(*command)
    if shutil.which("setpriv") is None:
        pytest.skip("root may read everything, and setpriv is not there to take that away")
    taken = "-dac_override,-dac_read_search"
    run = (sys.executable, "-m", "trunkline", *map(str, command))
    done = subprocess.run(
        ["setpriv", f"--inh-caps={taken}", f"--bounding-set={taken}", *run],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Result(done.returncode, done.stdout, done.stderr)
