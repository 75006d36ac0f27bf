"""The graph of a project: nodes, arrows and how everything is. Nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from trunkline import Lake
from trunkline.model.lineage import Graph, GraphEdge, GraphNode
from trunkline.model.shape import as_json

NOTHING = "/no-such-file"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path) as opened:
        opened.create_repo("orders")
        opened.create_repo("rates")
        yield opened


def apply(lake: Lake, name: str, input: Any, cmd: str = "true", **fields: Any) -> None:
    lake.apply({"pipeline": {"name": name}, "input": input, "transform": {"cmd": [cmd]}, **fields})


def put(lake: Lake, ref: str) -> None:
    with lake.commit(ref) as commit:
        commit.put("/a.txt", b"12345")


def node(lake: Lake, name: str) -> GraphNode:
    return next(one for one in lake.graph().nodes if one.name == name)


def test_a_new_lake_has_an_empty_graph(tmp_path: Path):
    with tl.init(tmp_path) as lake:
        assert lake.graph() == Graph((), ())


def test_repos_and_pipelines_without_code(lake: Lake):
    apply(lake, "totals", tl.pfs("orders", NOTHING))
    kinds = {one.name: one.kind for one in lake.graph().nodes}
    assert kinds == {"orders": "repo", "rates": "repo", "totals": "pipeline"}
    assert lake.graph().edges == (GraphEdge("orders", "totals", "orders", True),)


def test_arrows_carry_the_names_of_inputs(lake: Lake):
    both = tl.cross(tl.pfs("orders", NOTHING, name="old"), tl.pfs("orders", NOTHING, name="new"))
    apply(lake, "compared", both)
    assert {edge.label for edge in lake.graph().edges} == {"old", "new"}


def test_what_starts_nothing_is_marked(lake: Lake):
    reference = tl.pfs("rates", NOTHING, propagation="never")
    apply(lake, "totals", tl.cross(tl.pfs("orders", NOTHING), reference))
    starts = {edge.source: edge.starts for edge in lake.graph().edges}
    assert starts == {"orders": True, "rates": False}


def test_repos_tell_what_they_hold(lake: Lake):
    put(lake, "orders@main")
    assert node(lake, "orders").detail == "1 file, 5 bytes"
    assert node(lake, "rates").detail == "0 files, 0 bytes"


def test_a_pipeline_that_never_ran(lake: Lake):
    apply(lake, "totals", tl.pfs("orders", NOTHING))
    assert node(lake, "totals") == GraphNode(
        "totals", "pipeline", "", "v1, 0 files, 0 bytes, never ran"
    )


def test_a_pipeline_whose_job_waits_then_succeeds(lake: Lake):
    put(lake, "orders@main")
    apply(lake, "totals", tl.pfs("orders", NOTHING))
    assert node(lake, "totals").state == "waiting"
    lake.run()
    assert node(lake, "totals").state == "success"


def test_a_pipeline_whose_last_job_did_not_succeed_says_why(lake: Lake):
    put(lake, "orders@main")
    apply(lake, "totals", tl.pfs("orders", NOTHING))
    lake.cancel_job(lake.jobs("totals")[0].id, "no longer wanted")
    found = node(lake, "totals")
    assert (found.state, found.detail) == ("killed", "v1, 0 files, 0 bytes, no longer wanted")


def test_a_paused_pipeline_and_what_waits_for_it(lake: Lake):
    apply(lake, "totals", tl.pfs("orders", NOTHING))
    lake.pause_pipeline("totals")
    assert node(lake, "totals").state == "paused"
    assert "changes wait" not in node(lake, "totals").detail
    put(lake, "orders@main")
    assert "changes wait" in node(lake, "totals").detail


def test_clocks_in_words(lake: Lake):
    apply(lake, "daily", tl.cron("tick", "0 6 * * *"))
    found = node(lake, "daily_tick")
    assert (found.kind, found.detail) == ("cron", "every day at 06:00 (UTC)")
    assert GraphEdge("daily_tick", "daily", "tick", True) in lake.graph().edges


def test_other_projects_only_where_they_are_connected(tmp_path: Path, lake: Lake):
    lake.create_project("sales")
    lake.create_repo("sales/leads")
    apply(lake, "totals", tl.pfs("orders", NOTHING))
    with tl.open(tmp_path, project="sales") as other:
        assert [one.name for one in other.graph().nodes] == ["sales/leads"]
        crossing = tl.pfs("orders", NOTHING, project="default")
        apply(other, "calls", crossing)
        names = {one.name for one in other.graph().nodes}
    assert names == {"sales/leads", "sales/calls", "orders"}


def test_forms(lake: Lake):
    put(lake, "orders@main")
    reference = tl.pfs("rates", NOTHING, name="r", propagation="never")
    apply(lake, "totals", tl.cross(tl.pfs("orders", NOTHING), reference))
    found: Any = as_json(lake.graph())
    assert found["nodes"][0] == {
        "name": "orders",
        "kind": "repo",
        "state": "",
        "detail": "1 file, 5 bytes",
    }
    assert {"source": "rates", "target": "totals", "label": "r", "starts": False} in found["edges"]
    lines = lake.graph().to_dot().splitlines()
    assert lines[0] == "digraph trunkline {"
    assert '  "orders" [label="orders\\n1 file, 5 bytes", shape=cylinder];' in lines
    assert '  "rates" -> "totals" [label="r", style=dashed];' in lines
