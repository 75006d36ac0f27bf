"""Rows that are missing, that came back, or came twice are told apart."""

from __future__ import annotations

import trunkline as tl
from trunkline.abuse import flows, results
from trunkline.abuse.closing import Findings, expected
from trunkline.abuse.memory import Memory, remembered


def test_rows_are_compared_one_by_one(tmp_path):
    with Memory(tmp_path / "memory.jsonl") as memory:
        memory.note("rows", table=flows.SALES, who=1, act=2, count=3)
        memory.note("rows", table=flows.SALES, who=1, act=3, count=2)
        memory.note("rows", table=flows.SALES, who=1, act=3, count=0)  # deleted again
    known = expected(remembered(memory.path))
    with tl.init(tmp_path / "lake") as lake:
        versions: dict[str, int] = {}
        flows.prepare(lake, tmp_path, versions)
        lake.write_table(flows.SALES, flows.rows_of(1, 2, 3)[:2])
        lake.write_table(flows.SALES, [*flows.rows_of(1, 2, 1), *flows.rows_of(1, 3, 1)])
        rows = lake.table(flows.SALES).arrow(["id"])["id"].to_pylist()
    found = Findings()
    results._compare_rows(flows.SALES, rows, results._ids(known, flows.SALES), found)
    assert found.lost == [f"row 1-2-2 of {flows.SALES}"]
    assert sorted(found.wrong) == [
        f"row 1-2-0 of {flows.SALES} is there 2 times",
        f"row 1-3-0 of {flows.SALES} is gone, and there",
    ]
