"""Expectations over TPC-H's lineitem: the same pipeline with eight rules and without any.

One pipeline sums up each order, and a rule says that orders are unique: that takes a look at all
rows of a key together. The other copies every row, with rules about single rows and their number.
Every row keeps every rule, as in a job that succeeds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import trunkline as tl
from benchmarks import tpch
from benchmarks.measure import Bench, Cost, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from benchmarks.spark import warm_session
from trunkline.sdk import Lake

CLAIM = "tables_checks"
BUDGET = 1.05
Rules = Sequence[Mapping[str, object]]

BY_ORDER = """
SELECT l_orderkey, count(*) AS lines, sum(l_quantity) AS quantity,
  sum(l_extendedprice * (1 - l_discount)) AS revenue,
  min(l_shipdate) AS first, max(l_shipdate) AS last, max(l_linestatus) AS status
FROM lineitem GROUP BY l_orderkey
"""
RULES_BY_ORDER: Rules = (
    {"name": "lines", "expr": "lines BETWEEN 1 AND 7"},
    {"name": "quantity", "expr": "quantity > 0"},
    {"name": "revenue", "expr": "revenue > 0"},
    {"name": "order_of_dates", "expr": "first <= last"},
    {"name": "complete", "not_null": ["l_orderkey", "first", "last"]},
    {"name": "status", "accepted_values": {"column": "status", "values": ["F", "O"]}},
    {"name": "once", "unique": ["l_orderkey"]},
    {"name": "some", "row_count": {"min": 1}},
)
EVERY_ROW = "SELECT * FROM lineitem"
RULES_OF_ROWS: Rules = (
    {"name": "quantity", "expr": "l_quantity BETWEEN 1 AND 50"},
    {"name": "discount", "expr": "l_discount BETWEEN 0 AND 0.10"},
    {"name": "price", "expr": "l_extendedprice > 0"},
    {"name": "order_of_dates", "expr": "l_receiptdate > l_shipdate"},
    {"name": "complete", "not_null": ["l_orderkey", "l_partkey", "l_shipdate"]},
    {"name": "flag", "accepted_values": {"column": "l_returnflag", "values": ["A", "N", "R"]}},
    {"name": "status", "accepted_values": {"column": "l_linestatus", "values": ["F", "O"]}},
    {"name": "some", "row_count": {"min": 1}},
)


def run(bench: Bench) -> Iterator[Result]:
    os.chdir(bench.folder)
    scale = bench.tpch_scale()
    with warm_session(), tl.init(bench.folder / "lake") as lake:
        tpch.put_tables(lake, tpch.data(scale), ("lineitem",))
        yield _compare(bench, lake, "orders", "orders summed up", BY_ORDER, RULES_BY_ORDER)
        yield _compare(bench, lake, "rows", "every row", EVERY_ROW, RULES_OF_ROWS)


def _compare(bench: Bench, lake: Lake, name: str, what: str, sql: str, rules: Rules) -> Result:
    runs = {
        "with": lambda number: _work(lake, f"{name}_checked", sql, rules),
        "without": lambda number: _work(lake, f"{name}_plain", sql, ()),
    }
    for warm_up in runs.values():
        warm_up(-1)
    costs = in_turns(runs, bench.median_rounds)
    return times_as_long(
        CLAIM, f"{what}, {len(rules)} rules", typical(costs["with"]), "without rules",
        typical(costs["without"]), BUDGET,
    )  # fmt: skip


def _work(lake: Lake, name: str, sql: str, rules: Rules) -> Cost:
    spec = {
        "pipeline": {"name": name},
        "input": {"pfs": {"repo": "lineitem", "glob": "/"}},
        "transform": {"sql": sql},
        "expectations": [dict(rule) for rule in rules],
    }
    lake.apply(spec, reprocess=True)

    def work() -> None:
        (job,) = lake.run(jobs=1).jobs
        assert str(job.state) == "success", job.reason

    cost = call(work)
    states = [str(check.result.state) for check in lake.checks(name)]
    assert states == ["passed"] * len(rules), states
    return cost
