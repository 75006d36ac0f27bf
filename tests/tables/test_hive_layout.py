"""Tables in Hive's layout: columns of folders, whoever wrote them, read and changed by everyone."""

from __future__ import annotations

import io
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from tests.served import home
from tests.spark import shared_session
from tests.tables.lakes import entries, spec
from trunkline import Lake
from trunkline.engine.session import Session
from trunkline.errors import Precondition, TrunklineError, Usage
from trunkline.filesystem import LakeFileSystem
from trunkline.model.entries import is_in_folders
from trunkline.model.paths import normalize_path
from trunkline.tables.layout import NULL_VALUE, hive_values
from trunkline.tables.pathvalues import canonical, hive_folder, scalar_of, texts_of
from trunkline.tables.types import to_arrow_type

INTS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    **{name: st.integers(-(2 ** (n - 1)), 2 ** (n - 1) - 1) for name, n in INTS.items()},
    "float": st.floats(width=32),
    "double": st.floats(),
    "decimal(38,18)": st.decimals(-(10**19), 10**19, places=18),
    "string": st.text(st.characters(codec="utf-8"), min_size=1, max_size=12),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
    "timestamp_ntz": st.datetimes(),
}
NASTY: dict[str, list[Any]] = {
    "boolean": [True, False],
    "bigint": [0, -1, 2**63 - 1, -(2**63)],
    "double": [0.1, -0.0, 0.0, math.nan, math.inf, -math.inf, 1e22, 1e-4, 5e-324, 0.1 + 0.2],
    "float": [0.5, 0.10000000149011612, 1e10],
    "decimal(20,8)": [Decimal("0.00000001"), Decimal("-12345678901.5"), Decimal("0E-8")],
    "string": [
        *("a/b", "100%", "k=v", "n\nl", "t\tb", "é", "e\u0301", "\\N", "007", "1", " x ", "ü/ä"),
        *("*?[x]{y}", "a'b\"c", "\x7f\x85", "\u2028", "null", "true", "2026-01-01", "x" * 300, "."),
    ],
    "date": [date(1, 1, 1), date(1582, 10, 10), date(2026, 1, 1), date(9999, 12, 31)],
    "timestamp": [
        datetime(1500, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
    "timestamp_ntz": [datetime(1900, 1, 1), datetime(2026, 3, 29, 2, 30)],
}
NAMES = {type_: type_.partition("(")[0] for type_ in NASTY}


@given(st.data())
def test_a_value_is_told_by_its_folder(data: st.DataObject):
    type_ = data.draw(st.sampled_from(list(TYPES)))
    value = data.draw(TYPES[type_])
    array = pa.array([value], to_arrow_type(type_))
    (text,) = texts_of(array, type_)
    assert text is not None
    if text == NULL_VALUE:
        return
    folder = hive_folder(["k"], [text])
    assert normalize_path(f"/{folder}") == f"/{folder}"
    assert hive_values(f"{folder}/x") == {"k": text}
    assert repr(scalar_of(text, type_).as_py()) == repr(array[0].as_py())
    assert canonical(text, type_) == text


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("01", "int", 1),
        ("1.50", "decimal(5,3)", Decimal("1.500")),
        ("1e3", "double", 1000.0),
        ("2026-1-2", "date", date(2026, 1, 2)),
        ("2026-01-02T03:04:05Z", "timestamp", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("TRUE", "boolean", True),
    ],
)
def test_others_spell_values_in_their_own_way(text: str, type_: str, value: object):
    assert scalar_of(text, type_).as_py() == value
    assert scalar_of(canonical(text, type_), type_).as_py() == value


@pytest.mark.parametrize(
    ("text", "type_"),
    [("x", "int"), ("1_0", "int"), ("300", "tinyint"), ("2026-13-01", "date"), ("1.5", "boolean"),
     ("25:00", "timestamp"), ("1.234", "decimal(5,2)"), ("12345", "decimal(5,2)")],
)  # fmt: skip
def test_texts_that_are_no_values(text: str, type_: str):
    with pytest.raises(Precondition, match=f"which is no {type_.partition('(')[0]}"):
        scalar_of(text, type_)


# -- every type, by Arrow and by Spark ----------------------------------------------------------


def all_types() -> dict[str, pa.Table]:
    """A table for each type: its values and a null, twice over."""
    found = {}
    for type_, values in NASTY.items():
        column = pa.array([*values, None] * 2, to_arrow_type(type_))
        ids = pa.array(range(len(column)), pa.int64())
        found[NAMES[type_]] = pa.table(
            {"id": ids, "k": column, "v": pa.array(map(str, range(len(column))))}
        )
    return found


def same(found: pa.Table, expected: pa.Table) -> None:
    rows = found.select(["id", "k", "v"]).cast(expected.schema).sort_by("id")
    assert repr(rows.to_pylist()) == repr(expected.to_pylist())


def read_alike(lake: Lake, name: str, expected: pa.Table) -> None:
    ref = f"orders@main:/{name}"
    assert all(is_in_folders(one.stats) for one in entries(lake, ref))
    assert spec(lake, ref).partition_by == ("k",)
    same(lake.table(ref).arrow(), expected)
    same(lake.sql(f'SELECT id, k, v FROM "{ref}"').arrow(), expected)
    for path in (one.path for one in lake.ls(ref, recursive=True)):
        inside = parquet.read_schema(io.BytesIO(lake.read(f"orders@main:{path}")))
        assert inside.names == ["id", "v"]


def test_every_type_by_arrow(lake: Lake):
    for name, table in all_types().items():
        lake.write_table(f"orders@main:/{name}", table, partition_by=["k"])
        read_alike(lake, name, table)
        # The least and greatest values of the manifest have the folder's value.
        some = table["k"][0]
        if name not in ("double", "float", "boolean"):
            found = lake.table(f"orders@main:/{name}").arrow(where=[("k", "=", some.as_py())])
            assert found["id"].to_pylist() == [0, len(table) // 2]


@pytest.mark.slow
def test_every_type_by_spark(lake: Lake):
    session: Session = shared_session()
    spark = session.spark
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for name, table in all_types().items():
            ref = f"orders@main:/{name}"
            frame = spark.createDataFrame(table)
            if name == "timestamp_ntz":  # which Arrow's are not to Spark
                frame = frame.selectExpr("id", "CAST(k AS timestamp_ntz) AS k", "v")
            lake.write_table(ref, frame, partition_by=["k"])
            read_alike(lake, name, table)
            same(lake.table(ref).spark().toArrow(), table)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
    with pytest.raises(Precondition, match='has an empty text in "k"'):
        lake.write_table(
            "orders@main:/no", spark.sql("SELECT 1 AS id, '' AS k"), partition_by=["k"]
        )
    assert not [one.path for one in lake.ls("orders@main") if one.path == "/no"]


@pytest.mark.parametrize("value", ["", NULL_VALUE])
def test_what_a_folder_cannot_say_is_refused(lake: Lake, value: str):
    rows = pa.table({"id": [1, 2], "k": ["a", value]})
    with pytest.raises(Precondition, match='in "k", which its table is partitioned by'):
        lake.write_table("orders", rows, partition_by=["k"])
    lake.write_table("orders", rows[:1], partition_by=["k"])
    with pytest.raises(Precondition, match="cannot tell it from null"):
        lake.update_table("orders", {"k": f"'{value}'"})
    with pytest.raises(Precondition, match="cannot tell it from null"):
        lake.merge_table("orders", rows[1:], on=["id"])
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "k": "a"}]


def test_layouts_that_are_refused(lake: Lake):
    with pytest.raises(Usage, match="all of its columns"):
        lake.write_table("orders", pa.table({"k": ["a"]}), partition_by=["k"])
    with pytest.raises(Usage, match="which is binary"):
        lake.write_table("orders", pa.table({"k": [b"a"], "id": [1]}), partition_by=["k"])


@pytest.mark.parametrize("name", ["größe", "名", "a b", "select", "2nd", "a,b", "$1"])
def test_columns_of_any_name_are_found_by_sql(lake: Lake, name: str):
    lake.write_table("orders", pa.table({name: ["ä", "x"], "id": [1, 2]}), partition_by=[name])
    found = lake.sql(f'SELECT id FROM "orders@main" WHERE "{name}" = \'ä\'').rows()
    assert [tuple(row) for row in found] == [(1,)]


@pytest.mark.parametrize("name", ["_x", ".x"])
def test_folders_that_readers_leave_out_are_not_written(lake: Lake, name: str):
    with pytest.raises(Precondition, match="some readers leave out folders that begin with"):
        lake.write_table("orders", pa.table({name: ["a"], "id": [1]}), partition_by=[name])


def test_a_stranger_s_folder_may_begin_as_spark_lets_it(lake: Lake):
    sink = io.BytesIO()
    parquet.write_table(pa.table({"id": [1]}), sink)
    with lake.commit("orders") as commit:
        commit.put("/_x=1/a.parquet", sink.getvalue())
        commit.put("/_delta_log/a.parquet", b"no data")
        commit.put("/.x=1/a.parquet", b"no data")
    assert lake.table("orders").arrow().to_pylist() == [{"id": 1, "_x": 1}]


# -- strangers' tables --------------------------------------------------------------------------


def stranger(lake: Lake, table: pa.Table, by: str, path: str = "") -> None:
    """As pyarrow writes it: the column is in the names of folders alone."""
    with lake.commit("orders") as commit:
        for value in table[by].unique():
            some = table.filter(pa.compute.equal(table[by], value)).drop_columns([by])
            sink = io.BytesIO()
            parquet.write_table(some, sink)
            commit.put(f"{path}/{hive_folder([by], [str(value)])}/a.parquet", sink.getvalue())


def as_rows(lake: Lake, ref: str = "orders") -> list[tuple[Any, ...]]:
    found = lake.table(ref).arrow().to_pylist()
    rows = sorted(((one["id"], one["k"], one["v"]) for one in found), key=repr)
    by_sql = lake.sql(f'SELECT id, k, v FROM "{ref}@main"').rows()
    assert sorted((tuple(one) for one in by_sql), key=repr) == rows
    return rows


def test_a_stranger_s_table_is_changed(lake: Lake):
    given_rows = pa.table(
        {"id": range(6), "k": ["a b", "ü/x", "ü/x", "e\u0301", "a b", "c"], "v": [1.5] * 6}
    )
    stranger(lake, given_rows, "k")
    model = {row["id"]: (row["k"], row["v"]) for row in given_rows.to_pylist()}

    def check() -> None:
        assert as_rows(lake) == sorted(((n, *row) for n, row in model.items()), key=repr)

    check()
    lake.write_table("orders", pa.table({"id": [6, 7], "k": ["a b", "new"], "v": [2.0, 3.0]}))
    model |= {6: ("a b", 2.0), 7: ("new", 3.0)}
    check()
    lake.merge_table(
        "orders", pa.table({"id": [1, 8], "k": ["a b", None], "v": [9.0, 9.5]}), on=["id"]
    )
    model |= {1: ("a b", 9.0), 8: (None, 9.5)}
    check()
    assert lake.update_table("orders", {"k": "k || '!'"}, "k = 'ü/x'").updated == 1
    model[2] = ("ü/x!", 1.5)
    check()
    assert lake.delete_from("orders", "k = 'c' OR k IS NULL").deleted == 2
    del model[5], model[8]
    check()
    before = len(list(lake.ls("orders", recursive=True)))
    lake.compact("orders")
    assert len(list(lake.ls("orders", recursive=True))) < before
    check()
    fresh = pa.table({"id": [20], "k": ["a b"], "v": [0.5]})
    lake.write_table("orders", fresh, mode="overwrite_partitions")
    model = {n: row for n, row in model.items() if row[0] != "a b"} | {20: ("a b", 0.5)}
    check()
    assert spec(lake, "orders").partition_by == ("k",)


def test_a_partition_is_overwritten_however_its_folder_is_spelled(lake: Lake):
    rows = pa.table({"id": [1, 2], "v": [1.0, 2.0]})
    sink = io.BytesIO()
    parquet.write_table(rows, sink)
    with lake.commit("orders") as commit:
        commit.put("/k=01/a.parquet", sink.getvalue())
        commit.put("/k=2/a.parquet", sink.getvalue())
    lake.set_table("orders", schema="id bigint, v double, k int")
    lake.write_table(
        "orders",
        pa.table({"id": [7], "v": [7.0], "k": pa.array([1], pa.int32())}),
        mode="overwrite_partitions",
    )
    assert as_rows(lake) == [(1, 2, 1.0), (2, 2, 2.0), (7, 1, 7.0)]


def test_files_that_have_the_column_too_are_read_beside_those_that_have_not(lake: Lake):
    """As lakes have them that are older than this layout, where an empty text was possible."""
    sink = io.BytesIO()
    parquet.write_table(pa.table({"id": [1, 2], "k": ["", None], "v": [1.0, 2.0]}), sink)
    with lake.commit("orders") as commit:
        commit.put(f"/k={NULL_VALUE}/old.parquet", sink.getvalue())
        commit.put(
            "/_table.json",
            b'{"format": "parquet", "schema": [{"name": "id", "type": "bigint"}, {"name": "k", '
            b'"type": "string"}, {"name": "v", "type": "double"}], "partition_by": ["k"]}',
        )
    lake.write_table("orders", pa.table({"id": [3, 4], "k": ["x", None], "v": [3.0, 4.0]}))
    assert as_rows(lake) == [(1, "", 1.0), (2, None, 2.0), (3, "x", 3.0), (4, None, 4.0)]
    session = shared_session()
    found = lake.table("orders").spark().toArrow().sort_by("id")
    assert found["k"].to_pylist() == ["", None, "x", None]
    assert session.alive()
    lake.delete_from("orders", "id = 3")
    with pytest.raises(TrunklineError, match="cannot tell it from null"):
        lake.delete_from("orders", "id = 2")
    assert as_rows(lake) == [(1, "", 1.0), (2, None, 2.0), (4, None, 4.0)]


def test_a_file_that_is_copied_into_another_partition_has_its_values(lake: Lake):
    """Its bounds and its fingerprint were those of where it came from."""
    rows = pa.table({"id": [1, 2], "k": ["a", "b"], "v": [1.0, 2.0]})
    lake.write_table("orders@main:/t", rows, partition_by=["k"])
    (path,) = [one.path for one in lake.ls("orders@main:/t/k=a", recursive=True)]
    with lake.commit("orders") as commit:
        commit.copy(f"orders@main:{path}", "/t/k=c/x.parquet")
        commit.copy("orders@main:/t", "/u")
    table = lake.table("orders@main:/t")
    assert table.arrow(where=[("k", "=", "c")]).to_pylist() == [{"id": 1, "k": "c", "v": 1.0}]
    assert [one["id"] for one in table.arrow(where=[("k", "=", "a")]).to_pylist()] == [1]
    assert lake.delete_from("orders@main:/t", "k = 'c'").deleted == 1
    assert all(is_in_folders(one.stats) for one in entries(lake, "orders@main:/u"))
    assert lake.table("orders@main:/u").arrow().sort_by("id").to_pylist() == rows.to_pylist()


# -- other readers ------------------------------------------------------------------------------


def test_readers_of_folders_take_the_table_as_it_is(lake: Lake):
    """The rows and nothing else, although much lies beside them."""
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    rows = pa.table({"id": range(4), "day": [days[n % 2] for n in range(4)], "who": list("abcd")})
    lake.write_table("orders@main:/t", rows, partition_by=["day"])
    sink = io.BytesIO()
    parquet.write_table(pa.table({"id": [-1], "who": ["bad"]}), sink)
    with lake.commit("orders") as commit:
        for place in ("_quarantine/rule", "_late/in", "_malformed", "_ingest/x"):
            commit.put(f"/t/{place}/day=2026-01-01/a.parquet", sink.getvalue())
    fs = LakeFileSystem(home(lake).location, skip_instance_cache=True)
    expected = [(n, str(days[n % 2]), "abcd"[n]) for n in range(4)]

    def check(table: pa.Table) -> None:
        found = zip(
            table["id"].to_pylist(), table["day"].to_pylist(), table["who"].to_pylist(), strict=True
        )
        assert sorted((n, str(day), who) for n, day, who in found) == expected

    place = "orders@main/t"
    check(ds.dataset(place, filesystem=fs, partitioning="hive").to_table())
    check(parquet.read_table(place, filesystem=fs))
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        for pattern in ("**/*.parquet", "*/*.parquet"):
            check(connection.sql(f"FROM read_parquet('tl://{place}/{pattern}')").to_arrow_table())
    import pandas as pd

    options = {"lake": fs.storage_options["lake"]}
    frame = pd.read_parquet(f"tl://{place}", storage_options=options)
    check(pa.Table.from_pandas(frame))
    check(
        pl.concat(
            pl.read_parquet(fs.open(one)).with_columns(day=pl.lit(one.split("day=")[1][:10]))
            for one in fs.glob(f"{place}/**/*.parquet")
        ).to_arrow()
    )
