"""Egress of pipelines: what jobs hand over, how it is seen and steered, here and at a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.egress.worlds import there
from tests.jobs.graphs import Graph
from tests.notices.receivers import Receiver
from tests.served import home, through_door
from trunkline import Lake
from trunkline.errors import NotFound, Precondition
from trunkline.model.jobs import JobState
from trunkline.storage.catalog import deliveries


@pytest.fixture(scope="session")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("orders")
    with tl.init(folder) as lake:
        lake.create_repo("orders")
    return folder


@pytest.fixture
def lake(orders: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(orders, folder)
    with tl.open(folder, author="ada") as opened:
        yield opened


@pytest.fixture(params=["local", "http"])
def graph(request: pytest.FixtureRequest, lake: Lake, tmp_path: Path) -> Iterator[Graph]:
    """`report` reads `orders`, and finds nothing to do: it needs no Spark."""
    if request.param == "local":
        yield Graph(lake, tmp_path / "code")
        return
    with through_door(lake) as remote:
        yield Graph(remote, tmp_path / "code")


def hook(receiver: Receiver, **fields: Any) -> dict[str, Any]:
    return {"webhook": {"url": receiver.url}, "backoff": "1ms", **fields}


def test_a_job_hands_over_what_it_made(graph: Graph, receiver: Receiver, tmp_path: Path):
    egress = [hook(receiver), {"folder": {"path": str(tmp_path / "out")}}]
    graph.follow("report", "orders", egress=egress)
    made = graph.put("orders", a="1")
    report = home(graph.lake).run()
    assert [job.state for job in report.jobs] == [JobState.SUCCESS]
    assert {(one.target, str(one.state)) for one in report.deliveries} == {
        ("webhook", "done"),
        ("folder", "done"),
    }
    assert report.failed == 0
    assert receiver.next().headers["x-trunkline-commit"] == made
    assert (tmp_path / "out" / ".trunkline.json").exists()
    found = graph.lake.deliveries("report", target="webhook")
    assert [(one.commit, str(one.state)) for one in found] == [(made, "done")]
    assert found[0].receipt["note"] == f"the event to {receiver.url}"
    assert found == graph.lake.deliveries(job=made[:10], target="webhook")


def test_adding_egress_computes_nothing_anew(graph: Graph, receiver: Receiver):
    graph.follow("report", "orders")
    made = graph.put("orders", a="1")
    home(graph.lake).run()
    with pytest.raises(Precondition, match="report delivers to nobody"):
        graph.lake.deliver("report")
    applied = graph.follow("report", "orders", egress=hook(receiver))
    assert (applied.action, applied.job) == ("updated", None)
    assert graph.lake.deliveries() == []

    (waiting,) = graph.lake.deliver("report")
    assert (waiting.commit, str(waiting.state)) == (made, "waiting")
    assert home(graph.lake).run().jobs == ()
    assert receiver.next().headers["x-trunkline-commit"] == made
    with pytest.raises(NotFound, match='has no target "webhok". Did you mean "webhook"?'):
        graph.lake.deliver("report", "webhok")


def test_a_failure_is_seen_and_tried_again(graph: Graph, receiver: Receiver):
    receiver.statuses = [400]
    graph.follow("report", "orders", egress=hook(receiver))
    made = graph.put("orders", a="1")
    report = home(graph.lake).run()
    assert [job.state for job in report.jobs] == [JobState.SUCCESS]
    assert report.failed == 1
    assert graph.lake.status().undelivered == ("report",)
    (failed,) = graph.lake.deliveries("report", failed=True)
    assert failed.commit == made
    events = [one for one in graph.lake.events(0) if one.kind == "delivery"]
    assert [one.facts["state"] for one in events] == ["failed"]

    (again,) = graph.lake.retry_deliveries("report", "webhook")
    assert (str(again.state), again.attempt) == ("waiting", 0)
    assert home(graph.lake).run().failed == 0
    assert graph.lake.status().undelivered == ()
    events = [one for one in graph.lake.events(0) if one.kind == "delivery"]
    assert [one.facts["state"] for one in events] == ["failed", "waiting", "done"]
    with pytest.raises(NotFound, match="No delivery of report failed or waits"):
        graph.lake.retry_deliveries("report")


def test_an_older_one_is_not_sent_over_a_newer(graph: Graph, receiver: Receiver):
    receiver.statuses = [400]
    graph.follow("report", "orders", egress=hook(receiver))
    for n in "12":
        graph.put("orders", a=n)
        home(graph.lake).run()
    assert [str(one.state) for one in graph.lake.deliveries("report")] == ["done", "failed"]
    with pytest.raises(NotFound) as caught:
        graph.lake.retry_deliveries("report")
    assert caught.value.message == (
        "No delivery of report can be tried again: newer versions went out since."
    )
    assert caught.value.hint == "trunkline egress run report sends the newest."
    (skipped,) = graph.lake.skip_deliveries("report")
    assert str(skipped.state) == "skipped"


def test_one_that_is_left_out(graph: Graph, receiver: Receiver):
    receiver.statuses = [400]
    graph.follow("report", "orders", egress=hook(receiver))
    graph.put("orders", a="1")
    home(graph.lake).run()
    (skipped,) = graph.lake.skip_deliveries("report")
    assert str(skipped.state) == "skipped"
    assert skipped.reason.startswith("skipped by ")
    assert graph.lake.status().undelivered == ()
    assert home(graph.lake).run().deliveries == ()


def test_a_paused_pipeline_sends_nothing_and_a_deleted_one_forgets(
    graph: Graph, receiver: Receiver
):
    graph.follow("report", "orders", egress=hook(receiver))
    graph.put("orders", a="1")
    home(graph.lake).run()
    receiver.next()
    graph.lake.deliver("report")
    graph.lake.pause_pipeline("report")
    home(graph.lake).run()
    assert receiver.came.empty()
    (waiting,) = graph.lake.deliveries()
    assert (str(waiting.state), waiting.reason) == ("waiting", "waits: the pipeline is paused")
    graph.lake.delete_pipeline("report", keep_repo=True)
    with home(graph.lake)._core.database.read() as session:
        assert deliveries.listed(session) == []


def test_what_is_declared_last_is_where_it_goes(graph: Graph, receiver: Receiver):
    graph.follow("report", "orders", egress=hook(receiver, name="one"))
    graph.put("orders", a="1")
    graph.follow("report", "orders", egress=hook(receiver, name="two"))
    home(graph.lake).run()
    assert [one.target for one in graph.lake.deliveries()] == ["two"]


def test_output_that_is_there_goes_out(spark: object, lake: Lake, tmp_path: Path):
    """With Spark: the files that a command wrote."""
    graph = Graph(lake, tmp_path / "code")
    out = tmp_path / "out"
    graph.apply("copy", "orders", egress={"folder": str(out)})
    graph.put("orders", a="1", b="2")
    graph.run_well()
    assert there(out) == {"a": "1", "b": "2"}
    graph.put("orders", a=None, c="3")
    graph.run_well()
    assert there(out) == {"b": "2", "c": "3"}


def test_export_here_and_at_the_server(graph: Graph, receiver: Receiver, tmp_path: Path):
    made = graph.put("orders", a="1", dir__b="2")
    done = graph.lake.export("orders", str(tmp_path / "out"))
    assert there(tmp_path / "out") == {"a": "1", "dir/b": "2"}
    assert (done.commit, done.kind, done.receipt["files"]) == (made, "folder", 2)
    done = graph.lake.export("orders@main:/dir", {"webhook": receiver.url})
    assert done.path == "/dir"
    graph.lake.export("orders@main:/dir", {"webhook": receiver.url})
    first, again = receiver.next().headers, receiver.next().headers
    assert first["x-trunkline-commit"] == again["x-trunkline-commit"] == made
    assert first["idempotency-key"] != again["idempotency-key"]  # asked for twice, sent twice
    with pytest.raises(NotFound, match='There is no "/nope"'):
        graph.lake.export("orders@main:/nope", str(tmp_path / "nope"))
