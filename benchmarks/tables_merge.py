"""A table of 10,000,000 rows and a merge of one percent of its keys: what is rewritten.

Keys that lie together are in few files, and only those are written anew. Keys spread over all of
the table are in all files. The peer is a full rewrite through the same writer: the table with the
new rows put in by DuckDB, written over the old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench, Cost, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from trunkline.sdk import Lake

CLAIM = "tables_merge"
FILES = 100
SHARE = 100  # one row of so many is merged
ROW = """
SELECT {key} AS id, 'name ' || ({key} % 1000) AS name,
  (hash({key} + {seed}) % 1000000) / 100 AS amount,
  date '2020-01-01' + ({key} % 2000)::int AS day
FROM range({first}, {last})
"""


def run(bench: Bench) -> Iterator[Result]:
    rows = bench.size(10_000_000, 200_000)
    with tl.init(bench.folder / "lake") as lake:
        lake.create_repo("rows")
        each = rows // FILES
        for number in range(FILES):
            lake.write_table("rows@main", _made("range", 0, number * each, (number + 1) * each))
        files = _files(lake)
        start, many = rows // 2, rows // SHARE
        cases = {
            "together": lambda seed: _made("range", seed, start, start + many),
            "spread": lambda seed: _made(f"(range * {SHARE})", seed + 50, 0, many),
        }
        replaced: dict[str, int] = {}

        def merge(case: str, number: int) -> Cost:
            source = cases[case](number + 1)
            found: list[Any] = []
            cost = call(lambda: found.append(lake.merge_table("rows@main", source, on="id")))
            (change,) = found
            assert (change.updated, change.inserted, change.deleted) == (many, 0, 0), change
            replaced[case] = change.files
            return cost

        runs = {
            "together": lambda number: merge("together", number),
            "spread": lambda number: merge("spread", number),
            "full": lambda number: _rewrite(lake, cases["spread"](number + 100)),
        }
        # The full rewrite chooses its own files: it is measured after the merges.
        merges = in_turns({name: runs[name] for name in cases}, bench.median_rounds)
        full = typical(in_turns({"full": runs["full"]}, bench.median_rounds)["full"])
        assert lake.table("rows@main").info.rows == rows
    for case, found in merges.items():
        what = f"merge {many:,} keys, {case}, into {rows:,} rows: {replaced[case]} of {files} files"
        yield times_as_long(CLAIM, what, typical(found), "a full rewrite", full)
        yield Result(
            CLAIM, f"files written anew, keys {case}", str(replaced[case]), "all files",
            str(files), replaced[case] / files,
        )  # fmt: skip


def _rewrite(lake: Lake, source: Any) -> Cost:
    """What one does without a merge: read, put the new rows in, write everything."""
    import duckdb

    def work() -> None:
        connection = duckdb.connect()
        connection.register("old", lake.table("rows@main").batches())
        connection.register("new", source)
        joined = connection.sql(
            "SELECT * FROM old ANTI JOIN new USING (id) UNION ALL SELECT * FROM new"
        )
        lake.write_table("rows@main", joined, mode="overwrite")

    return call(work)


def _made(key: str, seed: int, first: int, last: int) -> Any:
    import duckdb

    text = ROW.format(key=key, seed=seed, first=first, last=last)
    return duckdb.connect().sql(text).to_arrow_table()


def _files(lake: Lake) -> int:
    return sum(info.path.endswith(".parquet") for info in lake.ls("rows@main", recursive=True))
