"""Why datums ran, were skipped and failed, as `why` tells it of jobs that really ran."""

from __future__ import annotations

from tests.jobs.graphs import Graph
from trunkline.model.jobs import JobState
from trunkline.sdk.why import why_job


def test_new_skipped_and_failed_datums_are_told_apart(graph: Graph) -> None:
    graph.put("orders", a="1", b="2")
    graph.apply("copy", "orders")
    graph.run_well()
    first = graph.lake.why(f"copy@{graph.job('copy').id}")
    assert "2 datums: 2 ran." in first
    assert "Why datums ran: 2 new." in first

    graph.put("orders", b="3", c="4")
    graph.run_well()
    second = graph.lake.why(f"copy@{graph.job('copy').id}")
    assert "3 datums: 2 ran, 1 skipped." in second
    assert any("1 new" in line and "1 input changed" in line for line in second)
    assert any(line.startswith("1 datum skipped: neither the files") for line in second)

    graph.put("orders", d="bad")
    assert graph.run_one().state is JobState.FAILURE
    for told in (graph.lake.why(f"copy@{graph.job('copy').id}"), graph.lake.why("copy")):
        (line,) = [line for line in told if line.startswith("Failed on ")]
        assert line.startswith("Failed on orders:/d: ")
        assert "bad content" in line


def test_a_pipeline_that_goes_while_it_is_asked_about(graph: Graph) -> None:
    graph.put("orders", a="1")
    graph.apply("copy", "orders")
    graph.run_well()
    repo, job = graph.lake._find(f"copy@{graph.job('copy').id}")
    graph.lake.delete_pipeline("copy")
    graph.lake.gc(grace=0)
    told = why_job(graph.lake._core, repo, job)
    assert "1 datum: 1 ran." in told
    assert not any(line.startswith("Why datums ran") for line in told)
