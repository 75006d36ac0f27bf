"""A store knows its lake and a lake its store; a copy is another lake until a person says more."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Result, process
from tests.copies import copy_lake
from tests.postgres import postgres
from tests.s3 import s3_server
from trunkline.errors import Precondition, TrunklineError, Usage, WrongLake
from trunkline.ingests.keeper import Keeper
from trunkline.lake.own_folders import MARK
from trunkline.schedule.ticker import Ticker
from trunkline.sdk.backups import restore
from trunkline.storage.catalog import identity


def made(folder: Path, **options: str) -> Path:
    with tl.init(folder, **options) as lake:
        lake.create_repo("orders")
        put(lake, "/a", b"one")
    return folder


def put(lake: tl.Lake, path: str, data: bytes) -> None:
    with lake.commit("orders@main") as commit:
        commit.put(path, data)


def lake_id(folder: Path) -> str:
    with tl.open(folder) as lake, lake._core.database.read() as session:
        return identity.lake_id(session)


def held(folder: Path) -> str:
    with tl.open(folder) as lake:
        return lake.status().held


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


# -- one store, one lake ---------------------------------------------------------------------------


def test_another_catalog_on_a_store_is_refused(tmp_path: Path, store: str):
    made(tmp_path / "a", store=store)
    with pytest.raises(WrongLake, match=f"{tmp_path}/a/.trunkline/catalog.db"):
        tl.init(tmp_path / "b", store=store)
    assert not (tmp_path / "b").exists() or not (tmp_path / "b/.trunkline/lake.toml").exists()
    with tl.open(tmp_path / "a") as lake:
        lake.gc(grace=0)
        assert lake.fsck(deep=True).ok


def test_an_empty_lake_owns_its_store_too(tmp_path: Path, store: str):
    tl.init(tmp_path / "a", store=store).close()
    with pytest.raises(WrongLake):
        tl.init(tmp_path / "b", store=store)


def test_objects_without_their_catalog_are_left_alone(tmp_path: Path):
    folder = made(tmp_path / "a") / ".trunkline"
    (folder / "lake.toml").unlink()
    for name in folder.glob("catalog.db*"):
        name.unlink()
    before = sorted((folder / "objects").rglob("*"))
    with pytest.raises(WrongLake):
        tl.init(tmp_path / "a")
    (folder / "objects" / MARK).unlink()
    with pytest.raises(WrongLake, match="objects of a lake whose catalog is not here"):
        tl.init(tmp_path / "a")
    assert set(before) - set((folder / "objects").rglob("*")) == {folder / "objects" / MARK}
    assert not (folder / "catalog.db").exists()


def test_the_catalog_of_one_lake_and_the_store_of_another(tmp_path: Path):
    made(tmp_path / "a")
    made(tmp_path / "b")
    catalog = f"sqlite:///{tmp_path}/a/.trunkline/catalog.db"
    with pytest.raises(WrongLake, match="belongs to a lake with the store"):
        tl.init(tmp_path / "c", catalog=catalog)
    with tl.init(tmp_path / "c", catalog=catalog, store=f"{tmp_path}/a/.trunkline/objects") as lake:
        assert lake.read("orders@main:/a") == b"one"
    toml = tmp_path / "b/.trunkline/lake.toml"
    toml.write_text(toml.read_text().replace("objects", f"{tmp_path}/a/.trunkline/objects"))
    with pytest.raises(WrongLake, match=f"{tmp_path}/a/.trunkline/catalog.db"):
        tl.open(tmp_path / "b")


def test_a_store_that_is_not_mounted_is_noticed(tmp_path: Path, store: str):
    made(tmp_path / "a", store=store)
    os.rename(store, f"{store}-elsewhere")
    with pytest.raises(WrongLake, match="no mark of this lake"):
        tl.open(tmp_path / "a")


def test_gc_looks_again_just_before_it_deletes(tmp_path: Path, store: str):
    made(tmp_path / "a", store=store)
    with tl.open(tmp_path / "a") as lake:
        lake.delete_repo("orders")
        mark = Path(store, MARK)
        told = json.loads(mark.read_text())
        mark.unlink()
        mark.write_text(json.dumps({**told, "generation": told["generation"] + 1}))
        with pytest.raises(WrongLake, match="was adopted by the catalog"):
            lake.gc(grace=0)


@pytest.mark.parametrize("content", ["nonsense" * 100, None])
def test_a_file_that_is_no_catalog_is_left_alone(tmp_path: Path, content: str | None):
    place = tmp_path / "a/.trunkline/catalog.db"
    place.parent.mkdir(parents=True)
    if content is None:
        with closing(sqlite3.connect(place)) as connection:
            connection.execute("CREATE TABLE accounts (name TEXT)")
    else:
        place.write_text(content)
    before = place.read_bytes()
    for folder, catalog in ((tmp_path / "a", None), (tmp_path / "b", f"sqlite:///{place}")):
        with pytest.raises(Precondition, match=f"{place} .* no catalog of a lake"):
            tl.init(folder, **({"catalog": catalog} if catalog else {}))
    assert place.read_bytes() == before
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [place]


def test_no_lake_is_made_inside_or_around_another(tmp_path: Path, store: str):
    a = made(tmp_path / "a", store=store)
    before = sorted(tmp_path.rglob("*"))
    for options in (
        {"store": f"{a}/.trunkline"},
        {"store": f"file://{a}/.trunkline/more"},
        {"store": f"{store}/data"},
        {"store": str(a)},
        {"store": str(tmp_path)},
        {"catalog": f"sqlite:///{a}/.trunkline/other.db"},
        {"catalog": f"sqlite:///{store}/packs/other.db"},
    ):
        with pytest.raises(Precondition, match=r"keeps its own files|would be around"):
            tl.init(tmp_path / "b", **options)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("given", ["", "  ", "stray", "./there"])
@pytest.mark.parametrize("option", ["store", "catalog"])
def test_what_is_no_address_becomes_no_folder(tmp_path: Path, option: str, given: str):
    with pytest.raises(Usage, match="is no address"):
        tl.init(tmp_path / "a", **{option: given})
    assert list(tmp_path.iterdir()) == []


# -- copies and moves ------------------------------------------------------------------------------


def test_a_copy_beside_a_shared_store_is_refused_until_it_is_adopted(tmp_path: Path, store: str):
    a, b = made(tmp_path / "a", store=store), tmp_path / "b"
    shutil.copytree(a, b)
    with pytest.raises(WrongLake, match=f"copy of {a}/.trunkline/catalog.db"):
        tl.open(b)
    with pytest.raises(WrongLake, match="share one store"):
        tl.adopt(b, as_new=True)
    done = tl.adopt(b)
    assert done.took_store
    with tl.open(b) as lake:
        put(lake, "/b", b"two")
    with pytest.raises(WrongLake, match=f"was adopted by the catalog {b}"):
        tl.open(a)
    assert tl.adopt(a).took_store  # back again
    with pytest.raises(WrongLake):
        tl.open(b)


def test_a_copy_with_its_own_objects_is_another_lake_that_holds_still(tmp_path: Path):
    a, b = made(tmp_path / "a"), tmp_path / "b"
    shutil.copytree(a, b)
    assert lake_id(b) != lake_id(a)
    assert held(b) == f"it was copied from {a}/.trunkline/catalog.db, or moved"
    assert held(a) == ""
    with tl.open(b) as lake:  # it can be worked with
        put(lake, "/b", b"two")
        lake.gc(grace=0)
        assert lake.fsck(deep=True).ok
    kept = lake_id(b)
    assert tl.adopt(b, as_new=True).was_held
    assert (lake_id(b), held(b)) == (kept, "")


def test_a_lake_that_was_moved_to_another_disk_takes_its_place_again(tmp_path: Path):
    a, b = made(tmp_path / "a"), tmp_path / "b"
    before = lake_id(a)
    shutil.copytree(a, b)
    shutil.rmtree(a)
    assert held(b)
    tl.adopt(b)
    assert (lake_id(b), held(b)) == (before, "")
    assert not tl.adopt(b).was_held  # nothing to do


def test_a_lake_that_is_renamed_is_at_home_without_a_word(tmp_path: Path, store: str):
    for name, options in (("a", {}), ("s", {"store": store})):
        folder = made(tmp_path / name, **options)
        before = lake_id(folder)
        folder.rename(tmp_path / f"{name}2")
        assert (lake_id(tmp_path / f"{name}2"), held(tmp_path / f"{name}2")) == (before, "")
        assert held(tmp_path / f"{name}2") == ""


def test_copied_back_to_its_old_place_one_of_the_two_is_the_copy(tmp_path: Path, store: str):
    """As people make a safe copy: mv a b; cp -r b a."""
    for name, options in (("a", {}), ("s", {"store": store})):
        first, second = tmp_path / name, tmp_path / f"{name}2"
        before = lake_id(made(first, **options))
        first.rename(second)
        shutil.copytree(second, first)
        assert (lake_id(first), held(first)) == (before, "")
        if not options:
            assert held(second)
            assert lake_id(second) != before
        else:
            with pytest.raises(WrongLake, match=f"copy of {first}/.trunkline/catalog.db"):
                tl.open(second)


def test_another_lake_in_its_old_place_does_not_matter(tmp_path: Path):
    made(tmp_path / "a")
    before = lake_id(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    made(tmp_path / "a")
    assert (lake_id(tmp_path / "b"), held(tmp_path / "b")) == (before, "")


def test_of_two_files_at_one_place_the_first_that_is_opened_keeps_the_store(
    tmp_path: Path, store: str
):
    """As on two machines with one name, whose catalogs are copies and whose bucket is one."""
    here, aside = made(tmp_path / "a", store=store), tmp_path / "aside"
    here.rename(aside)
    shutil.copytree(aside, here)
    with tl.open(here) as lake:
        put(lake, "/b", b"two")
    here.rename(tmp_path / "copy")
    aside.rename(here)
    with pytest.raises(WrongLake, match="was adopted by the catalog"):
        tl.open(here)


def test_a_lake_from_before_there_were_marks_gets_one(tmp_path: Path):
    folder = made(tmp_path / "a")
    with tl.open(folder) as lake, lake._core.database.write() as session:
        known = (identity.SEAT, identity.GENERATION)
        identity.note(session, dict.fromkeys(known))
    mark = folder / ".trunkline/objects" / MARK
    mark.unlink()
    with tl.open(folder) as lake:
        put(lake, "/b", b"two")
    assert json.loads(mark.read_text())["lake"] == lake_id(folder)


@pytest.mark.parametrize("act", ["init", "copy", "adopt"])
def test_killed_between_the_mark_and_the_catalog_the_next_try_goes_through(
    tmp_path: Path, store: str, act: str
):
    a, b = tmp_path / "a", tmp_path / "b"
    code = "import sys, trunkline as tl; "
    if act == "init":
        code += f"tl.init({str(a)!r}, store={store!r})"
    elif act == "copy":
        shutil.copytree(made(a), b)
        code += f"tl.open({str(b)!r})"
    else:
        shutil.copytree(made(a, store=store), b)
        code += f"tl.adopt({str(b)!r})"
    environ = {**os.environ, "TRUNKLINE_CRASH_AT": "identity.marked"}
    assert subprocess.run([sys.executable, "-c", code], env=environ).returncode == -9
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    with tl.open(a if act == "init" else b) as lake:
        lake.gc(grace=0)
        assert lake.fsck(deep=True).ok


def test_a_copy_takes_nothing_in_and_does_not_tick(tmp_path: Path):
    a, b, inbox = tmp_path / "a", tmp_path / "b", tmp_path / "inbox"
    inbox.mkdir()
    source = {"path": str(inbox), "settle": "0s", "format": "files", "then": "delete"}
    with tl.init(a) as lake:
        lake.apply({"ingest": {"name": "inbox"}, "source": {"folder": source}})
        clock = {"cron": {"name": "tick", "spec": "@every 1h", "repo": "clock"}}
        lake.apply({"pipeline": {"name": "late"}, "input": clock, "transform": {"cmd": ["true"]}})
    shutil.copytree(a, b)
    (inbox / "order1").write_text("one")
    with tl.open(b) as copy:
        assert Keeper(copy._core).drain() == []
        ticker = Ticker(copy._core)
        assert ticker.fire_due() is None
        assert ticker.fired == 0
    assert (inbox / "order1").exists()
    with tl.open(a) as lake:
        assert [one.commits for one in Keeper(lake._core).drain()] == [1]
    assert not (inbox / "order1").exists()
    tl.adopt(b, as_new=True)
    (inbox / "order2").write_text("two")
    with tl.open(b) as copy:
        assert [one.commits for one in Keeper(copy._core).drain()] == [1]
        assert Ticker(copy._core).fire_due() is not None


# -- by hand ---------------------------------------------------------------------------------------


def typed(folder: Path, *words: str) -> Result:
    return process(*words, TRUNKLINE_LAKE=str(folder))


def test_the_command_asks_and_tells(tmp_path: Path):
    a, b = made(tmp_path / "a"), tmp_path / "b"
    shutil.copytree(a, b)
    assert "Held: it was copied from" in typed(b, "status").out
    refused = typed(b, "adopt")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "at home here now" in typed(b, "adopt", "--yes").out
    assert "Held" not in typed(b, "status").out
    assert "already" in typed(b, "adopt", "--yes").out


def test_copies_for_tests_are_the_lake_itself(tmp_path: Path):
    a = made(tmp_path / "a")
    before = lake_id(a)
    assert lake_id(copy_lake(a, tmp_path / "b")) == before


# -- backups ---------------------------------------------------------------------------------------


def test_a_restored_lake_is_another_that_holds_still(tmp_path: Path, store: str):
    a = made(tmp_path / "a", store=store)
    with tl.open(a) as lake:
        lake.backup(tmp_path / "backups")
    restore(tmp_path / "backups", tmp_path / "b", store=str(tmp_path / "store2"))
    assert lake_id(tmp_path / "b") != lake_id(a)
    assert "restored from the backup of" in held(tmp_path / "b")
    tl.adopt(tmp_path / "b")
    assert (lake_id(tmp_path / "b"), held(tmp_path / "b")) == (lake_id(a), "")


def test_nothing_is_restored_or_backed_up_into_another_lakes_store(tmp_path: Path, store: str):
    a, b = made(tmp_path / "a"), tmp_path / "b"
    tl.init(b, store=store).close()  # empty, and its own all the same
    with tl.open(a) as lake:
        lake.backup(tmp_path / "backups")
        for place in (store, f"{store}/below"):
            with pytest.raises(TrunklineError):
                lake.backup(place)
    with pytest.raises(WrongLake, match=f"{b}/.trunkline/catalog.db"):
        restore(tmp_path / "backups", tmp_path / "c", store=store)
    left = [one.relative_to(store) for one in Path(store).rglob("*") if one.is_file()]
    assert [one for one in left if one.parts[0] != "tmp"] == [Path(MARK)]


def test_a_neighbour_of_the_store_is_not_the_store(tmp_path: Path, store: str):
    with tl.open(made(tmp_path / "a", store=store)) as lake:
        assert lake.backup(f"{store}-safe").objects
        with pytest.raises(TrunklineError, match="into itself"):
            lake.backup(f"{store}/safe")
        tl.init(tmp_path / "b").close()
        before = sorted(tmp_path.rglob("*"))
        for place in ("a/.trunkline/safe", "a/.trunkline", "b/.trunkline", "b/.trunkline/x"):
            with pytest.raises(TrunklineError, match="keeps its own files"):
                lake.backup(tmp_path / place)
        assert sorted(tmp_path.rglob("*")) == before


# -- databases and buckets -------------------------------------------------------------------------


def test_a_copy_of_a_database_is_refused_until_it_is_adopted(tmp_path: Path, store: str):
    server = postgres()
    database = server.empty_database()
    made(tmp_path / "a", catalog=server.url(database), store=f"file://{store}")
    copy = f"copy_{uuid.uuid4().hex}"
    server._run(f"CREATE DATABASE {copy} TEMPLATE {database}")
    with pytest.raises(WrongLake, match="not of this one|belongs to a lake with the store"):
        tl.init(tmp_path / "x", catalog=server.url(database), store=f"file://{store}-other")
    tl.init(tmp_path / "b", catalog=server.url(database), store=f"file://{store}").close()
    toml = tmp_path / "b/.trunkline/lake.toml"
    toml.write_text(toml.read_text().replace(database, copy))
    with pytest.raises(WrongLake, match="is a copy of database"):
        tl.open(tmp_path / "b")
    assert tl.adopt(tmp_path / "b").took_store
    with tl.open(tmp_path / "b") as lake:
        put(lake, "/b", b"two")
    with pytest.raises(WrongLake, match="was adopted by the catalog"):
        tl.open(tmp_path / "a")


def test_a_bucket_knows_its_lake_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with s3_server() as s3:
        for name, value in s3.options.items():
            monkeypatch.setenv(f"AWS_{name.upper()}", value)
        monkeypatch.setenv("TRUNKLINE_S3_ENDPOINT", s3.endpoint)
        url = s3.create_bucket("shared") + "/lakes/one"
        a, other = made(tmp_path / "a", store=url), made(tmp_path / "other")
        shutil.copytree(a, tmp_path / "copy")
        with pytest.raises(WrongLake, match=f"copy of {a}/.trunkline/catalog.db"):
            tl.open(tmp_path / "copy")
        for place in (url, f"{url}/data", f"{url}/data/deep/er"):
            with pytest.raises(WrongLake, match=f"{a}/.trunkline/catalog.db"):
                tl.init(tmp_path / "b", store=place)
            with tl.open(other) as lake:
                with pytest.raises(WrongLake, match=f"{a}/.trunkline/catalog.db"):
                    lake.backup(place)
                with pytest.raises(WrongLake, match=f"{a}/.trunkline/catalog.db"):
                    lake.export("orders@main", place)
        with tl.open(a) as lake:
            with pytest.raises(TrunklineError, match="into itself"):
                lake.backup(f"{url}/data")
            lake.gc(grace=0)
            assert lake.fsck(deep=True).ok
            assert lake.fsck().unused_objects == 0
        made(tmp_path / "b", store="s3://shared/lakes/two")
