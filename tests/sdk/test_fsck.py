"""fsck: finds every promise that does not hold, and nothing in a lake that is sound."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.sdk.conftest import damage, data_objects, objects, put
from tests.served import home
from trunkline import Lake
from trunkline.errors import CorruptObject
from trunkline.lake.fsck import FsckReport
from trunkline.model.shape import as_json

LARGE = bytes(range(256)) * 8192


def kinds(report: FsckReport) -> list[str]:
    return sorted({problem.kind for problem in report.problems})


def edit(lake: Lake, sql: str, *values: object) -> None:
    """Change the catalog behind the lake's back, constraints and all."""
    with sqlite3.connect(Path(home(lake).location) / ".trunkline" / "catalog.db") as connection:
        connection.execute(sql, values)
    connection.close()


@pytest.fixture
def full(lake: Lake) -> Lake:
    """Packs, objects of their own, a merge, a tag, an open commit and one without files."""
    put(lake, "orders", a="one", b="two", empty="", large=LARGE)
    lake.create_branch("orders@dev", "main")
    put(lake, "orders@dev", c="three")
    put(lake, "orders", other=LARGE[::-1])
    lake.merge("orders@dev", "orders@main")
    lake.create_tag("orders@v1", "main^")
    lake.start_commit("orders@dev")
    put(lake, "orders@dev", d="four")
    lake.create_repo("empty")
    put(lake, "empty")
    return lake


def large_objects(lake: Lake) -> list[Path]:
    return [path for path in data_objects(lake) if path.suffix != ".pack"]


def pack(lake: Lake) -> Path:
    return next(path for path in data_objects(lake) if b"onetwo" in path.read_bytes())


@pytest.mark.parametrize("deep", [False, True])
def test_a_sound_lake_is_clean(full: Lake, deep: bool):
    report = full.fsck(deep=deep)
    assert report.problems == []
    assert report.ok
    assert (report.commits, report.files, report.unused_objects) == (6, 7, 0)
    assert report.objects == len(objects(full))
    assert report.bytes == sum(path.stat().st_size for path in objects(full))


def test_unused_objects_are_counted_and_no_problem(full: Lake):
    put(full, "orders", gone="soon")
    full.drop("orders@main")
    report = full.fsck()
    assert report.ok
    assert report.unused_objects == 2


@pytest.mark.parametrize("which", ["pack", "large"])
def test_a_flipped_byte_is_found_when_every_byte_is_hashed(full: Lake, which: str):
    victim = pack(full) if which == "pack" else large_objects(full)[0]
    content = bytearray(victim.read_bytes())
    content[1] ^= 1
    damage(victim, bytes(content))
    assert full.fsck().ok, "a quick look does not read the bytes"
    report = full.fsck(deep=True)
    assert kinds(report) == ["corrupt"]
    (problem,) = report.problems
    assert problem.where.startswith("orders@")
    assert problem.where.endswith(":/a" if which == "pack" else ":/large")
    with pytest.raises(CorruptObject, match="are damaged: expected BLAKE3"):
        full.read(f"orders@v1:/{'a' if which == 'pack' else 'large'}")


def test_a_flipped_byte_behind_an_empty_file_is_found(lake: Lake):
    """In a pack an empty file lies where the next one begins."""
    with lake.commit("orders") as commit:
        commit.put("/a", b"")
        commit.put("/b", b"content")
    (victim,) = data_objects(lake)
    damage(victim, b"Content")
    assert kinds(lake.fsck(deep=True)) == ["corrupt"]


@pytest.mark.parametrize("which", ["pack", "large"])
def test_a_cut_object_is_found(full: Lake, which: str):
    victim = pack(full) if which == "pack" else large_objects(full)[0]
    damage(victim, victim.read_bytes()[:-1])
    report = full.fsck()
    assert kinds(report) == ["cut"]
    assert "expected hash" in report.problems[0].message


@pytest.mark.parametrize("which", ["pack", "large"])
def test_a_missing_object_is_found(full: Lake, which: str):
    (pack(full) if which == "pack" else large_objects(full)[0]).unlink()
    report = full.fsck()
    assert kinds(report) == ["missing"]
    assert any(p.where.endswith(":/a" if which == "pack" else ":/large") for p in report.problems)


def test_swapped_objects_are_found(full: Lake):
    one, two = large_objects(full)
    first, second = one.read_bytes(), two.read_bytes()
    damage(one, second)
    damage(two, first)
    assert full.fsck().ok, "they have the same size"
    assert len(full.fsck(deep=True).problems) == 2


@pytest.mark.parametrize("how", ["flipped", "cut", "missing", "swapped"])
def test_a_damaged_manifest_is_found(full: Lake, how: str):
    one, two, *_ = (path for path in objects(full) if path.suffix == ".tlm")
    content = one.read_bytes()
    if how == "flipped":
        damage(one, content[:-1] + bytes([content[-1] ^ 1]))
    elif how == "cut":
        damage(one, content[:-3])
    elif how == "swapped":
        damage(one, two.read_bytes())
    else:
        one.unlink()
    assert "manifest" in kinds(full.fsck())


@pytest.mark.parametrize("how", ["flipped", "cut", "missing"])
def test_a_damaged_list_of_changes_of_an_open_commit_is_found(lake: Lake, how: str):
    lake.start_commit("orders@main")
    put(lake, "orders", a="1")
    (staged,) = (path for path in objects(lake) if path.suffix == ".tlm")
    content = staged.read_bytes()
    if how == "flipped":
        damage(staged, content[:-1] + bytes([content[-1] ^ 1]))
    elif how == "cut":
        damage(staged, content[:-3])
    else:
        staged.unlink()
    assert kinds(lake.fsck()) == ["staged"]
    with pytest.raises(CorruptObject, match="open commit"):
        lake.finish_commit("orders@main")
    opened = lake.status().open_commits[0].id
    lake.drop(f"orders@{opened}")
    assert lake.fsck().ok


def test_a_file_of_an_open_commit_is_checked_too(lake: Lake):
    lake.start_commit("orders@main")
    put(lake, "orders", a="1")
    data_objects(lake)[0].unlink()
    assert kinds(lake.fsck()) == ["missing"]


def test_a_branch_that_points_nowhere_is_found(full: Lake):
    edit(full, "UPDATE branches SET head = ? WHERE name = 'main' AND repo = 1", "0" * 32)
    report = full.fsck()
    assert "dangling" in kinds(report)
    assert any(p.where == "orders@main" for p in report.problems)


def test_a_tag_that_points_nowhere_is_found(full: Lake):
    edit(full, "UPDATE tags SET commit_id = ?", "0" * 32)
    assert kinds(full.fsck()) == ["dangling"]


def test_a_branch_at_an_unfinished_commit_is_found(full: Lake):
    edit(full, "UPDATE branches SET head = open WHERE open IS NOT NULL")
    assert "unfinished" in kinds(full.fsck())


def test_an_open_commit_that_is_none_is_found(full: Lake):
    edit(full, "UPDATE branches SET open = head WHERE open IS NOT NULL")
    assert "open" in kinds(full.fsck())


def test_a_hole_in_history_is_found(full: Lake):
    edit(full, "DELETE FROM commits WHERE depth = 1 AND repo = 1")
    assert "hole" in kinds(full.fsck())


def test_commits_out_of_order_are_found(full: Lake):
    edit(full, "UPDATE commits SET generation = 1, depth = 1 WHERE depth = 2")
    assert "order" in kinds(full.fsck())


def test_a_commit_that_counts_differently_from_its_manifest_is_found(full: Lake):
    edit(full, "UPDATE commits SET files = files + 1 WHERE depth = 1 AND repo = 1")
    assert kinds(full.fsck()) == ["totals"]


def test_a_report_is_read_by_machines_too(full: Lake):
    pack(full).unlink()
    told = as_json(full.fsck())
    assert told["ok"] is False
    assert set(told["problems"][0]) == {"kind", "where", "message"}
