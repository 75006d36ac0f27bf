"""Applying streams and ingests: what is remembered of them, and what is started. No Spark."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline as tl
from trunkline import Lake, errors
from trunkline.model.commits import RepoKind
from trunkline.model.streams import Batch, Flow
from trunkline.storage.catalog import flows, pipelines, repos

INGEST = {"ingest": {"name": "clicks"}, "source": {"rate": 5}}


def stream(name: str = "s", input: Any = None, **fields: Any) -> dict[str, Any]:
    transform = {"stream": "SELECT * FROM orders", **fields.pop("transform", {})}
    pfs = input or {"pfs": {"repo": "orders"}}
    return {"pipeline": {"name": name}, "input": pfs, "transform": transform, **fields}


def every(interval: str, **fields: Any) -> dict[str, Any]:
    return stream(transform={"trigger": {"interval": interval}}, **fields)


def put(lake: Lake, ref: str = "orders@main") -> str:
    with lake.commit(ref) as commit:
        commit.put("/a.csv", b"id\n1\n")
    return commit.result.id


def key(lake: Lake, name: str) -> int | None:
    with lake._core.database.read() as session:
        return repos.key_of(session, lake._repo(name))


def flow(lake: Lake, name: str) -> Flow | None:
    repo = key(lake, name)
    assert repo is not None
    with lake._core.database.read() as session:
        return flows.find(session, repo)


def starts(lake: Lake, name: str) -> dict[str, bool]:
    """By input, whether its commits start the pipeline."""
    repo = key(lake, name)
    assert repo is not None
    with lake._core.database.read() as session:
        return {edge.name: edge.propagation for edge in pipelines.reads(session, repo)}


def move(lake: Lake, name: str, commit: str) -> None:
    """As a job of the stream does when a batch is done."""
    repo = key(lake, name)
    assert repo is not None
    with lake._core.database.write() as session:
        batch = Batch(commit, 1, 1, 1, {}, {"orders": commit})
        flows.advance(session, repo, batch, {"orders": commit}, {"rows": 1})


def test_an_ingest_has_a_repo_and_a_flow_and_never_a_job(lake: Lake):
    (applied,) = lake.apply(INGEST).applied
    assert (applied.action, applied.version, applied.job) == ("created", 1, None)
    found = flow(lake, "clicks")
    assert found is not None
    assert (found.kind, found.epoch, found.number, found.position) == ("ingest", 1, 0, {})
    assert lake.repo("clicks").kind is RepoKind.OUTPUT
    assert starts(lake, "clicks") == {}
    changed = {**INGEST, "source": {"rate": 6}}
    assert lake.apply(changed).applied[0].action == "updated"
    assert lake.apply(changed).applied[0].action == "unchanged"
    assert lake.jobs("clicks") == []
    info = lake.pipeline("clicks")
    assert (info.kind, info.inputs, info.state) == ("ingest", (), "running")


def test_people_cannot_write_where_an_ingest_does(lake: Lake):
    lake.apply(INGEST)
    with pytest.raises(errors.TrunklineError):
        put(lake, "clicks@main")


def test_a_stream_on_commit_is_started_as_others_are(lake: Lake):
    put(lake)
    (applied,) = lake.apply(stream()).applied
    assert applied.job is not None
    second = put(lake)
    assert [job.id for job in lake.jobs("s")] == [second, applied.job]
    found = flow(lake, "s")
    assert found is not None
    assert found.kind == "stream"
    assert (lake.pipeline("s").kind, starts(lake, "s")) == ("stream", {"orders": True})


def test_a_stream_with_an_interval_is_started_by_its_clock_alone(lake: Lake):
    put(lake)
    (applied,) = lake.apply(every("1s")).applied
    assert applied.job is None
    put(lake)
    lake.apply(every("1s", output_branch="dev"))
    assert lake.jobs("s") == []
    assert starts(lake, "s") == {"orders": False}
    assert flow(lake, "s") is not None


def test_static_inputs_start_nothing(lake: Lake):
    both = tl.cross(tl.pfs("orders"), tl.pfs("rates", static="pinned"))
    lake.apply(stream(input=both))
    assert starts(lake, "s") == {"orders": True, "rates": False}
    put(lake, "rates@main")
    assert lake.jobs("s") == []
    newest = put(lake)
    assert [job.id for job in lake.jobs("s")] == [newest]


def test_a_new_version_keeps_how_far_it_has_come(lake: Lake):
    commit = put(lake)
    lake.apply(every("1s"))
    move(lake, "s", commit)
    before = flow(lake, "s")
    lake.apply(every("2s", description="slower"))
    assert lake.pipeline("s").version == 2
    assert flow(lake, "s") == before


@pytest.mark.parametrize(
    "fields",
    [
        {"transform": {"trigger": "on_commit", "retain": 5}},
        {"history": {"keep": 5}},
        {"input": {"pfs": {"repo": "orders", "limit": {"files": 5}}}},
    ],
    ids=str,
)
def test_what_does_not_decide_results_starts_nothing(lake: Lake, fields: dict[str, Any]):
    put(lake)
    (job,) = [one.job for one in lake.apply(stream()).applied]
    lake.cancel_job(f"s@{job}")
    (applied,) = lake.apply(stream(**fields)).applied
    assert (applied.action, applied.job) == ("updated", None)


@pytest.mark.parametrize(
    "fields",
    [
        {"transform": {"output": {"upsert": ["id"]}}},
        {"input": {"pfs": {"repo": "orders", "watermark": "ts 1s"}}},
        {"input": {"pfs": {"repo": "orders", "glob": "/a/"}}},
    ],
    ids=str,
)
def test_what_decides_results_starts_a_job(lake: Lake, fields: dict[str, Any]):
    put(lake)
    (job,) = [one.job for one in lake.apply(stream()).applied]
    lake.cancel_job(f"s@{job}")
    (applied,) = lake.apply(stream(**fields)).applied
    assert applied.job is not None


BATCH = {
    "pipeline": {"name": "s"},
    "input": {"pfs": {"repo": "orders", "glob": "/"}},
    "transform": {"cmd": ["true"]},
}


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (BATCH, stream(), "s is a pipeline that is no stream and cannot become a stream."),
        (stream(), BATCH, "s is a stream and cannot become a pipeline that is no stream."),
        ({**INGEST, "ingest": {"name": "s"}}, stream(), "s is an ingest and cannot become a str"),
        (stream(), {**INGEST, "ingest": {"name": "s"}}, "s is a stream and cannot become an ing"),
    ],
)
def test_what_flows_stays_what_it_is(lake: Lake, first: Any, second: Any, said: str):
    lake.apply(first)
    before = flow(lake, "s")
    with pytest.raises(errors.Usage) as caught:
        lake.apply(second)
    assert said in caught.value.message
    assert (lake.pipeline("s").version, flow(lake, "s")) == (1, before)


@pytest.mark.parametrize("keep", [True, False])
def test_deleting_forgets_how_far_it_had_come(lake: Lake, keep: bool):
    lake.apply(every("1s"))
    repo = key(lake, "s")
    assert repo is not None
    move(lake, "s", put(lake))
    lake.delete_pipeline("s", keep_repo=keep)
    with lake._core.database.read() as session:
        assert flows.find(session, repo) is None
    lake.gc(grace=0)
    with lake._core.database.read() as session:
        assert flows.batches(session, repo) == []
    assert (key(lake, "s") is not None) == keep


def test_pausing_and_resuming(lake: Lake):
    lake.apply(INGEST, stream())
    for name in ("clicks", "s"):
        lake.pause_pipeline(name)
        assert lake.pipeline(name).state == "paused"
    put(lake)
    assert lake.jobs("s") == []
    assert lake.resume_pipeline("clicks") is None
    assert lake.resume_pipeline("s") == lake.jobs("s")[0].id


def test_an_old_version_comes_back(lake: Lake):
    lake.apply(INGEST)
    lake.apply({**INGEST, "source": {"http": {}}})
    restored = lake.restore_pipeline("clicks", 1)
    assert (restored.version, restored.job) == (3, None)
    assert lake.pipeline("clicks").spec["source"] == {"rate": {"rows_per_second": 5}}


def test_what_is_shown_can_be_applied_again(lake: Lake):
    lake.apply(INGEST, every("1s", history={"keep": 3}))
    for name in ("clicks", "s"):
        assert lake.apply(lake.pipeline(name).spec).applied[0].action == "unchanged"


def test_they_are_in_the_graph(lake: Lake):
    lake.apply(INGEST, stream(input=tl.pfs("clicks", name="orders")))
    nodes = {node.name: node for node in lake.graph().nodes}
    assert (nodes["clicks"].kind, nodes["s"].kind) == ("ingest", "stream")
    assert nodes["clicks"].is_pipeline
    assert "from rate" in nodes["clicks"].detail
    assert [(edge.source, edge.target) for edge in lake.graph().edges] == [("clicks", "s")]
    lake.pause_pipeline("clicks")
    assert {n.name: n.state for n in lake.graph().nodes}["clicks"] == "paused"


def test_they_can_be_planned(lake: Lake):
    put(lake)
    plans = {str(one.name): one for one in lake.plan(INGEST, every("1s")).pipelines}
    assert plans["clicks"].action == plans["s"].action == "create"
    assert plans["clicks"].note == "ingest: goes on from where it is"
    assert (plans["s"].run, plans["s"].reuse, plans["s"].keep) == (0, 0, 0)
    assert list(lake.datums_of(INGEST, stream())) == []
    lake.apply(INGEST, every("1s"))
    assert [one.action for one in lake.plan().pipelines] == ["unchanged", "unchanged"]


@tl.ingest(interval="2s")
def numbers():
    yield {"id": 1}


@tl.stream(input=tl.pfs("numbers"), interval="1s")
def doubled(numbers):
    return numbers


def test_functions_are_applied_as_others_are(lake: Lake):
    applied = lake.apply(doubled, numbers).applied
    assert [str(one.name) for one in applied] == ["numbers", "doubled"]
    spec = lake.pipeline("numbers").spec
    assert spec["source"] == {"python": {"function": "test_flows_applied.py:numbers"}}
    assert spec["interval"] == 2
    assert flow(lake, "doubled") is not None


def test_a_stream_reads_only_what_is_there(lake: Lake):
    with pytest.raises(errors.NotFound, match='s reads the repo "ordres", which does not exist'):
        lake.apply(stream(input=tl.pfs("ordres", name="orders")))
