"""Backups: whole or not there, of one moment, copied once, restored anywhere."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from blake3 import blake3

import trunkline as tl
from tests.postgres import postgres
from tests.reliability.harness import cli, killed
from tests.reliability.scenarios import RESTORE_POINTS
from tests.s3 import ACCESS_KEY, SECRET_KEY, S3Server, s3_server
from tests.sdk.conftest import damage, local, put, tree
from trunkline import Lake
from trunkline.errors import (
    AlreadyExists,
    AmbiguousId,
    CorruptObject,
    Erased,
    InUse,
    LeaseLost,
    NotFound,
    Precondition,
)
from trunkline.lake.backups import places, taking
from trunkline.lake.lease import Lease
from trunkline.model.entries import Entry
from trunkline.model.ids import new_id
from trunkline.model.shape import as_json
from trunkline.sdk import backups
from trunkline.storage.catalog import jobs, leases
from trunkline.storage.objects.keys import KeyMaker

# A backup is made where the lake is: its key stays there, and a server's files are no caller's.
pytestmark = local


def everything(lake: Lake) -> dict[str, object]:
    return {
        "repos": lake.repos(all_projects=True),
        "branches": lake.branches("orders"),
        "tags": lake.tags("orders"),
        "log": lake.commits("orders@main"),
        "files": tree(lake, "orders@main"),
        "before": tree(lake, "orders@main^"),
        "pipelines": lake.pipelines(),
        "jobs": lake.jobs(),
    }


@pytest.fixture
def history(lake: Lake) -> Lake:
    put(lake, "orders@main", a="one", b="x" * 2_000_000)
    put(lake, "orders@main", a="two", c="three")
    lake.create_tag("orders@v1", "main^")
    lake.apply({"pipeline": {"name": "copy"}, "input": {"pfs": {"repo": "orders", "glob": "/*"}},
                "transform": {"cmd": ["cp", "-r", "pfs/orders/.", "pfs/out/"]}})  # fmt: skip
    return lake


def test_a_restored_lake_is_the_same_lake(history, tmp_path):
    made = history.backup(tmp_path / "safe")
    where, chosen = backups.restore(tmp_path / "safe", tmp_path / "again")
    assert chosen == made
    with tl.open(where) as again:
        assert everything(again) == everything(history)
        assert not again.fsck(deep=True).problems
        put(again, "orders@main", d="four")
        assert tree(again, "orders@main")["/d"] == "four"


def test_a_second_backup_copies_what_is_new(history, tmp_path):
    first = history.backup(tmp_path / "safe")
    assert first.copied == first.objects
    same = history.backup(tmp_path / "safe")
    assert (same.copied, same.objects) == (0, first.objects)
    put(history, "orders@main", d="y" * 2_000_000)
    third = history.backup(tmp_path / "safe")
    assert 0 < third.copied < 5
    assert [one.id for one in backups.backups(tmp_path / "safe")] == [third.id, same.id, first.id]
    where, _ = backups.restore(tmp_path / "safe", tmp_path / "again", at=first.id[:12])
    with tl.open(where) as again:
        assert "/d" not in tree(again, "orders@main")


def test_commits_made_meanwhile_do_no_harm(history, tmp_path):
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.is_set():
            put(history, "orders@main", **{f"n{number}": "z" * 10})
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        history.backup(tmp_path / "safe")
    finally:
        over.set()
        writer.join()
    where, _ = backups.restore(tmp_path / "safe", tmp_path / "again")
    with tl.open(where) as again:
        assert not again.fsck(deep=True).problems


def test_gc_waits_for_a_backup(history, tmp_path, monkeypatch):
    reached, go_on = threading.Event(), threading.Event()
    copy = taking._Copying.all_of

    def slow(*args):
        reached.set()
        go_on.wait(60)
        return copy(*args)

    monkeypatch.setattr(taking._Copying, "all_of", slow)
    backup = threading.Thread(target=history.backup, args=[tmp_path / "safe"])
    backup.start()
    try:
        assert reached.wait(60)
        history.delete_pipeline("copy")
        history.delete_tag("orders@v1")
        history.delete_repo("orders")
        with pytest.raises(InUse, match="backup"):
            history.gc(grace=0)
    finally:
        go_on.set()
        backup.join()
    where, _ = backups.restore(tmp_path / "safe", tmp_path / "again")
    with tl.open(where) as again:
        assert tree(again, "orders@main")["/a"] == "two"
        assert not again.fsck(deep=True).problems
    assert history.gc(grace=0).objects > 0


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.mark.slow
def test_a_lake_moves_to_a_server(history, tmp_path, s3, monkeypatch):
    history.backup(tmp_path / "safe")
    bucket = s3.create_bucket("moved")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", s3.endpoint)
    monkeypatch.setenv("TRUNKLINE_S3_REGION", "us-east-1")
    monkeypatch.setenv("TRUNKLINE_S3_ALLOW_HTTP", "yes")
    server = postgres()
    url = server.url(server.empty_database())
    where, _ = backups.restore(
        tmp_path / "safe", tmp_path / "team", catalog=url, store=f"{bucket}/lake"
    )
    with tl.open(where) as team:
        assert everything(team) == everything(history)
        # Numbers go on after those that came with the backup.
        put(team, "orders@main", d="four")
        team.create_repo("more")
        assert not team.fsck(deep=True).problems
        back = team.backup(f"{bucket}/safe")
    home, chosen = backups.restore(f"{bucket}/safe", tmp_path / "home")
    assert chosen == back
    with tl.open(home) as again:
        assert tree(again, "orders@main")["/d"] == "four"


def test_what_is_not_whole_is_not_restored(history, tmp_path):
    made = history.backup(tmp_path / "safe")
    half = history.backup(tmp_path / "safe")
    (tmp_path / "safe/backups" / half.id / "backup.json").unlink()
    assert [one.id for one in backups.backups(tmp_path / "safe")] == [made.id]
    catalog = tmp_path / "safe/backups" / made.id / "catalog.zst"
    data = bytearray(catalog.read_bytes())
    data[len(data) // 2] ^= 1
    catalog.write_bytes(data)
    with pytest.raises(CorruptObject):
        backups.restore(tmp_path / "safe", tmp_path / "again")
    assert not (tmp_path / "again/.trunkline/lake.toml").exists()


def test_places_that_will_not_do(history, tmp_path):
    with pytest.raises(Precondition, match="into itself"):
        history.backup(Path(history.location) / ".trunkline/objects/safe")
    with pytest.raises(NotFound, match="no backup"):
        backups.restore(tmp_path / "nothing", tmp_path / "again")
    history.backup(tmp_path / "safe")
    with pytest.raises(NotFound, match='no backup "ffff"'):
        backups.restore(tmp_path / "safe", tmp_path / "again", at="ffff")
    with pytest.raises(AlreadyExists):
        backups.restore(tmp_path / "safe", history.location)


def test_secrets_stay_at_home(history, tmp_path):
    history.set_secret("db", "canary-5a1f")
    history.backup(tmp_path / "safe")
    where, _ = backups.restore(tmp_path / "safe", tmp_path / "again")
    assert not (Path(where) / ".trunkline/secrets.json").exists()
    shutil.rmtree(tmp_path / "safe/backups")
    assert not [
        p for p in (tmp_path / "safe").rglob("*") if p.is_file() and b"canary" in p.read_bytes()
    ]


def test_a_description_says_what_is_in_it(history, tmp_path):
    made = history.backup(tmp_path / "safe")
    text = (tmp_path / "safe/backups" / made.id / "backup.json").read_text()
    assert json.loads(text)["objects"] == made.objects


def test_a_file_of_spark_that_was_half_copied_is_copied_again(history, tmp_path):
    """As by other means: what we write there is whole or not there."""
    store = Path(history._core.objects.uri("").removeprefix("file://"))
    (store / "streams/1").mkdir(parents=True)
    (store / "streams/1/metadata").write_text("whole")
    history.backup(tmp_path / "safe")
    copy = tmp_path / "safe/streams/1/metadata"
    assert copy.read_text() == "whole"
    copy.write_text("wh")
    history.backup(tmp_path / "safe")
    assert copy.read_text() == "whole"


def test_what_was_erased_before_a_backup_does_not_come_back_with_it(history, tmp_path):
    """Though the place has the bytes, of an earlier backup: packed ones, and an object's own."""
    history.backup(tmp_path / "safe")
    for path in ("/a", "/b"):
        history.erase(f"orders:{path}", "asked for")
    history.backup(tmp_path / "safe")
    where, _ = backups.restore(tmp_path / "safe", tmp_path / "again")
    with tl.open(where) as again:
        for path in ("/a", "/b"):
            with pytest.raises(Erased):
                again.read(f"orders@v1:{path}")
        assert not again.fsck(deep=True).problems


# -- a promise -----------------------------------------------------------------------------------


def stored(folder: Path, kind: str) -> Path:
    """The largest object of a kind."""
    found = [path for path in (folder / kind).rglob("*") if path.is_file()]
    return max(found, key=lambda path: path.stat().st_size)


def flipped(path: Path) -> None:
    """Other bytes, as many of them."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    damage(path, bytes(data))


def store_of(lake: Lake) -> Path:
    return Path(lake.location) / ".trunkline/objects"


def test_a_backup_that_lost_its_lease_is_none(history, tmp_path, monkeypatch):
    """A laptop that slept: gc came after the lease, and before the objects were copied."""
    history.create_branch("orders@old", "main")
    put(history, "orders@old", only="here" * 1_000_000)
    copy = taking._Copying.all_of

    def sleep(*args):
        with history._core.database.write() as session:
            session.execute("UPDATE leases SET expires = 0")
        history.delete_branch("orders@old")
        assert history.gc(grace=0).objects
        return copy(*args)

    monkeypatch.setattr(taking._Copying, "all_of", sleep)
    with pytest.raises(LeaseLost, match="paused for too long"):
        history.backup(tmp_path / "safe")
    assert backups.backups(tmp_path / "safe") == []


def test_a_lease_that_was_lost_after_all_was_copied_makes_no_backup_either(
    history, tmp_path, monkeypatch
):
    list_objects = places.write_objects

    def sleep(*args):
        with history._core.database.write() as session:
            session.execute("UPDATE leases SET expires = 0")
        return list_objects(*args)

    monkeypatch.setattr(taking, "write_objects", sleep)
    with pytest.raises(LeaseLost):
        history.backup(tmp_path / "safe")
    assert backups.backups(tmp_path / "safe") == []
    monkeypatch.undo()
    assert history.backup(tmp_path / "safe").copied == 0, "what was copied is right"


@pytest.mark.parametrize("kind", ["data", "packs", "manifests"])
@pytest.mark.parametrize("harm", [Path.unlink, flipped])
def test_a_damaged_lake_is_not_backed_up_as_if_it_were_whole(history, tmp_path, kind, harm):
    victim = stored(store_of(history), kind)
    harm(victim)
    with pytest.raises(CorruptObject, match=victim.name):
        history.backup(tmp_path / "safe")
    assert backups.backups(tmp_path / "safe") == []


@pytest.mark.parametrize("kind", ["data", "packs", "manifests"])
@pytest.mark.parametrize("harm", [Path.unlink, flipped])
def test_a_damaged_backup_is_not_restored_and_can_be_mended(history, tmp_path, kind, harm):
    safe, again = tmp_path / "safe", tmp_path / "again"
    history.backup(safe)
    assert backups.verify(safe, deep=True).ok
    victim = stored(safe, kind)
    harm(victim)
    assert backups.verify(safe).ok == victim.exists(), "sizes are the same"
    report = backups.verify(safe, deep=True)
    (problem,) = report.problems
    assert victim.name in problem and as_json(report)["ok"] is False
    with pytest.raises(CorruptObject, match=victim.name):
        backups.restore(safe, again)
    assert not (again / ".trunkline/lake.toml").exists()
    victim.unlink(missing_ok=True)
    assert history.backup(safe).copied == 1
    assert backups.verify(safe, deep=True).ok
    backups.restore(safe, again)
    with tl.open(again) as lake:
        assert everything(lake) == everything(history)
        assert lake.fsck(deep=True).ok


def test_what_no_backup_lists_is_read_before_it_is_believed(history, tmp_path):
    """What a backup that was killed has left, or somebody else."""
    made = history.backup(tmp_path / "safe")
    (tmp_path / "safe/backups" / made.id / "backup.json").unlink()
    for kind in ("data", "packs", "manifests"):
        flipped(stored(tmp_path / "safe", kind))
    assert history.backup(tmp_path / "safe").copied == 3
    assert backups.verify(tmp_path / "safe", deep=True).ok


def test_what_jobs_keep_may_change_and_earlier_backups_are_restored(history, tmp_path):
    """An erasure takes words out of logs and results."""
    with history._core.database.read() as session:
        ((repo, job_id),) = jobs.unfinished_places(session)
    key = f"jobs/{job_id}-{repo}/0.part"
    for text in (b"", b"" + b'{"outputs":[]}\n'):
        history._core.objects.put(key, zstandard.ZstdCompressor().compress(text))
        history.backup(tmp_path / "safe")
    first = backups.backups(tmp_path / "safe")[1]
    assert backups.verify(tmp_path / "safe", at=first.id, deep=True).ok
    backups.restore(tmp_path / "safe", tmp_path / "again", at=first.id)
    damage(tmp_path / "safe" / key, b"something else")
    assert not backups.verify(tmp_path / "safe", at=first.id).ok


def test_what_a_job_writes_while_it_is_backed_up_is_none_of_its_business(
    history, tmp_path, monkeypatch
):
    """A part, and a file that it names, come when the objects have been listed already."""
    with history._core.database.read() as session:
        ((repo, job_id),) = jobs.unfinished_places(session)
    listed = places.sizes

    def then_write(store, prefixes):
        found = listed(store, prefixes)
        if store is history._core.objects:
            keys = KeyMaker(new_id())
            store.put(key := keys.data("late"), b"late")
            line = Entry("/late", blake3(b"late").hexdigest(), 4, key).encode().decode()
            part = json.dumps({"outputs": [line]}).encode() + b"\n"
            packed = zstandard.ZstdCompressor().compress(part)
            store.put(f"jobs/{job_id}-{repo}/0.part", packed)
        return found

    monkeypatch.setattr(taking, "sizes", then_write)
    taken = history.backup(tmp_path / "safe")
    assert backups.verify(tmp_path / "safe", at=taken.id, deep=True).ok
    backups.restore(tmp_path / "safe", tmp_path / "again")
    with tl.open(tmp_path / "again") as again:
        assert again.fsck(deep=True).ok


def test_two_lakes_in_one_place_do_not_mix(history, tmp_path):
    history.backup(tmp_path / "safe")
    with tl.init(tmp_path / "second") as second:
        second.create_repo("notes")
        put(second, "notes", a="of the second")
        latest = second.backup(tmp_path / "safe")
    listed = backups.backups(tmp_path / "safe")
    assert [one.name for one in listed] == ["second", "lake"]
    assert len({one.lake for one in listed}) == 2
    with pytest.raises(Precondition, match="backups of 2 lakes: .*second"):
        backups.restore(tmp_path / "safe", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    with pytest.raises(AmbiguousId):
        backups.restore(tmp_path / "safe", tmp_path / "again", at=latest.id[:3])
    with pytest.raises(NotFound, match="third"):
        backups.verify(tmp_path / "safe", lake="third")
    assert backups.verify(tmp_path / "safe", lake=latest.lake[:12]).backup == latest
    backups.restore(tmp_path / "safe", tmp_path / "again", lake="lake")
    with tl.open(tmp_path / "again") as again:
        assert everything(again) == everything(history)
        assert again.fsck().unused_objects == 0, "nothing of the other lake is there"


def test_a_link_to_the_own_store_and_the_store_of_another_lake_are_refused(history, tmp_path):
    (tmp_path / "link").symlink_to(store_of(history))
    for inside in (tmp_path / "link", tmp_path / "link/below"):
        with pytest.raises(Precondition, match="into itself"):
            history.backup(inside)
    with tl.init(tmp_path / "other") as other:
        other.create_repo("notes")
        put(other, "notes", a="1")
        with pytest.raises(Precondition, match="is that of the lake with the catalog"):
            history.backup(store_of(other))


def test_a_foreign_file_in_the_way_is_named_and_left_alone(history, tmp_path):
    history.backup(tmp_path / "safe")
    folder = tmp_path / "again/.trunkline"
    folder.mkdir(parents=True)
    for path in (folder / "catalog.db", folder / "objects"):
        path.write_text("mine")
        with pytest.raises(Precondition, match=f"{path.name} is in the way"):
            backups.restore(tmp_path / "safe", tmp_path / "again")
        assert path.read_text() == "mine"
        assert [one.name for one in folder.iterdir()] == [path.name]
        path.unlink()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Precondition, match="file is in the way"):
        backups.restore(tmp_path / "safe", tmp_path / "file")


def test_a_plan_says_what_would_be_written_and_writes_nothing(history, tmp_path):
    made = history.backup(tmp_path / "safe")
    plan = backups.plan_restore(tmp_path / "safe", tmp_path / "again")
    assert (plan.backup, plan.there) == (made, 0)
    assert plan.catalog == str(tmp_path / "again/.trunkline/catalog.db")
    assert plan.store == str(tmp_path / "again/.trunkline/objects")
    assert not (tmp_path / "again").exists()
    stored(tmp_path / "safe", "data").unlink()
    with pytest.raises(CorruptObject, match="is missing"):
        backups.plan_restore(tmp_path / "safe", tmp_path / "again")


@pytest.mark.parametrize("point", RESTORE_POINTS)
def test_a_restore_that_was_killed_can_be_tried_again(history, tmp_path, point):
    first = history.backup(tmp_path / "safe")
    put(history, "orders@main", d="four")
    history.backup(tmp_path / "safe")
    again = tmp_path / "again"
    for at in (first.id, first.id, ""):
        chosen = ["--at", at] if at else []
        result = cli(
            "backup", "restore", tmp_path / "safe", again, *chosen, TRUNKLINE_CRASH_AT=point
        )
        assert killed(result), result
        assert not (again / ".trunkline/lake.toml").exists()
    flipped(stored(again / ".trunkline/objects", "packs"))
    assert backups.plan_restore(tmp_path / "safe", again).there
    with pytest.raises(Precondition, match="Another restore was begun"):
        backups.restore(tmp_path / "safe", tmp_path / "else", store=f"{again}/.trunkline/objects")
    backups.restore(tmp_path / "safe", again)
    with tl.open(again) as lake:
        assert everything(lake) == everything(history)
        assert lake.fsck(deep=True).ok
    assert not (again / ".trunkline/objects/restoring.json").exists()
    with pytest.raises(AlreadyExists):
        backups.restore(tmp_path / "safe", again)


@pytest.mark.slow
def test_a_restore_into_a_database_that_was_killed_can_be_tried_again(history, tmp_path):
    history.backup(tmp_path / "safe")
    server = postgres()
    url = server.url(server.empty_database())
    command = ["backup", "restore", tmp_path / "safe", tmp_path / "team",
               "--catalog", url, "--store", f"file://{tmp_path}/objects"]  # fmt: skip
    assert killed(cli(*command, TRUNKLINE_CRASH_AT="restore.catalog_written"))
    assert cli(*command).code == 0
    with tl.open(tmp_path / "team") as team:
        assert everything(team) == everything(history)
        assert team.fsck(deep=True).ok


def test_no_backup_begins_while_something_is_erased(history, tmp_path):
    erasing = Lease(history._core, new_id(), "ada", kind=leases.ERASE)
    erasing.take()
    with pytest.raises(InUse, match="being erased"):
        history.backup(tmp_path / "safe")
    assert not (tmp_path / "safe").exists()
    erasing.give_back()
    history.backup(tmp_path / "safe")


@pytest.mark.slow
def test_the_command_says_what_is_wrong_in_one_line(history, tmp_path):
    history.backup(tmp_path / "safe")
    assert cli("backup", "verify", tmp_path / "safe", "--deep").out.endswith(": all is well.\n")
    said = cli("backup", "restore", tmp_path / "safe", tmp_path / "again", "--dry-run").out
    assert "Would restore backup" in said and str(tmp_path / "again/.trunkline/objects") in said
    victim = stored(tmp_path / "safe", "packs")
    flipped(victim)
    found = cli("backup", "verify", tmp_path / "safe", "--deep")
    assert found.code == 1 and f"{victim.name} is damaged\n" in found.out
    (tmp_path / "again/.trunkline").mkdir(parents=True)
    (tmp_path / "again/.trunkline/catalog.db").write_text("mine")
    result = cli("backup", "restore", tmp_path / "safe", tmp_path / "again")
    assert result.code == 6 and "catalog.db is in the way" in result.err
