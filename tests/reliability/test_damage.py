"""Damaged bytes are never passed on: the error names the path and the hash, fsck finds it all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.reliability.harness import assert_sound, cli
from trunkline.errors import CorruptObject
from trunkline.lake.manifests import ManifestStore
from trunkline.model.entries import Entry

MANY = 300  # enough that the list of files has an object of its own


@pytest.fixture(scope="module")
def whole(fast_folder: Path) -> Path:
    """Small and large files in r, each with another beside it, and many files in many."""
    folder = fast_folder / "whole"
    with tl.init(folder) as lake:
        for repo in ("r", "other", "many", "more"):
            lake.create_repo(repo)
        for repo in ("r", "other"):
            with lake.commit(f"{repo}@main") as commit:
                for name in ("a", "b"):
                    commit.put(f"/{name}", f"{repo} {name} ".encode() * 100)
                    commit.put(f"/{name}.bin", os.urandom(2 << 20))
        for repo in ("many", "more"):
            with lake.commit(f"{repo}@main") as commit:
                for number in range(MANY):
                    commit.put(f"/{number}", f"{repo} {number}".encode())
    return folder


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Iterator[tl.Lake]:
    """A copy of that lake, about to be damaged."""
    copy_lake(whole, tmp_path, dirs_exist_ok=True)
    with tl.open(tmp_path) as lake:
        yield lake


def file_of(lake: tl.Lake, key: str) -> Path:
    return Path(lake.location) / ".trunkline" / "objects" / key


def entry_of(lake: tl.Lake, ref: str) -> Entry:
    parsed = lake._ref(ref)
    line = lake._core.tree_of(parsed).find((parsed.path or "/").encode())
    assert line is not None
    return Entry.decode(line)


# -- kinds of damage -------------------------------------------------------------------------


def overwrite(path: Path, data: bytes | bytearray) -> None:
    path.unlink()
    path.write_bytes(data)


def flip(path: Path, beside: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    overwrite(path, data)


def cut(path: Path, beside: Path, at: int) -> None:
    overwrite(path, path.read_bytes()[:at])


def grow(path: Path, beside: Path, at: int) -> None:
    data = path.read_bytes()
    overwrite(path, data[:at] + b"?" + data[at:])


def empty(path: Path, beside: Path, at: int) -> None:
    overwrite(path, b"")


def swap(path: Path, beside: Path, at: int) -> None:
    mine, other = path.read_bytes(), beside.read_bytes()
    overwrite(path, other)
    overwrite(beside, mine)


def lose(path: Path, beside: Path, at: int) -> None:
    path.unlink()


KINDS = [flip, cut, grow, empty, swap, lose]
Damage = Callable[[Path, Path, int], None]


# -- files -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    path: str
    beside: str
    """What is swapped with it."""


CASES = {"packed": Case("/a", "other@main:/a"), "whole": Case("/a.bin", "r@main:/b.bin")}


@pytest.mark.parametrize("damage", KINDS)
@pytest.mark.parametrize("kind", CASES)
def test_a_damaged_file_is_named_and_others_are_fine(damaged, tmp_path, kind, damage: Damage):
    case = CASES[kind]
    entry = entry_of(damaged, f"r@main:{case.path}")
    beside = entry_of(damaged, case.beside)
    damage(
        file_of(damaged, entry.key),
        file_of(damaged, beside.key),
        (entry.offset or 0) + entry.size // 2,
    )

    with pytest.raises(CorruptObject) as caught:
        damaged.read(f"r@main:{case.path}")
    assert case.path in caught.value.message
    assert entry.hash in caught.value.message
    result = cli("cat", "--lake", tmp_path, f"r@main:{case.path}", "--json")
    assert result.code == 1
    assert result.error["code"] == "corrupt"

    for options in ([f"r@main:{case.path}"], ["-r", "r@main"], ["--tar", "r@main"]):
        got = cli("get", "--lake", tmp_path, *options, tmp_path / "got", "--json")
        assert got.code == 1, got
        assert got.error["code"] == "corrupt"
        assert "BLAKE3" in got.error["message"]
        assert not (tmp_path / "got").exists()
        assert not list(tmp_path.glob(".got*"))

    found = {problem.where.rpartition(":")[2] for problem in damaged.fsck(deep=True).problems}
    assert case.path in found
    assert entry.hash in " ".join(p.message for p in damaged.fsck(deep=True).problems)
    if damage is flip:
        assert found == {case.path}
        assert damaged.read("r@main:/b") == b"r b " * 100
    if damage in (lose, empty):
        shallow = damaged.fsck()
        assert case.path in {problem.where.rpartition(":")[2] for problem in shallow.problems}
    assert cli("fsck", "--deep", "--lake", tmp_path).code == 1
    assert damaged.read("many@main:/7") == b"many 7"
    assert len(list(damaged.ls("r@main", recursive=True))) == 4

    with damaged.commit("r@main", "put again") as commit:
        commit.put(case.path, b"from its source")
    assert damaged.read(f"r@main:{case.path}") == b"from its source"


def test_a_part_of_a_damaged_large_file_that_is_missing_is_noticed(damaged):
    entry = entry_of(damaged, "r@main:/a.bin")
    cut(file_of(damaged, entry.key), Path(), 1 << 20)
    with pytest.raises(CorruptObject, match=entry.hash):
        list(damaged.cat("r@main:/a.bin", 1 << 19, 1 << 20))


# -- lists of files --------------------------------------------------------------------------


def manifests(lake: tl.Lake, repo: str) -> dict[str, str]:
    """The keys of a repo's root and of its first range."""
    root = lake.commit_info(f"{repo}@main").root
    assert root is not None
    tree = lake._core.tree_of(lake._ref(f"{repo}@main"))
    assert len(tree.ranges) == 1
    return {"root": root, "range": tree.ranges[0].key}


def fresh(lake: tl.Lake) -> tl.Lake:
    """As another process would see it: nothing is remembered."""
    lake.close()
    return tl.open(lake.location)


@pytest.mark.parametrize("damage", KINDS)
@pytest.mark.parametrize("kind", ["root", "range"])
def test_a_damaged_list_of_files_is_named_and_others_are_fine(damaged, tmp_path, kind, damage):
    key, beside = (manifests(damaged, repo)[kind] for repo in ("many", "more"))
    size = file_of(damaged, key).stat().st_size
    damage(file_of(damaged, key), file_of(damaged, beside), size // 2)

    with fresh(damaged) as lake:
        for read in (
            lambda: list(lake.ls("many@main")),
            lambda: lake.read("many@main:/7"),
            lambda: list(lake.diff("many@main", "more@main").changes),
        ):
            with pytest.raises(CorruptObject) as caught:
                read()
            assert key in caught.value.message or beside in caught.value.message
            assert "expected" in caught.value.message
        problems = lake.fsck().problems
        assert key in " ".join(problem.message for problem in problems)
        assert any("many@" in problem.where for problem in problems)
        assert lake.read("r@main:/a") == b"r a " * 100
        if damage is not swap:
            assert lake.read("more@main:/7") == b"more 7"
        with pytest.raises(CorruptObject):
            lake.gc(grace=0)
        with pytest.raises(CorruptObject), lake.commit("many@main") as commit:
            commit.put("/7", b"new")
    result = cli("ls", "--lake", tmp_path, "many@main", "--json")
    assert (result.code, result.error["code"]) == (1, "corrupt")


@pytest.mark.parametrize("kind", ["root", "range"])
def test_every_single_byte_of_a_list_of_files_counts(damaged, kind):
    keys = manifests(damaged, "many")
    path = file_of(damaged, keys[kind])
    sound = path.read_bytes()
    expected = list(damaged.ls("many@main", recursive=True))
    noticed = 0
    for at in {*range(min(len(sound), 64)), *range(0, len(sound), len(sound) // 64 + 1)}:
        flip(path, path, at)
        damaged._core.manifests = ManifestStore(damaged._core.objects)
        try:
            # A bit that zstd leaves unused may change: what comes out is still compared.
            assert list(damaged.ls("many@main", recursive=True)) == expected
        except CorruptObject:
            noticed += 1
        overwrite(path, sound)
    assert noticed > 60


def test_a_range_that_is_stored_twice_is_checked_twice(damaged):
    """A copy by reference has the same list of files, kept in an object of its own."""
    damaged.create_repo("copy")
    damaged.cp("many@main:/", "copy@main:/")
    mine, copy = (manifests(damaged, repo)["range"] for repo in ("many", "copy"))
    assert mine != copy
    for key in (mine, copy):
        sound = file_of(damaged, key).read_bytes()
        flip(file_of(damaged, key), Path(), len(sound) // 2)
        report = damaged.fsck(deep=True)
        assert key in " ".join(problem.message for problem in report.problems)
        overwrite(file_of(damaged, key), sound)
    assert_sound(damaged)


@pytest.mark.parametrize("damage", [flip, cut, empty, lose])
def test_damaged_changes_of_an_open_commit_are_not_committed(damaged, damage):
    damaged.start_commit("r@main")
    with damaged.commit("r@main") as commit:
        commit.put("/staged", b"staged")
    with damaged._core.database.read() as session:
        (row,) = session.all("SELECT key FROM staged")
    path = file_of(damaged, row["key"])
    damage(path, path, path.stat().st_size // 2)
    assert row["key"] in " ".join(p.message + p.where for p in damaged.fsck().problems)
    with pytest.raises(CorruptObject, match=row["key"]):
        damaged.finish_commit("r@main")
    with pytest.raises(CorruptObject):
        damaged.gc(grace=0)
    assert damaged.read("r@main:/a") == b"r a " * 100


# -- the catalog -----------------------------------------------------------------------------


def header(data: bytearray) -> bytes | bytearray:
    return b"not a database at all" + data[21:]


def half(data: bytearray) -> bytes | bytearray:
    return data[: len(data) // 2]


def nothing(data: bytearray) -> bytes | bytearray:
    return b""


def pages(data: bytearray) -> bytes | bytearray:
    return data[:4096] + bytes(len(data) - 4096)


@pytest.mark.parametrize("damage", [header, half, nothing, pages])
def test_a_damaged_catalog_is_refused_in_one_line(damaged, tmp_path, damage):
    damaged.close()
    path = tmp_path / ".trunkline" / "catalog.db"
    overwrite(path, damage(bytearray(path.read_bytes())))
    new = tmp_path / "new"
    new.write_bytes(b"new")
    for request in (["ls", "r@main"], ["put", "r@main:/x", new], ["fsck"], ["gc"], ["status"]):
        result = cli(*request, "--lake", tmp_path, "--json")
        refused = (6, "wrong_format") if damage is nothing else (1, "corrupt")
        assert (result.code, result.error["code"]) == refused, result
        assert "catalog.db" in result.error["message"]


def test_a_missing_catalog_is_said_to_be_missing(damaged, tmp_path):
    damaged.close()
    (tmp_path / ".trunkline" / "catalog.db").unlink()
    result = cli("ls", "--lake", tmp_path, "r@main", "--json")
    assert (result.code, result.error["code"]) == (3, "not_found")
    assert not (tmp_path / ".trunkline" / "catalog.db").exists()


def test_fsck_finds_a_damaged_record_in_the_catalog(damaged):
    with damaged._core.database.write() as session:
        session.execute("UPDATE commits SET root_hash = :hash", {"hash": "0" * 64})
    assert {problem.kind for problem in damaged.fsck().problems} == {"manifest"}
