"""A table of a real PostgreSQL in parts, through Spark's JDBC.

The driver's jar is fetched from Maven. Where that cannot be reached, it must say so.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import NullPool, create_engine, text

from tests.ingest.feeds.lakes import Ingests
from tests.postgres import postgres
from trunkline.engine.session import Session
from trunkline.ingests.keeper import Drained, Keeper

PACKAGE = "org.postgresql:postgresql:42.7.4"


@contextmanager
def by_tcp(path: str) -> Iterator[int]:
    """The tests' PostgreSQL listens at a socket of the file system alone, and Java needs a port."""
    server = socket.create_server(("127.0.0.1", 0))

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                inner = socket.socket(socket.AF_UNIX)
                inner.connect(path)
                for pair in ((client, inner), (inner, client)):
                    threading.Thread(target=carry, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()


@pytest.fixture
def url() -> Iterator[str]:
    server = postgres()
    name = server.empty_database()
    host = parse_qs(urlsplit(server.url(name)).query)["host"][0]
    with by_tcp(f"{host}/.s.PGSQL.5432") as port:
        yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/{name}"


def run(url: str, *statements: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def drain(lake: Ingests, spark: Session) -> Drained:
    (done,) = Keeper(lake.core, spark=lambda: spark).drain()
    if "cannot be fetched" in done.error:
        assert re.search(r"The driver org.postgresql:postgresql:42.7.4 cannot", done.error)
        pytest.skip("the driver cannot be had here")
    return done


TABLE = """CREATE TABLE "Orders" (id BIGINT, at TIMESTAMPTZ, wall TIMESTAMP, n NUMERIC(10,2),
tags TEXT[], doc JSONB, uid UUID)"""
ROWS = """INSERT INTO "Orders" SELECT i,
timestamptz '2026-01-01 00:00:00+00' + i * interval '1 hour',
timestamp '2026-01-01' + i * interval '1 hour', i / 100.0, ARRAY['a', 'b'], '{}',
'12345678-1234-5678-1234-567812345678' FROM generate_series(1, 1000) i"""


def test_a_large_table_in_parts(lake: Ingests, spark: Session, url: str) -> None:
    run(url, TABLE, ROWS)
    options = {
        "url": url,
        "table": '"Orders"',
        "parallel": {"by": "id", "parts": 3},
        "jdbc": {"package": PACKAGE},
    }
    lake.declare("orders", "sql", options)
    done = drain(lake, spark)
    assert (done.commits, done.rows, done.error) == (1, 1000, "")
    by_spark = lake.rows("orders", "id")
    assert [row["id"] for row in by_spark] == list(range(1, 1001))
    assert drain(lake, spark).commits == 0
    # What Spark reads is what we read ourselves.
    lake.declare("orders", "sql", {**options, "parallel": {}, "jdbc": {}})
    drain(lake, spark)
    ours = lake.rows("orders", "id")
    for row in (*ours, *by_spark):
        row["tags"] = json.loads(row["tags"])  # written with other spaces
    assert ours == by_spark


def test_the_first_read_in_parts_then_by_the_growing_column(
    lake: Ingests, spark: Session, url: str
) -> None:
    late = 'INSERT INTO "Orders" (id, at) SELECT id + 1000, at FROM "Orders" WHERE id > 998'
    run(url, TABLE, ROWS, late)
    options = {
        "url": url,
        "table": '"Orders"',
        "by": "at",
        "every": 0.0,
        "parallel": {"by": "at", "parts": 4},
        "jdbc": {"package": PACKAGE},
    }
    lake.declare("orders", "sql", options)
    done = drain(lake, spark)
    assert (done.commits, done.rows, done.error) == (2, 1002, "")
    run(url, 'INSERT INTO "Orders" (id, at) SELECT id + 2000, at FROM "Orders" WHERE id = 1000')
    assert drain(lake, spark).rows == 1
    assert sorted(row["id"] for row in lake.rows("orders")) == [
        *range(1, 1001), 1999, 2000, 3000
    ]  # fmt: skip


def test_without_a_spark_it_says_so(lake: Ingests, url: str) -> None:
    run(url, TABLE)
    lake.declare(
        "orders", "sql", {"url": url, "table": '"Orders"', "parallel": {"by": "id", "parts": 2}}
    )
    (done,) = lake.drain()
    assert done.error.startswith("There is no Spark here to read the database with.")
