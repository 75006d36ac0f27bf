"""What the queries of Nexmark must give: asked of DuckDB, over all the events at once.

A stream gives what its last watermark has closed, so `answer` is told that watermark. Rows are
compared as multisets, doubles by six digits after the point.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.nexmark.generator import Views
from benchmarks.nexmark.queries import INPUTS, LAST_CLOSED, Sizes

DELAY = 4_000
"""How far the watermark is behind the newest event, in milliseconds."""

_WON = """
    SELECT a.id, a.seller, a.category, a.ts, a.expires, max(b.price) AS price
    FROM auction a JOIN bid b ON b.auction = a.id AND b.ts BETWEEN a.ts AND a.expires
    GROUP BY a.id, a.seller, a.category, a.ts, a.expires
"""
_TUMBLING = "epoch_ms(ts) // $window * $window AS starts, starts + $window AS ends, *"
_QUERIES = {
    "q0": "SELECT * FROM bid",
    "q1": "SELECT auction, bidder, price * 0.908::DOUBLE AS euro, ts FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT p.name, p.city, p.state, a.id AS auction
        FROM person p JOIN auction a ON a.seller = p.id
        WHERE p.state IN ('OR', 'ID', 'CA') AND a.category = 10
          AND epoch_ms(a.ts) - epoch_ms(p.ts) BETWEEN 0 AND $bound
    """,
    "q4": f"""
        SELECT starts, ends, category, avg(price) AS mean
        FROM (SELECT {_TUMBLING} FROM ({_WON})) WHERE ends < $watermark - $life
        GROUP BY starts, ends, category
    """,
    "q5": """
        WITH placed AS (
            SELECT (epoch_ms(ts) // $slide - back) * $slide AS starts, auction
            FROM bid, range($window // $slide) AS steps(back)
        ), counts AS (
            SELECT starts, starts + $window AS ends, auction, count(*) AS bids
            FROM placed WHERE starts + $window <= $watermark GROUP BY starts, auction
        )
        SELECT * FROM counts QUALIFY bids = max(bids) OVER (PARTITION BY starts)
    """,
    "q6": f"""
        SELECT seller, id AS auction, expires, avg(price) OVER (
            PARTITION BY seller ORDER BY expires, id
            ROWS BETWEEN {LAST_CLOSED - 1} PRECEDING AND CURRENT ROW
        ) AS mean
        FROM ({_WON}) WHERE epoch_ms(expires) < $watermark - $life
    """,
    "q7": f"""
        SELECT starts, ends, auction, bidder, price, ts
        FROM (SELECT {_TUMBLING} FROM bid) WHERE ends <= $watermark
        QUALIFY price = max(price) OVER (PARTITION BY starts)
    """,
    "q8": f"""
        SELECT p.starts, p.ends, p.id, p.name, count(*) AS auctions
        FROM (SELECT {_TUMBLING} FROM person) p
        JOIN (SELECT {_TUMBLING} FROM auction) a ON a.starts = p.starts AND a.seller = p.id
        WHERE p.ends <= $watermark
        GROUP BY p.starts, p.ends, p.id, p.name
    """,
    "q11": """
        WITH marked AS (
            SELECT bidder, epoch_ms(ts) AS millis, lag(epoch_ms(ts)) OVER one AS before
            FROM bid WINDOW one AS (PARTITION BY bidder ORDER BY ts)
        ), numbered AS (
            SELECT bidder, millis, count_if(before IS NULL OR millis - before > $gap) OVER (
                PARTITION BY bidder ORDER BY millis RANGE UNBOUNDED PRECEDING) AS session
            FROM marked
        )
        SELECT bidder, min(millis) AS starts, max(millis) + $gap AS ends, count(*) AS bids
        FROM numbered GROUP BY bidder, session HAVING max(millis) + $gap <= $watermark
    """,
}


def final_watermark(query: str, views: Views, delay: int = DELAY) -> int:
    """Where the watermark stands, in milliseconds, when all has been read and acted upon: that
    of the input that is furthest behind.
    """
    tables = views.tables()
    newest = [pc.max(tables[name]["ts"].cast(pa.int64())).as_py() for name in INPUTS[query]]
    return int(min(newest)) // 1000 - delay


def answer(query: str, views: Views, watermark: int, sizes: Sizes) -> pa.Table:
    """The rows of a query, as far as a watermark, in milliseconds, lets them out."""
    given = {
        "window": sizes.window,
        "slide": sizes.slide,
        "gap": sizes.gap,
        "bound": sizes.bound,
        "life": sizes.life,
        "watermark": watermark,
    }
    text = _QUERIES[query]
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        for name, table in views.tables().items():
            connection.register(name, table)
        used = {name: value for name, value in given.items() if f"${name}" in text}
        return connection.sql(text, params=used).to_arrow_table()


def differences(found: pa.Table, wanted: pa.Table) -> tuple[list[Any], list[Any]]:
    """The rows that are missing, and those too many. None of both: they are the same multiset.

    Columns go by their names. Times may be timestamps, or the milliseconds that they are.
    """
    if set(found.column_names) != set(wanted.column_names):
        raise ValueError(f"columns {found.column_names}, and not {wanted.column_names}")
    with duckdb.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        connection.register("found", _plain(found))
        connection.register("wanted", _plain(wanted.select(found.column_names)))
        text = "SELECT * FROM {} EXCEPT ALL SELECT * FROM {}"
        return (
            connection.execute(text.format("wanted", "found")).fetchall(),
            connection.execute(text.format("found", "wanted")).fetchall(),
        )


def _plain(table: pa.Table) -> pa.Table:
    """Times as milliseconds since 1970, numbers of one width, doubles rounded."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())
        elif pa.types.is_floating(column.type):
            column = pc.round(column.cast(pa.float64()), 6)
        elif pa.types.is_integer(column.type):
            column = column.cast(pa.int64())
        columns.append(column)
    return pa.table(columns, names=table.column_names)
