"""Why jobs ran and pipelines do not, in words: in a folder, and to those who may not see all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.graphs import Graph
from tests.server.lakewide.people import asked_by
from trunkline import Lake
from trunkline.lake.publish import Outcome, end_job
from trunkline.model.jobs import JobState
from trunkline.model.told import said
from trunkline.sdk.why import NO_WORKER
from trunkline.storage.catalog import repos

PEOPLE = {
    "root": {"": "admin"},
    "output": {"default/b": "reader"},
    "last": {"default/c": "reader", "default/b": "reader"},
}


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("why")
    with tl.init(folder) as lake:
        for name in ("orders", "rates"):
            lake.create_repo(name)
    return folder


@pytest.fixture
def lake(empty: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(empty, folder)
    with tl.open(folder, author="ada", direct=True) as opened:
        yield opened


@pytest.fixture
def graph(lake: Lake, tmp_path: Path) -> Graph:
    """Its jobs have no datums: no Spark."""
    return Graph(lake, tmp_path / "code")


def why(graph: Graph, name: str) -> list[str]:
    """Of a pipeline's newest job."""
    return graph.lake.why(f"{name}@{graph.job(name).id}")


def end(graph: Graph, name: str, state: JobState, reason: str) -> None:
    """End a job as a worker would."""
    job = graph.job(name)
    with graph.lake._core.database.write() as session:
        key = repos.key_of(session, job.pipeline)
        assert key is not None
        end_job(session, key, job.id, Outcome(state, said(reason)))


def test_what_started_a_job_and_what_was_new_to_it(graph: Graph):
    first = graph.put("orders", a="1")
    rates = graph.put("rates", r="1")
    graph.follow("b", "orders", "rates")
    graph.run()
    assert why(graph, "b") == [
        "ada applied version 1.",
        "No job succeeded before it: everything is new to it.",
        f"It succeeded and made the commit {graph.job('b').id[:12]}.",
    ]
    second = graph.put("orders", a="2")
    graph.run()
    before = graph.lake.jobs("b")[1].short_id
    assert why(graph, "b")[:3] == [
        f"It started because orders@main got {second[:12]}.",
        f"orders@main went from {first[:12]} to {second[:12]}.",
        f"Unchanged since job {before}: rates@main.",
    ]
    assert rates not in str(why(graph, "b"))
    graph.lake.run_pipeline("b")
    graph.run()
    assert why(graph, "b")[0] == "ada started it by hand."
    graph.follow("b", "orders", "rates", env={"A": "1"})
    graph.run()
    assert why(graph, "b")[0] == "ada applied version 2."
    assert any("took the place of version 1: its code" in line for line in why(graph, "b"))


def test_how_a_job_ended_and_which_of_its_set_is_to_blame(graph: Graph):
    graph.put("orders", a="1")
    graph.follow("b", "orders")
    graph.follow("c", "b")
    graph.follow("d", "c")
    graph.run()
    graph.put("orders", a="2")
    assert why(graph, "b")[-1] == NO_WORKER
    waits = f"It waits for b, whose commit {graph.job('b').id[:12]} is being made."
    assert why(graph, "c")[-1] == waits
    assert graph.lake.why("c") == [f"Job {graph.job('c').short_id} waits.", waits]
    end(graph, "b", JobState.FAILURE, "the disk is full")
    assert why(graph, "b")[-1] == "It failed: the disk is full."
    assert why(graph, "d")[-2:] == [
        "It could not run: its input c is unrunnable.",
        "b failed: the disk is full.",
    ]
    assert graph.lake.why("b")[0].endswith("It failed: the disk is full.")
    assert "b failed: the disk is full." in graph.lake.why("d")
    graph.lake.rerun_job(f"b@{graph.job('b').id}")
    assert why(graph, "b")[0].startswith("ada asked to try again: rerun of ")


def test_what_a_job_waits_for(graph: Graph):
    graph.put("orders", a="1")
    graph.lake.set_pool("few", 0)
    graph.follow("b", "orders", pool="few")
    assert "The pool few has 0 slots: its jobs are held back." in why(graph, "b")
    first = graph.job("b").short_id
    graph.put("orders", a="2")
    assert f"It waits for job {first} of the same pipeline, which came first." in why(graph, "b")
    done = graph.lake.backfill("b", "orders@main~1")
    graph.lake.steer_backfill(done.id, "pause")
    assert why(graph, "b")[0].startswith(f"It belongs to the backfill {done.id[:12]} of ")
    assert "Its backfill is paused." in why(graph, "b")


def test_why_a_pipeline_does_not_run(graph: Graph):
    graph.follow("b", "orders")
    assert graph.lake.why("b") == [
        "It never ran.",
        "It has no data to read: orders@main has no commits yet.",
    ]
    graph.put("orders", a="1")
    graph.run()
    job = graph.job("b").short_id
    assert graph.lake.why("b") == [
        f"Its last job is {job}. It succeeded and made the commit {job}.",
        f"Nothing is new: all that it reads is as job {job} read it.",
    ]
    graph.lake.pause_pipeline("b")
    assert graph.lake.why("b") == ["It is paused."]
    graph.put("orders", a="2")
    assert graph.lake.why("b")[0].startswith("It is paused. Something came meanwhile")
    graph.follow("s", "orders", schedule={"cron": "0 6 * * *"})
    graph.run()
    graph.put("orders", a="3")
    said = graph.lake.why("s")
    assert "orders@main has commits that it has not read, but they start no job." in said
    assert said[-1].startswith("It runs by its schedule, every day at 06:00")
    assert "; next at 2" in said[-1]


def test_the_same_over_http_but_not_to_those_who_may_not_read_its_inputs(graph: Graph):
    graph.put("orders", a="1")
    graph.follow("b", "orders")
    graph.follow("c", "b")
    graph.put("orders", a="2")
    end(graph, "b", JobState.FAILURE, "orders were bad")
    job = f"c@{graph.job('c').id}"
    with asked_by(graph.lake, PEOPLE) as ask:
        for name in (job, "c", "b"):
            assert ask("root").why(name) == graph.lake.why(name)
        for name in ("b", f"b@{graph.job('b').id}"):
            assert ask("output").why(name) == ["b reads what output may not, so this is not told."]
        told = ask("last").why(job)
        assert "b failed: (hidden)." in told
        assert "orders" not in str(told)
