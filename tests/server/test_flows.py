"""Streams and ingests over HTTP."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.flows import INGEST, READER, STREAM, batch, commit
from tests.ingest.feeds.lakes import Ingests
from tests.ingest.feeds.test_http import Sender, numbers, rows
from tests.server.lakewide.people import asked_by
from trunkline import Lake, errors
from trunkline.model.flowstatus import StreamStatus
from trunkline.model.shape import as_json
from trunkline.sdk.remote.lake import RemoteLake

PEOPLE = {
    "root": {"": "admin"},
    "reader": {"": "reader"},
    "writer": {"": "writer"},
    "stranger": {"mine": "admin"},
    "near": {"default/sessions": "maintainer"},
}
As = Callable[[str], RemoteLake]


@pytest.fixture(scope="session")
def flowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three commits of clicks and a batch of sessions for each; an ingest and a reader."""
    folder = tmp_path_factory.mktemp("flows")
    with tl.init(folder) as lake:
        lake.create_project("mine")
        lake.create_repo("clicks")
        lake.apply(STREAM, READER, INGEST)
        for number in range(1, 4):
            with lake.commit("clicks") as source:
                source.put(f"/{number}", b"x")
            end = {"clicks": source.result.id}
            facts = {"late": number, "watermark": number * 1_000_000}
            batch(lake, "sessions", end, facts, rows_in=number, rows_out=1, seconds=0.5)
        commit(lake, "sessions", "compacted")
    return folder


@pytest.fixture
def lake(flowing: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(flowing, folder)
    with tl.open(folder, author="root", direct=True) as opened:
        yield opened


@pytest.fixture
def as_(lake: Lake) -> Iterator[As]:
    with asked_by(lake, PEOPLE) as ask:
        yield ask


@pytest.fixture
def remote(as_: As) -> RemoteLake:
    return as_("root")


def said(call: Callable[[], Any]) -> tuple[type, str, str]:
    with pytest.raises(errors.TrunklineError) as raised:
        call()
    return type(raised.value), raised.value.message, raised.value.hint


def timeless(status: Any) -> Any:
    """Without what is another a moment later."""
    if isinstance(status, StreamStatus):
        inputs = tuple(replace(one, seconds=0.0) for one in status.inputs)
        return replace(status, now=0, inputs=inputs)
    return replace(status, now=0)


def test_streams_are_shown_as_the_lake_shows_them(lake: Lake, remote: RemoteLake):
    assert timeless(remote.stream("sessions")) == timeless(lake.stream("sessions"))
    (shown,) = remote.streams()
    assert timeless(shown) == timeless(lake.streams(all_projects=True)[0])
    assert timeless(remote.ingest("feed")) == timeless(lake.ingest("feed"))
    assert [one.name for one in remote.ingests()] == [one.name for one in lake.ingests()]
    assert as_json(remote.stream("sessions")).keys() == as_json(lake.stream("sessions")).keys()


def test_batches_are_those_of_the_lake(
    lake: Lake, remote: RemoteLake, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("trunkline.sdk.remote.client.PAGE", 2)
    for limit in (None, 2, 20):
        found = remote.stream_batches("sessions", limit)
        assert found == lake.stream_batches("sessions", limit)
        assert [one.at for one in found] == [
            one.at for one in lake.stream_batches("sessions", limit)
        ]
    assert remote.commit_batches("sessions") == lake.commit_batches("sessions")
    assert len(remote.commit_batches("sessions")) == 3
    assert remote.commit_batches("clicks") == {}
    for one in lake.log("sessions"):
        assert remote.commit_batch(one) == lake.commit_batch(one)


def test_a_stream_is_rewound_and_restarted(lake: Lake, remote: RemoteLake):
    third, second, _ = lake.stream_batches("sessions")
    assert remote.plan_rewind("sessions", second.commit) == lake.plan_rewind(
        "sessions", second.commit
    )
    done = remote.rewind_stream("sessions", f"sessions@{second.commit}")
    assert (done.commit, done.batch, done.epoch) == (second.commit, 2, 2)
    assert lake.branches("sessions")[0].head == second.commit != third.commit
    again = remote.restart_stream("sessions", "now")
    assert (again.epoch, again.position) == (3, {"clicks": next(iter(lake.log("clicks"))).id})
    assert remote.savepoints("sessions") == lake.savepoints("sessions") == []


def test_errors_are_those_of_the_local_lake(lake: Lake, remote: RemoteLake):
    for call in (
        lambda to: to.stream("session"),
        lambda to: to.stream("feed"),
        lambda to: to.ingest("sessions"),
        lambda to: to.stream_batches("clicks"),
        lambda to: to.commit_batches("nothing"),
        lambda to: to.plan_rewind("sessions", "0123456789"),
        lambda to: to.plan_rewind("sessions", "clicks@main"),
        lambda to: to.rewind_stream("sessions", "clicks@main"),
        lambda to: to.rewind_stream("report", "main"),
        lambda to: to.restart_stream("sessions", "clicks@0123456789"),
        lambda to: to.take_savepoint("sessions"),
        lambda to: to.savepoints("feed"),
        lambda to: to.bound(project="nowhere").streams(),
        lambda to: to.bound(project="nowhere").ingests(),
    ):
        assert said(lambda: call(remote)) == said(lambda: call(lake))  # noqa: B023


def test_who_may_what(lake: Lake, as_: As):
    newest = lake.stream_batches("sessions")[0].commit
    reader, writer, stranger = as_("reader"), as_("writer"), as_("stranger")
    assert reader.stream_batches("sessions") == lake.stream_batches("sessions")
    for who in (reader, writer):
        assert said(lambda: who.rewind_stream("sessions", newest))[0] is errors.NotAllowed  # noqa: B023
        assert said(lambda: who.restart_stream("sessions"))[0] is errors.NotAllowed  # noqa: B023
    assert said(lambda: reader.take_savepoint("sessions"))[0] is errors.NotAllowed
    assert stranger.streams(all_projects=True) == []
    assert stranger.ingests(all_projects=True) == []
    for call in (
        lambda: stranger.stream("sessions"),
        lambda: stranger.stream_batches("sessions"),
        lambda: stranger.commit_batches("sessions"),
        lambda: stranger.plan_rewind("sessions", newest),
        lambda: stranger.restart_stream("sessions"),
        lambda: stranger.savepoints("sessions"),
        lambda: stranger.ingest("feed"),
        lambda: stranger.streams(),
    ):
        assert said(call)[0] is errors.NotFound
    assert [str(one) for one in lake.plan_rewind("sessions", newest).readers] == ["report"]
    assert as_("near").plan_rewind("sessions", newest).readers == ()


# -- rows that are sent ------------------------------------------------------------------------


@pytest.fixture
def fed(lake: Lake, tmp_path: Path) -> Iterator[Ingests]:
    made = Ingests(lake, tmp_path)
    yield made
    made.stop()


def post(who: RemoteLake, body: bytes, name: str = "pushed", **headers: str) -> httpx2.Response:
    given = {"Content-Type": "application/x-ndjson", **headers}
    return who._client.upload("POST", f"/ingests/default/{name}/events", body, headers=given)


def test_rows_are_handed_on_to_the_ingest(fed: Ingests, as_: As):
    fed.secrets["push"] = "only workers and servers know it"
    fed.lake.set_secret("push", fed.secrets["push"])
    sender = Sender(fed)
    sender.declare("pushed", secrets=(("token", "push"),))
    writer = as_("writer")
    assert said(lambda: post(writer, rows(0)))[0] is errors.Unavailable
    sender.start()
    told = post(writer, rows(1, 2)).json()
    assert told == {"commit": fed.commits("pushed")[0].id, "rows": 2, "malformed": 0}
    told = post(writer, gzip.compress(rows(3)), **{"Content-Encoding": "gzip"}).json()
    assert told["rows"] == 1
    key = {"Idempotency-Key": "once"}
    assert post(writer, rows(4), **key).json() == post(writer, rows(4), **key).json()
    assert numbers(fed, "pushed") == [1, 2, 3, 4]
    assert said(lambda: post(writer, b"x", **{"Content-Type": "text/odd"}))[0] is errors.Usage
    assert said(lambda: post(as_("reader"), rows(5)))[0] is errors.NotAllowed
    assert said(lambda: post(as_("stranger"), rows(5)))[0] is errors.NotFound
    assert said(lambda: post(writer, rows(5), "feed"))[0] is errors.Precondition
    assert said(lambda: post(writer, rows(5), "sessions"))[0] is errors.Usage
    assert numbers(fed, "pushed") == [1, 2, 3, 4]
