"""OpenLineage: runs of jobs, their datasets at versions, to a file or a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import attr
from openlineage.client import event_v2

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.notices.conftest import fail, feed, succeed
from tests.notices.receivers import Receiver
from tests.waiting import until
from trunkline import Lake, notices
from trunkline.engine.session import Session
from trunkline.settings import Settings


@contextmanager
def emitting(lake: Lake, secrets: dict[str, str] | None = None, **flags: str) -> Iterator[None]:
    named = {f"openlineage.{name}": value for name, value in flags.items()}
    named["openlineage.namespace"] = "lake"
    settings = Settings(named, environ={})
    running = notices.start(lake._core, settings, (secrets or {}).get, "/data/shop")
    try:
        for one in running.followers:
            until(lambda one=one: one._position is not None)  # type: ignore[misc]
        yield
        with lake._core.database.read() as session:
            from trunkline.storage.catalog import events

            last = events.last(session)
        until(lambda: all((one._position or 0) >= last for one in running.followers))
    finally:
        running.stop()


def read(file: Path) -> list[Any]:
    found = [json.loads(line) for line in file.read_text().splitlines()]
    for one in found:
        check(one)
    return found


def check(event: dict[str, Any]) -> None:
    """The client's own classes take every part."""
    run = event_v2.Run(event["run"]["runId"])
    job = event_v2.Job(event["job"]["namespace"], event["job"]["name"])
    kind = event_v2.RunState(event["eventType"])
    event_v2.RunEvent(
        eventTime=event["eventTime"], producer=event["producer"], run=run, job=job, eventType=kind
    )
    known = {one.name for one in attr.fields(event_v2.RunEvent)}
    assert set(event) <= known
    for dataset in (*event.get("inputs", ()), *event.get("outputs", ())):
        event_v2.InputDataset(dataset["namespace"], dataset["name"])
        for facet in dataset["facets"].values():
            assert facet["_schemaURL"].startswith("https://openlineage.io/spec/facets/")
            assert facet["_producer"].startswith("urn:trunkline:")


def test_a_job_is_a_run(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "out" / "lineage.jsonl"
    with emitting(graph.lake, file=str(file)):
        source = feed(graph)
        succeed(graph)
    start, complete = read(file)
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    UUID(start["run"]["runId"])
    assert complete["job"]["name"] == "default/daily"
    assert complete["job"]["facets"]["sourceCode"]["sourceCode"] == "true"
    assert complete["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    (given,) = complete["inputs"]
    assert (given["namespace"], given["name"]) == ("lake", "default/orders")
    assert given["facets"]["version"]["datasetVersion"] == source
    (made,) = complete["outputs"]
    assert made["name"] == "default/daily"
    head = graph.lake.branches("daily")[0].head
    assert made["facets"]["version"]["datasetVersion"] == head
    parent = complete["run"]["facets"]["parent"]
    assert parent["job"]["name"] == "commit-set"
    assert parent["run"]["runId"] != complete["run"]["runId"]


def test_runs_of_one_set_have_one_parent(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    graph.follow("weekly", "daily")
    with emitting(graph.lake, file=str(file)):
        feed(graph)
        succeed(graph)
    ended = [one for one in read(file) if one["eventType"] == "COMPLETE"]
    assert len({one["run"]["runId"] for one in ended}) == 2
    assert len({one["run"]["facets"]["parent"]["run"]["runId"] for one in ended}) == 1


def test_failures_and_those_that_waited_for_them(graph: Graph, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    graph.follow("weekly", "daily")
    with emitting(graph.lake, file=str(file)):
        feed(graph)
        fail(graph, "no such column")
    found = {(one["job"]["name"], one["eventType"]): one for one in read(file)}
    assert set(found) == {
        ("default/daily", "START"),
        ("default/daily", "FAIL"),
        ("default/weekly", "ABORT"),
    }
    said = found["default/daily", "FAIL"]["run"]["facets"]["errorMessage"]
    assert said["message"] == "no such column"


def test_a_server_gets_them_with_its_token(graph: Graph, receiver: Receiver) -> None:
    with emitting(graph.lake, {"openlineage.token": "t0ken"}, url=receiver.url):
        feed(graph)
        succeed(graph)
        got = [receiver.next() for _ in range(2)]
    assert {one.path for one in got} == {"/api/v1/lineage"}
    assert {one.headers["authorization"] for one in got} == {"Bearer t0ken"}
    for one in got:
        check(json.loads(one.body))


def test_tables_have_columns(spark: Session, lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    sql = "SELECT day, sum(amount) AS revenue FROM orders GROUP BY day"
    spec = {
        "pipeline": {"name": "revenue"},
        "input": tl.pfs("orders", "/"),
        "transform": {"sql": sql},
    }
    lake.apply(spec)
    with emitting(lake, file=str(file)):
        with lake.commit("orders@main") as commit:
            commit.put("/a.csv", b"day,amount\nmon,1\nmon,2\ntue,3\n")
        assert not [job.reason for job in lake.run().jobs if job.reason]
    complete = next(one for one in read(file) if one["eventType"] == "COMPLETE")
    assert complete["job"]["facets"]["sql"]["query"] == sql
    facets = complete["outputs"][0]["facets"]
    assert {one["name"] for one in facets["schema"]["fields"]} == {"day", "revenue"}
    (source,) = facets["columnLineage"]["fields"]["revenue"]["inputFields"]
    assert (source["name"], source["field"]) == ("default/orders", "amount")
