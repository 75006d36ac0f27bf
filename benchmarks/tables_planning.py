"""Tables of 10,000 and 50,000 files at a commit: a filtered read is planned, and how many files.

From `lake.table(ref)` to a plan that knows its files: the manifest is read, the files are pruned
by their folder and by least and greatest values. A hundred small files are listed many times, by
reference, in a folder for each day. Once the table has a `_table.json`, as our own writers leave
it, and once it has not. Warm: Spark runs, and the same table was read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import trunkline as tl
from benchmarks.measure import Bench, call, typical
from benchmarks.report import Result, shown
from benchmarks.spark import files_selected, warm_session
from trunkline.sdk import Lake

CLAIM = "tables_planning"
PER_DAY = 100
ROWS = 100
BUDGETS = {10_000: 1.0, 50_000: 4.0}
ROUNDS = 5


def run(bench: Bench) -> Iterator[Result]:
    sizes = (1_000,) if bench.quick else tuple(BUDGETS)
    with warm_session(), tl.init(bench.folder / "lake") as lake:
        _make_base(lake)
        for files in sizes:
            for recorded in (True, False):
                name = f"t{files}_{'recorded' if recorded else 'found'}"
                _make_table(lake, name, files // PER_DAY, recorded)
                yield from _plan(bench, lake, name, files, recorded)


def _make_base(lake: Lake) -> None:
    """A hundred files with ids that do not overlap, in one table of our own writing."""
    import pyarrow as pa

    lake.create_repo("base")
    for number in range(PER_DAY):
        ids = range(number * ROWS, (number + 1) * ROWS)
        rows = pa.table({"id": list(ids), "amount": [value / 4 for value in ids]})
        lake.write_table("base@main:/day", rows)


def _make_table(lake: Lake, name: str, days: int, recorded: bool) -> None:
    lake.create_repo(name)
    files = [info.path for info in lake.ls("base@main:/day") if info.path.endswith(".parquet")]
    assert len(files) == PER_DAY
    with lake.commit(f"{name}@main") as commit:
        for path in files:
            commit.copy(f"base@main:{path}", path.replace("/day/", f"/day={_day(0)}/"))
    with lake.commit(f"{name}@main") as commit:
        for number in range(1, days):
            commit.copy(f"{name}@main:/day={_day(0)}", f"/day={_day(number)}")
    if recorded:
        lake.set_table(f"{name}@main", schema="id bigint, amount double, day date")


def _plan(bench: Bench, lake: Lake, name: str, files: int, recorded: bool) -> Iterator[Result]:
    wheres = {
        "one day": (f"day = '{_day(3)}'", PER_DAY),
        "one range of ids": (f"id BETWEEN {ROWS * 5} AND {ROWS * 6 - 1}", files // PER_DAY),
        "both": (f"day = '{_day(3)}' AND id = {ROWS * 7 + 1}", 1),
        "no filter": ("true", files),
    }
    kind = "with _table.json" if recorded else "without _table.json"
    for what, (where, expected) in wheres.items():
        found: list[int] = []
        _explain(lake, name, where, found)
        costs = [
            call(lambda where=where, found=found: _explain(lake, name, where, found))
            for _ in range(bench.size(ROUNDS, 2))
        ]
        assert set(found) == {expected}, f"{what}: {found} files, {expected} have such rows"
        cost, budget = typical(costs), BUDGETS.get(files)
        yield Result(
            CLAIM, f"{files:,} files {kind}, {what}: {expected:,} selected", shown(cost), "", "",
            cost.wall, "s", f"≤ {budget:g} s" if budget else "",
            cost.wall <= budget if budget else None,
        )  # fmt: skip


def _explain(lake: Lake, name: str, where: str, found: list[int]) -> None:
    frame: Any = lake.table(f"{name}@main").spark().where(where)
    found.append(files_selected(frame))
    frame._jdf.queryExecution().explainString(_mode(frame))


def _mode(frame: Any) -> Any:
    jvm = frame.sparkSession._jvm
    return jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")


def _day(number: int) -> str:
    return (date(2025, 1, 1) + timedelta(days=number)).isoformat()
