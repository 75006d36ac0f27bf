"""A large table in parts, through Spark's JDBC.

Spark writes the parts as Parquet into a folder of this machine, from where they go into the lake:
so its workers must share that folder's disk, as those of a local Spark do.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from trunkline.connect.databases import Database
from trunkline.connect.sqlreading import Origin, bounds, odd_times, spelt
from trunkline.errors import Precondition
from trunkline.ingests.feeds.base import Columns, Piece, Site
from trunkline.tables.reading.opening import open_parquet
from trunkline.tables.types import from_arrow_type

_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "sqlite": "org.sqlite.JDBC",
}
_ROWS = 100_000


def parts_of(
    site: Site, database: Database, origin: Origin, source: str, before: Any = None
) -> Iterator[Piece]:
    """All rows; with `before` those whose growing column is less."""
    import pyarrow as pa

    from trunkline.engine.jdbc import JdbcTable, Split, copy_table

    if site.spark is None:
        raise Precondition(
            "There is no Spark here to read the database with.", hint="Leave parallel out."
        )
    by = str(site.options["parallel"]["by"])
    origin.require(by, "parallel")
    with database.connect() as connection:
        if odd := odd_times(database, connection, origin):
            raise Precondition(
                f"{origin.name} has times in {', '.join(odd)} that Spark would change: infinity, "
                "or days outside the years 1 to 9999.",
                hint="Leave parallel out, and such rows are set apart; or mend them.",
            )
        least, most = bounds(database, connection, origin, by)
    split = None
    if least is not None and least != most:
        split = Split(by, _spelt(least), _spelt(most), int(site.options["parallel"]["parts"]))
    growing = str(site.options.get("by") or "") if before is not None else ""
    given = dict(site.options.get("jdbc") or {})
    url = database.engine.url
    table = JdbcTable(
        str(given.get("url") or _url(database)),
        spelt(database, origin, growing, before),
        [(one.name, str(from_arrow_type(one.type or pa.string()))) for one in origin.columns],
        str(given.get("driver") or _DRIVERS.get(database.dialect, "")),
        str(given.get("package") or ""),
        url.username or "",
        str(site.options.get("password") or ""),
    )
    wanted = pa.schema([(one.name, one.type or pa.string()) for one in origin.columns])
    with tempfile.TemporaryDirectory(prefix="trunkline-jdbc-") as folder:
        copy_table(site.spark(), table, split, f"{folder}/rows")
        for path in sorted(Path(folder, "rows").glob("*.parquet")):
            with open_parquet(path) as file:
                for batch in file.iter_batches(_ROWS):
                    # Spark's files have moments without their zone, which is UTC.
                    yield Columns(pa.Table.from_batches([batch]).cast(wanted), source)


def _url(database: Database) -> str:
    url = database.engine.url
    if re.search(r"[?&;#%]", url.database or ""):
        # Behind it a driver of Java has settings of its own, some of which call classes.
        raise Precondition(
            "The name of the database has a character that means something else to JDBC.",
            hint="Leave parallel out.",
        )
    if database.dialect == "sqlite":
        return f"jdbc:sqlite:{url.database}"
    if database.dialect not in _DRIVERS or not url.host:
        raise Precondition(
            f"How JDBC reaches {database.name} does not follow from its URL.",
            hint="Write jdbc: {url: jdbc:…, driver: CLASS}.",
        )
    port = f":{url.port}" if url.port else ""
    # A server may ask for any file of its client's machine.
    files = {"mysql": "?allowLoadLocalInfile=false", "mariadb": "?allowLocalInfile=false"}
    return (
        f"jdbc:{database.dialect}://{url.host}{port}/{url.database or ''}"
        f"{files.get(database.dialect, '')}"
    )


def _spelt(value: Any) -> str:
    """A bound as Spark reads it."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return str(value)
