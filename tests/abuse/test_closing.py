"""What was acknowledged and is no longer there is found, each loss by its name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.served import through_door
from trunkline.abuse import acts, closing, run
from trunkline.abuse.client import SHARED, Client, Common, Tally
from trunkline.abuse.memory import Memory, data_of, remembered
from trunkline.errors import InUse
from trunkline.lake.lease import Lease
from trunkline.model.ids import new_id
from trunkline.storage.catalog import leases

ACTS = 120


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tl.Lake]:
    with tl.init(tmp_path) as made:
        made.create_repo("shared")
        yield made


def at_work(lake: tl.Lake, folder: Path, seed: int = 20) -> tuple[Path, Tally]:
    """So many acts of one client; what it remembers."""
    beside = folder / ".abuse"
    beside.mkdir()
    tally, over = Tally(), threading.Event()
    with Memory(beside / "memory.jsonl") as memory, through_door(lake) as remote:
        client = Client(
            0, seed, acts.ACTS, [remote.server], beside, memory, tally, over, Common(), ACTS
        )
        acts.prepare(client, lake)
        client.run()
    assert tally.wrong == []
    assert tally.acts
    return beside / "memory.jsonl", tally


@pytest.mark.slow
def test_a_lake_that_kept_all_has_nothing_lost(lake, tmp_path):
    memory, tally = at_work(lake, tmp_path)
    assert {act.__name__ for act in acts.ACTS} == set(tally.acts)
    found = closing.compare(lake, memory)
    assert (found.lost, found.wrong) == ([], [])
    known = closing.expected(remembered(memory))
    assert known.erased
    assert known.removed
    assert known.tags
    assert known.shared[SHARED]


@pytest.mark.slow
def test_the_seed_repeats_what_is_drawn(lake, tmp_path):
    _, tally = at_work(lake, tmp_path)
    with tl.init(tmp_path / "again") as another:
        another.create_repo("shared")
        _, again = at_work(another, tmp_path / "again")
    assert again.acts == tally.acts


@pytest.mark.slow
def test_a_branch_that_fell_back_is_lost(lake, tmp_path):
    memory, _ = at_work(lake, tmp_path)
    lost, before = lake.commits(SHARED, limit=2)
    lake.move_branch(SHARED, f"{SHARED.partition('@')[0]}@{before.id}")
    found = closing.compare(lake, memory)
    assert f"commit {lost.id} of {SHARED}" in found.lost


def test_a_file_with_other_bytes_is_wrong_and_one_too_many_too(lake, tmp_path):
    memory, _ = at_work(lake, tmp_path)
    ref = "client-0/own@main"
    with lake.commit(ref) as commit:
        commit.put("/first", b"other")
        commit.put("/more", b"more")
    found = closing.compare(lake, memory)
    assert found.lost == []
    assert sorted(found.wrong) == [
        f"{ref}:/first has other bytes",
        f"{ref}:/more was never put",
    ]


def test_nobody_knows_whether_the_last_act_of_who_gave_up_was_done(lake, tmp_path):
    lake.create_project("client-0")
    lake.create_repo("client-0/own")
    ref, parts = "client-0/own@main", (("a", 10),)
    with lake.commit(ref) as commit:
        commit.put("/a", data_of(parts))
    with Memory(tmp_path / "memory.jsonl") as memory:
        memory.note("change", ref=ref, commit=commit.result.id, files={"/a": parts})
        lake.rm(f"{ref}:/a")
        assert closing.compare(lake, memory.path).lost == [f"{ref}:/a"]
        memory.note("astray", project="client-0")
        assert closing.compare(lake, memory.path).lost == []


def test_erased_bytes_that_are_still_there_are_found(lake, tmp_path):
    memory, _ = at_work(lake, tmp_path)
    store = [tmp_path / ".trunkline"]
    assert closing.check_erased(memory, store).wrong == []
    known = closing.expected(remembered(memory))
    (ref, path), parts = next(iter(known.erased.items()))
    (tmp_path / ".trunkline" / "left").write_bytes(b"x" + data_of(parts))
    (found,) = closing.check_erased(memory, store).wrong
    assert f"{ref}:{path} was erased" in found


@pytest.mark.slow
def test_a_backup_without_what_was_acknowledged_before_is_found(lake, tmp_path):
    memory, _ = at_work(lake, tmp_path)
    taken = lake.backup(tmp_path / ".abuse" / "backups")
    after = sum(1 for _ in remembered(memory)) + 1
    with memory.open("a") as file:
        file.write(
            '{"kind": "change", "ref": "client-0/own@main", "commit": "0123", "files": {}}\n'
            f'{{"kind": "backup", "id": "{taken.id}", "after": {after}}}\n'
        )
    found = closing.check_backups(memory, tmp_path / ".abuse")
    assert found.lost == [f"commit 0123 of client-0/own@main in backup {taken.id}"]
    assert found.wrong == []


@pytest.mark.slow
def test_a_backup_that_was_cut_off_keeps_no_one_from_the_end(lake, tmp_path):
    """Its lease outlives it by ten minutes, in which gc is refused."""
    memory, _ = at_work(lake, tmp_path)
    left = Lease(lake._core, new_id(), "cut off", kind=leases.BACKUP)
    left.take()
    left.forget()
    with pytest.raises(InUse):
        lake.gc(grace=0)
    stage = run._Stage(run.Plan(tmp_path, 1, 1, workers=0), memory.parent, None)
    found = run._close(stage, memory, lambda line: None)
    assert (found.lost, found.wrong) == ([], [])


def test_an_end_that_cannot_be_is_a_finding(tmp_path):
    (tmp_path / "memory.jsonl").touch()
    plan = run.Plan(tmp_path / "nowhere", 1, 1, workers=0)
    found = run._close(run._Stage(plan, tmp_path, None), tmp_path / "memory.jsonl", print)
    assert found.lost == []
    assert any(line.startswith("opening the lake: NotFound: ") for line in found.wrong)


def test_a_part_of_the_end_that_fails_leaves_the_others(lake):
    found = closing.Findings()

    def fail() -> closing.Findings:
        raise RuntimeError("no room")

    found.add("gc", fail)
    found.add("fsck", lambda: closing.examine(lake))
    assert (found.lost, found.wrong) == ([], ["gc: RuntimeError: no room"])
