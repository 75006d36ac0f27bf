"""Rows that a stream has read and that are no longer as they were; and those that still are."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.jobs.streaming.streams import Rows, leaf, paths, put, read, rows
from trunkline import Lake
from trunkline.errors import Precondition
from trunkline.jobs.streaming.neutral import settled
from trunkline.jobs.streaming.sources import given, schema_at
from trunkline.jobs.streaming.step import Step
from trunkline.lake.differences import Difference
from trunkline.model.entries import Entry
from trunkline.model.ids import new_id
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.writing.fingerprint import VERSION


def delivered(lake: Lake, step: Step, policy: str = "raise") -> Rows:
    """What Spark would be given of changed files, read from the store."""
    found = given(lake._core, KeyMaker(new_id()), leaf(policy), [step])
    assert found is not None
    every: list[tuple[Any, ...]] = []
    for scan in found.source.scans:
        for file in scan.files:
            if file.path == "changed rows":
                table = parquet.read_table(file.uri.removeprefix("file://"))
                assert table.column_names == list(found.source.schema.names)
                every += [tuple(row.values()) for row in table.to_pylist()]
    return sorted(every, key=repr)


def written(lake: Lake) -> list[str]:
    ids = [lake.write_table("orders", [{"id": n, "n": 1}]).id for n in range(3)]
    lake.set_table("orders", key="id")
    return [*ids, lake.write_table("orders", [{"id": 3, "n": 1}]).id]


def test_compaction_is_no_change(lake: Lake):
    written(lake)
    done = lake.compact("orders")
    assert done.commit is not None
    for policy in ("raise", "skip"):
        last = read(lake, leaf(policy))[-1]
        assert (last.commit, last.is_empty, last.skipped) == (done.commit.id, True, 0)
    changed = read(lake, leaf("rows"))[-1]
    assert delivered(lake, changed, "rows") == []


def test_renamed_files_are_no_change_unless_their_folder_says_otherwise(lake: Lake):
    put(lake, **{"a.csv": "id\n1\n", "day=1__b.csv": "id\n2\n"})
    put(lake, **{"a.csv": None, "c.csv": "id\n1\n"})
    assert read(lake)[-1].is_empty
    put(lake, **{"day=1__b.csv": None, "day=2__b.csv": "id\n2\n"})
    with pytest.raises(Precondition, match="/day=1/b.csv"):
        read(lake)


def test_joined_text_files_are_no_change_and_grown_ones_bring_what_is_new(lake: Lake):
    put(lake, **{"a.csv": "id,n\n1,1\n", "b.csv": "id,n\n2,2\n"})
    put(lake, **{"a.csv": None, "b.csv": None, "c.csv": "id,n\n2,2\n1,1\n"})
    assert read(lake)[-1].is_empty
    put(lake, **{"c.csv": "id,n\n2,2\n1,1\n1,1\n3,3\n"})
    assert delivered(lake, read(lake)[-1]) == [(1, 1), (3, 3)]


def test_rows_added_between_commits_that_were_squashed_with_a_compaction(lake: Lake):
    ids = written(lake)
    done = lake.compact("orders")
    last = lake.write_table("orders", [{"id": 9, "n": 1}])
    assert done.commit is not None
    for gone in (ids[2], ids[3], done.commit.id):
        lake.squash(f"orders@{gone}")
    found = read(lake, since=ids[1])[-1]
    assert found.commit == last.id
    assert delivered(lake, found) == [(3, 1), (9, 1)]


CHANGES = {
    "delete": lambda lake: lake.delete_from("orders", "id = 1"),
    "update": lambda lake: lake.update_table("orders", {"n": "2"}, where="id = 1"),
    "overwrite": lambda lake: lake.write_table("orders", [{"id": 7, "n": 7}], mode="overwrite"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_rows_are_refused_with_the_choices(lake: Lake, change: str):
    ids = written(lake)
    CHANGES[change](lake)
    with pytest.raises(Precondition, match=r"of orders was removed in commit [0-9a-f]{12}") as why:
        read(lake, since=ids[-1])
    for choice in ("changes: skip", "changes: rows", "trunkline stream restart sessions --from"):
        assert choice in why.value.hint


@pytest.mark.parametrize("change", CHANGES)
def test_changed_rows_are_skipped_and_counted(lake: Lake, change: str):
    ids = written(lake)
    CHANGES[change](lake)
    (found,) = read(lake, leaf("skip"), since=ids[-1])
    assert found.is_empty
    assert found.skipped


def test_what_is_new_beside_a_skipped_change_arrives(lake: Lake):
    put(lake, **{"a.csv": "id\n1\n", "b.csv": "id\n2\n"})
    put(lake, **{"a.csv": "id\n5\n", "b.csv": None, "c.csv": "id\n3\n"})
    found = read(lake, leaf("skip"))[-1]
    assert (paths(found), found.skipped) == (["/c.csv"], 2)
    assert rows(lake, [found]) == [(3,)]


EXPECTED = {
    "delete": [(1, 1, "delete")],
    "update": [(1, 1, "update_before"), (1, 2, "update_after")],
    "overwrite": [(0, 1, "delete"), (1, 1, "delete"), (2, 1, "delete"), (3, 1, "delete"),
                  (7, 7, "insert")],
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_changed_rows_arrive_as_rows(lake: Lake, change: str):
    ids = written(lake)
    CHANGES[change](lake)
    (found,) = read(lake, leaf("rows"), since=ids[-1])
    assert delivered(lake, found, "rows") == EXPECTED[change]


def test_with_change_rows_every_input_says_what_became_of_a_row(lake: Lake):
    written(lake)
    found = read(lake, leaf("rows"))
    source = given(lake._core, KeyMaker(new_id()), leaf("rows"), found)
    assert source is not None
    assert source.source.schema.names == ("id", "n", "_change")
    files = [file for scan in source.source.scans for file in scan.files]
    assert [file.values for file in files] == [("insert",)] * 4
    (head,) = lake.commits("orders", limit=1)
    assert schema_at(lake._core, leaf("rows"), head) == source.source.schema
    assert found[0].schema == source.source.schema


def test_all_rows_removed_with_the_table(lake: Lake):
    put(lake, **{"a.csv": "id\n1\n"})
    put(lake, **{"a.csv": None, "notes.txt": "x"})
    found = read(lake, leaf("rows"))
    assert delivered(lake, found[-1], "rows") == [(1, "delete")]


# -- fingerprints, without reading a file ----------------------------------------------------


def file(path: str, *numbers: int, digest: str = "a" * 16, version: str = VERSION) -> bytes:
    """A file with a row for each number, which is the row's hash."""
    total = sum(numbers)
    hash_ = f"{version}{len(numbers):014x}{total:016x}{total * total:016x}{digest}"
    if len(numbers) != 1:
        hash_ = (
            f"{version}{len(numbers):014x}{total:016x}{sum(n * n for n in numbers):016x}{digest}"
        )
    bytes_ = (path.encode().hex() * 64)[:64]
    return Entry(path, hash_, 1, f"data{path}", rows=len(numbers), byte_hash=bytes_).encode()


def left(gone: list[bytes], come: list[bytes]) -> tuple[list[str], list[str]]:
    found = [Difference(b"", line, None) for line in gone]
    found += [Difference(b"", None, line) for line in come]
    old, new = settled(found)
    return [one.path for one in old], [one.path for one in new]


ABC = [file("/d/a", 1), file("/d/b", 2), file("/d/c", 5)]
CASES = {
    "all into one": (ABC, [file("/d/z", 1, 2, 5)], ([], [])),
    "into two": (ABC, [file("/d/y", 1, 2), file("/d/z", 5)], ([], [])),
    "another cut": (ABC, [file("/d/y", 1, 5), file("/d/z", 2)], ([], [])),
    "with a new file": (ABC, [file("/d/n", 9), file("/d/z", 1, 2, 5)], ([], ["/d/n"])),
    "another cut, a new file": (
        ABC,
        [file("/d/n", 9), file("/d/y", 1, 5), file("/d/z", 2)],
        ([], ["/d/n"]),
    ),
    "some of them": (ABC, [file("/d/z", 1, 2)], (["/d/c"], [])),
    "other partitions": (ABC, [file("/e/z", 1, 2), file("/f/z", 5)], ([], [])),
    "a row less": (ABC, [file("/d/z", 1, 2)], (["/d/c"], [])),
    "another row": (ABC, [file("/d/z", 1, 2, 6)], (["/d/a", "/d/b", "/d/c"], ["/d/z"])),
    "another schema": (
        ABC,
        [file("/d/z", 1, 2, 5, digest="c" * 16)],
        (["/d/a", "/d/b", "/d/c"], ["/d/z"]),
    ),
    "of an older version": (
        [file("/d/a", 1, version="00"), file("/d/b", 2, version="00")],
        [file("/d/z", 1, 2, version="00")],
        (["/d/a", "/d/b"], ["/d/z"]),
    ),
    "rows that change places between schemas": (
        [file("/d/a", 1), file("/d/b", 2, digest="c" * 16)],
        [file("/d/y", 2), file("/d/z", 1, digest="c" * 16)],
        (["/d/a", "/d/b"], ["/d/y", "/d/z"]),
    ),
    "nothing gone": ([], ABC, ([], ["/d/a", "/d/b", "/d/c"])),
}


@pytest.mark.parametrize("case", CASES)
def test_sums_of_fingerprints(case: str):
    gone, come, expected = CASES[case]
    assert left(gone, come) == expected


def test_arrow_types_survive(lake: Lake):
    first = {"d": date(2026, 1, 1), "t": datetime(2026, 1, 1, 1), "m": Decimal("1.50")}
    lake.write_table("orders", pa.Table.from_pylist([first]))
    since = lake.write_table("orders", pa.Table.from_pylist([first])).id
    lake.delete_from("orders", "m > 1")
    (found,) = read(lake, leaf("rows"), since=since)
    assert delivered(lake, found, "rows") == [(*first.values(), "delete")] * 2
