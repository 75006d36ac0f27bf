"""Row diffs: by key, by whole rows, and what counts as equal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trunkline.errors import Usage
from trunkline.model.shape import as_json
from trunkline.model.tables import Column, Schema
from trunkline.tables.comparing.rowdiff import RowDiff, Side, compare
from trunkline.tables.types import to_arrow

Row = tuple[Any, ...]
KV = "k bigint, v double, s string"


def schema(text: str) -> Schema:
    """`k bigint, v decimal(4.2)`; the point keeps the comma for columns."""
    pairs = [one.split() for one in text.split(", ")]
    return Schema(tuple(Column(name, type_.replace(".", ",")) for name, type_ in pairs))


def diff(
    old: Iterable[Row], new: Iterable[Row], columns: str = KV, after: str = "", **options: Any
) -> RowDiff:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    sides = []
    for name, rows, text in (("a", old, columns), ("b", new, after or columns)):
        found = schema(text)
        records = [dict(zip(found.names, row, strict=True)) for row in rows]
        connection.register(name, pa.Table.from_pylist(records, to_arrow(found)))
        sides.append(Side(name, f"SELECT * FROM {name}", found))
    return compare(connection, *sides, **options)


def counts(found: RowDiff) -> tuple[int, int, int]:
    return found.added, found.removed, found.changed


def key_of(row: Row) -> tuple[Any, ...]:
    """Equal where the diff says equal; in DuckDB's order, where null and NaN come last."""
    return tuple((x is None, x != x, 0 if x is None or x != x else x) for x in row)


def model(old: Sequence[Row], new: Sequence[Row], key: Sequence[int]) -> list[tuple[str, Row, Row]]:
    """(change, old key, new key) of what differs, in plain Python."""
    before, after = Counter(map(key_of, old)), Counter(map(key_of, new))
    removed, added = sorted((before - after).elements()), sorted((after - before).elements())
    if not key:
        return [("removed", r, ()) for r in removed] + [("added", (), r) for r in added]
    found: list[tuple[str, Row, Row]] = []
    for one in {tuple(row[i] for i in key) for row in [*removed, *added]}:
        mine = [r for r in removed if tuple(r[i] for i in key) == one]
        theirs = [r for r in added if tuple(r[i] for i in key) == one]
        both = min(len(mine), len(theirs))
        found += [("changed", a, b) for a, b in zip(mine, theirs, strict=False)]
        found += [("removed", r, ()) for r in mine[both:]]
        found += [("added", (), r) for r in theirs[both:]]
    return found


def told(found: RowDiff) -> list[tuple[str, Row, Row]]:
    def row(side: Any) -> Row:
        return () if side is None else key_of(tuple(side.values()))

    return [(one.change, row(one.old), row(one.new)) for one in found.samples(10_000)]


doubles = st.sampled_from([None, 0.0, -0.0, 1.5, -2.0, math.nan, math.inf])
rows = st.lists(
    st.tuples(st.sampled_from([None, 1, 2, 3]), doubles, st.sampled_from([None, "", "a", "b'\""])),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(rows, rows, st.sampled_from([(), ("k",), ("k", "s"), ("s",)]))
def test_a_diff_is_what_plain_python_finds(old, new, key):
    found = diff(old, new, key=key)
    places = ["kvs".index(name) for name in key]
    assert sorted(told(found)) == sorted(model(old, new, places))
    assert counts(found) == tuple(
        sum(one[0] == word for one in told(found)) for word in ("added", "removed", "changed")
    )
    for row in found.samples(100):
        assert bool(row.columns) == (row.change == "changed")
        if row.old and row.new:
            assert row.columns == tuple(
                n for n in "kvs" if key_of((row.old[n],)) != key_of((row.new[n],))
            )
    assert found.rows == len(new)
    assert found.unchanged == len(new) - found.added - found.changed


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(rows, rows, st.sampled_from([(), ("k",)]))
def test_change_rows_lead_from_the_old_rows_to_the_new(old, new, key):
    now = Counter(map(key_of, old))
    for row in diff(old, new, key=key).arrow().to_pylist():
        change, *cells = row.values()
        gone = change in ("delete", "update_before")
        now[key_of(tuple(cells))] += -1 if gone else 1
    assert +now == Counter(map(key_of, new))
    assert all(times >= 0 for times in now.values())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), doubles), unique_by=lambda r: r[0]), st.data())
def test_a_unique_key_takes_the_short_way_to_the_same_answer(old, data):
    new = data.draw(
        st.lists(st.tuples(st.integers(0, 20), doubles), unique_by=lambda r: r[0], max_size=20)
    )
    found = diff(old, new, "k bigint, v double", key=["k"])
    assert found.duplicates == (0, 0)
    assert sorted(told(found)) == sorted(model(old, new, [0]))


def test_counts_cells_and_columns():
    old = [(1, 1.0, "a"), (2, 2.0, "b"), (3, 3.0, "c")]
    new = [(1, 1.0, "a"), (2, 2.5, "B"), (4, 4.0, "d")]
    found = diff(old, new, key=["k"])
    assert counts(found) == (1, 1, 1)
    assert found.columns == {"k": 0, "v": 1, "s": 1}
    assert found.summary() == "1 added, 1 removed, 1 changed (of 3 rows)"
    changed, removed, added = found.samples()
    assert as_json(changed) == {
        "change": "changed",
        "old": {"k": 2, "v": 2.0, "s": "b"},
        "new": {"k": 2, "v": 2.5, "s": "B"},
        "columns": ["v", "s"],
    }
    assert (removed.change, added.change) == ("removed", "added")
    assert [row["_change"] for row in found.arrow().to_pylist()] == [
        "update_before", "update_after", "delete", "insert"
    ]  # fmt: skip
    assert len(found.pandas()) == len(found.polars()) == 4
    assert "1 changed" in repr(found)
    assert "2 → 2.5" in found._repr_html_()
    assert bool(found) is True
    assert bool(diff(old, old)) is False


def test_whole_rows_are_counted():
    found = diff([(1, 1.0, "a")] * 3, [(1, 1.0, "a")] * 5)
    assert counts(found) == (2, 0, 0)
    assert found.summary() == "2 added, 0 removed (of 5 rows)"


def test_duplicates_of_a_key_are_told_and_equal_ones_are_no_change():
    old = [(1, 1.0, "a"), (1, 2.0, "b"), (2, 0.0, "c")]
    found = diff(old, [(1, 2.0, "b"), (1, 1.0, "x"), (2, 0.0, "c")], key=["k"])
    assert found.duplicates == (1, 1)
    assert counts(found) == (0, 0, 1)
    assert found.samples()[0].columns == ("s",)


@pytest.mark.parametrize("key", [(), ("k",)])
def test_an_empty_side(key):
    rows = [(1, 1.0, "a"), (2, None, None)]
    assert counts(diff([], rows, key=key)) == (2, 0, 0)
    assert counts(diff(rows, [], key=key)) == (0, 2, 0)
    assert counts(diff([], [], key=key)) == (0, 0, 0)


def test_a_tolerance_is_for_floats_only():
    old = [(1, 1.0, "1.0"), (2, math.nan, "x"), (3, math.inf, "x"), (4, 5.0, "x"), (5, None, "x")]
    new = [
        (1, 1.0 + 1e-12, "1.0"),
        (2, math.nan, "x"),
        (3, math.inf, "x"),
        (4, 6, "x"),
        (5, 0, "x"),
    ]
    assert counts(diff(old, new, key=["k"])) == (0, 0, 3)
    found = diff(old, new, key=["k"], tolerance=1e-9)
    assert [row.new["k"] for row in found.samples() if row.new] == [4, 5]
    with pytest.raises(Usage, match="tolerance"):
        diff(old, new, tolerance=1e-9)
    with pytest.raises(Usage, match="tolerance"):
        diff(old, new, key=["k"], tolerance=math.nan)


def test_columns_of_one_side_are_schema_unless_asked():
    old, new = [(1, "a"), (2, "b")], [(1, "a", 5), (2, "b", None)]
    texts = {"columns": "k bigint, gone string", "after": "k bigint, gone string, extra int"}
    found = diff(old, new, **texts, key=["k"])
    assert counts(found) == (0, 0, 0)
    assert list(map(str, found.schema)) == ["+ extra int"]
    assert bool(found) is True
    asked = diff(old, new, **texts, key=["k"], one_sided=True)
    assert counts(asked) == (0, 0, 1)
    assert asked.samples()[0].columns == ("extra",)
    back = diff(new, old, texts["after"], texts["columns"], one_sided=True)
    assert counts(back) == (1, 1, 0)
    assert list(map(str, back.schema)) == ["- extra int"]


def test_tables_without_a_common_column_differ_in_all_rows():
    found = diff([(1,), (2,)], [("x",)], "a bigint", "b string")
    assert counts(found) == (1, 2, 0)
    assert list(map(str, found.schema)) == ["+ b string", "- a bigint"]


TYPES = [
    ("int", "bigint", 7, 7),
    ("int", "double", 7, 7.0),
    ("bigint", "double", 7, 7.0),
    ("decimal(4.1)", "decimal(12.2)", Decimal("1.5"), Decimal("1.50")),
    ("decimal(4.1)", "double", Decimal("1.5"), 1.5),
    ("int", "decimal(12.2)", 3, Decimal("3.00")),
    ("int", "string", 3, "3"),
    ("date", "timestamp_ntz", date(2026, 1, 1), datetime(2026, 1, 1)),
    ("date", "timestamp", date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),
    ("timestamp_ntz", "timestamp", datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),
    ("array<int>", "array<bigint>", [1, None], [1, None]),
    ("struct<x:int>", "struct<x:bigint>", {"x": 1}, {"x": 1}),
    ("string", "struct<x:bigint>", "{'x': 1}", {"x": 1}),
]


@pytest.mark.parametrize("before, after, old, new", TYPES, ids=lambda x: str(x))
@pytest.mark.parametrize("key", [(), ("k",)])
def test_types_that_differ_are_compared_widened(before, after, old, new, key):
    rows = [(1, old), (2, None)], [(1, new), (2, None)]
    found = diff(*rows, f"k bigint, v {before}", f"k bigint, v {after}", key=key)
    assert counts(found) == (0, 0, 0)
    [change] = found.schema
    assert str(change) == f"~ v {before} → {after}".replace(".", ",")


def test_cells_keep_their_types():
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    row = (1, Decimal("1.50"), at, at.replace(tzinfo=None), date(2026, 1, 1), b"x", [1], True)
    text = (
        "k bigint, m decimal(9.2), t timestamp, n timestamp_ntz, d date, b binary, "
        "a array<int>, f boolean"
    )
    found = diff([], [row], text)
    [added] = found.samples()
    assert added.new is not None
    assert tuple(added.new.values()) == row
    assert list(as_json(added)["new"].values()) == [
        1, "1.50", "2026-01-01T12:00:00+00:00", "2026-01-01T12:00:00", "2026-01-01", "78", [1], True
    ]  # fmt: skip


def test_a_struct_that_gained_a_field():
    texts = "k bigint, v struct<x:bigint>", "k bigint, v struct<x:bigint,y:string>"
    found = diff([(1, {"x": 1}), (2, None)], [(1, {"x": 1, "y": None}), (2, None)], *texts)
    assert counts(found) == (0, 0, 0)


def test_maps_have_no_order():
    old, new = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    rows = [(1, list(old.items())), (2, None)], [(1, list(new.items())), (2, None)]
    assert counts(diff(*rows, "k bigint, v map<string,int>")) == (0, 0, 0)


def test_names_are_found_in_any_case_and_may_be_odd():
    found = diff([(1, "a")], [(1, "b")], "ID bigint, c0 string", "id bigint, C0 string", key=["Id"])
    assert found.key == ("id",)
    assert found.columns == {"id": 0, "C0": 1}
    odd = diff([(1, 2)], [(1, 3)], 'pair bigint, _change" bigint', key=["pair"])
    assert odd.arrow().column_names == ["_change", "pair", '_change"']
    taken = diff([(1, 2)], [(1, 3)], "k bigint, _change bigint")
    assert taken.arrow().column_names == ["__change", "k", "_change"]


def test_chosen_columns():
    old, new = [(1, 1.0, "a")], [(1, 2.0, "a")]
    assert counts(diff(old, new, columns=KV, key=["k"])) == (0, 0, 1)
    connection = duckdb.connect()
    sides = [
        Side(n, f"SELECT {v}::BIGINT AS k, {v}::DOUBLE AS v", schema("k bigint, v double"))
        for n, v in (("a", 1), ("b", 2))
    ]
    assert compare(connection, *sides, columns=["v"], key=["v"]).columns == {"v": 0}


def test_unknown_and_one_sided_keys_are_refused():
    with pytest.raises(Usage, match='no.*column "vv".*|"vv"') as caught:
        diff([], [], key=["vv"])
    assert "k, v, s" in caught.value.hint
    with pytest.raises(Usage, match="Only one side"):
        diff([], [], "a bigint, b bigint", "b bigint", key=["a"])


def test_many_columns():
    wide = ", ".join(f"c{number} bigint" for number in range(600))
    row = tuple(range(600))
    found = diff([row, row], [row, (*row[:-1], None)], wide, key=["c0"])
    assert counts(found) == (0, 0, 1)
    assert found.samples()[0].columns == ("c599",)
