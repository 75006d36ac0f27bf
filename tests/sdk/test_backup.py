"""Backups: whole or not there, of one moment, copied once, restored anywhere."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.s3 import ACCESS_KEY, SECRET_KEY, S3Server, s3_server
from tests.sdk.conftest import local, put, tree
from trunkline import Lake
from trunkline.errors import (
    AlreadyExists,
    CorruptObject,
    Erased,
    InUse,
    NotFound,
    Usage,
)
from trunkline.lake import backup as backups_of
from trunkline.sdk import backups

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
    copy = backups_of._copy_all

    def slow(source, target):
        reached.set()
        go_on.wait(60)
        return copy(source, target)

    monkeypatch.setattr(backups_of, "_copy_all", slow)
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
    with pytest.raises(Usage, match="into itself"):
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


def test_a_neighbour_of_the_store_is_not_the_store(history):
    store = history._core.objects.uri("").removeprefix("file://").rstrip("/")
    assert history.backup(f"{store}-safe").objects
    with pytest.raises(Usage, match="into itself"):
        history.backup(f"{store}/safe")


def test_a_file_of_spark_that_was_half_copied_is_copied_again(history, tmp_path):
    """A backup that was killed leaves what it had of it: our own objects are whole or not there."""
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
