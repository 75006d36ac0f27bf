"""A disk that is full: a clear error, nothing half visible, reads work, and then it goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability.harness import assert_no_orphans, assert_sound, cli, state
from trunkline.errors import DiskFull

KIB = 1024


@pytest.fixture(params=["everything", "the objects", "the catalog"])
def cramped(request: pytest.FixtureRequest, tmpfs: Path, tmp_path: Path) -> Iterator[tl.Lake]:
    """A lake of which a part lies on a disk of 4 MiB. /kept is in it."""
    if request.param == "everything":
        made = tl.init(tmpfs / "lake")
    elif request.param == "the objects":
        made = tl.init(tmp_path / "lake", store=f"file://{tmpfs}/objects")
    else:
        made = tl.init(tmp_path / "lake", catalog=f"{tmpfs}/catalog.db")
    with made as lake:
        lake.create_repo("r")
        with lake.commit("r@main", "kept") as commit:
            commit.put("/kept", b"kept" * 500)
        yield lake


def fill(folder: Path, leave: int = 0) -> Path:
    """Fill the disk but for some bytes; the file to delete to make room."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as stream:
        for piece in (1 << 16, 1 << 12):
            while True:
                try:
                    stream.write(bytes(piece))
                except OSError:
                    break
        stream.truncate(max(0, os.path.getsize(ballast) - leave))
    return ballast


def assert_reads_work(lake: tl.Lake, elsewhere: Path) -> None:
    assert cli("cat", "--lake", lake.location, "r@main:/kept").out == "kept" * 500
    assert "/kept\n" in cli("ls", "--lake", lake.location, "r@main").out
    assert "kept" in cli("log", "--lake", lake.location, "r@main").out
    got = cli("get", "--lake", lake.location, "r@main:/kept", elsewhere / "got", "--force")
    assert got.code == 0, got.err
    assert (elsewhere / "got").read_text() == "kept" * 500


@pytest.mark.parametrize("leave", [0, 12, 48, 192])
def test_a_put_that_finds_no_room_changes_nothing(cramped, tmpfs, tmp_path, leave):
    before = state(cramped)
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(3):
        (sources / f"{number}").write_bytes(os.urandom(20 * KIB))
    ballast = fill(tmpfs, leave * KIB)

    put = ["put", "--lake", cramped.location, "-r", "r@main:/new/", sources, "--json"]
    result = cli(*put)
    if result.code:
        assert result.code == 7
        assert result.error["code"] == "disk_full"
        assert state(cramped) == before
    elif leave == 0:
        pytest.fail("a full disk was not noticed")
    assert_sound(cramped)
    assert_reads_work(cramped, tmp_path)

    ballast.unlink()
    assert cli(*put).code == 0
    assert len(list(cramped.ls("r@main", recursive=True))) == 4
    assert_no_orphans(cramped)


def test_a_lake_that_nobody_has_open_can_be_read_on_a_full_disk(cramped, tmpfs, tmp_path):
    """SQLite's log and index are gone when the last process leaves, and come with the next."""
    cramped.close()
    ballast = fill(tmpfs)
    assert_reads_work(cramped, tmp_path)
    ballast.unlink()
    assert_no_orphans(cramped)


def test_a_large_file_that_does_not_fit_leaves_no_trace(tmpfs, tmp_path):
    with tl.init(tmp_path, store=f"file://{tmpfs}/objects") as lake:
        lake.create_repo("r")
        source = tmp_path / "large"
        source.write_bytes(bytes(6 << 20))
        result = cli("put", "--lake", tmp_path, "r@main:/large", source, "--json")
        assert (result.code, result.error["code"]) == (7, "disk_full")
        assert lake.commits("r@main") == []
        assert list(lake._core.objects.abandoned()) == []

        def chunks() -> Iterator[bytes]:
            for _ in range(6):
                yield bytes(1 << 20)

        with pytest.raises(DiskFull), lake.commit("r@main") as commit:
            commit.put("/small", b"small")
            commit.put("/large", chunks())
        assert list(lake._core.objects.abandoned()) == []

        source.write_bytes(bytes(1 << 20))
        assert cli("put", "--lake", tmp_path, "r@main:/large", source).code == 0
        assert_no_orphans(lake)


@pytest.mark.parametrize("what", ["a file", "a folder", "an archive"])
def test_a_get_to_a_full_disk_leaves_no_part_of_a_file(lake, tmpfs, what):
    with lake.commit("r@main") as commit:
        commit.put("/d/large", bytes(6 << 20))
        commit.put("/d/small", b"small")
    options = {"a file": [], "a folder": ["-r"], "an archive": ["--tar"]}[what]
    path = "/d/large" if what == "a file" else "/d"
    result = cli("get", "--lake", lake.location, f"r@main:{path}", tmpfs / "x", *options, "--json")
    assert (result.code, result.error["code"]) == (7, "disk_full"), result.err
    assert os.listdir(tmpfs) == []


def test_a_lake_cannot_be_made_on_a_full_disk(tmpfs):
    ballast = fill(tmpfs)
    result = cli("init", tmpfs / "lake", "--json")
    assert (result.code, result.error["code"]) == (7, "disk_full")
    ballast.unlink()
    assert cli("init", tmpfs / "lake").code == 0


@pytest.mark.parametrize("request_", ["gc", "branch", "merge", "finish"])
def test_other_requests_on_a_full_disk_change_nothing_either(tmpfs, request_):
    with tl.init(tmpfs / "lake") as lake:
        lake.create_repo("r")
        for branch in ("main", "side", "opened"):
            if branch != "main":
                lake.create_branch(f"r@{branch}", "main")
            with lake.commit(f"r@{branch}") as commit:
                commit.put(f"/{branch}", b"x")
        lake.start_commit("r@opened")
        with lake.commit("r@opened") as commit:
            commit.put("/staged", b"x")
        before = state(lake)
        calls = {
            "gc": lambda: lake.gc(grace=0),
            "branch": lambda: lake.create_branch("r@new", "main"),
            "merge": lambda: lake.merge("r@side", "r@main"),
            "finish": lambda: lake.finish_commit("r@opened"),
        }
        ballast = fill(tmpfs)
        with pytest.raises(DiskFull):
            # A log that has room left takes a few requests more.
            for _ in range(1000):
                calls[request_]()
                lake.create_repo("another")
        assert_sound(lake)
        assert {"r": state(lake)["r"]} == before
        ballast.unlink()
        calls[request_]()
        assert_no_orphans(lake)
