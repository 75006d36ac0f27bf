"""Erase: a path's bytes gone from every commit, on the record. SEMANTICS 9."""

from __future__ import annotations

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.sdk.conftest import damage, data_objects, head, local, objects, put, tree
from tests.sdk.test_pruning import derive
from tests.served import home, served
from trunkline import Lake
from trunkline.errors import Erased, InUse, LeaseLost, NotFound
from trunkline.lake import erase as erase_of
from trunkline.lake.lease import Lease
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import RepoCommit, RepoName
from trunkline.model.entries import Entry
from trunkline.model.ids import new_id
from trunkline.model.refs import parse_ref
from trunkline.sdk.remote.lake import connect
from trunkline.storage.catalog import erasures, leases, workers
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.port import ObjectStore

SECRET = b"the secret of Ada Lovelace"


def found_anywhere(lake: Lake, needle: bytes = SECRET) -> list[str]:
    """Files of the lake's folder that hold these bytes."""
    folder = Path(home(lake).location) / ".trunkline"
    search = subprocess.run(
        ["grep", "-rlaF", needle.decode(), str(folder)], capture_output=True, text=True, check=False
    )
    return search.stdout.splitlines()


@pytest.fixture
def held(lake: Lake) -> Lake:
    """Two versions of /ada, each in a pack between other files."""
    put(lake, "orders", aaa="before", ada=SECRET, zzz="after")
    put(lake, "orders", ada=SECRET + b", again", more="more")
    return lake


def test_the_bytes_are_gone_from_every_commit(held: Lake):
    assert len(found_anywhere(held)) == 2
    report = held.erase("orders:/ada", "she asked")
    assert found_anywhere(held) == []
    assert (report.path, report.versions) == ("/ada", 2)
    assert report.bytes == 2 * len(SECRET) + len(b", again")
    assert len(report.commits) == 2
    assert (report.also_at, report.derived) == ((), ())


def test_other_files_in_the_pack_are_as_they_were(held: Lake):
    held.erase("orders:/ada")
    assert tree(held, "orders") == {"/aaa": "before", "/more": "more", "/zzz": "after"}
    assert held.read("orders@main.1:/aaa") == b"before"
    assert held.read("orders@main.1:/zzz") == b"after"


def test_the_head_no_longer_lists_it_and_old_commits_say_that_it_was_erased(held: Lake):
    report = held.erase("orders:/ada", "she asked")
    assert report.removed_from == ("main",)
    with pytest.raises(NotFound, match="There is no"):
        held.read("orders:/ada")
    with pytest.raises(Erased, match=r"/ada was erased on \d{4}-\d\d-\d\d by ada: she asked"):
        held.read("orders@main.1:/ada")
    with pytest.raises(Erased):
        list(held.cat("orders@main.2:/ada", 3, 4))
    assert held.stat("orders@main.1:/ada").size == len(SECRET), "the record stays"


def test_a_file_of_its_own_is_erased_too(lake: Lake, tmp_path: Path):
    put(lake, "orders", large=SECRET * 60_000, small="1")
    lake.erase("orders:/large")
    assert found_anywhere(lake) == []
    for read in (lake.read, lambda ref: list(lake.cat(ref, 5, 5))):
        with pytest.raises(Erased):
            read("orders@main.1:/large")
    with pytest.raises(Erased):
        lake.get("orders@main.1:/large", tmp_path / "copy")


def test_getting_a_folder_leaves_out_what_was_erased(held: Lake, tmp_path: Path):
    held.erase("orders:/ada")
    report = held.get("orders@main.1", tmp_path / "out")
    assert (report.files, report.erased) == (2, 1)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["aaa", "zzz"]
    assert held.get("orders@main.1", tmp_path / "out.tar", tar=True).erased == 1
    with pytest.raises(Erased):
        held.get("orders@main.1:/ada", tmp_path / "one")


def test_a_folder_is_erased_with_all_that_was_ever_below_it(lake: Lake):
    put(lake, "orders", **{"ada/1": SECRET, "ada-b": b"kept"})
    lake.rm("orders:/ada", recursive=True)
    put(lake, "orders", **{"ada/2": SECRET + b"2"})
    assert lake.erase("orders:/ada").versions == 2
    assert found_anywhere(lake) == []
    assert tree(lake, "orders") == {"/ada-b": "kept"}


def test_an_empty_neighbour_is_not_taken_for_it(lake: Lake, tmp_path: Path):
    """In a pack an empty file lies where the next one begins."""
    with lake.commit("orders") as commit:
        for name, content in (("empty", b""), ("ada", SECRET), ("none", b""), ("last", b"last")):
            commit.put(f"/{name}", content)
    lake.erase("orders:/ada")
    lake.erase("orders:/none")
    lake.get("orders@main.1", tmp_path / "out")
    assert {p.name: p.read_text() for p in (tmp_path / "out").iterdir()} == {
        "empty": "", "last": "last",
    }  # fmt: skip
    assert lake.read("orders@main.1:/empty") == b""
    assert lake.fsck(deep=True).ok


def test_every_branch_loses_it(held: Lake):
    held.create_branch("orders@dev", "main")
    held.create_branch("orders@without", "main")
    held.rm("orders@without:/ada")
    assert held.erase("orders:/ada").removed_from == ("dev", "main")
    assert "/ada" not in tree(held, "orders@dev")


def test_copies_by_reference_are_listed_and_lose_the_bytes_too(held: Lake):
    held.create_repo("copies")
    held.cp("orders:/ada", "copies:/x/copy")
    held.cp("orders:/ada", "orders:/other")
    put(held, "copies", unrelated="1")
    report = held.erase("orders:/ada")
    assert report.also_at == ("copies:/x/copy", "orders:/other")
    with pytest.raises(Erased):
        held.read("copies:/x/copy")


def test_every_derived_commit_that_held_data_from_it_is_listed(held: Lake):
    first = held.commit_info("orders@main.1").id
    made = []
    for name in ("totals", "charts"):
        held.create_repo(name)
        made.append(put(held, name, a="1"))
    derive(held, f"totals@{made[0]}", f"orders@{first}")
    derive(held, f"charts@{made[1]}", f"totals@{made[0]}")
    assert set(held.erase("orders:/ada").derived) == {
        RepoCommit(RepoName("default", "totals"), made[0]),
        RepoCommit(RepoName("default", "charts"), made[1]),
    }


def test_what_was_never_there_cannot_be_erased(held: Lake):
    before = head(held, "orders@main")
    with pytest.raises(NotFound, match="has ever held"):
        held.erase("orders:/nobody")
    assert head(held, "orders@main") == before


def test_a_lake_with_erasures_is_sound(held: Lake):
    held.erase("orders:/ada")
    report = held.fsck(deep=True)
    assert report.ok
    assert report.erased_files == 2
    held.gc(grace=0)
    assert held.fsck(deep=True).ok


def test_an_erasure_that_was_only_recorded_is_finished_by_gc(held: Lake):
    """As after a crash between the record and the bytes."""
    for ref in ("orders@main.1", "orders@main.2"):
        line = home(held)._core.tree_of(held._ref(ref)).find(b"/ada")
        assert line is not None
        with home(held)._core.database.write() as session:
            erasures.record(session, 1, [Entry.decode(line)], "ada", "")
    assert found_anywhere(held) != []
    held.gc()
    assert found_anywhere(held) == []


def test_the_same_bytes_can_be_put_again(held: Lake, tmp_path: Path):
    held.erase("orders:/ada")
    (tmp_path / "ada").write_bytes(SECRET)
    held.put("orders:/ada", tmp_path / "ada")
    assert held.read("orders:/ada") == SECRET
    assert len(data_objects(held)) == 3


def test_the_same_bytes_can_be_put_again_where_the_head_still_lists_them(
    held: Lake, tmp_path: Path
):
    """A branch moved back to before the erasure lists what is gone."""
    held.erase("orders:/ada")
    held.move_branch("orders@main", "orders@main~1")
    (tmp_path / "ada").write_bytes(SECRET + b", again")
    held.put("orders:/ada", tmp_path / "ada")
    assert held.read("orders:/ada") == SECRET + b", again"


def test_appending_to_what_was_erased_says_so(held: Lake):
    held.erase("orders:/ada")
    held.move_branch("orders@main", "orders@main~1")
    with pytest.raises(Erased), held.commit("orders@main") as commit:
        commit.put("/ada", b"more", append=True)


def test_it_is_on_the_record(held: Lake):
    held.erase("orders:/ada", "she asked")
    with home(held)._core.database.read() as session:
        rows = session.all("SELECT path, author, reason, done FROM erasures")
        events = session.all("SELECT kind FROM events WHERE kind = 'erase'")
    recorded = {(row["path"], row["author"], row["reason"], row["done"]) for row in rows}
    assert recorded == {("/ada", "ada", "she asked", 2)}
    assert len(events) == 1
    assert objects(held)


# -- bounds of columns ---------------------------------------------------------------------------

ADA = {"name": "Ada Lovelace", "age": 36}
BOB = {"name": "Bob", "age": 40}


def unpacked(lake: Lake, needle: str) -> list[str]:
    """Objects that hold this text, as they are or packed."""
    found = []
    for path in objects(lake):
        data = path.read_bytes()
        if data[:4] == zstandard.FRAME_HEADER:
            data += zstandard.ZstdDecompressor().decompressobj().decompress(data)
        if needle.encode() in data:
            found.append(path.suffix)
    return found


@pytest.fixture
def people(lake: Lake) -> Lake:
    """A table of two files, the first with Ada alone, in three commits and on two branches."""
    lake.create_repo("people")
    lake.write_table("people", [ADA])
    lake.write_table("people", [BOB])
    lake.create_branch("people@dev", "main")
    put(lake, "people@dev", note="a")
    return lake


def file_of_ada(lake: Lake) -> str:
    return next(one.path for one in lake.ls("people@main.1") if one.path.endswith(".parquet"))


def test_the_bounds_of_its_columns_go_with_a_file(people: Lake):
    path = file_of_ada(people)
    assert ".tlm" in unpacked(people, "Ada Lovelace"), "bounds are in the manifests"
    held = [people.commit_info(f"people@{ref}").id for ref in ("main.1", "main.2", "dev")]
    people.erase(f"people:{path}")
    people.gc(grace=0)
    assert unpacked(people, "Ada Lovelace") == []
    assert people.fsck(deep=True).ok
    assert [people.commit_info(f"people@{ref}").id for ref in ("main.1", "main.2")] == held[:2]
    assert people.table("people@main").arrow().to_pylist() == [BOB]
    assert people.table("people@dev").arrow().to_pylist() == [BOB]
    with pytest.raises(Erased):
        people.table("people@main.2").arrow()
    assert people.describe_table("people@main.2").rows == 2, "how many there were is on record"


def test_other_files_keep_their_bounds_and_commits_their_ranges(people: Lake):
    people.write_table("people", [{"name": f"n{i}", "age": i} for i in range(5)])
    people.erase(f"people:{file_of_ada(people)}")
    core = home(people)._core
    for ref in ("people@main.2", "people@main.3", "people@main.4"):
        lines = list(core.tree_of(people._ref(ref)).scan())
        bounds = [Entry.decode(line).stats for line in lines if b".parquet" in line]
        assert any('"Bob"' in stats for stats in bounds)
        assert not any("Ada" in stats for stats in bounds)
    assert people.table("people@main").arrow().num_rows == 6


def test_who_was_at_work_brings_no_bounds_back_and_loses_nothing(people: Lake):
    """A writer planned on the old tree commits after it was replaced, with gc in between."""
    core = home(people)._core
    old = {path.name for path in objects(people) if path.suffix == ".tlm"}
    writer = Lease(core, new_id(), "writer")
    writer.take()
    people.erase(f"people:{file_of_ada(people)}")
    people.gc(grace=0)
    assert old <= {path.name for path in objects(people)}, "kept for the writer"
    with core.database.read() as session:
        assert {row["done"] for row in session.all("SELECT done FROM erasures")} == {1}
    writer.give_back()
    people.gc(grace=0)
    assert unpacked(people, "Ada Lovelace") == []
    with core.database.read() as session:
        assert {row["done"] for row in session.all("SELECT done FROM erasures")} == {2}
    assert people.fsck(deep=True).ok


def test_a_worker_that_goes_on_and_on_keeps_no_bounds(people: Lake):
    with home(people)._core.database.write() as session:
        workers.beat(session, "standing", leases.LEASE_MICROS)
    people.erase(f"people:{file_of_ada(people)}")
    people.gc(grace=0)
    assert unpacked(people, "Ada Lovelace") == []
    with home(people)._core.database.read() as session:
        assert {row["done"] for row in session.all("SELECT done FROM erasures")} == {2}


# -- copies that no commit names -----------------------------------------------------------------


def upload(lake: Lake, *contents: bytes) -> Transaction:
    """A commit in the making whose bytes are in the store."""
    transaction = Transaction(home(lake)._core, "bob")
    transaction.lease.take()
    draft = transaction.draft(parse_ref("orders@main"))
    for number, content in enumerate(contents):
        draft.changes.put_all([transaction.intake.add_bytes(f"/up/{number}", content)])
    transaction.intake.flush()
    return transaction


def let_die(transaction: Transaction) -> None:
    transaction.lease.give_back()


def test_who_uploads_the_same_bytes_meanwhile_has_to_put_them_again(held: Lake):
    uploading = upload(held, b"before", SECRET, b"after")
    held.erase("orders:/ada")
    assert found_anywhere(held) == []
    with pytest.raises(LeaseLost, match="erased"):
        uploading.commit()
    uploading.abort()
    assert "/up/0" not in tree(held, "orders")
    upload(held, b"before", SECRET, b"after").commit()
    assert tree(held, "orders")["/up/1"] == SECRET.decode()
    assert held.fsck(deep=True).ok


@pytest.mark.slow
def test_through_a_server_too(held: Lake):
    with served(home(held)) as url, connect(url, "default", home(held)._settings) as remote:
        with pytest.raises(LeaseLost, match="erased"), remote.commit("orders") as commit:
            commit.put("/copy", SECRET * 60_000)
            put(held, "orders", large=SECRET * 60_000)
            held.erase("orders:/large")
            held.erase("orders:/ada")
            assert found_anywhere(held) == []


def test_who_uploads_something_else_is_not_disturbed(held: Lake):
    secret = bytes(SECRET[:-1])
    uploading = upload(held, secret, SECRET[1:], b"x" * 2_000_000)
    held.erase("orders:/ada")
    uploading.commit()
    assert held.read("orders:/up/0") == secret
    assert held.fsck(deep=True).ok


def test_what_a_job_is_about_to_publish_is_its_own(held: Lake):
    """What is computed from erased bytes is listed, and not erased."""
    core = home(held)._core
    job = Lease(core, new_id(), "worker", kind=leases.JOB)
    job.take()
    key = KeyMaker(job._id).pack()
    core.objects.put(key, SECRET)
    held.erase("orders:/ada")
    assert core.objects.get(key) == SECRET
    job.give_back()
    put(held, "orders", ada=SECRET)
    held.erase("orders:/ada")
    assert found_anywhere(held) == []


@pytest.mark.parametrize("files", [3, 100])
def test_copies_are_found_among_many(lake: Lake, files: int):
    contents = [f"name,said\n{SECRET.decode()} {number}\n".encode() for number in range(files)]
    let_die(upload(lake, b"before", *contents[1:], b"after"))
    other = upload(lake, b"name,said\nsomebody else\n")
    put(lake, "orders", **{f"ada/{number}": content for number, content in enumerate(contents)})
    assert len(found_anywhere(lake)) == 2
    lake.erase("orders:/ada")
    assert found_anywhere(lake) == []
    other.commit()


def test_a_secret_too_short_to_be_told_from_others(lake: Lake):
    let_die(upload(lake, b"before", b"q%7z"))
    alone, among = upload(lake, b"q%7z"), upload(lake, b"number q%7z, or so")
    put(lake, "orders", pin="q%7z")
    lake.erase("orders:/pin")
    with pytest.raises(LeaseLost):
        alone.commit()
    among.commit()
    assert lake.read("orders:/up/0") == b"number q%7z, or so"
    assert len(found_anywhere(lake, b"q%7z")) == 1


# -- several at once, and what fsck can tell -----------------------------------------------------


@local
def test_two_erasures_at_once_are_both_done(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    """Each reads the pack before the other has replaced it."""
    put(lake, "orders", a=SECRET + b" 1", b=SECRET + b" 2", kept="kept")
    core = home(lake)._core
    together = threading.Barrier(2)
    get = type(core.objects).get

    def slow(store: ObjectStore, key: str) -> bytes:
        data = get(store, key)
        if key.startswith("packs/"):
            with suppress(threading.BrokenBarrierError):
                together.wait(0.5)
        return data

    monkeypatch.setattr(type(core.objects), "get", slow)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lake.erase, ["orders:/a", "orders:/b"]))
    assert found_anywhere(lake) == []
    assert lake.fsck(deep=True).ok
    assert lake.read("orders@main.1:/kept") == b"kept"


@local
def test_an_erasure_recorded_while_another_is_finished_is_not_taken_for_done(
    held: Lake, monkeypatch: pytest.MonkeyPatch
):
    core = home(held)._core
    line = core.tree_of(held._ref("orders@main.1")).find(b"/zzz")
    edit = type(core.objects).edit

    def record_meanwhile(store: ObjectStore, key: str, change: Any) -> None:
        edit(store, key, change)
        if line is not None and key == Entry.decode(line).key:
            with core.database.write() as session:
                erasures.record(session, 1, [Entry.decode(line)], "bob", "")

    monkeypatch.setattr(type(core.objects), "edit", record_meanwhile)
    held.erase("orders:/ada")
    monkeypatch.undo()
    report = held.fsck(deep=True)
    assert (report.ok, report.pending_erasures) == (True, 1)
    held.gc()
    assert found_anywhere(held, b"after") == []
    assert held.fsck(deep=True).pending_erasures == 0


def test_a_version_that_is_put_meanwhile_is_erased_too(held: Lake, monkeypatch: pytest.MonkeyPatch):
    remove = erase_of._remove_from_heads

    def put_before(*args: Any) -> tuple[str, ...]:
        monkeypatch.undo()
        put(home(held), "orders", ada=SECRET + b", late")
        return remove(*args)

    monkeypatch.setattr(erase_of, "_remove_from_heads", put_before)
    assert held.erase("orders:/ada").versions == 3
    assert found_anywhere(held) == []


@pytest.mark.parametrize("size", [1, 60_000])
def test_fsck_tells_if_erased_bytes_are_back(lake: Lake, size: int):
    put(lake, "orders", ada=SECRET * size, kept="kept")
    before = {path: path.read_bytes() for path in data_objects(lake)}
    lake.erase("orders:/ada")
    assert lake.fsck(deep=True).ok
    for path, data in before.items():
        damage(path, data) if path.exists() else path.write_bytes(data)
    (problem,) = lake.fsck(deep=True).problems
    assert (problem.kind, problem.where) == ("erased", "/ada")


@local
def test_nothing_is_touched_if_a_backup_is_being_taken(held: Lake):
    core = home(held)._core
    before = head(held, "orders@main")
    backup = Lease(core, new_id(), "cron", kind=leases.BACKUP)
    backup.take()
    with pytest.raises(InUse, match="backup"):
        held.erase("orders:/ada")
    assert head(held, "orders@main") == before
    backup.give_back()
    held.erase("orders:/ada")
