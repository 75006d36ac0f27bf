"""1,000,000 rows from a SQL database and into one.

In: a whole table of SQLite and of PostgreSQL, committed to a lake, against pandas.read_sql and a
Parquet file, which is neither versioned nor read in bounded memory. Out: a table of a lake into
PostgreSQL in one transaction, against COPY by hand of the same rows from a CSV file.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench, Cost, best, call, in_turns
from benchmarks.report import Result, times_as_long
from trunkline.egress.base import Berth, Shipment
from trunkline.egress.targets import open_sender
from trunkline.model.commits import RepoName
from trunkline.model.egress import Target

CLAIM = "world_sql"
_COLUMNS = "id BIGINT, name TEXT, amount DOUBLE PRECISION, day DATE"


def run(bench: Bench) -> Iterator[Result]:
    rows = bench.size(1_000_000, 50_000)
    file = bench.folder / "shop.db"
    _fill_sqlite(file, rows)
    yield from _in(bench, f"sqlite:///{file}", f"{rows:,} rows of SQLite", "sqlite")
    try:
        from tests.postgres import postgres
    except ImportError:
        return
    server = postgres()
    url = server.url(server.empty_database()).replace("postgresql://", "postgresql+psycopg://")
    _fill_postgres(url, rows)
    yield from _in(bench, url, f"{rows:,} rows of PostgreSQL", "postgres")
    yield from _out(bench, url, rows)


def _in(bench: Bench, url: str, what: str, name: str) -> Iterator[Result]:
    from sqlalchemy import create_engine

    def ours(number: int) -> Cost:
        with tl.init(bench.folder / f"lake-{name}-{number}") as lake:
            source = tl.database(url, "orders")
            lake.apply(tl.ingest("orders", source=source))
            cost = call(lambda: lake.run())
            assert lake.table("orders").info.rows
        return cost

    def theirs(number: int) -> Cost:
        import pandas

        engine = create_engine(url)

        def work() -> None:
            frame: Any = pandas.read_sql("SELECT * FROM orders", engine)
            frame.to_parquet(bench.folder / f"{name}-{number}.parquet")

        return call(work)

    found = in_turns({"ours": ours, "theirs": theirs}, bench.rounds)
    yield times_as_long(
        CLAIM, f"in: {what}", best(found["ours"]), "pandas.read_sql → Parquet",
        best(found["theirs"]), budget=2.0,
    )  # fmt: skip


def _out(bench: Bench, url: str, rows: int) -> Iterator[Result]:
    import pyarrow as pa
    from pyarrow import csv

    table = pa.table(
        {
            "id": range(rows),
            "name": [f"name {n % 1000}" for n in range(rows)],
            "amount": [n / 100 for n in range(rows)],
        }
    )
    path = bench.folder / "out.csv"
    csv.write_csv(table, path, csv.WriteOptions(include_header=False))
    with tl.init(bench.folder / "lake-out") as lake:
        lake.create_repo("report")
        lake.write_table("report@main", table)
        (commit, *_) = lake.log("report")

        def ours(number: int) -> Cost:
            options = {"url": url, "table": f"ours_{number}", "mode": "replace"}
            target = Target("mart", "sql", options=options)
            name = RepoName("default", "report")
            sender = open_sender(Berth(name, target, options, threading.Event(), "bench"))
            return call(lambda: sender.send(Shipment(lake._core, commit, "/", None)))

        def theirs(number: int) -> Cost:
            return call(lambda: _copy(url, path, number))

        found = in_turns({"ours": ours, "theirs": theirs}, bench.rounds)
    yield times_as_long(
        CLAIM, f"out: {rows:,} rows into PostgreSQL", best(found["ours"]), "COPY by hand",
        best(found["theirs"]), budget=2.0,
    )  # fmt: skip


def _copy(url: str, path: Path, number: int) -> None:
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        name = f"theirs_{number}"
        made = f"CREATE TABLE {name} (id BIGINT, name TEXT, amount DOUBLE PRECISION)"
        connection.execute(made.encode())
        asked = f"COPY {name} FROM STDIN (FORMAT csv)".encode()
        with connection.cursor() as cursor, cursor.copy(asked) as copy, open(path, "rb") as file:
            while data := file.read(1 << 20):
                copy.write(data)


def _fill_sqlite(path: Path, rows: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE orders ({_COLUMNS})")
        made = ((n, f"name {n % 1000}", n / 100, "2026-01-01") for n in range(rows))
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", made)


def _fill_postgres(url: str, rows: int) -> None:
    import psycopg

    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        connection.execute(f"CREATE TABLE orders ({_COLUMNS})".encode())
        connection.execute(
            b"INSERT INTO orders SELECT i, 'name ' || i % 1000, i / 100.0, date '2026-01-01' "
            + f"FROM generate_series(1, {rows}) i".encode()
        )
