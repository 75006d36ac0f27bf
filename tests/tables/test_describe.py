"""Folders as tables."""

from dataclasses import replace
from datetime import date

import pyarrow as pa
import pytest

from tests.tables.reading import MAIN, columns, described, orc_bytes, parquet, put, rows, table_of
from trunkline.errors import NotFound, Precondition, Usage
from trunkline.model.tables import Column, Format, Schema, TableSpec
from trunkline.tables.describe import describe_lines, tables_in
from trunkline.tables.discovery import discover
from trunkline.tables.discovery.facts import Fact, FactCache, Shape


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_parquet(lake):
    table = table_of(lake, {"/a.parquet": parquet(id=[1, 2], s=["a", None])})
    assert columns(table) == {"id": "bigint", "s": "string"}
    assert (table.rows, table.recorded, table.spec.format) == (2, False, Format.PARQUET)
    (scan,) = table.scans
    assert scan.files[0].stats == '{"id":[1,2,0],"s":["a","a",1]}'
    assert scan.files[0].path == "/a.parquet"
    assert scan.files[0].uri.startswith("tlslice:///")


def test_columns_of_folders(lake):
    one = parquet(id=[1])
    table = table_of(
        lake,
        {
            "/day=2026-01-01/n=1/shop=a%2Fb/x.parquet": one,
            "/day=2026-01-02/n=2/shop=__HIVE_DEFAULT_PARTITION__/y.parquet": one,
            "/z.parquet": one,
        },
    )
    assert columns(table) == {"id": "bigint", "day": "date", "n": "bigint", "shop": "string"}
    assert [file.values for file in table.scans[0].files] == [
        ("2026-01-01", "1", "a/b"),
        ("2026-01-02", "2", None),
        (None, None, None),
    ]
    assert rows(lake, table)[0] == {"id": 1, "day": date(2026, 1, 1), "n": 1, "shop": "a/b"}


@pytest.mark.parametrize("text", ["01234", "-7", "0", "-0", "00", "+7", "1234567890123456789"])
def test_a_folder_that_is_no_plain_number_stays_text(lake, text):
    table = table_of(lake, {f"/zip={text}/a.csv": "id\n1\n", "/zip=5/a.csv": "id\n2\n"})
    whole = str(int(text)) == text and len(text) < 19
    assert columns(table)["zip"] == ("bigint" if whole else "string")
    assert {row["zip"] for row in rows(lake, table)} == ({int(text), 5} if whole else {text, "5"})


def test_a_column_in_the_files_wins_over_the_folder(lake):
    table = table_of(lake, {"/day=1/a.parquet": parquet(id=[1], day=["x"])})
    assert columns(table) == {"id": "bigint", "day": "string"}
    assert table.scans[0].path_columns == Schema()


def test_hidden_names_and_other_folders_are_no_data(lake):
    one = parquet(id=[1])
    names = ["a.parquet", "_b.parquet", ".c.parquet", "_late/d.parquet", "k=1/e.parquet",
             "other/f.parquet", "readme.txt", "k=1/_x/g.parquet"]  # fmt: skip
    table = table_of(lake, {f"/{name}": one for name in names})
    assert [entry.path for entry in table.entries] == ["/a.parquet", "/k=1/e.parquet"]
    assert tables_in(lake._core.tree_of(lake._ref(MAIN))) == ["/", "/other"]


def test_united(lake):
    table = table_of(
        lake,
        {
            "/a.parquet": parquet(id=pa.array([1], pa.int32()), gone=pa.nulls(1)),
            "/b.parquet": parquet(ID=[2], more=[1.5], gone=["x"]),
        },
    )
    assert columns(table) == {"id": "bigint", "gone": "string", "more": "double"}
    assert [scan.schema.names for scan in table.scans] == [("id", "more"), ("id", "gone", "more")]
    assert rows(lake, table) == [
        {"id": 1, "gone": None, "more": None},
        {"id": 2, "gone": "x", "more": 1.5},
    ]


def test_orc(lake):
    files = {
        "/a.orc": orc_bytes(id=pa.array([1], pa.int32()), s=["a"]),
        "/b.orc": orc_bytes(id=[2], s=pa.array([None], pa.string())),
    }
    table = table_of(lake, files)
    assert columns(table) == {"id": "bigint", "s": "string"}
    assert rows(lake, table) == [{"id": 1, "s": "a"}, {"id": 2, "s": None}]


@pytest.mark.parametrize(
    "files, error, message",
    [
        ({"/a.parquet": parquet(id=[1]), "/b.csv": "id\n1\n"}, Precondition,
         "/a.parquet is parquet, /b.csv is csv"),
        ({"/a.parquet": parquet(id=[1]), "/b.parquet": parquet(id=["x"])}, Precondition,
         'column "id" is bigint in /a.parquet and string in /b.parquet'),
        ({"/a.parquet": b"hello, this is no Parquet"}, Precondition, "/a.parquet of orders@main"),
        ({"/a.parquet": b""}, Precondition, "/a.parquet"),
        ({"/a.parquet": parquet(id=[1], Id=[2])}, Precondition, '"id" and "Id"'),
        ({"/a.parquet": parquet(t=pa.array([1], pa.time64("us")))}, Usage, 'Column "t" of /a'),
        ({"/a.txt": "x"}, Precondition, "has no data files"),
        ({"/sub/a.csv": "x\n1\n"}, Precondition, "its folders are"),
        ({"/_table.json": "{"}, Precondition, "/_table.json is damaged"),
    ],
)  # fmt: skip
def test_refused(lake, files, error, message):
    put(lake, files)
    with pytest.raises(error, match=message):
        described(lake)


def test_a_folder_that_is_not_there(lake):
    put(lake, {"/orders/a.csv": "id\n1\n"})
    with pytest.raises(NotFound, match='no "/order" in orders@main.*orders'):
        described(lake, "/order")


def test_one_file(lake):
    put(lake, {"/a.csv": "id\n1\n", "/b.csv": "name\nx\n"})
    assert columns(described(lake, "/b.csv")) == {"name": "string"}


def test_no_columns_and_many(lake):
    table = table_of(lake, {"/a.parquet": parquet()})
    assert (columns(table), table.rows) == ({}, 0)
    put(lake, {"/a.parquet": parquet(**{f"c{n}": [n] for n in range(5000)})})
    assert len(described(lake).schema) == 5000


RECORDED = TableSpec(Format.PARQUET, Schema((Column("id", "bigint"), Column("day", "date"))))


def test_recorded_without_files(lake):
    table = table_of(lake, {"/_table.json": RECORDED.encode()})
    assert (table.recorded, table.rows, table.scans) == (True, 0, ())
    assert rows(lake, table) == []


def test_recorded_columns_are_taken_as_recorded(lake):
    files = {"/_table.json": RECORDED.encode(), "/day=2026-01-01/a.parquet": parquet(id=[1])}
    table = table_of(lake, files)
    assert rows(lake, table) == [{"id": 1, "day": date(2026, 1, 1)}]
    put(lake, {"/b.parquet": parquet(id=["x"])})
    with pytest.raises(Precondition, match='/b.parquet does not fit .* "id" is string'):
        described(lake)


def test_recorded_options_without_columns(lake):
    spec = TableSpec(Format.CSV, Schema(), options=(("header", "false"), ("sep", ";")))
    table = table_of(lake, {"/_table.json": spec.encode(), "/a.csv": "word;other\n1;2\n"})
    assert columns(table) == {"_c0": "string", "_c1": "string"}
    assert table.rows == 2


def test_a_file_of_other_columns_is_no_row_of_nulls(lake):
    spec = TableSpec(Format.CSV, Schema((Column("id", "bigint"),)))
    put(lake, {"/_table.json": spec.encode(), "/a.csv": "x;y\n1;2\n"})
    with pytest.raises(Precondition, match="/a.csv has none of the columns"):
        described(lake)


def test_files_that_were_seen_are_not_opened_again(lake, monkeypatch):
    put(lake, {"/a.csv": "id\n1\n", "/b.csv": "id\n2\n"})
    before = described(lake)
    looked: list[str] = []
    real = discover._look

    def look(core, entries, *rest):
        looked.extend(entry.path for entry in entries)
        return real(core, entries, *rest)

    monkeypatch.setattr(discover, "_look", look)
    assert described(lake) == before
    put(lake, {"/c.csv": "id,name\n3,Ann\n"})
    assert described(lake).rows in (None, 3)
    assert looked == ["/c.csv"]


def test_what_the_writer_told_is_not_looked_at(lake, monkeypatch):
    put(lake, {"/_table.json": RECORDED.encode(), "/a.parquet": parquet(id=[1], day=[None])})
    told = described(lake)
    lines = [replace(one, rows=7, stats="{}", key="data/gone.parquet") for one in told.entries]
    table = describe_lines(lake._core, [line.encode() for line in lines], "/", MAIN, told.spec)
    assert table.rows == 7


def test_a_damaged_cache_is_made_anew(lake, tmp_path):
    put(lake, {"/a.csv": "id\n1\n"})
    before = described(lake)
    cache = tmp_path / "cache" / "trunkline" / "tables" / "facts.sqlite"
    for content in (b"no database at all" * 100, b""):
        cache.write_bytes(content)
        assert described(lake) == before
    assert described(lake) == before


def test_the_cache_forgets_what_nobody_asks_for(tmp_path, monkeypatch):
    cache = FactCache(tmp_path / "facts.sqlite")
    fact = Fact(Shape(Schema((Column("id", "bigint"),)), (("sep", ","),)), 3, "{}")
    cache.keep([("old", fact), ("new", fact)])
    assert cache.find(["old", "new", "other"]) == {"old": fact, "new": fact}
    now = 40 * 86_400
    monkeypatch.setattr("trunkline.storage.remembered.time.time", lambda: _real_time() + now)
    assert cache.find(["new"]) == {"new": fact}
    cache.keep([("third", fact)])
    assert set(cache.find(["old", "new", "third"])) == {"new", "third"}


def test_a_cache_that_cannot_be_written_only_costs_time(lake, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    assert table_of(lake, {"/a.csv": "id\n1\n"}).schema.names == ("id",)


def _real_time():
    import datetime

    return datetime.datetime.now().timestamp()
