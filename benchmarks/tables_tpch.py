"""The 22 queries of TPC-H at a commit against the same engine over the bare files.

DuckDB: `lake.sql(…)` against one warm connection whose views read the files; a new connection
for each query, as ours makes one, is reported beside it. Spark: `lake.sql(…, engine="spark")`
against views of `spark.read.parquet` in the same Spark. All read the same Parquet, hand their
rows over as Arrow, and must give the same rows; at scale 1 also the published ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import trunkline as tl
from benchmarks import tpch
from benchmarks.measure import Bench, Cost, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from benchmarks.spark import warm_session
from benchmarks.tpch.answers import Row, check_equal, check_published
from trunkline.sdk import Lake

CLAIM = "tables_tpch"
BUDGET = 1.02
Ask = Callable[[str], Any]
"""From the text of a query to its rows as an Arrow table."""


def run(bench: Bench) -> Iterator[Result]:
    scale = bench.tpch_scale()
    data = tpch.data(scale)
    answers: dict[int, list[Row]] = {}
    with tl.init(bench.folder / "lake") as lake:
        tpch.put_tables(lake, data)
        if bench.engine in ("duckdb", "both"):
            asks = {
                "ours": lambda text: lake.sql(text).arrow(),
                "bare": _duckdb(data),
                "anew": lambda text: _duckdb(data)(text),
            }
            yield from _compare(bench, "DuckDB", scale, asks, answers)
        if bench.engine in ("spark", "both"):
            with warm_session() as session:
                yield from _spark(bench, lake, session.spark.newSession(), data, scale, answers)


def _spark(
    bench: Bench, lake: Lake, spark: Any, data: Path, scale: float, answers: dict[int, list[Row]]
) -> Iterator[Result]:
    for name in tpch.TABLES:
        spark.read.parquet(str(data / f"{name}.parquet")).createOrReplaceTempView(name)
    asks: dict[str, Ask] = {
        "ours": lambda text: lake.sql(text, engine="spark").arrow(),
        "bare": lambda text: spark.sql(text).toArrow(),
    }
    yield from _compare(bench, "Spark", scale, asks, answers)


def _duckdb(data: Path) -> Ask:
    import duckdb

    connection = duckdb.connect()
    for name in tpch.TABLES:
        path = data / f"{name}.parquet"
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")

    return lambda text: connection.sql(text).to_arrow_table()


def _compare(
    bench: Bench, engine: str, scale: float, asks: dict[str, Ask], answers: dict[int, list[Row]]
) -> Iterator[Result]:
    totals = {name: Cost(0.0, 0.0) for name in asks}
    worst, worst_name = 0.0, ""
    for query in tpch.queries(scale):
        for name, ask in asks.items():  # also the warm-up
            rows = _rows(ask(query.text))
            check_equal(
                f"{query.name}, {engine} {name}", rows, answers.setdefault(query.number, rows)
            )
            if scale == 1:
                check_published(query.number, rows)
        costs = in_turns(
            {name: _timed(ask, query.text) for name, ask in asks.items()},
            bench.median_rounds,
            sync=False,
        )
        medians = {name: typical(found) for name, found in costs.items()}
        totals = {name: totals[name] + medians[name] for name in asks}
        ratio = medians["ours"].wall / medians["bare"].wall
        if ratio > worst:
            worst, worst_name = ratio, query.name
            slowest = medians
    what = f"22 queries by {engine}, TPC-H scale {scale:g}"
    bare = f"{engine} on the bare files"
    yield times_as_long(CLAIM, what, totals["ours"], bare, totals["bare"], BUDGET)
    if "anew" in asks:
        yield times_as_long(
            CLAIM, what, totals["ours"], f"{bare}, a connection each", totals["anew"]
        )
    yield times_as_long(
        CLAIM, f"{worst_name} by {engine}, the farthest", slowest["ours"], bare, slowest["bare"]
    )


def _timed(ask: Ask, text: str) -> Callable[[int], Cost]:
    return lambda number: call(lambda: ask(text))


def _rows(table: Any) -> list[Row]:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))
