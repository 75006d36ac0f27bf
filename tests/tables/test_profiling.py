"""Profiles: what a column holds, exact or estimated, and kept for the next look."""

from __future__ import annotations

import math
import statistics
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tables.test_rowdiff import schema
from trunkline import Lake
from trunkline.errors import Usage
from trunkline.model.shape import as_json
from trunkline.tables.profiles.profilecache import MOST_FILES, ProfileCache
from trunkline.tables.profiles.profiling import EXACT_ROWS, ColumnProfile, measure
from trunkline.tables.types import to_arrow


def profile(text: str, rows: list[tuple[Any, ...]], exact_rows: int = EXACT_ROWS) -> Any:
    found = schema(text)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    records = [dict(zip(found.names, row, strict=True)) for row in rows]
    connection.register("given", pa.Table.from_pylist(records, to_arrow(found)))
    connection.execute("CREATE TEMP TABLE t AS FROM given")
    measured = measure(connection, "t", list(found), exact_rows)
    return {name: ColumnProfile(**one) for name, one in measured.items()}


def test_numbers():
    one = profile("x int", [(v,) for v in [1, 2, 2, 3, 10, None]])["x"]
    assert (one.rows, one.nulls, one.distinct, one.distinct_exact) == (6, 1, 4, True)
    assert (one.min, one.max, one.mean) == (1, 10, 3.6)
    assert one.std == pytest.approx(statistics.stdev([1, 2, 2, 3, 10]))
    assert one.quantiles is not None and one.quantiles["0.5"] == 2
    assert one.top[0] == [2, 2]
    assert len(one.histogram) == 10
    assert one.histogram[1] == [2.0, 3.0, 2]
    assert one.bars() == "▄█▄      ▄".replace("▄", "▅")


def test_floats_that_are_no_numbers():
    one = profile("x double", [(v,) for v in [1.0, math.nan, math.inf, -math.inf, 3.0, None]])["x"]
    assert (one.nulls, one.nan, one.min, one.max, one.mean) == (1, 1, "-Infinity", "Infinity", 2.0)
    assert sum(count for *_, count in one.histogram) == 2
    none = profile("x double", [(math.nan,), (None,)])["x"]
    assert (none.nan, none.mean, none.histogram) == (1, None, ())


def test_every_type_has_a_profile():
    day = date(2026, 1, 1)
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    text = (
        "d date, t timestamp, n timestamp_ntz, m decimal(12.2), b boolean, s string, "
        "x binary, a array<int>, r struct<x:int>"
    )
    rows = [
        (day + timedelta(i), at + timedelta(hours=i), at.replace(tzinfo=None), Decimal(i) / 4,
         i % 2 == 0, "é" * i, b"x", [i], {"x": 1})
        for i in range(30)
    ]  # fmt: skip
    found = profile(text, [*rows, (None,) * 9])
    assert all(one.nulls == 1 for one in found.values())
    assert (found["d"].min, found["d"].max) == ("2026-01-01", "2026-01-30")
    assert found["d"].quantiles["0.5"] == "2026-01-15"
    assert found["t"].min == "2026-01-01T12:00:00+00:00"
    assert found["t"].histogram[0][0] == "2026-01-01T12:00:00+00:00"
    assert found["n"].histogram == [["2026-01-01T12:00:00", "2026-01-01T12:00:00.000001", 30]]
    assert (found["m"].max, found["m"].distinct) == ("7.25", 30)
    assert found["b"].top == [[False, 15], [True, 15]]
    assert (found["a"].distinct, found["r"].distinct, found["x"].distinct) == (30, 1, 1)
    for name in "dtm":
        assert sum(count for *_, count in found[name].histogram) == 30


def test_no_rows_and_nothing_but_nulls():
    assert profile("x int, s string", [])["x"].rows == 0
    one = profile("x double", [(None,)] * 3)["x"]
    assert (one.nulls, one.distinct, one.min, one.histogram) == (3, 0, None, ())


def test_large_tables_are_estimated_and_say_so():
    rows = [(i, f"v{i % 7}", i % 12_000 if i % 2 else 5) for i in range(30_000)]
    found = profile("i bigint, s string, z bigint", rows, exact_rows=100)
    assert not found["i"].exact and not found["i"].distinct_exact
    assert found["i"].distinct == pytest.approx(30_000, rel=0.2)
    assert found["i"].quantiles["0.5"] == pytest.approx(15_000, rel=0.1)
    assert (found["s"].distinct, found["s"].distinct_exact) == (7, True)
    assert found["s"].top[0] == ["v0", 4286]
    assert found["z"].top[0][0] == 5 and found["z"].top[0][1] >= 15_000


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(-50, 50)), max_size=40))
def test_a_profile_is_what_plain_python_finds(values):
    one = profile("x bigint", [(v,) for v in values])["x"]
    real = [v for v in values if v is not None]
    assert (one.rows, one.nulls, one.distinct) == (
        len(values), len(values) - len(real), len(set(real))
    )  # fmt: skip
    assert (one.min, one.max) == ((min(real), max(real)) if real else (None, None))
    assert sum(count for *_, count in one.histogram) == len(real)
    for low, high, count in one.histogram[:-1]:
        assert count == sum(low <= v < high for v in real)
    assert [count for _, count in one.top] == sorted(
        (real.count(v) for v in set(real)), reverse=True
    )[:10]


@pytest.mark.slow
def test_five_thousand_columns():
    text = ", ".join(f"c{number} bigint" for number in range(5_000))
    found = profile(text, [tuple(range(5_000)), (None,) * 5_000])
    assert len(found) == 5_000
    assert found["c4999"].max == 4_999


def test_a_lake_profiles_a_table_once(lake: Lake, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lake.write_table("orders", [{"id": 1, "city": "Rome"}, {"id": 2, "city": "Paris"}])
    first = lake.profile("orders", "city")
    assert first["CITY"].top == [["Paris", 1], ["Rome", 1]]
    both = lake.profile("orders")
    assert [one.name for one in both.columns] == ["id", "city"]
    [kept] = (tmp_path / "cache").rglob("profiles/*.json")
    text = kept.read_text()
    assert as_json(lake.profile("orders")) == as_json(both)
    assert kept.read_text() == text
    for damaged in ("", "{", '{"columns": {"id": 3}}', text.replace('"rows"', '"wor"')):
        kept.write_text(damaged)
        assert as_json(lake.profile("orders")) == as_json(both)
    assert "2 rows" in repr(both)
    assert "Paris" in both._repr_html_()
    assert list(both.pandas()["name"]) == ["id", "city"]
    with pytest.raises(Usage, match='Did you mean "city"'):
        lake.profile("orders", ["citi"])


def test_the_cache_is_bounded(tmp_path):
    cache = ProfileCache(tmp_path)
    for number in range(MOST_FILES + 5):
        cache.keep(f"{number:032x}", {"x": {}})
    assert len(list(tmp_path.iterdir())) == MOST_FILES
    blocked = tmp_path / "file"
    blocked.write_text("")
    ProfileCache(blocked / "below").keep("0" * 32, {})
    assert ProfileCache(blocked / "below").find("0" * 32) == {}
