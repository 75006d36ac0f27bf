"""A catalog as one stream of rows, and back: between databases of different kinds too.

Lines of JSON: {"format": 5, "revision": "0005"}, then for each table {"table": …, "columns": […]}
and its rows as lists, in an order in which no row comes before one that it refers to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from trunkline.errors import AlreadyExists, CorruptObject, WrongFormat
from trunkline.storage.catalog.open import FORMAT, is_file_url, sqlite_path, upgrade_to
from trunkline.storage.catalog.server import driver_errors, engine_for, server_errors
from trunkline.storage.catalog.sqlite import translate

# What dies with the processes that wrote it, and what belongs to the tool that made the tables.
_LEFT_OUT = ("leases", "alembic_version", "requests")
_AT_ONCE = 1000


def dump(url: str, base: Path) -> Iterator[bytes]:
    """All rows of a catalog as it is at one moment, as lines."""
    with _connected(url, base) as connection:
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()
        yield _line({"format": FORMAT, "revision": found})
        for table in _tables(connection):
            yield _line({"table": table.name, "columns": [column.name for column in table.columns]})
            rows = connection.execution_options(yield_per=_AT_ONCE).execute(sa.select(table))
            for row in rows:
                yield _line(list(row))


def load(lines: Iterable[bytes], url: str, base: Path, store: str, again: bool = False) -> None:
    """Make a catalog of what `dump` gave, and bring it to the present format; `store` is where
    the objects are now. Erasures are to be done again. With `again` it may have been made before.
    """
    rest = iter(lines)
    head = _read(next(rest, b""))
    if not isinstance(head, dict) or "revision" not in head:
        raise CorruptObject("This is not the catalog of a backup.")
    if int(head["format"]) > FORMAT:
        raise WrongFormat(
            f"The backup has format {head['format']}; this Trunkline reads up to {FORMAT}.",
            hint="Upgrade Trunkline: pip install -U trunkline",
        )
    upgrade_to(url, base, str(head["revision"]), int(head["format"]))
    with _connected(url, base, write=True) as connection:
        tables = {table.name: table for table in _tables(connection)}
        held = "every_repo" if "every_repo" in tables else "repos"  # which it was before format 8
        if connection.execute(sa.text(f"SELECT count(*) FROM {held}")).scalar_one():
            known = sa.text("SELECT value FROM meta WHERE name = 'store'")
            if not again or connection.execute(known).scalar_one() != store:
                raise AlreadyExists(
                    "This catalog has repos already.", hint="Restore into an empty one."
                )
        for table in reversed(tables.values()):
            if again or table.name in ("meta", "projects"):
                connection.execute(table.delete())
        for table, rows in _grouped(rest, tables):
            connection.execute(table.insert(), rows)
        connection.execute(
            sa.text("UPDATE meta SET value = :store WHERE name = 'store'"), {"store": store}
        )
        # A backup keeps objects as they were when it first copied them.
        connection.execute(sa.text("UPDATE erasures SET done = 0"))
        if connection.dialect.name == "postgresql":
            _go_on_counting(connection, tables.values())
    upgrade_to(url, base, "head", FORMAT)


def _grouped(
    lines: Iterator[bytes], tables: dict[str, sa.Table]
) -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    table: sa.Table | None = None
    columns: list[str] = []
    while some := list(islice(lines, _AT_ONCE)):
        rows: list[dict[str, Any]] = []
        for line in some:
            value = _read(line)
            if isinstance(value, list):
                rows.append(dict(zip(columns, value, strict=True)))
                continue
            if table is not None and rows:
                yield table, rows
            rows, columns = [], list(value["columns"])
            table = tables[value["table"]]
        if table is not None and rows:
            yield table, rows


def _go_on_counting(connection: Connection, tables: Iterable[sa.Table]) -> None:
    """Rows came with their numbers: those to come must not be given the same ones."""
    for table in tables:
        for column in table.primary_key.columns:
            if "nextval" not in str(getattr(column.server_default, "arg", "")):
                continue
            connection.execute(
                sa.text(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', '{column.name}'), "
                    f"(SELECT coalesce(max({column.name}), 0) + 1 FROM {table.name}), false)"
                )
            )


def _tables(connection: Connection) -> list[sa.Table]:
    known = sa.MetaData()
    known.reflect(connection)
    return [table for table in known.sorted_tables if table.name not in _LEFT_OUT]


@contextmanager
def _connected(url: str, base: Path, write: bool = False) -> Iterator[Connection]:
    """One transaction that sees one moment."""
    if is_file_url(url):
        path = sqlite_path(url, base)
        engine = sa.create_engine(f"sqlite:///{path.absolute()}")
        # Left alone, the driver begins no transaction before a SELECT.
        sa.event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        begin = "BEGIN IMMEDIATE" if write else "BEGIN"
        sa.event.listen(engine, "begin", lambda begun: begun.exec_driver_sql(begin))
        said = driver_errors(lambda error: translate(error, path))
    else:
        engine = engine_for(url, isolation_level="REPEATABLE READ")
        said = server_errors(url)
    try:
        with said, engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise CorruptObject("The catalog of this backup is damaged.") from None
