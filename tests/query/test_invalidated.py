"""An internal error of DuckDB ends all of it: one query fails, and others find a new one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import trunkline as tl
from tests.query.conftest import parquet, put
from trunkline import Lake
from trunkline.errors import Failed

NESTED = pa.struct([("l", pa.list_(pa.int32())), ("a", pa.int32())])


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path) as made:
        made.create_repo("t")
        column = pa.array([{"l": [1], "a": 1}, None, {"a": 2}], NESTED)
        # Too large to be packed: DuckDB reads the file itself.
        filler = [str(n) * 300_000 for n in range(3)]
        put(made, "t@main", **{"a.parquet": parquet(n=[0, 1, 2], s=column, filler=filler)})
        yield made


def invalidate(lake: Lake) -> None:
    """Have DuckDB 2.0 look for a field in the bounds of a struct, past what guards from that."""
    (held,) = lake._asked().ducks._open
    path = next(iter(held.duck.files))
    with pytest.raises(duckdb.InternalException):
        held.duck.connection.cursor().execute(
            f"SELECT n FROM read_parquet('{path}') WHERE s.a IS NOT DISTINCT FROM NULL"
        ).fetchall()
    with pytest.raises(duckdb.Error, match="invalidated"):
        held.duck.connection.cursor().execute("SELECT 1").fetchall()


def test_others_are_answered_by_a_new_one(lake: Lake):
    unread = lake.sql("SELECT count(*) FROM t")
    streamed = lake.sql("SELECT n FROM t")
    invalidate(lake)
    assert lake.sql("SELECT count(*) FROM t").rows() == [(3,)]
    assert unread.rows() == [(3,)]
    assert streamed.arrow().num_rows == 3


def test_who_causes_it_is_told_in_one_line(lake: Lake):
    assert lake.sql("SELECT count(*) FROM t").rows() == [(3,)]
    with pytest.raises(Failed, match="^DuckDB failed: ") as caught:
        lake.sql("SELECT list_resize(n::VARIANT, 3) FROM t").rows()
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert lake.sql("SELECT count(*) FROM t").rows() == [(3,)]
