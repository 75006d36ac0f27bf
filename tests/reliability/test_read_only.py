"""A lake that cannot be written: everything can be read, and writing says why it cannot be."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.reliability.conftest import mounted
from tests.reliability.harness import assert_sound, cli, state
from trunkline.errors import ReadOnly

READS = [
    ["ls", "r@main"],
    ["cat", "r@main:/d/small"],
    ["log", "r@main"],
    ["commit", "list", "r@main", "--json"],
    ["diff", "r@main~1", "r@main"],
    ["status"],
    ["repo", "list"],
    ["fsck", "--deep"],
]
WRITES = [
    ["put", "r@main:/x", "{source}"],
    ["rm", "r@main:/d/small"],
    ["repo", "create", "x"],
    ["branch", "create", "r@x", "--from", "main"],
    ["branch", "delete", "r@side", "--yes"],
    ["tag", "create", "r@x", "r@main"],
    ["merge", "r@side", "r@main"],
    ["commit", "start", "r@main"],
    ["gc", "--grace", "0s", "--yes"],
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A lake that can be written, and that nobody has open."""
    folder = tmp_path / "source"
    with tl.init(folder) as lake:
        lake.create_repo("r")
        for path, data in (("/d/small", b"small"), ("/large", bytes(2 << 20))):
            with lake.commit("r@main", path) as commit:
                commit.put(path, data)
        lake.create_branch("r@side", "main")
        with lake.commit("r@side") as commit:
            commit.put("/side", b"side")
    return folder


@pytest.fixture
def read_only(source: Path, tmp_path: Path) -> Iterator[Path]:
    """The same folder, where nothing can be written."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    with mounted(folder, "--bind", source):
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield folder


@pytest.mark.parametrize("request_", READS, ids=" ".join)
def test_everything_can_be_read(source, read_only, request_):
    expected = cli(*request_, "--lake", source)
    assert expected.code == 0, expected.err
    found = cli(*request_, "--lake", read_only)
    assert (found.code, found.err) == (0, "")
    assert found.out.replace(str(read_only), str(source)) == expected.out


def test_files_can_be_got(read_only, tmp_path):
    for options in (["r@main:/large", tmp_path / "large"], ["-r", "r@main", tmp_path / "all"]):
        got = cli("get", "--lake", read_only, *options)
        assert got.code == 0, got.err
    assert (tmp_path / "large").read_bytes() == bytes(2 << 20)
    assert (tmp_path / "all" / "d" / "small").read_bytes() == b"small"


@pytest.mark.parametrize("request_", WRITES, ids=" ".join)
def test_writing_is_refused_in_one_line(source, read_only, tmp_path, request_):
    new = tmp_path / "new"
    new.write_bytes(b"new")
    with tl.open(source) as lake:
        before = state(lake)
    result = cli(*(arg.format(source=new) for arg in request_), "--lake", read_only, "--json")
    assert (result.code, result.error["code"]) == (5, "read_only"), result.err
    assert "\n" not in result.error["message"]
    with tl.open(source) as lake:
        assert state(lake) == before
        assert_sound(lake)


def test_a_lake_cannot_be_made_there(read_only):
    result = cli("init", read_only / "another", "--json")
    assert (result.code, result.error["code"]) == (5, "read_only")


def test_a_reader_sees_what_a_writer_elsewhere_commits(source, read_only):
    """The same folder, writable for one process and read-only for another."""
    with tl.open(read_only) as reader, tl.open(source) as writer:
        assert "/new" not in [info.path for info in reader.ls("r@main")]
        for number in range(3):
            with writer.commit("r@main") as commit:
                commit.put("/new", f"{number}".encode())
            assert reader.read("r@main:/new") == f"{number}".encode()
            with pytest.raises(ReadOnly), reader.commit("r@main") as commit:
                commit.put("/x", b"x")
        assert_sound(reader)


def test_what_a_killed_writer_committed_is_read(source, tmp_path):
    """Its last commits are in the write-ahead log, which nobody could work in since."""
    new = tmp_path / "new"
    new.write_bytes(b"new")
    put = ["put", "--lake", source, "r@main:/new", new]
    assert cli(*put, TRUNKLINE_CRASH_AT="commit.after_transaction").code == -9
    folder = tmp_path / "read-only"
    folder.mkdir()
    with mounted(folder, "--bind", source):
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        assert cli("cat", "--lake", folder, "r@main:/new").out == "new"


def test_a_log_that_cannot_be_worked_in_is_never_left_out(source, tmp_path):
    """A copy without the log's index: better no answer than yesterday's."""
    new = tmp_path / "new"
    new.write_bytes(b"new")
    put = ["put", "--lake", source, "r@main:/new", new]
    assert cli(*put, TRUNKLINE_CRASH_AT="commit.after_transaction").code == -9
    folder = tmp_path / "copy"
    copy_lake(source, folder)
    # What was not yet in the database of a process that is gone.
    for name in ("catalog.db", "catalog.db-wal"):
        shutil.copy(source / ".trunkline" / name, folder / ".trunkline" / name)
    (folder / ".trunkline" / "catalog.db-shm").unlink(missing_ok=True)
    with mounted(folder, "--bind", folder):
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        result = cli("ls", "--lake", folder, "r@main", "--json")
        assert (result.code, result.error["code"]) == (5, "read_only")
    assert cli("cat", "--lake", folder, "r@main:/new").out == "new"
