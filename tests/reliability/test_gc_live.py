"""Collecting while others work: nothing that anybody needs ever goes."""

from __future__ import annotations

import io
import os
import signal
import time
from pathlib import Path

import pytest

import trunkline as tl
from tests.reliability.harness import (
    assert_no_orphans,
    assert_sound,
    contents,
    expire_leases,
    finish,
    jobs,
    start_job,
    state,
)
from trunkline.errors import LeaseLost, NotFound
from trunkline.storage.catalog import commits


def test_what_was_acknowledged_while_gc_ran_reads_back(lake, tmp_path):
    """Writers put, copy, merge and drop branches; two processes collect all the while."""
    with lake.commit("r@main") as commit:
        commit.put("/start", b"start")
    stop = tmp_path / "stop"
    collectors = [start_job("collect", tmp_path, stop) for _ in range(2)]
    try:
        written = jobs(*(("write_and_branch", tmp_path, n, 6) for n in range(4)))
    finally:
        stop.touch()
        rounds = [finish(collector) for collector in collectors]
    for collector in rounds:
        assert collector.code == 0, collector.err
        assert collector.json > 0

    assert_sound(lake)
    listed = contents(lake, "r@main")
    for files in written:
        assert files.items() <= listed.items()
    assert len(listed) == 1 + sum(map(len, written))
    assert_no_orphans(lake)


def test_a_commit_that_another_gc_removed_does_not_stop_this_one(lake, monkeypatch):
    """It was listed here before, and its list of files is gone when it is to be read."""
    with lake.commit("r@main") as commit:
        commit.put("/kept", b"kept")
    lake.create_branch("r@gone", "main")
    with lake.commit("r@gone") as commit:
        for number in range(300):
            commit.put(f"/{number}", b"%d" % number)
    # The copy has the same list of files, stored once more.
    lake.create_repo("copy")
    lake.cp("r@gone:/", "copy@main:/")
    with lake._core.database.read() as session:
        listed_before = commits.every_root(session)
    lake.delete_branch("r@gone")
    lake.gc(grace=0)
    with tl.open(lake.location) as other:
        with monkeypatch.context() as patch:
            patch.setattr(commits, "every_root", lambda session: listed_before)
            other.gc(grace=0)
    assert len(contents(lake, "copy@main")) == 301
    assert_no_orphans(lake)


@pytest.mark.parametrize("late", range(4))
def test_a_commit_that_gc_removed_does_not_stop_an_erasure(lake, monkeypatch, late):
    """It was listed just before, at one of the places where all commits are looked at."""
    with lake.commit("r@main") as commit:
        commit.put("/kept", b"kept")
        commit.put("/secret", b"secret")
    lake.create_branch("r@gone", "main")
    with lake.commit("r@gone") as commit:
        for number in range(300):
            commit.put(f"/{number}", b"%d" % number)
    every_root, calls = commits.every_root, iter(range(1000))
    with lake._core.database.read() as session:
        listed_before = every_root(session)
    lake.delete_branch("r@gone")
    lake.gc(grace=0)
    monkeypatch.setattr(
        commits,
        "every_root",
        lambda session: listed_before if next(calls) == late else every_root(session),
    )
    report = lake.erase("r@main:/secret")
    lake.gc(grace=0)
    assert report.versions == 1
    assert next(calls) > late
    assert sorted(contents(lake, "r@main")) == ["/kept"]
    assert_no_orphans(lake)


def test_a_tree_that_an_erasure_wrote_anew_does_not_stop_gc(lake, monkeypatch):
    """It was listed by this gc, and another removed it: the new one names what is kept."""
    rows = [{"id": number} for number in range(3)]
    lake.write_table("r@main:/t", rows)
    lake.write_table("r@main:/t", rows)
    first, second = (f for f in contents(lake, "r@main") if f.endswith(".parquet"))
    with lake._core.database.read() as session:
        before = {row["id"]: row for row in commits.every_root(session)}
    lake.erase(f"r@main:{first}")
    lake.gc(grace=0)
    with lake._core.database.read() as session:
        after = {row["id"]: row for row in commits.every_root(session)}
    assert any(after[one]["root"] != before[one]["root"] for one in before)
    with tl.open(lake.location) as other, monkeypatch.context() as patch:
        patch.setattr(commits, "every_root", lambda session: list((after | before).values()))
        other.gc(grace=0)
    assert second in contents(lake, "r@main")
    assert_no_orphans(lake)


def test_a_writer_that_slept_through_its_lease_cannot_commit(lake, tmp_path):
    before = state(lake)
    process = start_job("put_slowly", tmp_path)
    marker = tmp_path / "written"
    _wait_for(marker)
    os.kill(process.pid, signal.SIGSTOP)
    try:
        _wait_until_no_lease(lake)
        report = lake.gc(grace=0)
        assert report.objects > 0  # its objects are gone
    finally:
        (tmp_path / "go").touch()
        os.kill(process.pid, signal.SIGCONT)
    result = finish(process)
    assert result.json["error"] == "lease_lost", result
    assert state(lake) == before
    assert_no_orphans(lake)


def test_a_writer_that_is_awake_keeps_its_lease_and_its_objects(lake, tmp_path):
    """It takes several times as long as a lease lasts, and renews it."""
    process = start_job("put_slowly", tmp_path)
    _wait_for(tmp_path / "written")
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        lake.gc(grace=0)
        time.sleep(0.05)
    (tmp_path / "go").touch()
    result = finish(process)
    assert "id" in result.json, result
    assert lake.read("r@main:/large") == bytes(2 << 20)
    assert_no_orphans(lake)


def test_what_is_being_read_stays(lake, tmp_path):
    """The branch is deleted and collected while its files are being got."""
    with lake.commit("r@main") as commit:
        commit.put("/kept", b"kept")
    lake.create_branch("r@gone", "main")
    with lake.commit("r@gone") as commit:
        for number in range(8):
            commit.put(f"/{number}", os.urandom(2 << 20))
    expected = contents(lake, "r@gone")
    deleted = False

    def progress(files: int, size: int) -> None:
        nonlocal deleted
        if not deleted:
            deleted = True
            lake.delete_branch("r@gone")
            lake.gc(grace=0)

    lake.get("r@gone", tmp_path / "got", progress=progress)
    assert deleted
    assert {f"/{path.name}" for path in (tmp_path / "got").iterdir()} == expected.keys()
    lake.gc(grace=0)
    with pytest.raises(NotFound):
        lake.commit_info(f"r@{commit.id}")
    assert_no_orphans(lake)


def test_who_slept_while_reading_is_told_so(lake):
    """A laptop's lid: the reader's lease ran out, its branch was deleted and collected."""
    lake.create_branch("r@gone")
    with lake.commit("r@gone") as commit:
        for number in range(8):
            commit.put(f"/{number}", os.urandom(2 << 20))

    class Sleepy(io.RawIOBase):
        slept = False

        def writable(self) -> bool:
            return True

        def write(self, data) -> int:
            if not self.slept:
                self.slept = True
                with lake._core.database.write() as session:
                    session.execute("UPDATE leases SET expires = 0")
                lake.delete_branch("r@gone")
                assert lake.gc(grace=0).objects
            return len(data)

    with pytest.raises(LeaseLost, match="Reading was paused for too long"):
        lake.get("r@gone", Sleepy(), tar=True)


def test_an_open_commit_keeps_what_was_put_into_it(lake):
    lake.start_commit("r@main")
    with lake.commit("r@main") as commit:
        commit.put("/staged", b"staged")
        commit.put("/large", bytes(2 << 20))
    expire_leases(lake)
    lake.gc(grace=0)
    lake.finish_commit("r@main")
    assert lake.read("r@main:/staged") == b"staged"
    assert_no_orphans(lake)


def test_a_commit_whose_reused_files_were_collected_is_refused(lake):
    """Copied by reference from a branch that went away before the copy was committed."""
    with lake.commit("r@main") as commit:
        commit.put("/kept", b"kept")
    lake.create_branch("r@gone", "main")
    with lake.commit("r@gone") as commit:
        commit.put("/a", b"a")
    with pytest.raises(Exception, match="is gone"), lake.commit("r@main") as copying:
        copying.copy("r@gone:/a", "/copy")
        lake.delete_branch("r@gone")
        lake.gc(grace=0)
    assert [info.path for info in lake.ls("r@main")] == ["/kept"]
    assert_no_orphans(lake)


def _wait_for(path: Path) -> None:
    until = time.monotonic() + 90
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.01)


def _wait_until_no_lease(lake) -> None:
    until = time.monotonic() + 90
    while True:
        with lake._core.database.read() as session:
            now = session.now()
            if not session.all("SELECT id FROM leases WHERE expires > :now", {"now": now}):
                return
        assert time.monotonic() < until
        time.sleep(0.05)
