"""Checkpoints as data: forked at a batch, checked, pruned, committed and brought back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trunkline as tl
from tests.lake import checkpointmaker as maker
from tests.s3 import S3Server, s3_server
from trunkline import Lake
from trunkline.errors import AlreadyExists, CheckpointDamaged, NotFound, WrongLake
from trunkline.lake import checkpoints, savepoints
from trunkline.lake.branches import add_repo
from trunkline.lake.lease import Lease
from trunkline.model.commits import RepoKind, RepoName
from trunkline.model.ids import new_id
from trunkline.model.streams import Batch, Flow, FlowState
from trunkline.storage.catalog import flows, leases, repos
from trunkline.storage.objects import ObjectStore, open_store
from trunkline.storage.objects.loose import loose
from trunkline.tables import upkeep

NAME = RepoName("default", "sessions")
BATCHES = 8
SNAPSHOTS = (3, 6)


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "local":
        return open_store(str(tmp_path / "objects"))
    server = request.getfixturevalue("s3")
    return open_store(server.create_bucket(f"b{new_id()}") + "/lake", server.options)


@pytest.fixture
def local(tmp_path: Path) -> ObjectStore:
    return open_store(str(tmp_path / "objects"))


def place(repo: int = 1) -> str:
    return f"streams/{repo}/{new_id()}"


def old_place(number: int, repo: int = 1) -> str:
    """A folder made long ago; those with higher numbers later."""
    return f"streams/{repo}/{number:012x}{'7'}{'0' * 19}"


def plain(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if not name.endswith(".crc")}


def expected_in_fork(files: dict[str, bytes], batch: int) -> set[str]:
    names = {"metadata"}
    names |= {f"{log}/{n}" for log in ("offsets", "commits") for n in (batch - 1, batch) if n >= 0}
    for operator in (0, 1):
        for where in maker.places(operator):
            names |= {f"{where}/_metadata/schema"} | maker.loaded(files, where, batch + 1)
    names.add("state/0/_metadata/metadata")
    for number in (0, 3):
        if number <= batch:
            names.add(f"state/1/_metadata/v2/{number}")
            names |= {f"state/1/_stateSchema/{store}/{number}_a" for store in maker.STORES}
    return names


# -- forks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [0, 4, 7])
def test_a_fork_has_what_its_batch_needs_and_nothing_later(store: ObjectStore, batch: int):
    source, target = place(), place()
    maker.make(store, source, BATCHES, SNAPSHOTS)
    before = maker.content(store, source)
    checkpoints.fork(store, source, batch, target)
    made = maker.content(store, target)
    assert plain(made).keys() == expected_in_fork(before, batch)
    same = [name for name in made if name != "metadata" and "/_metadata/v2/" not in name]
    assert {name: made[name] for name in same} == {name: before[name] for name in same}
    assert maker.content(store, source) == before
    checkpoints.check(store, target, batch)


def test_a_fork_is_another_query_and_names_its_own_schemas(store: ObjectStore):
    source, target = place(), place()
    maker.make(store, source, BATCHES, SNAPSHOTS)
    checkpoints.fork(store, source, 5, target)
    made = maker.content(store, target)
    assert json.loads(made["metadata"]).keys() == {"id"}
    assert made["metadata"] != maker.content(store, source)["metadata"]
    said = json.loads(made["state/1/_metadata/v2/3"].partition(b"\n")[2])["stateStoreInfo"]
    address = store.uri(target).replace("file://", "file:").replace("s3:", "file:")
    for one in said:
        expected = [f"{address}/state/1/_stateSchema/{one['storeName']}/{n}_a" for n in (0, 3)]
        assert one["stateSchemaFilePaths"] == expected


def test_local_forks_share_the_bytes_and_keep_the_checksums(local: ObjectStore, tmp_path: Path):
    source, target = place(), place()
    maker.make(local, source, BATCHES)
    checkpoints.fork(local, source, 2, target)
    objects = tmp_path / "objects"
    for name in ("state/0/1/left/3.changelog", "state/0/1/left/.3.changelog.crc", "offsets/2"):
        assert (objects / target / name).samefile(objects / source / name)


def test_a_half_made_fork_is_no_checkpoint_and_is_made_anew(store: ObjectStore):
    source, target = place(), place()
    maker.make(store, source, BATCHES)
    checkpoints.fork(store, source, 5, target)
    loose(store).delete([f"{target}/metadata"])
    with pytest.raises(CheckpointDamaged, match="metadata is missing"):
        checkpoints.check(store, target, 5)
    with pytest.raises(CheckpointDamaged):
        checkpoints.fork(store, target, 5, place())
    checkpoints.fork(store, source, 2, target)
    files = maker.content(store, source)
    assert plain(maker.content(store, target)).keys() == expected_in_fork(files, 2)


def test_a_checkpoint_is_never_forked_over(store: ObjectStore):
    source, target = place(), place()
    maker.make(store, source, 3)
    checkpoints.fork(store, source, 1, target)
    before = maker.content(store, target)
    with pytest.raises(AlreadyExists):
        checkpoints.fork(store, source, 2, target)
    assert maker.content(store, target) == before


# -- damage --------------------------------------------------------------------------------

NEEDED = [
    "metadata",
    "offsets/4",
    "offsets/3",
    "commits/4",
    "state/0/_metadata/metadata",
    "state/1/_metadata/v2/3",
    "state/0/1/left/5.changelog",
    "state/0/0/3.zip",
    "state/0/0/SSTs/000003-a.sst",
]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x41]) + data[middle + 1 :]


HARM: dict[str, Callable[[bytes], bytes | None]] = {
    "flipped": flip,
    "cut": lambda data: data[:-3],
    "emptied": lambda data: b"",
    "removed": lambda data: None,
}


def harm(store: ObjectStore, name: str, how: str) -> None:
    files = loose(store)
    changed = HARM[how](files.read(name))
    files.delete([name])
    if changed is not None:
        files.write({name: changed})


# A snapshot that is gone can be made up for by all changes since the beginning, and without the
# newest description of an operator the one before looks like it.
SPARED = {("state/0/0/3.zip", "removed"), ("state/1/_metadata/v2/3", "removed")}


@pytest.mark.parametrize(
    ("name", "how"), [(n, how) for n in NEEDED for how in HARM if (n, how) not in SPARED]
)
def test_damage_to_a_needed_file_is_named(local: ObjectStore, name: str, how: str):
    source = place()
    maker.make(local, source, BATCHES, SNAPSHOTS)
    checkpoints.check(local, source, 4, "sessions")
    harm(local, f"{source}/{name}", how)
    with pytest.raises(CheckpointDamaged) as caught:
        checkpoints.check(local, source, 4, "sessions")
    assert f"{source}/{name} " in caught.value.message
    assert "sessions" in caught.value.message
    assert "trunkline stream rewind sessions --to REF" in caught.value.hint
    assert "trunkline stream restart sessions --from REF" in caught.value.hint


@pytest.mark.parametrize("how", ["cut", "emptied", "removed"])
def test_without_checksums_damage_is_seen_by_the_form(how: str):
    for name in NEEDED:
        store, source = open_store(f"memory://{new_id()}"), place()
        maker.make(store, source, BATCHES, SNAPSHOTS)
        checkpoints.check(store, source, 4)
        if (name, how) not in SPARED:
            harm(store, f"{source}/{name}", how)
            with pytest.raises(CheckpointDamaged, match=name):
                checkpoints.check(store, source, 4)


def test_a_snapshot_that_is_gone_is_made_up_for_by_changes_if_they_are_there(store: ObjectStore):
    source, target = place(), place()
    maker.make(store, source, BATCHES, SNAPSHOTS)
    checkpoints.fork(store, source, 4, target)
    for folder in (source, target):
        harm(store, f"{folder}/state/0/0/3.zip", "removed")
    checkpoints.check(store, source, 4)
    with pytest.raises(CheckpointDamaged, match=r"state/0/0/1\.changelog is missing"):
        checkpoints.check(store, target, 4)


def test_damage_to_what_a_batch_does_not_need_is_not_its_own(local: ObjectStore):
    source = place()
    maker.make(local, source, BATCHES, SNAPSHOTS)
    for name in ("state/0/0/2.changelog", "state/0/0/6.zip", "offsets/7", "commits/1"):
        harm(local, f"{source}/{name}", "flipped")
    checkpoints.check(local, source, 4)
    with pytest.raises(CheckpointDamaged, match=r"state/0/0/6\.zip"):
        checkpoints.check(local, source, 6)


@pytest.mark.parametrize("gone", ["state/0/1/", "state/0/", "state/1/1/left/", "state/"])
def test_a_store_that_is_gone_as_a_whole_is_missed(local: ObjectStore, gone: str):
    source = place()
    maker.make(local, source, BATCHES, SNAPSHOTS)
    files = loose(local)
    files.delete([info.key for info in files.list(f"{source}/{gone}")])
    with pytest.raises(CheckpointDamaged, match=r"state/.* is missing"):
        checkpoints.check(local, source, 4)


def test_nothing_at_all_is_damage_too(store: ObjectStore):
    with pytest.raises(CheckpointDamaged):
        checkpoints.check(store, place(), 0)
    with pytest.raises(CheckpointDamaged):
        checkpoints.fork(store, place(), 0, place())


def test_settling_leaves_everything_as_it_is(store: ObjectStore):
    source = place()
    maker.make(store, source, BATCHES, SNAPSHOTS)
    before = maker.content(store, source)
    checkpoints.settle(store, source, 7)
    assert maker.content(store, source) == before
    with pytest.raises(CheckpointDamaged):
        checkpoints.settle(store, source, 8)


# -- pruning -------------------------------------------------------------------------------


@pytest.mark.slow
@settings(max_examples=40)
@given(
    shapes=st.lists(
        st.tuples(st.integers(2, 9), st.sets(st.integers(1, 9))), min_size=1, max_size=3
    ),
    data=st.data(),
)
def test_every_batch_that_is_kept_forks_as_before(
    shapes: list[tuple[int, set[int]]], data: st.DataObject
):
    store = open_store(f"memory://{new_id()}")
    keep = set()
    for number, (batches, snapshots) in enumerate(shapes):
        maker.make(store, old_place(number), batches, snapshots)
        some = data.draw(st.sets(st.integers(0, batches - 1)))
        keep |= {(old_place(number), batch) for batch in some}
    before = {}
    for folder, batch in keep:
        checkpoints.fork(store, folder, batch, target := place(2))
        before[folder, batch] = maker.content(store, target)
    checkpoints.prune(store, "streams/1/", keep)
    for folder, batch in keep:
        checkpoints.check(store, folder, batch)
        checkpoints.fork(store, folder, batch, target := place(3))
        again = maker.content(store, target)
        moving = {"metadata", "state/1/_metadata/v2/0", "state/1/_metadata/v2/3"}
        assert again.keys() == before[folder, batch].keys()
        for name in again.keys() - moving:
            assert again[name] == before[folder, batch][name]
    # And what no batch needs is gone, up to the last that one does.
    for number in range(len(shapes)):
        kept = [batch for folder, batch in keep if folder == old_place(number)]
        left = maker.content(store, old_place(number))
        newest = max((folder for folder, _ in keep), default="")
        if not kept:
            assert bool(left) == (old_place(number) > newest)
            continue
        versions = {int(name.split("/")[-1].split(".")[0]) for name in left if "changelog" in name}
        needed = set()
        for batch in kept:
            for name in maker.loaded(left, "state/0/0", batch + 1):
                if name.endswith("changelog"):
                    needed.add(int(name.split("/")[-1].split(".")[0]))
        assert {version for version in versions if version <= max(kept) + 1} == needed


@pytest.mark.slow
def test_pruning_leaves_what_somebody_may_work_in(store: ObjectStore):
    early, kept, later, young = old_place(1), old_place(2), old_place(3), place()
    for folder in (early, kept, later, young):
        maker.make(store, folder, BATCHES, SNAPSHOTS)
    files = loose(store)
    # A snapshot whose zip is yet to come.
    files.write({f"{kept}/state/0/0/SSTs/000099-b.sst": b"x"})
    checkpoints.prune(store, "streams/1/", {(kept, 6)})
    assert maker.content(store, early) == {}
    assert maker.content(store, later) and maker.content(store, young)
    left = maker.content(store, kept).keys()
    assert {"offsets/7", "commits/7", "state/0/0/8.changelog"} <= left
    assert "state/0/0/SSTs/000099-b.sst" in left
    assert {"state/0/0/3.zip", "state/0/0/SSTs/000003-a.sst", "offsets/4"}.isdisjoint(left)
    checkpoints.prune(store, "streams/1/", {(young, 7)})
    assert maker.content(store, later) == {}
    assert "state/0/0/SSTs/000006-a.sst" in maker.content(store, young)


def test_a_folder_just_made_stays_though_a_newer_one_is_kept(store: ObjectStore):
    first, second = place(), place()
    maker.make(store, first, 2)
    maker.make(store, second, 2)
    assert checkpoints.prune(store, "streams/1/", {(second, 1)}) == 0
    assert maker.content(store, first)
    checkpoints.prune(store, "streams/1/", {(second, 1)}, grace=0)
    assert maker.content(store, first) == {}


def test_of_folders_of_one_job_the_higher_number_is_the_newer(local: ObjectStore):
    job = old_place(1)
    for number in (2, 9, 10):
        maker.make(local, f"{job}-{number}", 2)
    checkpoints.prune(local, "streams/1/", {(f"{job}-9", 1)})
    assert [bool(maker.content(local, f"{job}-{n}")) for n in (2, 9, 10)] == [False, True, True]


def test_nothing_to_keep_removes_nothing_and_damage_stays(local: ObjectStore):
    source = old_place(1)
    maker.make(local, source, BATCHES, SNAPSHOTS)
    assert checkpoints.prune(local, "streams/1/", set()) == 0
    harm(local, f"{source}/state/0/0/6.zip", "cut")
    before = maker.content(local, source)
    assert checkpoints.prune(local, "streams/1/", {(source, 7)}) == 0
    assert maker.content(local, source) == before


# -- savepoints ----------------------------------------------------------------------------


@pytest.fixture(params=["local", "s3"])
def lake(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lake]:
    store = None
    if request.param == "s3":
        server = request.getfixturevalue("s3")
        for name, value in server.options.items():
            variable = {"endpoint": "AWS_ENDPOINT_URL", "region": "AWS_REGION"}
            monkeypatch.setenv(variable.get(name, f"AWS_{name.upper()}"), value)
        store = server.create_bucket(f"b{new_id()}") + "/lake"
    with tl.init(tmp_path / "lake", store=store) as made:
        with made._core.database.write() as session:
            add_repo(session, NAME, "", RepoKind.OUTPUT, "me")
            key = repos.key_of(session, NAME)
            assert key is not None
            flows.add(session, key, "stream")
        yield made


def key_of(lake: Lake) -> int:
    with lake._core.database.read() as session:
        key = repos.key_of(session, NAME)
    assert key is not None
    return key


def batch_of(checkpoint: str, number: int) -> Batch:
    state = {"checkpoint": checkpoint, "batch": number, "generation": number + 1}
    return Batch(new_id(), 2, number, number, {"a": "x"}, {"a": "y"}, state=state)


@pytest.mark.slow
def test_a_savepoint_is_a_commit_and_comes_back_as_a_checkpoint(lake: Lake):
    core, source = lake._core, place(key_of(lake))
    maker.make(core.objects, source, BATCHES, SNAPSHOTS)
    batch = batch_of(source, 4)
    assert savepoints.find(core, NAME, batch.commit) is None
    assert savepoints.listed(core, NAME) == []
    commit = savepoints.savepoint(core, NAME, batch, "ada")
    assert (commit.branch, commit.message, commit.author) == (
        "checkpoint",
        "savepoint of batch 4",
        "ada",
    )
    assert savepoints.savepoint(core, NAME, batch, "ada").id == commit.id
    assert savepoints.find(core, NAME, batch.commit) == commit
    (only,) = savepoints.listed(core, NAME)
    assert (only.id, only.commit, only.epoch, only.batch) == (commit.id, batch.commit, 2, 4)
    before = maker.content(core.objects, source)
    files = loose(core.objects)
    files.delete([info.key for info in files.list(source + "/")])
    target = place(key_of(lake))
    assert savepoints.restore(core, commit, target) == {**batch.state, "checkpoint": target}
    made = maker.content(core.objects, target)
    assert made.keys() == expected_in_fork(before, 4)
    assert made["state/0/1/left/5.changelog"] == before["state/0/1/left/5.changelog"]
    assert f"{target}/state/1/_stateSchema" in made["state/1/_metadata/v2/3"].decode()
    checkpoints.check(core.objects, target, 4)
    assert lake.fsck(deep=True).ok


def test_savepoints_share_their_tables_and_hold_nothing_of_others(lake: Lake):
    core, source = lake._core, place(key_of(lake))
    maker.make(core.objects, source, BATCHES, SNAPSHOTS)
    made = [savepoints.savepoint(core, NAME, batch_of(source, n), "ada") for n in (3, 4, 6)]
    assert [one.batch for one in savepoints.listed(core, NAME)] == [6, 4, 3]
    trees = [{line.split(b"\t")[0]: line for line in core.tree(one).scan()} for one in made]
    table = b"/checkpoint/state/0/0/SSTs/000003-a.sst"
    assert trees[0][table] == trees[1][table]
    assert table not in trees[2]
    assert b"/checkpoint/offsets/3" not in trees[2]


def test_a_savepoint_starts_nothing_below_the_stream(lake: Lake):
    core, source = lake._core, place(key_of(lake))
    maker.make(core.objects, source, 3)
    below = {"pipeline": {"name": "below"}, "input": tl.pfs("sessions", "/*")}
    lake.apply({**below, "transform": {"cmd": ["true"]}})
    before = lake.jobs()
    savepoints.savepoint(core, NAME, batch_of(source, 2), "ada")
    assert lake.jobs() == before


def test_a_savepoint_of_damaged_state_is_refused(lake: Lake):
    core, source = lake._core, place(key_of(lake))
    maker.make(core.objects, source, BATCHES, SNAPSHOTS)
    harm(core.objects, f"{source}/state/0/0/5.changelog", "removed")
    with pytest.raises(CheckpointDamaged, match=r"5\.changelog is missing"):
        savepoints.savepoint(core, NAME, batch_of(source, 4), "ada")
    assert savepoints.listed(core, NAME) == []


def test_what_is_no_savepoint_is_not_restored(lake: Lake):
    lake.create_repo("other")
    with lake.commit("other") as commit:
        commit.put("/a", b"a")
    with pytest.raises(NotFound, match="is no savepoint"):
        savepoints.restore(lake._core, commit.result, place())


def test_gc_and_fsck_leave_state_alone_until_its_repo_is_gone(lake: Lake):
    core, key = lake._core, key_of(lake)
    mine, other = place(key), place(key + 100)
    maker.make(core.objects, mine, 3)
    maker.make(core.objects, other, 3)
    before = maker.content(core.objects, mine)
    report = lake.fsck()
    assert report.ok
    assert report.unused_objects == 0
    would = lake.gc(grace=0, dry_run=True)
    assert maker.content(core.objects, other)
    assert lake.gc(grace=0).objects == would.objects > 0
    assert maker.content(core.objects, other) == {}
    assert maker.content(core.objects, mine) == before


def test_fsck_reports_a_stream_that_cannot_go_on(lake: Lake):
    core, key = lake._core, key_of(lake)
    source = place(key)
    maker.make(core.objects, source, 3)
    facts = {"state": {"checkpoint": source, "batch": 2, "generation": 3}}
    with core.database.write() as session:
        flows.advance(session, key, None, {}, facts)
    assert lake.fsck().ok
    harm(core.objects, f"{source}/state/0/0/2.changelog", "emptied")
    (problem,) = lake.fsck().problems
    assert (problem.kind, problem.where) == ("state", "sessions")
    assert "2.changelog is empty" in problem.message


def two_states(lake: Lake) -> tuple[Flow, str]:
    """A stream that goes on from the later one of its states, and the earlier one."""
    lake.create_repo("totals")
    early, kept = old_place(1), old_place(2)
    for folder in (early, kept):
        maker.make(lake._core.objects, folder, BATCHES, SNAPSHOTS)
    state = {"checkpoint": kept, "batch": 6}
    name = RepoName("default", "totals")
    return Flow(1, name, "stream", 1, 6, {}, FlowState.IDLE, "", {"state": state}, 0), early


def test_state_is_not_pruned_where_a_copy_of_the_lake_took_the_store(tmp_path: Path):
    with tl.init(tmp_path / "a", store=str(tmp_path / "store")) as lake:
        flow, early = two_states(lake)
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        assert tl.adopt(tmp_path / "b").took_store
        with pytest.raises(WrongLake):
            upkeep._forget_state(lake._core, flow, 1)
        assert maker.content(lake._core.objects, early)


def test_the_state_that_a_running_backup_needs_is_not_pruned(tmp_path: Path):
    with tl.init(tmp_path) as lake:
        core = lake._core
        flow, early = two_states(lake)
        backup = Lease(core, new_id(), "cron", kind=leases.BACKUP)
        backup.take()
        upkeep._forget_state(core, flow, 1)
        assert maker.content(core.objects, early)
        backup.give_back()
        upkeep._forget_state(core, flow, 1)
        assert maker.content(core.objects, early) == {}
