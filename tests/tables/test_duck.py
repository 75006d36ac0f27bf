"""Tables as DuckDB sees them: plainly where it can, and always the same rows."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trunkline as tl
from trunkline import Lake
from trunkline.errors import InvalidQuery, Precondition, TrunklineError
from trunkline.lake.core import resolve_commit
from trunkline.model.refs import parse_ref
from trunkline.tables.describe import Table, describe
from trunkline.tables.reading import duck
from trunkline.tables.reading.duck import Duck, connect

LARGE = 2_000_000


def parquet(padding: int = 0, **columns: object) -> bytes:
    """A file of these columns; padding in its metadata makes it too large for a pack."""
    table = pa.table(columns).replace_schema_metadata({"padding": "x" * padding})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("t")
        yield made


def put(lake: Lake, **files: bytes) -> None:
    with lake.commit("t@main") as commit:
        for name, content in files.items():
            commit.put("/" + name, content)


def table_of(lake: Lake) -> Table:
    core = lake._core
    with core.database.read() as session:
        commit = resolve_commit(session, parse_ref("t"))[1]
    return describe(core, core.tree(commit), "/", "t")


def view_sql(found: Duck) -> str:
    (row,) = found.connection.execute(
        "SELECT sql FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    return str(row[0])


def rows(lake: Lake, sql: str) -> list[tuple[object, ...]]:
    return lake.sql(sql).rows()


def test_whole_files_are_read_in_place(lake):
    put(lake, **{"a.parquet": parquet(LARGE, n=[1]), "b.parquet": parquet(LARGE, n=[2])})
    found = connect(lake._core, {"t": table_of(lake)})
    assert "SELECT * FROM read_parquet" in view_sql(found)
    assert "CAST" not in view_sql(found)
    assert str(Path(lake.location) / ".trunkline" / "objects") in view_sql(found)
    assert not found.sources


def test_small_and_large_files_together(lake):
    put(lake, **{"a.parquet": parquet(n=[1]), "b.parquet": parquet(LARGE, n=[2])})
    assert rows(lake, "SELECT sum(n) FROM t") == [(3,)]


def test_more_than_is_copied_comes_through_arrow(lake, monkeypatch):
    put(lake, **{"a.parquet": parquet(n=[1]), "b.parquet": parquet(LARGE, n=[2])})
    monkeypatch.setattr(duck, "COPIED", 0)
    found = connect(lake._core, {"t": table_of(lake)})
    assert len(found.sources) == 1
    assert rows(lake, "SELECT sum(a.n * b.n) FROM t a, t b") == [(9,)]


@pytest.mark.parametrize("padding", [0, LARGE])
def test_columns_that_only_folders_have(lake, padding):
    put(
        lake,
        **{
            "k=a%2Fb/x.parquet": parquet(padding, n=[1]),
            "k=__HIVE_DEFAULT_PARTITION__/x.parquet": parquet(padding, n=[2]),
            "k=ü 'q'/x.parquet": parquet(padding, n=[3]),
        },
    )
    assert rows(lake, "SELECT k, n FROM t ORDER BY n") == [("a/b", 1), (None, 2), ("ü 'q'", 3)]
    assert rows(lake, "SELECT n FROM t WHERE k = 'a/b'") == [(1,)]
    assert rows(lake, "SELECT n FROM t WHERE k IS NULL") == [(2,)]


def test_types_of_folders(lake):
    for day in (1, 2):
        put(lake, **{f"d=2026-01-0{day}/n={day}/x.parquet": parquet(LARGE, v=[day])})
    found = lake.sql("FROM t ORDER BY v")
    assert found.types == ("bigint", "date", "bigint")
    assert found.rows()[0] == (1, datetime.date(2026, 1, 1), 1)


@pytest.mark.parametrize("padding", [0, LARGE])
def test_files_that_differ(lake, padding):
    put(
        lake,
        **{
            "a.parquet": parquet(padding, n=pa.array([1], pa.int32()), x=["a"]),
            "b.parquet": parquet(padding, m=[1.5], n=pa.array([2], pa.int64())),
        },
    )
    found = lake.sql("SELECT n, x, m FROM t ORDER BY n")
    assert found.types == ("bigint", "string", "double")
    assert found.rows() == [(1, "a", None), (2, None, 1.5)]


def test_a_folder_that_looks_like_a_pattern(tmp_path):
    with tl.init(tmp_path / "la[k]e *") as lake:
        lake.create_repo("t")
        put(lake, **{"a.parquet": parquet(LARGE, n=[1])})
        assert rows(lake, "SELECT n FROM t") == [(1,)]


@pytest.mark.parametrize("name, content", [
    ("a.csv", b"n,s\n1,x\n2,\n"),
    ("a.jsonl", b'{"n": 1, "s": "x"}\n{"n": 2}\n'),
])  # fmt: skip
def test_text(lake, name, content):
    put(lake, **{name: content})
    assert rows(lake, "SELECT n, s FROM t ORDER BY n") == [(1, "x"), (2, None)]
    assert rows(lake, "SELECT count(*) FROM t a JOIN t b USING (n)") == [(2,)]


def test_no_pack_is_needed_for_a_table_without_files(lake):
    put(lake, **{"_table.json": b'{"format": "parquet", "schema": [{"name": "n", "type": "int"}]}'})
    found = lake.sql("SELECT * FROM t")
    assert (found.columns, found.types, found.rows()) == (("n",), ("int",), [])


def test_a_broken_file_is_named(lake):
    put(lake, **{"a.parquet": parquet(LARGE, n=[1]), "b.parquet": parquet(LARGE, n=[2])})
    table_of(lake)  # what is in the files is known by now
    objects = Path(lake.location) / ".trunkline" / "objects"
    broken = next(path for path in objects.rglob("*.parquet"))
    broken.chmod(0o600)
    broken.write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises((Precondition, TrunklineError)) as caught:
        rows(lake, "SELECT sum(n) FROM t")
    assert ".parquet of t" in caught.value.message
    assert "objects" not in caught.value.message


def test_temporary_files_go_with_the_connection(lake):
    put(lake, **{"k=1/a.parquet": parquet(n=[1])})
    found = connect(lake._core, {"t": table_of(lake)})
    (place, *_) = [Path(path) for path in found.files if "trunkline-sql-" in path]
    assert place.exists()
    del found
    assert not place.exists()


def test_nanoseconds_are_cut_off_as_arrow_and_spark_do(lake):
    counts = [1_700_000_000_123_456_789, -1, -1501, None, -1_700_000_000_123_456_789]
    times = {"w": pa.timestamp("ns"), "z": pa.timestamp("ns", "UTC")}
    for padding in (0, LARGE):
        plain = {name: pa.array(counts, type_) for name, type_ in times.items()}
        put(lake, **{f"{padding}.parquet": parquet(padding, **plain)})
    assert lake.sql("SELECT w, z FROM t").arrow().to_pylist() == lake.table("t").arrow().to_pylist()
    micros = [None if one is None else int(one / 1000) for one in counts]
    assert rows(lake, "SELECT epoch_us(w) FROM t")[:3] == [(one,) for one in micros[:3]]
    inner = pa.array([{"at": one} for one in counts], pa.struct({"at": pa.timestamp("ns")}))
    lake.create_repo("n")
    with lake.commit("n@main") as commit:
        commit.put("/a.parquet", parquet(s=inner))
    assert lake.sql("FROM n").arrow().to_pylist() == lake.table("n").arrow().to_pylist()


@pytest.mark.parametrize("sql", [
    "SELECT at FROM t", "SELECT max(at) FROM t", "FROM t WHERE at > 3", "FROM t ORDER BY at",
])  # fmt: skip
def test_a_column_whose_name_is_a_word_of_sql_must_be_quoted(lake, sql):
    put(lake, **{"a.csv": b"at,end,x\n5,6,7\n"})
    with pytest.raises(InvalidQuery) as caught:
        lake.sql(sql)
    assert 'quote the column, as in "at".' in caught.value.hint
    with pytest.raises(InvalidQuery) as caught:
        lake.sql("SELECT x end FROM t")
    assert 'as in "end".' in caught.value.hint
    with pytest.raises(InvalidQuery) as caught:
        lake.sql("SELECT x ) FROM t")
    assert not caught.value.hint
    assert lake.sql('SELECT "at", "end" FROM t').rows() == [(5, 6)]


@pytest.mark.parametrize(
    "condition", ["z = 'NaN'", "z > 1e308", "z >= 1.5", "z <> 1", "NOT z < 5", "z NOT IN (1, 2)"]
)
def test_nan_is_found_in_files_whose_bounds_leave_it_out(lake, condition):
    put(lake, **{"a.parquet": parquet(z=[float("nan"), 1.0], n=[1, 2])})
    assert lake.sql(f"SELECT n FROM t WHERE {condition}").rows() == [(1,)]


NESTED = pa.struct(
    [("l", pa.list_(pa.int32())), ("a", pa.int32()), ("c", pa.struct([("b", pa.int32())]))]
)
OLDER = pa.struct([("l", pa.list_(pa.int32())), ("a", pa.int32())])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("s.c IS NULL OR s.c.b >= 5", [0, 1, 3]),
        ("s.c IS NULL AND s.c.b IS NULL", [1, 3]),
        ("s.a IS NOT DISTINCT FROM NULL", [1]),
        ("s.c.b > 0", [0, 2]),
    ],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_fields_of_structs_with_lists_and_structs_are_read(lake, condition, expected, recorded):
    """DuckDB ends in internal errors if it looks for them in bounds or reads them alone."""
    made = [
        pa.array([{"l": [1], "a": 1, "c": {"b": 5}}, None, {"a": 2, "c": {"b": 3}}], NESTED),
        pa.array([{"l": [], "a": 7}], OLDER),
        pa.array([], NESTED),
    ]
    first = 0
    for number, column in enumerate(made):
        table = pa.table(
            {"n": pa.array(range(first, first + len(column)), pa.int64()), "s": column}
        )
        first += len(column)
        if recorded:
            lake.write_table("t", table)
        else:
            put(
                lake,
                **{
                    f"{number}.parquet": parquet(
                        **dict(zip(table.column_names, table.columns, strict=True))
                    )
                },
            )
    assert sorted(lake.sql(f"SELECT n FROM t WHERE {condition}").rows()) == [(n,) for n in expected]
    assert sorted(lake.sql("SELECT s.c.b FROM t WHERE s.c.b > 0").rows()) == [(3,), (5,)]


@pytest.mark.parametrize(
    "condition", ["s.a LIKE 'ab%'", "s.a LIKE '%c'", "s.a IN ('abc')", "s.a = 'abc'", "s.a >= 'a'"]
)
def test_null_in_a_field_meets_no_condition_that_all_others_meet(lake, condition):
    """DuckDB leaves such a condition out if it takes the field for one that is never null."""
    type_ = pa.struct([("a", pa.string()), ("l", pa.list_(pa.int32()))])
    column = pa.array([{"a": "abc", "l": [1]}, {"a": None, "l": []}, None], type_)
    put(lake, **{"a.parquet": parquet(n=[0, 1, 2], s=column)})
    assert lake.sql(f"SELECT n FROM t WHERE {condition}").rows() == [(0,)]


def test_nan_in_a_field_is_found(lake):
    column = pa.array([{"z": float("nan"), "a": 1}, {"z": 1.0, "a": 2}])
    put(lake, **{"a.parquet": parquet(n=[1, 2], s=column)})
    assert lake.sql("SELECT n FROM t WHERE s.z > 5").rows() == [(1,)]
