"""Micro-batches: whatever the limits, the same rows in the same order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.streaming.streams import leaf, paths, put, read
from trunkline import Lake
from trunkline.errors import Precondition
from trunkline.jobs.streaming.cutting import Micro, cut
from trunkline.jobs.streaming.positions import Place
from trunkline.jobs.streaming.step import Step
from trunkline.model.entries import Entry, line_path
from trunkline.model.streams import BatchLimit
from trunkline.model.tables import Column, Format, Schema, TableSpec

TABLE = TableSpec(Format.CSV, Schema((Column("id", "bigint"),)))
WIDER = TableSpec(Format.CSV, Schema((Column("id", "string"),)))


def step(number: int, *sizes: int, table: TableSpec = TABLE, base: str | None = None) -> Step:
    lines = tuple(
        Entry(f"/{number}-{n}.csv", "h", size, "k").encode() for n, size in enumerate(sizes)
    )
    made = Step(f"c{number}", base or f"c{number - 1}", "/", table, added=lines)
    return made.part(0, len(lines))


def shown(micros: list[Micro], name: str = "a") -> list[list[str]]:
    return [[path for one in micro.steps.get(name, ()) for path in paths(one)] for micro in micros]


def cut_one(found: list[Step], **limit: int) -> list[Micro]:
    return list(cut({"a": found}, {"a": BatchLimit(**limit)}))


HISTORY = [step(1, 5, 5, 5), step(2), step(3, 1), step(4, 20, 1)]
CASES = {
    "no limit": ({}, ["c4"]),
    "one commit": ({"commits": 1}, ["c2", "c3", "c4"]),
    "two commits": ({"commits": 2}, ["c3", "c4"]),
    "two files": ({"files": 2}, ["c1+2~c0", "c3", "c4"]),
    "bytes": ({"bytes": 10}, ["c1+2~c0", "c3", "c4+1~c3", "c4"]),
    "commits and files": ({"files": 1, "commits": 9}, [
        "c1+1~c0", "c1+2~c0", "c2", "c3", "c4+1~c3", "c4"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_limits(case: str):
    limit, positions = CASES[case]
    micros = cut_one(HISTORY, **limit)
    assert [micro.position["a"] for micro in micros] == positions
    files = [path for some in shown(micros) for path in some]
    assert files == [path for one in HISTORY for path in paths(one)]


def test_commits_without_rows_move_the_position_and_make_no_batches():
    (micro,) = cut_one([step(1), step(2), step(3)], commits=1)
    assert (micro.is_empty, dict(micro.position)) == (True, {"a": "c3"})
    assert cut_one([]) == []


def test_a_batch_ends_where_the_schema_changes():
    found = [step(1, 1), step(2, 1), step(3, 1, table=WIDER), step(4), step(5, 1, table=WIDER)]
    micros = cut_one(found)
    assert [micro.position["a"] for micro in micros] == ["c2", "c5"]
    assert [micro.schemas["a"] for micro in micros] == [TABLE.schema, WIDER.schema]


def test_inputs_move_on_together_each_by_its_own_limit():
    found = {"a": [step(n, 1) for n in (1, 2, 3)], "b": [step(n, 1) for n in (1, 2)], "c": []}
    micros = list(cut(found, {"a": BatchLimit(commits=1)}))
    assert [dict(micro.position) for micro in micros] == [
        {"a": "c1", "b": "c2"},
        {"a": "c2"},
        {"a": "c3"},
    ]
    assert [micro.files for micro in micros] == [3, 1, 1]


def test_what_came_before_an_error_comes_first():
    def found() -> Iterator[Step]:
        yield step(1, 1)
        raise Precondition("no further")

    batches = cut({"a": found(), "b": [step(1, 1)]}, {})
    assert dict(next(batches).position) == {"a": "c1", "b": "c1"}
    with pytest.raises(Precondition, match="no further"):
        next(batches)


def test_changed_rows_are_not_parted(lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    lake.write_table("orders", [{"id": 2}], mode="overwrite")
    put(lake, **{"notes.txt": "x"})
    micros = cut_one(read(lake, leaf("rows")), files=1)
    assert [bool(one.changed) for micro in micros for one in micro.steps["a"]] == [False, True]
    assert all("+" not in micro.position["a"] for micro in micros)


def test_skipped_files_are_counted(lake: Lake):
    put(lake, **{"a.csv": "id\n1\n"})
    put(lake, **{"a.csv": "id\n2\n"})
    (micro,) = cut_one(read(lake, leaf("skip")))
    assert (micro.skipped, micro.files) == (1, 1)


SIZES = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)
LIMITS = st.builds(
    BatchLimit,
    *[st.none() | st.integers(1, most) for most in (3, 3, 12)],
)


@settings(max_examples=200)
@given(history=SIZES, limit=LIMITS, change=st.integers(0, 8))
def test_limits_change_nothing_but_the_cuts(
    history: list[list[int]], limit: BatchLimit, change: int
):
    found = [
        step(n, *sizes, table=WIDER if n >= change else TABLE) for n, sizes in enumerate(history)
    ]
    micros = list(cut({"a": found}, {"a": limit}))
    lines = [line for one in found for line in one.added]
    assert [line for micro in micros for one in micro.steps.get("a", ()) for line in one.added] == (
        lines
    )
    for micro in micros:
        steps = micro.steps.get("a", ())
        assert len({one.table for one in steps if not one.is_empty}) <= 1
        assert limit.commits is None or len(steps) <= limit.commits
        assert limit.files is None or micro.files <= limit.files
        size = sum(one.bytes for one in steps)
        assert limit.bytes is None or size <= limit.bytes or micro.files == 1
    if found:
        assert micros[-1].position == {"a": found[-1].commit}


@pytest.mark.parametrize("files", [1, 2, 3])
def test_going_on_at_any_position_gives_the_rest(lake: Lake, files: int):
    for number in range(3):
        put(lake, **{f"{number}{n}.csv": f"id\n{n}\n" for n in range(number + 2)})
    every = [line_path(line) for one in read(lake) for line in one.added]
    limits = {"a": BatchLimit(files=files)}
    micros = list(cut({"a": read(lake)}, limits))
    done = 0
    for micro in micros:
        done += micro.files
        rest = read(lake, since=micro.position["a"])
        assert [line_path(line) for one in rest for line in one.added] == every[done:]
        following = cut({"a": rest}, limits)
        assert [dict(one.position) for one in following] == [
            dict(one.position) for one in micros[micros.index(micro) + 1 :]
        ]
    assert done == len(every)


@pytest.mark.parametrize("place", [Place("a"), Place("a", 3), Place("a", 3, "b")])
def test_positions_are_read_as_they_were_written(place: Place):
    assert Place.parse(str(place)) == place
