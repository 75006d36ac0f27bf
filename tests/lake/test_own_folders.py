"""A lake does not eat itself: its own folder and store are no place to put, get or send."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from trunkline.errors import AlreadyExists, Precondition, TrunklineError
from trunkline.lake.own_folders import is_own, own_folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a lake, its store beside it, and files that are nobody's."""
    folder = tmp_path / "home"
    with tl.init(folder, store=str(folder / "store")) as lake:
        lake.create_repo("orders")
        with lake.commit("orders@main") as commit:
            commit.put("/catalog.db", b"not a catalog")
            commit.put("/sub/x.csv", b"a\n1\n")
    (folder / "mine.csv").write_text("a\n1\n")
    (folder / "lake.toml").write_text('title = "nobody\'s"\n')  # a name alone says nothing
    return folder


def own_places(home: Path) -> list[Path]:
    link = home / "link"
    link.symlink_to(home / ".trunkline")
    return [home / ".trunkline", home / "store", home / "store" / "new" / "deep", link / "x"]


def test_what_is_a_lakes_own(home: Path):
    assert is_own(home / ".trunkline")
    assert is_own(home / "store")
    assert not is_own(home)
    assert own_folder(home / "mine.csv") is None
    for place in own_places(home):
        assert own_folder(place) is not None


def test_put_leaves_lakes_out_and_refuses_them_by_name(home: Path, tmp_path: Path):
    with tl.open(home) as lake:
        lake.create_repo("copies")
        lake.put("copies@main", home, recursive=True)
        paths = {one.path for one in lake.ls("copies@main:/", recursive=True)}
        assert {path for path in paths if not path.endswith("/")} == {"/lake.toml", "/mine.csv"}
        before = list(lake.log("copies@main"))
        for place in (home / ".trunkline", home / "store", home / ".trunkline/catalog.db"):
            with pytest.raises(Precondition, match="keeps its own files"):
                lake.put("copies@main", place, recursive=True)
        assert list(lake.log("copies@main")) == before


def test_put_follows_no_link_into_a_lake(home: Path, tmp_path: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a").write_text("a")
    (folder / "keys").symlink_to(home / ".trunkline/catalog.db")
    with tl.open(home) as lake:
        with pytest.raises(Precondition, match=f"{folder}/keys is in {home}/.trunkline"):
            lake.put("orders@main", folder, recursive=True)
        source = {"path": str(folder), "pattern": "**", "settle": "0s", "format": "files"}
        lake.apply({"ingest": {"name": "mine"}, "source": {"folder": source}})
        lake.run()
        assert [one.path for one in lake.ls("mine@main:/")] == ["/a"]


def test_nothing_is_written_through_a_path_that_leads_into_a_lake(home: Path):
    with tl.open(home) as lake:
        with lake.commit("orders@main") as commit:
            commit.put("/.trunkline/config.toml", b"evil")
            commit.put("/store/x", b"evil")
        before = [*sorted((home / ".trunkline").iterdir()), *sorted(home.iterdir())]
        for act in (
            lambda: lake.get("orders@main:/", home, force=True),
            lambda: lake.export("orders@main", str(home)),
        ):
            with pytest.raises(Precondition, match="keeps its own files"):
                act()
        assert [*sorted((home / ".trunkline").iterdir()), *sorted(home.iterdir())] == before


def test_get_and_export_refuse_a_lakes_own_folder(home: Path):
    catalog = (home / ".trunkline/catalog.db").read_bytes
    with tl.open(home) as lake:
        held = catalog()
        for place in own_places(home):
            for act in (
                lambda place=place: lake.get("orders@main:/", place, force=True),
                lambda place=place: lake.get("orders@main:/catalog.db", place, force=True),
                lambda place=place: lake.get("orders@main:/", place / "x.tar", tar=True),
                lambda place=place: lake.export("orders@main", str(place)),
            ):
                with pytest.raises(TrunklineError, match="keeps its own files"):
                    act()
        assert catalog() == held
        assert lake.fsck(deep=True).ok


@pytest.mark.parametrize("then", ["delete", "keep", {"move": "/elsewhere"}])
def test_an_ingest_does_not_feed_on_a_lake(home: Path, then: Any):
    with tl.open(home) as lake:
        for name, path in (("own", home / "own"), ("around", home)):
            source = {"path": str(path), "pattern": "**", "settle": "0s", "format": "files"}
            lake.apply({"ingest": {"name": name}, "source": {"folder": {**source, "then": then}}})
        (home / "own").symlink_to(home / "store")  # after it was looked at
        report = lake.run()
        said = {one.name.repo: one.error for one in report.ingests}
        assert "keeps its own files" in said["own"]
        paths = {one.path for one in lake.ls("around@main:/", recursive=True)}
        assert not [path for path in paths if "catalog" in path or "manifests" in path]
        assert lake.fsck(deep=True).ok


def test_an_ingest_moves_nothing_into_a_lake(home: Path, tmp_path: Path):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "x").write_text("x")
    then = {"move": str(home / "store/packs")}
    source = {"path": str(inbox), "settle": "0s", "format": "files", "then": then}
    with tl.open(home) as lake:
        with pytest.raises(Precondition, match="keeps its own files"):
            lake.apply({"ingest": {"name": "inbox"}, "source": {"folder": source}})
    assert (inbox / "x").exists()


def test_a_lake_is_not_made_in_a_lakes_own_folder(home: Path):
    for place in (home / ".trunkline", home / "store", home / "store" / "below"):
        with pytest.raises(Precondition, match="keeps its own files"):
            tl.init(place)
    with pytest.raises(Precondition):
        tl.init(home / "other", store=str(home / ".trunkline" / "more"))


def test_git_leaves_a_lake_alone(home: Path):
    assert (home / ".trunkline/.gitignore").read_text().endswith("\n*\n")


# -- targets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "notes",
    [
        {"files": {"../victim.txt": ["", 1]}, "mode": "mirror"},
        {"files": {"/etc/victim": ["", 1]}, "mode": "mirror"},
        {"versions": {"../victim": []}, "mode": "versions"},
    ],
)
def test_names_in_the_notes_of_a_target_stay_inside_it(
    home: Path, tmp_path: Path, notes: dict[str, Any]
):
    out, victim = tmp_path / "out", tmp_path / "victim.txt"
    victim.write_text("mine")
    with tl.open(home) as lake:
        options = {"mode": notes["mode"], **({"keep": 1} if notes["mode"] == "versions" else {})}
        lake.export("orders@main", str(out), **options)
        path = out / ".trunkline.json"
        told = json.loads(path.read_text())
        path.write_text(json.dumps({**told, **notes}))
        with pytest.raises(TrunklineError, match="cannot be read"):
            lake.export("orders@main", str(out), **options)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_a_strangers_latest_is_not_replaced(home: Path, tmp_path: Path, kind: str):
    out = tmp_path / "out"
    out.mkdir()
    latest = out / "latest"
    if kind == "file":
        latest.write_text("mine")
    elif kind == "link":
        latest.symlink_to(tmp_path)
    else:
        latest.mkdir()
    with tl.open(home) as lake:
        with pytest.raises(TrunklineError, match="latest"):
            lake.export("orders@main", str(out), mode="versions")
        assert latest.is_symlink() == (kind == "link")
        assert list(out.iterdir()) == [latest]
        latest.rmdir() if kind == "folder" else latest.unlink()
        for _ in range(2):
            lake.export("orders@main", str(out), mode="versions")
        assert latest.is_symlink()


def test_get_writes_through_no_link(home: Path, tmp_path: Path):
    out, outside = tmp_path / "out", tmp_path / "outside"
    out.mkdir()
    outside.mkdir()
    (out / "sub").symlink_to(outside)
    (out / "catalog.db").symlink_to(tmp_path / "nowhere")
    with tl.open(home) as lake:
        for force in (False, True):
            with pytest.raises(AlreadyExists):
                lake.get("orders@main:/", out, force=force)
    assert list(outside.iterdir()) == []
    assert all(one.is_symlink() for one in out.iterdir())


def test_get_writes_nothing_if_something_else_is_in_the_way(home: Path, tmp_path: Path):
    out = tmp_path / "out"
    for name in ("sub", "catalog.db/there"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("mine")
        before = sorted(out.rglob("*"))
        with tl.open(home) as lake, pytest.raises(AlreadyExists, match="something else"):
            lake.get("orders@main:/", out, force=True)
        assert sorted(out.rglob("*")) == before
        shutil.rmtree(out)
