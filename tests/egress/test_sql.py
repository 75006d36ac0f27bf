"""Tables of SQL databases as a target: each version once, never half, on PostgreSQL and SQLite."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

import trunkline as tl
from tests.postgres import postgres
from trunkline.connect import sqlwriting
from trunkline.egress.base import Berth, Sent, Shipment
from trunkline.egress.targets import open_sender
from trunkline.errors import (
    NotFound,
    Precondition,
    SchemaClash,
    TrunklineError,
    Unavailable,
)
from trunkline.model.commits import Commit, RepoName
from trunkline.model.egress import Target


class Mart:
    """A lake with a table, and a database that gets it."""

    def __init__(self, lake: tl.Lake, url: str) -> None:
        self.lake = lake
        self.url = url
        self.engine: Engine = create_engine(url, poolclass=NullPool)
        self.options: dict[str, Any] = {"table": "report", "mode": "replace"}
        self.before: Commit | None = None
        self.stop = threading.Event()

    def write(self, rows: pa.Table | Mapping[str, Any]) -> Commit:
        table = rows if isinstance(rows, pa.Table) else pa.table(dict(rows))
        self.lake.write_table("report", table, mode="overwrite")
        return next(iter(self.lake.log("report")))

    def shipment(self, commit: Commit) -> Shipment:
        return Shipment(self.lake._core, commit, "/", self.before)

    def send(self, commit: Commit) -> Sent:
        target = Target("mart", "sql", options={"url": self.url, **self.options})
        berth = Berth(RepoName("default", "report"), target, target.options, self.stop, "L")
        sender = open_sender(berth)
        try:
            sent = sender.send(self.shipment(commit))
        finally:
            sender.close()
        self.before = commit
        return sent

    def deliver(self, rows: pa.Table | Mapping[str, Any]) -> str:
        return self.send(self.write(rows)).note

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))

    def rows(self, asked: str = "SELECT * FROM report ORDER BY 1") -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(asked))]


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tl.Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("report")
        yield made


def at_postgres(lake: tl.Lake) -> Mart:
    server = postgres()
    url = server.url(server.empty_database())
    return Mart(lake, url.replace("postgresql://", "postgresql+psycopg://"))


@pytest.fixture
def pg(lake: tl.Lake) -> Mart:
    return at_postgres(lake)


@pytest.fixture(params=["postgresql", "sqlite"])
def mart(request: pytest.FixtureRequest, lake: tl.Lake, tmp_path: Path) -> Mart:
    if request.param == "sqlite":
        return Mart(lake, f"sqlite:///{tmp_path}/mart.db")
    return at_postgres(lake)


def test_replace_makes_the_table_and_keeps_it(mart: Mart) -> None:
    assert mart.deliver({"id": [1, 2], "what": ["a", None]}) == "replaced report by 2 rows"
    mart.run("CREATE VIEW seen AS SELECT id FROM report")
    assert mart.deliver({"id": [3], "what": [""]}) == "replaced report by 1 row"
    assert mart.rows() == [(3, "")]
    assert mart.rows("SELECT * FROM seen") == [(3,)]


def test_append_adds_what_is_new(mart: Mart) -> None:
    mart.options["mode"] = "append"
    assert mart.deliver({"id": [1, 2]}) == "added 2 rows to report"
    assert mart.deliver({"id": [1, 2, 3]}) == "added 1 row to report"
    assert mart.deliver({"id": [1, 2, 3, 3]}) == "added 1 row to report"
    assert mart.rows() == [(1,), (2,), (3,), (3,)]
    with pytest.raises(Precondition, match="1 row changed or went since") as caught:
        mart.deliver({"id": [2, 3, 3, 4]})
    assert "mode: merge" in caught.value.hint
    assert mart.rows() == [(1,), (2,), (3,), (3,)]


def test_merge_goes_by_the_key(mart: Mart) -> None:
    mart.options |= {"mode": "merge", "key": ["day", "shop"]}
    first = {"day": [1, 1, 2], "shop": ["x", "y", "x"], "sum": [10, 11, 12]}
    assert mart.deliver(first) == "merged 3 rows into report"
    mart.run("INSERT INTO report VALUES (0, 'theirs', 1)", "ALTER TABLE report ADD note INTEGER",
             "UPDATE report SET note = 7")  # fmt: skip
    second = {"day": [1, 2, 3], "shop": ["x", "x", "x"], "sum": [10, 99, 13]}
    assert mart.deliver(second) == "merged 2 rows into report"
    assert mart.rows("SELECT * FROM report ORDER BY day, shop") == [
        (0, "theirs", 1, 7),
        (1, "x", 10, 7),
        (1, "y", 11, 7),
        (2, "x", 99, 7),
        (3, "x", 13, None),
    ]
    mart.options["delete"] = True
    third = {"day": [2, 3], "shop": ["x", "x"], "sum": [99, 14]}
    assert mart.deliver(third) == "merged 1 row into report, deleted 1 row"
    # Nothing is known of the version before: the table gets just these rows.
    mart.before = None
    mart.run("DELETE FROM trunkline_deliveries")
    assert mart.deliver({"day": [5], "shop": ["x"], "sum": [1]}).endswith("deleted 4 rows")
    assert mart.rows("SELECT day, shop, sum FROM report") == [(5, "x", 1)]


def test_a_version_is_there_once_also_if_nobody_was_told(mart: Mart) -> None:
    for mode, more in (("append", {}), ("replace", {}), ("merge", {"key": ["id"]})):
        mart.options = {"table": mode, "mode": mode, **more}
        mart.before = None
        first = mart.write({"id": [1, 2]})
        mart.send(first)
        mart.before = None  # we died before it was put on record
        again = mart.send(first)
        assert again.rows == 0 and again.note == f"{mode} had it already"
        # The record is behind what the target says of itself.
        mart.before = None
        mart.send(mart.write({"id": [1, 2, 3]}))
        assert mart.rows(f'SELECT id FROM "{mode}" ORDER BY 1') == [(1,), (2,), (3,)]
    assert len(mart.rows("SELECT * FROM trunkline_deliveries")) == 3


def test_what_fails_leaves_nothing_behind(mart: Mart) -> None:
    mart.deliver({"id": [1], "n": [1]})
    noted = mart.rows("SELECT commit_id, rows FROM trunkline_deliveries")
    mart.run("CREATE UNIQUE INDEX one ON report (n)")
    with pytest.raises(TrunklineError):
        mart.deliver({"id": [2, 3], "n": [5, 5]})
    assert mart.rows() == [(1, 1)]
    assert mart.rows("SELECT commit_id, rows FROM trunkline_deliveries") == noted


def test_keys_that_do_not_tell_rows_apart(mart: Mart) -> None:
    mart.options |= {"mode": "merge", "key": ["id"], "create": False}
    mart.run("CREATE TABLE report (id BIGINT, n BIGINT)")
    for rows, said in (
        ({"id": [1, None], "n": [1, 2]}, "a key that is null: id = None"),
        ({"id": [1, 1], "n": [1, 2]}, "the same key more than once: id = 1"),
    ):
        with pytest.raises(Precondition) as caught:
            mart.deliver(rows)
        assert said in caught.value.message
    mart.options["key"] = ["idd"]
    with pytest.raises(NotFound, match='no column "idd" for key. Did you mean "id"'):
        mart.deliver({"id": [1], "n": [1]})
    assert mart.rows() == []


def test_a_table_that_does_not_fit(mart: Mart) -> None:
    mart.options["create"] = False
    with pytest.raises(NotFound, match='has no table "report"'):
        mart.deliver({"id": [1]})
    mart.run("CREATE TABLE report (id INTEGER, day VARCHAR(9), n INTEGER, must INTEGER NOT NULL)")
    with pytest.raises(SchemaClash) as caught:
        mart.deliver({"id": [1], "dai": ["x"], "ids": ["x"], "n": [date(2026, 1, 1)]})
    assert caught.value.diff == [
        '+ dai string (is not there; did you mean "day"?)',
        "+ ids string (is not there)",
        "~ n date32[day] (is INTEGER there)",
        "- must INTEGER (must not be null there)",
    ]


@pytest.mark.parametrize("name", ["select", 'Odd "one"', "a'; DROP TABLE x; --", "ü:z %s"])
def test_names_are_only_names(mart: Mart, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    mart.options = {"table": quoted, "mode": "merge", "key": [name], "delete": True}
    mart.deliver({name: [1, 2], "order": ["a", "b"]})
    mart.deliver({name: [2, 3], "order": ["B", "c"]})
    asked = f"SELECT * FROM {quoted} ORDER BY 1".replace(":", "\\:")
    assert mart.rows(asked) == [(2, "B"), (3, "c")]


KINDS: dict[str, tuple[pa.DataType, Any]] = {
    "small": (pa.int16(), -5),
    "big": (pa.int64(), 2**62),
    "f": (pa.float32(), 1.5),
    "d": (pa.float64(), 0.1),
    "ok": (pa.bool_(), True),
    "n": (pa.decimal128(20, 4), Decimal("1234567890123.4567")),
    "day": (pa.date32(), date(2026, 2, 3)),
    "at": (pa.timestamp("us", "UTC"), datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=UTC)),
    "wall": (pa.timestamp("us"), datetime(2026, 2, 3, 4, 5, 6)),
    "raw": (pa.binary(), b"\x00\xff\\"),
    "txt": (pa.string(), 'a,"b"\n\\N \\. ü'),
    "list": (pa.list_(pa.int64()), [1, 2]),
    "doc": (pa.struct([("a", pa.string())]), {"a": "x"}),
}


def kinds() -> pa.Table:
    columns = {name: pa.array([value, None], type_) for name, (type_, value) in KINDS.items()}
    return pa.table({"id": pa.array([1, 2]), **columns})


def test_types_of_postgres(pg: Mart) -> None:
    pg.deliver(kinds())
    first, second = pg.rows()
    assert dict(zip(KINDS, first[1:], strict=True)) == {
        name: one for name, (_, one) in KINDS.items()
    }
    assert second == (2, *[None] * len(KINDS))
    asked = (
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name='report'"
    )
    types = dict(pg.rows(asked))
    assert (types["n"], types["at"], types["doc"], types["raw"]) == (
        "numeric", "timestamp with time zone", "jsonb", "bytea"
    )  # fmt: skip


def test_types_of_sqlite(lake: tl.Lake, tmp_path: Path) -> None:
    mart = Mart(lake, f"sqlite:///{tmp_path}/mart.db")
    mart.deliver(kinds())
    first, second = mart.rows()
    assert first[1:] == (
        -5, 2**62, 1.5, 0.1, 1, "1234567890123.4567", "2026-02-03", "2026-02-03 04:05:06.000789",
        "2026-02-03 04:05:06", b"\x00\xff\\", 'a,"b"\n\\N \\. ü', "[1, 2]", '{"a": "x"}',
    )  # fmt: skip
    assert second == (2, *[None] * len(KINDS))


def test_sqlite_gets_every_digit_of_decimals_and_refuses_nan(lake: tl.Lake, tmp_path: Path) -> None:
    """A number of SQLite has 15 digits, and no NaN."""
    mart = Mart(lake, f"sqlite:///{tmp_path}/mart.db")
    texts = ["999999999999.999999", "-0.000001", "12345678901.100000", None]
    wide = pa.array([text and Decimal(text) for text in texts], pa.decimal128(18, 6))
    small = pa.array([Decimal("0.01"), Decimal("-999999.99"), None, None], pa.decimal128(8, 2))
    mart.deliver(pa.table({"wide": wide, "small": small, "real": [0.1, 5e-324, 1e308, None]}))
    found = mart.rows("SELECT * FROM report")
    assert [row[0] for row in found] == texts
    assert [row[1] for row in found] == [0.01, -999999.99, None, None]
    assert [row[2] for row in found] == [0.1, 5e-324, 1e308, None]
    with pytest.raises(Precondition, match=r"real of report cannot hold NaN \(sqlite\)"):
        mart.deliver(pa.table({"wide": wide, "small": small, "real": [0.1, None, math.nan, 1.0]}))
    assert mart.rows("SELECT * FROM report") == found


def test_postgres_has_words_for_what_is_no_number(pg: Mart) -> None:
    pg.deliver({"id": [1, 2, 3], "v": [math.nan, math.inf, -math.inf]})
    assert repr(pg.rows()) == "[(1, nan), (2, inf), (3, -inf)]"


def test_nested_values_that_are_no_numbers_are_texts(mart: Mart) -> None:
    """As in JSON that goes elsewhere."""
    values = [[{"a": 1.5, "b": [math.nan, None]}], [{"a": math.inf, "b": [-math.inf]}]]
    mart.deliver(pa.table({"id": [1, 2], "v": values}))
    found = [one if isinstance(one, list) else json.loads(one) for _, one in mart.rows()]
    assert found == [
        [{"a": 1.5, "b": ["NaN", None]}],
        [{"a": "Infinity", "b": ["-Infinity"]}],
    ]


LOST = {
    "price numeric(10, 2)": [
        (pa.array([Decimal("1.230"), Decimal("1.234")]), "1.234 with 2 digits behind the point"),
        (pa.array([Decimal("0.990"), Decimal("0.999")]), "0.999 with 2 digits behind the point"),
        (pa.array([1.5, 1.239]), "1.239 with 2 digits behind the point"),
    ],
    "price timestamp(3)": [
        (
            pa.array([datetime(2026, 1, 1, 0, 0, 0, 1000), datetime(2026, 1, 1, 0, 0, 0, 1001)]),
            "fractions of a second with more than 3 digits",
        )
    ],
    "price date": [
        (pa.array([0, 3_000_000], pa.int32()).cast(pa.date32()), "days outside the years 1 to 9999")
    ],
}


@pytest.mark.parametrize("column", LOST)
def test_what_a_table_would_round_is_refused_by_name(pg: Mart, column: str) -> None:
    for values, flaw in LOST[column]:
        pg.run("DROP TABLE IF EXISTS report", f"CREATE TABLE report (id int, {column})")
        rows = pa.table({"id": pa.array([1, 2], pa.int32()), "price": values})
        with pytest.raises(Precondition) as caught:
            pg.deliver(rows)
        assert caught.value.message == f"price of report cannot hold {flaw} (postgresql)."
        assert pg.rows() == []
        pg.deliver(rows.slice(0, 1))
        assert len(pg.rows()) == 1


def test_who_reads_meanwhile_sees_one_version_or_the_other(pg: Mart) -> None:
    pg.deliver({"id": list(range(5_000)), "v": [0] * 5_000})
    seen: set[tuple[int, int, int]] = set()
    failed: list[BaseException] = []
    stop = threading.Event()

    def look() -> None:
        try:
            while not stop.is_set():
                ((count, low, high),) = pg.rows("SELECT count(*), min(v), max(v) FROM report")
                seen.add((count, low, high))
        except BaseException as error:
            failed.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for version in (1, 2, 3):
            if version == 2:
                pg.options |= {"mode": "merge", "key": ["id"], "delete": True}
            rows = 5_000 + version
            pg.deliver({"id": list(range(rows)), "v": [version] * rows})
    finally:
        stop.set()
        reader.join()
    assert not failed
    assert seen <= {(5_000 + version, version, version) for version in range(4)}
    assert pg.rows("SELECT count(*), min(v), max(v) FROM report") == [(5_003, 3, 3)]


def test_two_at_once_deliver_it_once(pg: Mart) -> None:
    pg.options["mode"] = "append"
    commit = pg.write({"id": list(range(100))})
    errors: list[BaseException] = []

    def one() -> None:
        try:
            pg.send(commit)
        except BaseException as error:
            errors.append(error)

    # The table is there, so that they meet at the ledger.
    pg.run("CREATE TABLE report (id BIGINT)")
    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, Unavailable) for error in errors)
    assert pg.rows("SELECT count(*) FROM report") == [(100,)]


def test_who_is_killed_has_delivered_nothing(pg: Mart, tmp_path: Path) -> None:
    pg.options["mode"] = "append"
    pg.deliver({"id": [1]})
    second = pg.write({"id": [1, 2, 3]})
    script = (
        "import sys, threading, trunkline as tl\n"
        "from trunkline.egress.base import Berth, Shipment\n"
        "from trunkline.egress.targets import open_sender\n"
        "from trunkline.model.commits import RepoName\n"
        "from trunkline.model.egress import Target\n"
        "options = {'url': sys.argv[2], 'table': 'report', 'mode': 'append'}\n"
        "target = Target('mart', 'sql', options=options)\n"
        "name = RepoName('default', 'report')\n"
        "with tl.open(sys.argv[1]) as lake:\n"
        "    new, old = list(lake.log('report'))[:2]\n"
        "    sender = open_sender(Berth(name, target, options, threading.Event(), 'L'))\n"
        "    sender.send(Shipment(lake._core, new, '/', old))\n"
    )
    died = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "lake"), pg.url],
        env={**os.environ, "TRUNKLINE_CRASH_AT": "egress.sending"},
        check=False,
        timeout=120,
    )
    assert died.returncode == -signal.SIGKILL
    assert pg.rows() == [(1,)]
    assert pg.send(second).note == "added 2 rows to report"
    assert pg.rows() == [(1,), (2,), (3,)]


def test_a_database_that_is_away(lake: tl.Lake) -> None:
    mart = Mart(lake, "postgresql+psycopg://nobody@127.0.0.1:1/mart")
    with pytest.raises(Unavailable, match="cannot be reached"):
        mart.deliver({"id": [1]})


def test_a_table_that_was_dropped_is_made_and_filled_anew(mart: Mart) -> None:
    for mode, more in (("append", {}), ("merge", {"key": ["id"]})):
        name = f"my {mode}"
        mart.options = {"table": f'"{name}"', "mode": mode, **more}
        mart.before = None
        second = mart.options | {"table": mode}  # one beside it, whose name ends alike
        first = mart.write({"id": [1, 2]})
        mart.send(first)
        mart.options, mart.before = second, None
        mart.send(first)
        mart.run(f'DROP TABLE "{mode}"')
        assert mart.send(first).rows == 2
        mart.run(f'DROP TABLE "{mode}"')
        mart.deliver({"id": [1, 2, 3]})
        assert mart.rows(f'SELECT id FROM "{mode}" ORDER BY 1') == [(1,), (2,), (3,)]
        mart.options = {"table": f'"{name}"', "mode": mode, **more}
        assert mart.send(first).note == f"{name} had it already"


def test_times_without_a_zone_are_in_utc(pg: Mart) -> None:
    pg.run(f"ALTER DATABASE {pg.engine.url.database} SET timezone = 'Asia/Tokyo'",
           "CREATE TABLE report (id BIGINT, at TIMESTAMPTZ)")  # fmt: skip
    pg.deliver({"id": [1], "at": [datetime(2026, 2, 3, 4, 5)]})
    assert pg.rows("SELECT at FROM report") == [(datetime(2026, 2, 3, 4, 5, tzinfo=UTC),)]


def test_who_was_told_to_stop_writes_nothing(mart: Mart) -> None:
    mart.deliver({"id": [1]})
    mart.stop.set()
    with pytest.raises(Unavailable, match="told to stop"):
        mart.deliver({"id": [2]})
    assert mart.rows() == [(1,)]


def test_merge_where_nothing_can_be_staged(
    lake: tl.Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with databases other than these two: rows are deleted and inserted."""
    monkeypatch.setattr(sqlwriting, "_STAGING", ())
    monkeypatch.setattr(sqlwriting, "_AT_ONCE", 1)
    mart = Mart(lake, f"sqlite:///{tmp_path}/mart.db")
    mart.run("CREATE TABLE report (id BIGINT, n BIGINT)")
    mart.options |= {"mode": "merge", "key": ["id"]}
    mart.deliver({"id": [1, 2], "n": [1, 2]})
    mart.deliver({"id": [1, 2], "n": [1, 3]})
    for rows, said in (
        ({"id": [3, None], "n": [1, 2]}, "a key that is null: id = None"),
        ({"id": [3, 3], "n": [1, 2]}, "the same key more than once: id = 3"),
    ):
        with pytest.raises(Precondition) as caught:
            mart.send(mart.write(rows))
        assert said in caught.value.message
    mart.run("ALTER TABLE report ADD note INTEGER", "UPDATE report SET note = 7")
    with pytest.raises(Precondition, match="columns that the output does not have: note"):
        mart.deliver({"id": [1], "n": [9]})
    assert mart.rows() == [(1, 1, 7), (2, 3, 7)]
