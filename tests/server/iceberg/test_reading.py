"""pyiceberg reads what is in the lake: at the head, at old commits, on branches and tags."""

from __future__ import annotations

import io
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    ServerError,
)
from pyiceberg.table import StaticTable, Table

import trunkline as tl
from tests.server.iceberg.catalogs import OpenCatalog, open_catalog, rows, snapshot_of
from tests.server.iceberg.sample import EVERY_TYPE, Sample

FIRST = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


@pytest.fixture(scope="module")
def orders(catalog: Catalog) -> Table:
    return catalog.load_table("default.orders")


def test_names(catalog: Catalog):
    assert catalog.list_namespaces() == [("default",), ("shop",)]
    assert catalog.list_tables("default") == [("default", "orders")]
    assert catalog.list_tables("shop") == [("shop", "items")]
    assert catalog.list_namespaces("default") == [("default", "kinds"), ("default", "lake")]
    assert catalog.list_namespaces("default.lake") == [("default", "lake", "raw")]
    assert catalog.list_tables("default.lake") == [
        ("default", "lake", name) for name in ("days", "hive", "narrow", "planned", "small")
    ]
    assert catalog.list_tables("default.lake.raw") == [
        ("default", "lake", "raw", "empty"),
        ("default", "lake", "raw", "every"),
    ]
    assert catalog.list_views("default") == []
    assert catalog.load_namespace_properties("shop") == {"comment": "What is sold"}


def test_what_is_there(catalog: Catalog):
    assert catalog.namespace_exists("default.lake.raw")
    assert not catalog.namespace_exists("default.orders")
    assert catalog.table_exists("default.orders")
    for name in ("default.lake.text", "default.lake", "default.dropped.gone", "default.no", "x.y"):
        assert not catalog.table_exists(name), name
        with pytest.raises(NoSuchTableError, match="There is no table"):
            catalog.load_table(name)
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("nowhere")
    with pytest.raises(NoSuchNamespaceError):
        catalog.load_namespace_properties("default.dropped")


def test_the_head(orders: Table):
    assert rows(orders.scan()) == [
        {"id": 1, "name": "A", "tip": 0.5},
        {"id": 10, "name": "x", "tip": 1.5},
        {"id": 2**40, "name": "y", "tip": 2.5},
        {"id": 3, "name": None, "tip": None},
    ]


def test_old_commits(orders: Table, sample: Sample):
    def at(step: str) -> list[dict[str, object]]:
        return rows(orders.scan(snapshot_id=snapshot_of(orders, sample.commits[step])))

    assert at("first") == FIRST
    # Older files lack the new column, and have narrower numbers.
    assert at("second") == [
        {"id": 1, "name": "a", "tip": None},
        {"id": 10, "name": "x", "tip": 1.5},
        {"id": 2**40, "name": "y", "tip": 2.5},
        {"id": 2, "name": "b", "tip": None},
    ]
    assert [row["id"] for row in at("deleted")] == [1, 10, 2**40]


def test_branches_and_tags(orders: Table, sample: Sample):
    refs = orders.metadata.refs
    assert {name: str(ref.snapshot_ref_type) for name, ref in refs.items()} == {
        "main": "branch",
        "work": "branch",
        "first-day": "tag",
    }
    assert [row["id"] for row in rows(orders.scan().use_ref("work"))] == [1, 10, 2**40, 2, 99]
    assert rows(orders.scan().use_ref("first-day")) == FIRST
    assert refs["work"].snapshot_id == snapshot_of(orders, sample.commits["work"])


def test_snapshots_are_the_commits_that_changed_the_table(orders: Table, sample: Sample):
    told = [one.summary for one in orders.snapshots()]
    commits = sample.commits
    assert [one.additional_properties["trunkline.commit"] for one in told if one] == [
        commits[step] for step in ("first", "second", "work", "deleted", "merged")
    ]
    first = told[0]
    assert first is not None
    assert first.operation.value == "append"
    assert first.additional_properties["trunkline.message"] == "Two orders"
    assert first.additional_properties["total-records"] == "2"
    by_id = {one.snapshot_id: one for one in orders.snapshots()}
    merged = by_id[snapshot_of(orders, commits["merged"])]
    deleted = by_id[snapshot_of(orders, commits["deleted"])]
    assert merged.parent_snapshot_id == deleted.snapshot_id
    assert deleted.parent_snapshot_id == snapshot_of(orders, commits["second"])
    assert deleted.summary is not None
    assert deleted.summary.operation.value in ("overwrite", "delete")
    log = [one.snapshot_id for one in orders.history()]
    steps = ("first", "second", "deleted", "merged")
    assert log == [snapshot_of(orders, commits[step]) for step in steps]


def test_a_filter_leaves_files_out(orders: Table):
    assert len(list(orders.scan(row_filter="id > 5").plan_files())) == 1
    found = orders.scan(row_filter="id > 5", selected_fields=("name",)).to_arrow()
    assert sorted(found.to_pydict()["name"]) == ["x", "y"]
    assert len(list(orders.scan(row_filter="name >= 'z'").plan_files())) == 0


def test_fields_keep_their_numbers(orders: Table):
    schemas = list(orders.schemas().values())
    assert len(schemas) == 2
    old, new = ({field.name: field.field_id for field in one.fields} for one in schemas)
    assert new == {**old, "tip": new["tip"]}


def test_folders_that_hold_a_column(catalog: Catalog):
    """The files lack the day; and their names are such that readers mistake them."""
    table = catalog.load_table("default.lake.hive")
    assert [one.name for one in table.spec().fields] == ["day"]
    assert rows(table.scan(), "id") == [
        {"id": 0, "day": None},
        *({"id": day * 10 + n, "day": date(2026, 1, day)} for day in (1, 2, 3) for n in (0, 1)),
    ]
    one = table.scan(row_filter="day = '2026-01-02'")
    assert len(list(one.plan_files())) == 1
    assert [row["id"] for row in rows(one)] == [20, 21]


def test_our_own_partitions(catalog: Catalog):
    table = catalog.load_table("default.lake.days")
    assert [one.name for one in table.spec().fields] == ["day"]
    found = rows(table.scan())
    assert len(found) == 9
    assert {row["day"] for row in found} == {date(2026, 1, n) for n in (1, 2, 3)}
    one = table.scan(row_filter="day = '2026-01-02'")
    assert len(list(one.plan_files())) == 1
    assert [row["id"] for row in rows(one)] == [1, 4, 7]


def test_small_files_in_a_pack(catalog: Catalog):
    table = catalog.load_table("default.lake.small")
    assert len(list(table.scan().plan_files())) == 30
    assert sorted(table.scan().to_arrow().to_pydict()["id"]) == list(range(30))
    assert len(list(table.scan(row_filter="id = 17").plan_files())) == 1


def test_every_type(catalog: Catalog):
    table = catalog.load_table("default.lake.raw.every")
    assert rows(table.scan()) == EVERY_TYPE.to_pylist()
    for wanted in ("exact > 12345678901234567890", "day = '2026-02-28'", "tiny = -1"):
        found = table.scan(row_filter=wanted)
        assert [row["id"] for row in rows(found)] == [1], wanted
    moment = "moment >= '2026-01-01T12:00:00+00:00'"
    assert [row["id"] for row in rows(table.scan(row_filter=moment))] == [1]
    assert not list(table.scan(row_filter="moment > '2026-01-01T12:00:01+00:00'").plan_files())
    assert not list(table.scan(row_filter="exact > 99345678901234567890").plan_files())


def test_no_rows(catalog: Catalog):
    for name, columns in (("raw.empty", ["id"]), ("planned", ["id", "name"])):
        table = catalog.load_table(f"default.lake.{name}")
        found = table.scan().to_arrow()
        assert (found.num_rows, found.column_names) == (0, columns)


def test_columns_that_a_table_leaves_out(catalog: Catalog):
    assert rows(catalog.load_table("default.lake.narrow").scan()) == [{"id": 1}]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("case", [1, 2]),
        ("unsigned", [2**31 + 5]),
        ("nanos", [datetime(2026, 1, 1, 12)]),
        ("words", ["x", "y"]),
        ("exact", [Decimal("1.50"), Decimal("123456.25")]),
        ("floats", [0.5, 0.5]),
    ],
)
def test_types_of_others_and_wider_ones(catalog: Catalog, name: str, values: list[object]):
    table = catalog.load_table(f"default.kinds.{name}")
    assert [row["id"] for row in rows(table.scan())] == values


def test_another_project(catalog: Catalog):
    assert rows(catalog.load_table("shop.items").scan()) == [{"id": 7, "name": "bread"}]


def test_the_metadata_is_a_file_too(catalog: Catalog, orders: Table):
    """As of a commit, for readers that take a table's metadata by its address."""
    assert orders.metadata_location is not None
    found = StaticTable.from_metadata(orders.metadata_location, orders.io.properties)
    assert rows(found.scan()) == rows(orders.scan())
    assert set(found.metadata.refs) == {"main"}


def test_nothing_can_be_written(catalog: Catalog, orders: Table, opened: OpenCatalog):
    before = opened.lake.commit_info("orders@main").id
    words = "This catalog is read-only. Write with lake.write_table or a pipeline."
    # It would put files before it asks the catalog.
    with pytest.raises(OSError, match="Iceberg tables are read-only here"):
        orders.append(orders.scan().to_arrow())
    for attempt in (
        lambda: catalog.create_namespace("new"),
        lambda: catalog.create_table("default.new", orders.schema()),
        lambda: catalog.drop_table("default.orders"),
        lambda: catalog.drop_namespace("shop"),
        lambda: catalog.rename_table("default.orders", "default.sold"),
        lambda: catalog.update_namespace_properties("shop", updates={"a": "b"}),
    ):
        with pytest.raises((ForbiddenError, ServerError), match=words):
            attempt()
    assert opened.lake.commit_info("orders@main").id == before
    assert sorted(one.name.repo for one in opened.lake.repos()) == [
        "dropped",
        "kinds",
        "lake",
        "orders",
    ]


def test_moments_of_96_bits_are_refused(tmp_path: Path):
    """Its readers take them for nanoseconds, and 9999-12-31 for a day of 1816."""
    made = pa.table({"id": [1], "at": pa.array([datetime(9999, 12, 31)], pa.timestamp("us"))})
    file = io.BytesIO()
    pq.write_table(made, file, use_deprecated_int96_timestamps=True)
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("old")
        with lake.commit("old@main") as commit:
            commit.put("/t/a.parquet", file.getvalue())
        with open_catalog(lake) as opened:
            with pytest.raises(Exception, match=r"a.parquet has moments of 96 bits"):
                opened.connect().load_table("default.old.t")
            lake.write_table("old@main:/t", lake.table("old@main:/t").arrow(), mode="overwrite")
            (row,) = rows(opened.connect().load_table("default.old.t").scan())
            assert row["at"].year == 9999
