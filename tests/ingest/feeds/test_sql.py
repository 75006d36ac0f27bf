"""SQL databases as a source, on real PostgreSQL and on SQLite: each row once, none lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

from tests.ingest.feeds.lakes import Ingests
from tests.postgres import postgres
from tests.waiting import until
from trunkline.connect.databases import Database, TableName
from trunkline.connect.sqlreading import find_table, odd_times
from trunkline.ingests.feeds.sqlwindow import behind
from trunkline.model.streams import FlowState


class Shop:
    """A database under test, and how an ingest names it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine: Engine = create_engine(url, poolclass=NullPool)

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))


def at_postgres() -> Shop:
    server = postgres()
    url = server.url(server.empty_database())
    return Shop(url.replace("postgresql://", "postgresql+psycopg://"))


@pytest.fixture
def pg() -> Iterator[Shop]:
    shop = at_postgres()
    yield shop
    shop.engine.dispose()


@pytest.fixture
def file(tmp_path: Path) -> Shop:
    return Shop(f"sqlite:///{tmp_path}/shop.db")


@pytest.fixture(params=["postgresql", "sqlite"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    if request.param == "sqlite":
        return Shop(f"sqlite:///{tmp_path}/shop.db")
    return at_postgres()


def declare(lake: Ingests, shop: Shop, table: str = "orders", **more: Any) -> None:
    fields = {name: more.pop(name) for name in ("schema", "rows", "bytes") if name in more}
    options = {"url": shop.url, **({} if "query" in more else {"table": table}), "every": 0.0}
    lake.declare("orders", "sql", {**options, **more}, **fields)


def drain(lake: Ingests) -> tuple[int, int, str]:
    (done,) = lake.drain()
    return done.commits, done.rows, done.error


def ids(lake: Ingests) -> list[int]:
    return sorted(row["id"] for row in lake.rows("orders"))


ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, what VARCHAR(20), seen BIGINT)"


def test_a_whole_table_is_replaced_when_it_differs(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10), (2, 'b', 10), (3, NULL, 11)")
    declare(lake, shop)
    assert drain(lake) == (1, 3, "")
    assert lake.rows("orders", "id")[1:] == [
        {"id": 2, "what": "b", "seen": 10},
        {"id": 3, "what": None, "seen": 11},
    ]
    assert lake.commits("orders")[0].message == "ingest: 3 rows from orders"
    assert drain(lake) == (0, 0, "")
    # The same rows in another order are the same table.
    shop.run("DELETE FROM orders WHERE id = 1", "INSERT INTO orders VALUES (1, 'a', 10)")
    assert drain(lake) == (0, 0, "")
    shop.run("DELETE FROM orders WHERE id = 2", "UPDATE orders SET what = 'z' WHERE id = 3")
    assert drain(lake) == (1, 2, "")
    assert [(row["id"], row["what"]) for row in lake.rows("orders", "id")] == [(1, "a"), (3, "z")]
    shop.run("DELETE FROM orders")
    assert drain(lake) == (1, 0, "")
    assert lake.rows("orders") == []


def test_an_empty_table_makes_no_commit(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS)
    declare(lake, shop)
    assert drain(lake) == (0, 0, "")
    declare(lake, shop, by="seen")
    assert drain(lake) == (0, 0, "")


def test_only_rows_beyond_the_last_value(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10), (2, 'b', 20)")
    declare(lake, shop, by="seen")
    assert drain(lake) == (1, 2, "")
    assert lake.flow("orders").position == {"by": "seen", "after": 20, "type": "int"}
    assert drain(lake) == (0, 0, "")
    shop.run("INSERT INTO orders VALUES (3, 'c', 30)", "UPDATE orders SET what='x' WHERE id=1")
    assert drain(lake) == (1, 1, "")
    assert [row["what"] for row in lake.rows("orders", "id")] == ["a", "b", "c"]
    assert lake.flow("orders").facts["behind"] == 0


def test_rows_with_the_last_value_that_come_later(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10), (2, 'b', 10)")
    declare(lake, shop, by="seen")
    assert drain(lake) == (1, 2, "")
    shop.run("INSERT INTO orders VALUES (3, 'c', 10)")
    assert drain(lake) == (1, 1, "")
    shop.run("INSERT INTO orders VALUES (4, 'd', 10), (5, 'e', 11)")
    assert drain(lake) == (1, 2, "")
    assert drain(lake) == (0, 0, "")
    assert ids(lake) == [1, 2, 3, 4, 5]


def test_twins_without_a_key_are_counted(lake: Ingests, shop: Shop) -> None:
    shop.run("CREATE TABLE log (id INTEGER, seen INTEGER)", "INSERT INTO log VALUES (1, 1), (1, 1)")
    declare(lake, shop, "log", by="seen")
    assert drain(lake) == (1, 2, "")
    shop.run("INSERT INTO log VALUES (1, 1)", "ALTER TABLE log ADD COLUMN more VARCHAR(9)")
    assert drain(lake) == (1, 1, "")
    shop.run("INSERT INTO log VALUES (2, 1, 'x')")
    assert drain(lake) == (1, 1, "")
    assert ids(lake) == [1, 1, 1, 2]


def test_a_batch_never_ends_between_rows_with_one_value(lake: Ingests, shop: Shop) -> None:
    values = ", ".join(f"({n}, 'x', {n // 4})" for n in range(20))
    shop.run(ORDERS, f"INSERT INTO orders VALUES {values}")
    declare(lake, shop, by="seen", rows=3)
    assert drain(lake) == (5, 20, "")
    assert [batch.rows_out for batch in lake.batches("orders")] == [4] * 5
    shop.run("INSERT INTO orders VALUES (20, 'x', 4), (21, 'x', 5)")
    assert drain(lake)[1:] == (2, "")
    assert ids(lake) == list(range(22))


def test_rows_with_a_key_take_the_place_of_older_ones(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10), (2, 'b', 10)")
    declare(lake, shop, by="seen", key=["id"])
    assert drain(lake) == (1, 2, "")
    assert drain(lake) == (0, 0, "")
    shop.run("UPDATE orders SET what = 'A', seen = 12 WHERE id = 1",
             "UPDATE orders SET what = 'B' WHERE id = 2",  # with the same value as before
             "INSERT INTO orders VALUES (3, 'c', 11)")  # fmt: skip
    assert drain(lake)[2] == ""
    assert [(row["id"], row["what"]) for row in lake.rows("orders", "id")] == [
        (1, "A"), (2, "B"), (3, "c")
    ]  # fmt: skip


def test_of_several_versions_of_a_key_the_last_counts(lake: Ingests, shop: Shop) -> None:
    shop.run(
        "CREATE TABLE log (id INTEGER, what VARCHAR(9), seen INTEGER)",
        "INSERT INTO log VALUES (1, 'a', 1), (1, 'b', 2), (NULL, 'c', 3), (2, 'd', 4)",
    )
    declare(lake, shop, "log", by="seen", key=["id"])
    assert drain(lake)[0] == 1
    assert [(row["id"], row["what"]) for row in lake.rows("orders", "id")] == [(1, "b"), (2, "d")]
    assert [bad["reason"] for bad in lake.malformed("orders")] == ["id: it is null, and of the key"]


def test_who_commits_late_is_met_within_the_lag(lake: Ingests, shop: Shop) -> None:
    shop.run(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, at TIMESTAMP)",
        "INSERT INTO orders VALUES (1, '2026-01-01 10:00:00'), (2, '2026-01-01 10:01:00')",
    )
    declare(lake, shop, by="at", lag=30.0)
    assert drain(lake) == (1, 2, "")
    shop.run("INSERT INTO orders VALUES (3, '2026-01-01 10:00:45'), (4, '2026-01-01 10:00:10')")
    assert drain(lake) == (1, 1, "")
    assert drain(lake) == (0, 0, "")
    assert ids(lake) == [1, 2, 3]
    declare(lake, shop, by="at", lag=120.0, key=["id"])
    assert drain(lake)[2] == ""
    assert ids(lake) == [1, 2, 3, 4]


def test_a_query_and_its_own_words(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a:b %s', 10), (2, 'b', 20)")
    query = "SELECT id, what, ':x 100%' AS note, seen * 2 AS twice FROM orders; "
    declare(lake, shop, query=query, by="twice")
    assert drain(lake) == (1, 2, "")
    assert lake.rows("orders", "id")[0] == {
        "id": 1, "what": "a:b %s", "note": ":x 100%", "twice": 20
    }  # fmt: skip
    shop.run("INSERT INTO orders VALUES (3, 'c', 20)")
    assert drain(lake) == (1, 1, "")


def test_a_query_cannot_change_anything(lake: Ingests, pg: Shop, file: Shop) -> None:
    for shop, query in (
        (pg, "SELECT id FROM orders) q; DELETE FROM orders; SELECT * FROM (SELECT 1 AS id"),
        (pg, "WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone"),
        (file, "SELECT 1 AS id) q; DELETE FROM orders; --"),
    ):
        shop.run("DROP TABLE IF EXISTS orders", ORDERS, "INSERT INTO orders VALUES (1, 'a', 1)")
        declare(lake, shop, query=query)
        assert drain(lake)[2] != ""
        with shop.engine.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 1


@pytest.mark.parametrize("name", ['He said "x"', "UPPER Case", "a'; DROP TABLE orders --", "ü:z%"])
def test_names_are_only_names(lake: Ingests, shop: Shop, name: str) -> None:
    spelt = '"' + name.replace('"', '""') + '"'
    table = spelt.replace(":", "\\:")
    shop.run(ORDERS, f"CREATE TABLE {table} (id INTEGER, {table} INTEGER)",
             f"INSERT INTO {table} VALUES (1, 5), (2, 6)")  # fmt: skip
    declare(lake, shop, spelt, by=name)
    assert drain(lake) == (1, 2, "")
    assert drain(lake) == (0, 0, "")
    assert lake.rows("orders", "id")[1] == {"id": 2, name: 6}
    with shop.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM orders")).scalar() == 0


def test_types_of_postgres(lake: Ingests, pg: Shop) -> None:
    pg.run(
        """CREATE TABLE kinds (id BIGINT, small SMALLINT, n NUMERIC(12,2), free NUMERIC, f REAL,
        d DOUBLE PRECISION, ok BOOLEAN, day DATE, at TIMESTAMPTZ, wall TIMESTAMP, raw BYTEA,
        doc JSONB, uid UUID, tags TEXT[], took INTERVAL, at_time TIME)""",
        """INSERT INTO kinds VALUES (1, 2, 12345.67, 0.000000000000000001, 1.5, 2.5, true,
        '2026-02-03', '2026-02-03 10:00:00+02', '2026-02-03 10:00:00.123456', decode('00ff', 'hex'),
        '{"a"\\: [1, null]}', '12345678-1234-5678-1234-567812345678', '{x,"y z"}', '1 day',
        '10:11')""",
        "INSERT INTO kinds (id) VALUES (2)",
    )
    wanted = {
        "id": 1,
        "small": 2,
        "n": Decimal("12345.67"),
        "free": Decimal("0.000000000000000001"),
        "f": 1.5,
        "d": 2.5,
        "ok": True,
        "day": date(2026, 2, 3),
        "at": datetime(2026, 2, 3, 8, tzinfo=UTC),
        "wall": datetime(2026, 2, 3, 10, 0, 0, 123456),
        "raw": b"\x00\xff",
        "doc": '{"a": [1, null]}',
        "uid": "12345678-1234-5678-1234-567812345678",
        "tags": '["x", "y z"]',
        "took": "1 day, 0:00:00",
        "at_time": "10:11:00",
    }
    declare(lake, pg, "kinds")
    assert drain(lake) == (1, 2, "")
    first, second = lake.rows("orders", "id")
    assert first == wanted and second == {**dict.fromkeys(wanted), "id": 2}
    schema = {one.name: str(one.type) for one in lake.lake.table("orders").arrow().schema}
    assert (schema["n"], schema["small"]) == ("decimal128(12, 2)", "int16")
    # A query has the same types as the table.
    declare(lake, pg, query="SELECT * FROM kinds")
    assert drain(lake) == (0, 0, "")
    declare(lake, pg, "kinds", by="at", key=["id"])
    assert "is null" in drain(lake)[2]


ODD = {
    "d": ("infinity", "-infinity", "0044-03-15 BC", "10000-01-01"),
    "t": ("infinity", "-infinity", "0044-03-15 00:00:00 BC", "294276-12-31 23:59:59"),
    "z": ("infinity", "-infinity", "0044-03-15 00:00:00+00 BC", "12345-01-01 00:00:00+00"),
}


@pytest.mark.parametrize("more", [{}, {"query": "SELECT * FROM orders"}, {"by": "id"}])
def test_times_that_are_none_elsewhere_cost_their_own_row(
    lake: Ingests, pg: Shop, more: dict[str, Any]
) -> None:
    pg.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, d DATE, t TIMESTAMP, z TIMESTAMPTZ, n NUMERIC)"
    )
    pg.run("INSERT INTO orders VALUES (0, '9999-12-31', '9999-12-31 23:59:59.999999', NULL, 1)")
    pg.run("INSERT INTO orders VALUES (1, '0001-01-01', '0001-01-01', '0001-01-01', 2)")
    odd = [(name, value) for name, values in ODD.items() for value in values]
    for at, (name, value) in enumerate((*odd, ("n", "NaN"), ("n", "Infinity")), start=2):
        pg.run(f"INSERT INTO orders (id, {name}) VALUES ({at}, '{value}')")
    declare(lake, pg, **more)
    (done,) = lake.drain()
    assert (done.error, done.rows, done.malformed) == ("", 2, len(odd) + 2)
    assert ids(lake) == [0, 1]
    shown = {row["reason"]: row for row in lake.malformed("orders")}
    for name, value in odd:
        (reason,) = (one for one in shown if one.startswith(f'{name}: "{value}" is no '))
        assert '"id": ' in shown[reason]["line"]


def test_which_columns_have_times_that_are_none_elsewhere(pg: Shop) -> None:
    pg.run('CREATE TABLE orders (id INT, "a:b" DATE, t TIMESTAMP, z TIMESTAMPTZ)')
    pg.run(
        "INSERT INTO orders VALUES (0, '9999-12-31', '9999-12-31 23:59:59.999999', '0001-01-01')"
    )
    database = Database(pg.url, read_only=True)
    for name, values in zip(("a:b", "t", "z"), ODD.values(), strict=True):
        for value in values:
            pg.run("DELETE FROM orders WHERE id = 1")
            with database.connect() as connection:
                origin = find_table(database, connection, TableName("orders"))
                assert odd_times(database, connection, origin) == []
            quoted = name.replace(":", "\\:")
            pg.run(f"INSERT INTO orders (id, \"{quoted}\") VALUES (1, '{value}')")
            with database.connect() as connection:
                assert odd_times(database, connection, origin) == [name]


def test_a_growing_column_that_has_no_end(lake: Ingests, pg: Shop) -> None:
    pg.run("CREATE TABLE orders (id INT PRIMARY KEY, seen TIMESTAMP, x DOUBLE PRECISION)")
    pg.run("INSERT INTO orders VALUES (1, '2026-01-01', 1), (7, 'infinity', 'NaN')")
    for by, value in {"seen": "infinity", "x": "nan"}.items():
        declare(lake, pg, by=by)
        commits, rows, error = drain(lake)
        assert (commits, rows) == (0, 0)
        assert f"orders has a row whose {by} is {value} (id = 7)" in error
    pg.run("UPDATE orders SET seen = '2026-01-02' WHERE id = 7")
    declare(lake, pg, by="seen")
    assert drain(lake) == (1, 2, "")


def test_types_of_sqlite_are_what_the_table_says(lake: Ingests, file: Shop) -> None:
    file.run(
        "CREATE TABLE kinds (id INTEGER, n DECIMAL(10,2), ok BOOLEAN, at DATETIME, day DATE, x, y)",
        "INSERT INTO kinds VALUES (1, 1.10, 1, '2026-01-02 03:04:05', '2026-01-02', 5, NULL)",
        "INSERT INTO kinds VALUES ('one', NULL, 0, '2026-01-02', NULL, 6, NULL)",
        "INSERT INTO kinds VALUES (3, NULL, 0, 'yesterday', NULL, 7, NULL)",
    )
    declare(lake, file, "kinds")
    assert drain(lake) == (1, 1, "")
    assert lake.rows("orders") == [
        {
            "id": 1, "n": Decimal("1.10"), "ok": True, "at": datetime(2026, 1, 2, 3, 4, 5),
            "day": date(2026, 1, 2), "x": 5,
        }
    ]  # fmt: skip
    assert sorted(bad["reason"] for bad in lake.malformed("orders")) == [
        'at: "yesterday" is no timestamp_ntz',
        'id: "one" is no bigint',
    ]


def test_moments_are_one_in_any_zone(lake: Ingests, pg: Shop) -> None:
    pg.run(
        "CREATE TABLE orders (id INTEGER, at TIMESTAMPTZ)",
        "INSERT INTO orders VALUES (1, '2026-03-29 01:59:00+01'), (2, '2026-03-29 01:00:00Z')",
    )
    declare(lake, pg, by="at")
    assert drain(lake) == (1, 2, "")
    pg.run("ALTER ROLE CURRENT_USER SET timezone = 'Asia/Tokyo'",
           "INSERT INTO orders VALUES (3, '2026-03-29 03:00:00+02')")  # fmt: skip
    try:
        assert drain(lake) == (1, 1, "")
        assert drain(lake) == (0, 0, "")
    finally:
        pg.run("ALTER ROLE CURRENT_USER RESET timezone")
    assert ids(lake) == [1, 2, 3]


def test_a_lag_of_an_hour_is_one_also_when_clocks_change() -> None:
    zone = ZoneInfo("Europe/Berlin")
    for moment in (datetime(2026, 3, 29, 3, 30), datetime(2026, 10, 25, 2, 30, fold=1)):
        value = moment.replace(tzinfo=zone)
        assert value.timestamp() - behind(value, 3600).timestamp() == 3600


def test_moments_come_in_utc_whatever_the_zone(lake: Ingests, pg: Shop) -> None:
    pg.run(
        f"ALTER DATABASE {pg.engine.url.database} SET timezone = 'Europe/Berlin'",
        "CREATE TABLE orders (id INTEGER, at TIMESTAMPTZ)",
        "INSERT INTO orders VALUES (1, '2026-10-25 00:30:00Z'), (2, '2026-10-25 01:30:00Z')",
    )
    declare(lake, pg, by="at", lag=3600)
    assert drain(lake) == (1, 2, "")
    assert lake.flow("orders").position["after"] == "2026-10-25T01:30:00+00:00"
    pg.run("INSERT INTO orders VALUES (3, '2026-10-25 00:40:00Z')")
    assert drain(lake) == (1, 1, "")
    assert drain(lake) == (0, 0, "")


def test_columns_may_come_and_types_stay(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10)")
    declare(lake, shop, by="seen")
    drain(lake)
    shop.run("ALTER TABLE orders ADD COLUMN price INTEGER",
             "INSERT INTO orders VALUES (2, 'b', 20, 5)")  # fmt: skip
    assert drain(lake) == (1, 1, "")
    assert [row["price"] for row in lake.rows("orders", "id")] == [None, 5]
    shop.run("DROP TABLE orders", ORDERS.replace("seen BIGINT", "seen BIGINT, price VARCHAR(9)"),
             "INSERT INTO orders VALUES (3, 'c', 30, 'dear')")  # fmt: skip
    error = drain(lake)[2]
    assert error.startswith("The rows do not fit what orders had: price is ")
    assert "not string" in error and "Declare its columns with schema" in error
    assert ids(lake) == [1, 2] and lake.malformed("orders") == []


def test_what_is_not_there(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "CREATE TABLE customers (id INTEGER)")
    for more, said in (
        ({"table": "order"}, 'has no table "order". Did you mean "orders"?'),
        ({"by": "sene"}, 'orders has no column "sene" for by. Did you mean "seen"?'),
        ({"by": "seen", "key": ["ids"]}, 'orders has no column "ids" for key.'),
        ({"query": "SELECT * FROM nothing"}, "nothing"),
        ({"query": "SELEC 1"}, "syntax error"),
    ):
        declare(lake, shop, **more)
        error = drain(lake)[2]
        assert said in error and "\n" not in error, error
    assert lake.commits("orders") == []


def test_null_in_the_growing_column(lake: Ingests, shop: Shop) -> None:
    shop.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', NULL), (2, 'b', 3)")
    declare(lake, shop, by="seen")
    assert drain(lake)[2].startswith("orders has rows whose seen is null: they would never be read")
    assert lake.commits("orders") == []


def test_another_column_needs_a_key(lake: Ingests, file: Shop) -> None:
    file.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10), (2, 'b', 20)")
    declare(lake, file, by="seen")
    drain(lake)
    declare(lake, file, by="id")
    assert drain(lake)[2].startswith("It was read by seen so far: by id its rows would be")
    declare(lake, file, by="id", key=["id"])
    assert drain(lake)[2] == "" and ids(lake) == [1, 2]
    declare(lake, file)
    drain(lake)
    assert ids(lake) == [1, 2]
    declare(lake, file, by="seen")
    assert drain(lake)[2].startswith("It was read as a whole so far")


def test_a_password_is_told_to_nobody(lake: Ingests, tmp_path: Path) -> None:
    shop = Shop("postgresql+psycopg://nobody@127.0.0.1:1/shop")
    lake.secrets["db"] = "s3cr3t-word"
    lake.declare("orders", "sql", {"url": shop.url, "table": "t"}, secrets=(("password", "db"),))
    error = drain(lake)[2]
    assert "nobody@127.0.0.1:1/shop cannot be reached" in error and "s3cr3t" not in error
    lake.declare("orders", "sql", {"url": f"sqlite:///{tmp_path}/none.db", "table": "orders"})
    assert drain(lake)[2].startswith(f"There is no database {tmp_path}/none.db.")
    assert not (tmp_path / "none.db").exists()


def test_a_dropped_connection_is_noted_and_mended(lake: Ingests, pg: Shop) -> None:
    fine = "CREATE OR REPLACE VIEW orders AS SELECT * FROM base"
    pg.run(ORDERS.replace("orders", "base"), "INSERT INTO base VALUES (1, 'a', 10), (2, 'b', 11)",
           f"{fine} WHERE id < 2 OR pg_terminate_backend(pg_backend_pid())")  # fmt: skip
    declare(lake, pg, by="seen", every=0.05)
    lake.start()
    flow = until(lambda: (f := lake.flow("orders")).state is FlowState.FAILED and f)
    assert "cannot be reached: terminating connection" in flow.reason
    assert lake.commits("orders") == []
    pg.run(fine)
    until(lambda: ids(lake) == [1, 2])
    until(lambda: lake.flow("orders").state is FlowState.RUNNING)


def test_a_table_that_is_away_is_noted_and_mended(lake: Ingests, pg: Shop) -> None:
    pg.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10)")
    declare(lake, pg, by="seen", every=0.05)
    lake.start()
    until(lambda: ids(lake) == [1])
    pg.run("ALTER TABLE orders RENAME TO away")
    flow = until(lambda: (f := lake.flow("orders")).state is FlowState.FAILED and f)
    # It may go before or after it was looked up.
    assert 'has no table "orders"' in flow.reason or "does not exist" in flow.reason
    pg.run("ALTER TABLE away RENAME TO orders", "INSERT INTO orders VALUES (2, 'b', 11)")
    until(lambda: ids(lake) == [1, 2])
    until(lambda: lake.flow("orders").state is FlowState.RUNNING)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "key"),
    [
        ("ingest.gathered", []),
        ("ingest.committed", []),
        ("ingest.written", ["id"]),
        ("commit.in_transaction", ["id"]),
    ],
)
def test_each_row_once_also_after_kill(
    lake: Ingests, file: Shop, point: str, key: list[str]
) -> None:
    values = ", ".join(f"({n}, 'x', {n // 3})" for n in range(12))
    file.run(ORDERS, f"INSERT INTO orders VALUES {values}")
    declare(lake, file, by="seen", key=key, rows=3)
    assert _drain_elsewhere(lake.folder, f"{point}:2") == -signal.SIGKILL
    file.run("INSERT INTO orders VALUES (12, 'y', 3)")
    until(lambda: _drain_elsewhere(lake.folder, "") == 0 and len(ids(lake)) >= 13)
    assert ids(lake) == list(range(13))


@pytest.mark.slow
def test_a_whole_read_once_also_after_kill(lake: Ingests, file: Shop) -> None:
    file.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 1), (2, 'b', 1)")
    declare(lake, file)
    for point in ("ingest.written", "ingest.committed"):
        # The lease of who died runs out first.
        until(lambda at=point: _drain_elsewhere(lake.folder, at) == -signal.SIGKILL)  # type: ignore[misc]
        file.run("UPDATE orders SET what = what || 'x'")
    wanted = ["axx", "bxx"]

    def done() -> bool:
        over = _drain_elsewhere(lake.folder, "") == 0
        return over and [row["what"] for row in lake.rows("orders", "id")] == wanted

    until(done)


def _drain_elsewhere(folder: Path, crash: str) -> int:
    script = (
        "import sys, trunkline as tl\n"
        "from trunkline.ingests.keeper import Keeper\n"
        "with tl.open(sys.argv[1], author='x') as lake:\n"
        "    Keeper(lake._core, lease_seconds=0.5).drain()\n"
    )
    environment = {**os.environ, **({"TRUNKLINE_CRASH_AT": crash} if crash else {})}
    return subprocess.run(
        [sys.executable, "-c", script, str(folder)], env=environment, check=False, timeout=120
    ).returncode


def test_sqlite_is_not_locked_for_its_writers(lake: Ingests, file: Shop) -> None:
    file.run(ORDERS, "INSERT INTO orders VALUES (1, 'a', 10)")
    declare(lake, file, by="seen", every=0.0)
    lake.start()
    until(lambda: ids(lake) == [1])
    with sqlite3.connect(file.url.removeprefix("sqlite:///"), timeout=5) as connection:
        for n in range(2, 20):
            connection.execute("INSERT INTO orders VALUES (?, 'b', ?)", (n, n * 10))
            connection.commit()
    until(lambda: ids(lake) == list(range(1, 20)))
