"""SQL through the SDK: forms of the result, versions, names, and errors."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.query.conftest import parquet, put
from trunkline import Lake
from trunkline.errors import (
    Conflict,
    Failed,
    InvalidQuery,
    InvalidRef,
    NotFound,
    Precondition,
    Unavailable,
    Usage,
)
from trunkline.query.kept import Kept


@pytest.fixture
def own(made: Lake, tmp_path: Path):
    """A lake of its own, for tests that write."""
    folder = tmp_path / "lake"
    copy_lake(made.location, folder)
    with tl.open(folder) as opened:
        yield opened


class TestResult:
    def test_forms(self, lake):
        found = lake.sql("SELECT id, amount FROM orders ORDER BY id")
        assert found.columns == ("id", "amount")
        assert found.types == ("bigint", "decimal(12,2)")
        assert len(found.rows()) == len(list(found)) == found.arrow().num_rows == 4
        assert found.dicts()[0]["id"] == 1
        assert list(found.pandas()["id"]) == [1, 2, 3, 4]
        assert found.polars()["id"].to_list() == [1, 2, 3, 4]

    def test_read_again_after_a_part(self, lake):
        found = lake.sql("FROM orders")
        next(iter(found))
        assert len(found.rows()) == 4
        assert len(found.rows(2)) == 2
        assert found.batches().schema.names == ["id", "customer", "amount"]
        assert len(found.rows()) == 4

    def test_a_text_source_is_read_twice(self, lake):
        found = lake.sql("SELECT count(*) FROM people a, people b")
        assert found.rows() == found.rows() == [(4,)]

    def test_names_that_come_twice(self, lake):
        found = lake.sql("SELECT 1 AS a, 2 AS a, 3 AS a_2")
        assert found.columns == ("a", "a", "a_2")
        assert found.dicts() == [{"a": 1, "a_3": 2, "a_2": 3}]
        assert len(set(found.arrow().schema.names)) == 3

    def test_no_rows(self, lake):
        found = lake.sql("SELECT id FROM orders WHERE false")
        assert found.rows() == found.dicts() == []
        assert found.arrow().schema.names == ["id"]
        assert repr(found) == "id"

    def test_huge_numbers(self, lake):
        (row,) = lake.sql("SELECT 170141183460469231731687303715884105727::HUGEINT").rows()
        assert row == (170141183460469231731687303715884105727,)

    def test_shown(self, lake):
        found = lake.sql("SELECT id, '<b>' AS t FROM orders ORDER BY id")
        assert repr(found).splitlines()[:2] == ["id  t", "1   <b>"]
        assert "&lt;b&gt;" in found._repr_html_()
        assert repr(lake.sql("FROM range(100)")).endswith("…")

    def test_params(self, lake):
        asked = "SELECT id FROM orders WHERE id > $least ORDER BY id"
        assert lake.sql(asked, params={"least": 2}).rows() == [(3,), (4,)]
        with pytest.raises(Usage, match="least"):
            lake.sql(asked)

    def test_spark_is_not_there(self, lake):
        with pytest.raises(Precondition, match="DuckDB"):
            lake.sql("FROM orders").spark()


class TestInto:
    def test_a_table_in_one_commit(self, own):
        own.create_repo("big")
        commit = own.sql("SELECT id, amount FROM orders WHERE id > 2").into("big@main")
        assert own.sql("SELECT id FROM big ORDER BY id").rows() == [(3,), (4,)]
        head = own.commit_info("orders@main").short_id
        assert f"orders@{head}" in commit.message
        assert "SELECT id, amount" in commit.message

    def test_it_replaces_what_was_there(self, own):
        own.create_repo("big")
        own.sql("FROM orders").into("big@main:/t")
        own.sql("FROM orders WHERE id = 1").into("big@main:/t")
        assert own.sql("SELECT count(*) FROM big.t").rows() == [(1,)]
        assert own.sql("SELECT count(*) FROM big.t AT 'main~1'").rows() == [(4,)]


class TestVersions:
    def test_a_set_that_has_the_repo(self, lake):
        first = lake.commit_info("orders@main~1").id
        for at in (first, first[:24], "orders@main~1", "orders@v1"):
            assert lake.sql("SELECT count(*) FROM orders", at=at).rows() == [(2,)]

    def test_a_pinned_table_stays(self, lake):
        found = lake.sql("SELECT count(*) FROM orders AT 'main'", at="orders@v1")
        assert found.rows() == [(4,)]

    def test_a_repo_that_the_set_does_not_have(self, lake):
        found = lake.sql("SELECT count(*) FROM orders", at="shop@main~1")
        assert found.rows() == [(4,)]
        (source,) = found.sources
        assert source.commit.id == lake.commit_info("orders@main").id
        assert "not in" in source.note

    def test_a_repo_that_had_no_commit_yet(self, lake):
        with pytest.raises(NotFound, match="had no commit"):
            lake.sql("FROM customers", at="orders@v1")

    def test_its_head_then_not_now(self, own):
        put(own, "people@main", **{"q.csv": b"name,age\nCid,7\n"})
        found = own.sql("SELECT count(*) FROM people", at="empty@main")
        assert found.rows() == [(2,)]

    def test_a_branch(self, own):
        own.create_branch("orders@try", "orders@v1")
        assert own.sql("SELECT count(*) FROM orders AT 'try'").rows() == [(2,)]

    def test_unknown_set(self, lake):
        with pytest.raises(NotFound, match="deadbeef"):
            lake.sql("FROM orders", at="deadbeef")

    def test_sources(self, lake):
        found = lake.sql("SELECT 1 FROM orders, shop.items AT 'main~1'")
        assert [(s.view, str(s.repo), s.path) for s in found.sources] == [
            ("orders", "orders", "/"),
            ("shop@main~1:/items", "shop", "/items"),
        ]


class TestNames:
    @pytest.mark.parametrize(
        "name, error, words",
        [
            ("ordes", NotFound, 'Did you mean "orders"?'),
            ("shop", Precondition, "shop.items, shop.prices"),
            ("shop.item", NotFound, 'Did you mean "shop.items"?'),
            ("nothing.at.all", NotFound, "no table"),
            ('"ordes@main"', NotFound, 'Did you mean "orders"?'),
            ('"orders@nope"', NotFound, "no branch"),
            ("orders AT 'nope'", NotFound, "no branch"),
            ("orders AT '..'", InvalidRef, "revision"),
            ("\"orders@v1\" AT 'v1'", Usage, "two revisions"),
            ('"orders@main:/nope"', NotFound, "nope"),
            ("information_schema.tables", NotFound, "no table"),
            ("duckdb_settings", NotFound, "no table"),
        ],
    )
    def test_refused(self, lake, name, error, words):
        with pytest.raises(error) as caught:
            lake.sql(f"SELECT * FROM {name}")
        assert words in caught.value.message

    def test_a_repo_with_a_dot(self, lake):
        assert lake.sql("SELECT count(*) FROM mixed.NAME").rows() == [(1,)]
        assert lake.sql('SELECT count(*) FROM "Mixed.name"').rows() == [(1,)]

    def test_two_readings_are_refused(self, own):
        own.create_repo("shop.items")
        put(own, "shop.items@main", **{"a.parquet": parquet(x=[1])})
        with pytest.raises(Conflict, match=r"shop\.items may be"):
            own.sql("FROM shop.items")
        assert own.sql('SELECT count(*) FROM "shop@main:/items"').rows() == [(2,)]

    def test_two_repos_that_differ_in_case(self, own):
        own.create_repo("Orders")
        put(own, "Orders@main", **{"a.parquet": parquet(x=[1])})
        assert own.sql("SELECT count(*) FROM orders").rows() == [(4,)]
        with pytest.raises(Conflict, match="ORDERS may be"):
            own.sql("FROM ORDERS")
        with pytest.raises(Conflict, match="only in case"):
            own.sql("SELECT 1 FROM orders, Orders")

    def test_other_projects(self, own):
        own.create_project("lab")
        own.create_repo("lab/orders")
        put(own, "lab/orders@main", **{"a.parquet": parquet(x=[1])})
        assert own.sql('SELECT count(*) FROM "lab/orders"').rows() == [(1,)]
        assert own.sql('SELECT count(*) FROM "lab/orders@main"').rows() == [(1,)]
        assert own.sql("SELECT count(*) FROM lab.orders, orders").rows() == [(4,)]

    def test_show_and_describe(self, lake):
        names = [row[0] for row in lake.sql("SHOW TABLES;").rows()]
        assert {"orders", "shop.items", "shop.prices", "people"} <= set(names)
        assert lake.sql("DESCRIBE orders").rows()[2] == ("amount", "decimal(12,2)", "yes")
        assert lake.sql("describe orders at 'v1'").columns == ("column", "type", "null")
        assert lake.sql("SUMMARIZE orders").rows()[0][0] == "id"
        assert "orders" not in str(lake.sql("EXPLAIN FROM orders").columns)


class TestErrors:
    @pytest.mark.parametrize(
        "sql, marked",
        [
            ("SELECT nope FROM orders", "nope"),
            ("SELECT id,\n  nope\nFROM orders AT 'v1'", "nope"),
            ("SELECT 'ü', nope FROM orders AT 'v1' JOIN shop.items ON true", "nope"),
            ("SELECT o.id FROM orders AT 'v1' WHERE nope(1)", "nope"),
            ("SELECT id FROM orders WHRE id = 1", "id"),
            ("SELECT 'abc", "'"),
            ("SELECT 1; SELECT 2", "SELECT"),
            ("SELECT sum(id FROM orders", "FROM"),
        ],
    )
    def test_the_place_is_marked(self, lake, sql, marked):
        with pytest.raises(InvalidQuery) as caught:
            lake.sql(sql)
        line, carets = caught.value.excerpt.split("\n")
        place = carets.index("^")
        assert line[place:].startswith(marked)
        assert line in sql
        assert "\n" not in caught.value.message

    def test_line_of_several(self, lake):
        with pytest.raises(InvalidQuery, match=r"\(line 2\)"):
            lake.sql("SELECT id,\n  nope\nFROM orders")

    def test_what_goes_wrong_in_the_data(self, lake):
        found = lake.sql("SELECT name::INT FROM customers")
        for read in (found.rows, found.arrow):
            with pytest.raises(Failed, match="Could not convert") as caught:
                read()
            assert "\n" not in caught.value.message

    def test_what_goes_wrong_after_some_rows(self, lake):
        late = "CASE WHEN i < 900000 THEN i ELSE error('boom') END"
        found = lake.sql(f"SELECT {late} AS n FROM range(1000000) t(i)")
        for read in (found.rows, found.arrow):
            with pytest.raises(Failed, match="boom"):
                read()

    def test_cancelled(self, lake):
        found = lake.sql(
            "SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b"
        )
        ended = threading.Event()

        def cancel() -> None:
            # One that has not begun does not hear it.
            while not ended.wait(0.05):
                found.cancel()

        threading.Thread(target=cancel).start()
        try:
            with pytest.raises((Failed, KeyboardInterrupt)):
                found.arrow()
        finally:
            ended.set()

    def test_memory(self, own):
        own._kept = Kept(own._core, memory="10MB")
        found = own.sql("SELECT list(a.range) FROM range(5000000) a")
        with pytest.raises(Unavailable, match="more memory"):
            found.rows()

    def test_no_sql(self, lake):
        for text in ("", "  ", "-- nothing", ";"):
            with pytest.raises(InvalidQuery, match="no SQL"):
                lake.sql(text)

    def test_unknown_engine(self, lake):
        with pytest.raises(Usage, match="sqlite"):
            lake.sql("FROM orders", engine="sqlite")
