"""gc: what nothing needs goes, everything else stays."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.sdk.conftest import data_objects, local, objects, put, tree
from tests.served import home
from trunkline import Lake
from trunkline.errors import CorruptObject, LeaseLost, NotFound
from trunkline.lake import gc
from trunkline.lake.core import resolve
from trunkline.lake.lease import pinned
from trunkline.lake.reach import Unreachable
from trunkline.storage.catalog import Session, leases

DAY = 86_400.0


def test_a_lake_in_use_loses_nothing(lake: Lake):
    put(lake, "orders", a="1")
    put(lake, "orders", a="2")
    lake.create_branch("orders@dev", "main^")
    lake.create_tag("orders@v1", "main^")
    before = objects(lake)
    report = lake.gc(grace=0)
    assert (report.commits, report.objects, report.kept_objects) == (0, 0, len(before))
    assert objects(lake) == before


def test_commits_of_a_deleted_branch_go_after_the_grace(lake: Lake):
    put(lake, "orders", a="1")
    lake.create_branch("orders@dev", "main")
    gone = put(lake, "orders@dev", b="2")
    lake.delete_branch("orders@dev")
    report = lake.gc(grace=DAY)
    assert (report.commits, report.waiting_commits, report.objects) == (0, 1, 0)
    assert tree(lake, f"orders@{gone}") == {"/a": "1", "/b": "2"}
    report = lake.gc(grace=0)
    assert (report.commits, report.objects) == (1, 2)
    with pytest.raises(NotFound):
        lake.commit_info(f"orders@{gone}")
    assert tree(lake, "orders") == {"/a": "1"}
    assert lake.fsck(deep=True).ok


def test_the_grace_counts_from_when_the_last_ref_went_not_from_when_it_was_made(lake: Lake):
    put(lake, "orders", a="1")
    old = put(lake, "orders", a="2")
    for path in objects(lake):
        os.utime(path, (0, 0))
    lake.move_branch("orders@main", "main^")
    assert lake.gc(grace=DAY).waiting_commits == 1
    assert tree(lake, f"orders@{old}") == {"/a": "2"}
    with home(lake)._core.database.write() as session:
        long_ago = session.now() - int(2 * DAY * 1_000_000)
        session.execute("UPDATE commits SET unreferenced = :t WHERE id = :id",
                        {"t": long_ago, "id": old})  # fmt: skip
    assert lake.gc(grace=DAY).commits == 1


def test_what_was_lost_just_now_keeps_what_it_builds_on(lake: Lake):
    put(lake, "orders", a="1")
    below = put(lake, "orders", a="2")
    lost = put(lake, "orders", a="3")
    lake.move_branch("orders@main", "main~2")
    with home(lake)._core.database.write() as session:
        # As of one that no ref led to, but what was made from it, or who read it.
        session.execute("UPDATE commits SET unreferenced = NULL WHERE id = :id", {"id": lost})
        session.execute("UPDATE commits SET unreferenced = 1 WHERE id = :id", {"id": below})
    report = lake.gc(grace=DAY)
    assert (report.commits, report.waiting_commits) == (0, 2)
    assert tree(lake, f"orders@{below}") == {"/a": "2"}


@local
def test_others_write_while_it_counts_what_waits(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    count = gc._waiting

    def slow(session: Session, gone: list[Unreachable]) -> int:
        writing = threading.Thread(target=put, args=(lake, "orders"), kwargs={"a": "1"})
        writing.start()
        writing.join(10.0)
        assert not writing.is_alive()
        return count(session, gone)

    monkeypatch.setattr(gc, "_waiting", slow)
    lake.gc(grace=DAY)
    assert tree(lake, "orders") == {"/a": "1"}


def test_a_commit_that_got_a_ref_again_stays(lake: Lake):
    put(lake, "orders", a="1")
    old = put(lake, "orders", a="2")
    lake.move_branch("orders@main", "main^")
    lake.create_tag("orders@kept", old)
    assert lake.gc(grace=0).commits == 0
    assert tree(lake, "orders@kept") == {"/a": "2"}


def test_a_dry_run_says_what_would_go_and_removes_nothing(lake: Lake):
    put(lake, "orders", a="1")
    gone = put(lake, "orders", a="2")
    lake.move_branch("orders@main", "main^")
    before = objects(lake)
    report = lake.gc(grace=0, dry_run=True)
    assert (report.commits, report.dry_run) == (1, True)
    assert objects(lake) == before
    assert tree(lake, f"orders@{gone}") == {"/a": "2"}


def test_young_objects_that_no_commit_names_are_left_alone(lake: Lake):
    with pytest.raises(ZeroDivisionError), lake.commit("orders") as commit:
        commit.put("/large", bytes(2_000_000))
        raise ZeroDivisionError
    assert len(data_objects(lake)) == 1
    assert lake.gc(grace=DAY).objects == 0
    assert lake.gc(grace=0).objects == 1
    assert data_objects(lake) == []


def test_what_a_killed_writer_left_half_written_goes_after_the_grace(lake: Lake):
    folder = Path(home(lake).location) / ".trunkline" / "objects" / "tmp"
    folder.mkdir(exist_ok=True)
    left = folder / ("0" * 32 + "-0.pack.abc")
    left.write_bytes(b"half")
    lake.gc(grace=DAY)
    assert left.exists()
    lake.gc(grace=0)
    assert not left.exists()


def test_the_objects_of_a_living_writer_are_left_alone(lake: Lake):
    with lake.commit("orders") as commit:
        commit.put("/large", bytes(2_000_000))
        assert lake.gc(grace=0).objects == 0
    assert lake.fsck(deep=True).ok


@pytest.mark.slow
def test_a_writer_that_was_paused_for_too_long_may_not_commit(lake: Lake):
    with pytest.raises(LeaseLost, match="paused for too long"), lake.commit("orders") as commit:
        commit.put("/large", bytes(2_000_000))
        with home(lake)._core.database.write() as session:
            session.execute("UPDATE leases SET expires = 0")
        assert lake.gc(grace=0).objects == 1
    assert list(lake.log("orders")) == []


def test_open_commits_and_what_was_put_into_them_stay(lake: Lake):
    lake.start_commit("orders@main")
    put(lake, "orders", a="1", large=bytes(2_000_000))
    assert lake.gc(grace=0).objects == 0
    lake.finish_commit("orders@main")
    assert lake.read("orders:/a") == b"1"
    assert lake.gc(grace=0).objects == 1, "the list of changes is not needed any more"
    assert lake.fsck(deep=True).ok


def test_what_a_reader_has_pinned_stays(lake: Lake):
    put(lake, "orders", a="1")
    read = put(lake, "orders", a="2")
    with home(lake)._core.database.read() as session:
        found = resolve(session, lake._ref("orders@main"))
    with pinned(home(lake)._core, found):
        lake.move_branch("orders@main", "main^")
        assert lake.gc(grace=0).commits == 0
        assert tree(lake, f"orders@{read}") == {"/a": "2"}
    assert lake.gc(grace=0).commits == 1


def test_a_pin_is_renewed_for_as_long_as_the_reader_lives(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
):
    """A download may take longer than a lease."""
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    put(lake, "orders", a="1")
    with home(lake)._core.database.read() as session:
        found = resolve(session, lake._ref("orders@main"))

    def expires() -> int:
        with home(lake)._core.database.read() as session:
            row = session.one("SELECT expires FROM leases WHERE commit_id IS NOT NULL")
        assert row is not None
        return int(row["expires"])

    with pinned(home(lake)._core, found):
        first = expires()
        while expires() == first:
            pass
    with home(lake)._core.database.read() as session:
        assert leases.pinned(session) == set()


def test_a_deleted_repo_frees_its_objects(lake: Lake):
    lake.create_repo("prices")
    put(lake, "orders", a="1")
    put(lake, "prices", large=bytes(2_000_000))
    lake.delete_repo("prices")
    assert lake.gc(grace=0).objects == 2
    assert tree(lake, "orders") == {"/a": "1"}


def test_one_file_that_is_needed_keeps_its_pack(lake: Lake):
    put(lake, "orders", a="1", b="2")
    put(lake, "orders", b="3")
    lake.squash("orders@main^")
    lake.gc(grace=0)
    assert len(data_objects(lake)) == 2
    assert tree(lake, "orders") == {"/a": "1", "/b": "3"}


def test_a_damaged_manifest_stops_gc_before_it_removes_anything(lake: Lake):
    """What it names would look unused."""
    put(lake, "orders", a="1")
    put(lake, "orders", a="2")
    lake.move_branch("orders@main", "main^")
    manifest = next(path for path in objects(lake) if path.suffix == ".tlm")
    manifest.unlink()
    before = data_objects(lake)
    with pytest.raises(CorruptObject):
        lake.gc(grace=0)
    assert data_objects(lake) == before
