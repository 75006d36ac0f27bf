"""Notifications: failed, late, recovered, check_failed; by webhook, Slack and e-mail."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.jobs.graphs import Graph
from tests.notices.conftest import fail, feed, succeed
from tests.notices.receivers import Receiver, mail_server, receiving
from tests.waiting import PATIENCE, until
from trunkline import Lake, notices
from trunkline.errors import Usage
from trunkline.model.backoff import Backoff
from trunkline.model.commits import RepoName
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState
from trunkline.model.jobs import JobState
from trunkline.model.told import said
from trunkline.notices import follower
from trunkline.notices.grouping import WINDOW_SECONDS, Grouping
from trunkline.notices.lateness import Lateness
from trunkline.notices.messages import Kind, Message
from trunkline.settings import Settings
from trunkline.storage.catalog import events

DAILY = RepoName("default", "daily")


@contextmanager
def noticing(lake: Lake, secrets: dict[str, str] | None = None, **flags: str) -> Iterator[None]:
    """`notify_webhook=…` and the like, told from here on."""
    named = {name.replace("_", ".", 1): value for name, value in flags.items()}
    settings = Settings(named, environ={})
    running = notices.start(lake._core, settings, (secrets or {}).get, "/data/shop")
    try:
        for one in running.followers:
            until(lambda one=one: one._position is not None)  # type: ignore[misc]
        yield
    finally:
        running.stop()


def told(receiver: Receiver) -> Any:
    return json.loads(receiver.next().body)


def test_a_failure_is_told_and_that_it_is_over(graph: Graph, receiver: Receiver) -> None:
    with noticing(graph.lake, notify_webhook=receiver.url + "/hook"):
        feed(graph, 1)
        job = fail(graph, "no such column")
        message = told(receiver)
        assert message["kind"] == "failed"
        assert message["text"] == "daily failed"
        assert (message["pipeline"]["repo"], message["job"]) == ("daily", job)
        assert message["reason"] == "no such column"
        assert message["lake"] == "/data/shop"
        feed(graph, 2)
        succeed(graph)
        assert told(receiver)["kind"] == "recovered"
        feed(graph, 3)
        succeed(graph)
    assert receiver.came.empty()


def test_only_what_is_wanted_is_told(graph: Graph, receiver: Receiver) -> None:
    with noticing(graph.lake, notify_webhook=receiver.url, notify_on="recovered"):
        feed(graph, 1)
        fail(graph)
        feed(graph, 2)
        succeed(graph)
        assert told(receiver)["kind"] == "recovered"


def test_the_body_is_signed(graph: Graph, receiver: Receiver) -> None:
    with noticing(graph.lake, {"notify.webhook": "s3cret"}, notify_webhook=receiver.url):
        feed(graph)
        fail(graph)
        got = receiver.next()
    made = hmac.new(b"s3cret", got.body, hashlib.sha256).hexdigest()
    assert got.headers["x-trunkline-signature"] == f"sha256={made}"


def test_slack_gets_what_it_understands(graph: Graph, receiver: Receiver) -> None:
    with noticing(graph.lake, notify_slack=receiver.url + "/services/x"):
        feed(graph)
        fail(graph, "a < b & c")
        body = told(receiver)
    assert body["text"] == "daily failed"
    assert "a &lt; b &amp; c" in body["blocks"][0]["text"]["text"]


def test_mail_is_sent(graph: Graph) -> None:
    with mail_server() as server:
        smtp = f"smtp://127.0.0.1:{server.port}"
        to = "ops@example.com, me@example.com"
        with noticing(graph.lake, notify_email=to, notify_smtp=smtp):
            feed(graph)
            fail(graph, "it broke")
            mail = server.mails.get(timeout=PATIENCE)
    assert "Subject: [trunkline] daily failed" in mail
    assert f"To: {to}" in mail
    assert "reason: it broke" in mail


def test_a_password_is_not_sent_in_the_open(graph: Graph, caplog: pytest.LogCaptureFixture) -> None:
    with mail_server() as server:
        smtp = f"smtp://me@127.0.0.1:{server.port}"
        with noticing(
            graph.lake, {"notify.smtp": "hush"}, notify_email="a@example.com", notify_smtp=smtp
        ):
            feed(graph)
            fail(graph)
            until(lambda: "not delivered" in caplog.text)
        assert server.mails.empty()
    assert "hush" not in caplog.text


def test_a_receiver_that_is_down_is_tried_again(
    graph: Graph, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "BACKOFF", Backoff(0.01, 0.01))
    receiver.statuses = [503, 500, 200]
    with noticing(graph.lake, notify_webhook=receiver.url):
        feed(graph)
        fail(graph)
        assert told(receiver)["kind"] == "failed"
    assert receiver.refused.qsize() == 2


def test_a_receiver_that_refuses_is_not_asked_again(graph: Graph, receiver: Receiver) -> None:
    receiver.statuses = [400]
    with noticing(graph.lake, notify_webhook=receiver.url):
        feed(graph, 1)
        fail(graph)
        receiver.refused.get(timeout=PATIENCE)
        feed(graph, 2)
        succeed(graph)
        assert told(receiver)["kind"] == "recovered"


def test_broken_expectations_are_one_message(graph: Graph, receiver: Receiver) -> None:
    from trunkline.jobs import claims, finishing

    broken = CheckResult("ids", CheckKind.UNIQUE, Action.FAIL, CheckState.FAILED, "", 9, 2, "2 ids")
    with noticing(graph.lake, notify_webhook=receiver.url):
        feed(graph, 1)
        claim = claims.claim_next(graph.lake._core, "test")
        assert claim is not None
        reason = said("rules broken")
        finishing.fail(graph.lake._core, claim, None, JobState.FAILURE, reason, checked=[broken])
        message = told(receiver)
        assert (message["kind"], message["checks"]) == ("check_failed", ["ids"])
        feed(graph, 2)
        succeed(graph)
        assert told(receiver)["kind"] == "recovered"


def test_a_missed_tick_is_late(graph: Graph, receiver: Receiver) -> None:
    with noticing(graph.lake, notify_webhook=receiver.url):
        with graph.lake._core.database.write() as session:
            events.emit(session, "schedule", DAILY, {"missed_up_to": "2026-01-01T00:00:00Z"})
        message = told(receiver)
    assert message["kind"] == "late"
    assert "2026-01-01T00:00:00Z" in message["text"]


def test_a_result_that_is_not_that_of_a_run_from_scratch_is_told(
    graph: Graph, receiver: Receiver
) -> None:
    with noticing(graph.lake, notify_webhook=receiver.url):
        with graph.lake._core.database.write() as session:
            for verdict in ("equal", "skipped", "different"):
                events.emit(session, "verify", DAILY, {"id": "01", "verdict": verdict})
        message = told(receiver)
    assert message["kind"] == "check_failed"
    assert "a run from scratch" in message["text"]
    assert receiver.came.empty()


def test_a_schedule_that_nobody_fires_is_late_once(graph: Graph) -> None:
    graph.apply("hourly", {"cron": {"name": "t", "spec": "0 * * * *"}}, ["true"])
    lateness = Lateness(graph.lake._core)
    assert list(lateness.changes()) == []
    with graph.lake._core.database.write() as session:
        session.execute("UPDATE crons SET started = started - :day", {"day": 86_400_000_000})
    (late,) = lateness.changes()
    assert (late.kind, late.pipeline.repo) == (Kind.LATE, "hourly")
    assert list(lateness.changes()) == []
    graph.lake.pause_pipeline("hourly")
    (well,) = lateness.changes()
    assert well.kind is Kind.RECOVERED


def test_many_of_one_kind_are_two_messages() -> None:
    now = 0.0
    grouping = Grouping(lambda: now)

    def failed(n: int, pipeline: RepoName = DAILY) -> Message:
        return Message(Kind.FAILED, pipeline, "failed", n, position=n)

    grouping.add(failed(1))
    (first,) = grouping.due()
    grouping.sent(first)
    for n in range(2, 6):
        grouping.add(failed(n))
        assert list(grouping.due()) == []
    grouping.add(failed(9, RepoName("default", "other")))
    (other,) = grouping.due()
    grouping.sent(other)
    assert grouping.oldest() == 2
    now = WINDOW_SECONDS + 1
    (rest,) = grouping.due()
    assert (rest.more, rest.position) == (3, 5)
    assert rest.title == "daily failed (and 3 more)"
    grouping.sent(rest)
    assert grouping.oldest() is None


@pytest.mark.parametrize(
    "flags",
    [
        {"notify_webhook": "ftp://x"},
        {"notify_email": "a@example.com", "notify_smtp": "host:25"},
        {"notify_on": "faild", "notify_webhook": "http://x"},
        {"openlineage_url": "x"},
    ],
)
def test_a_wrong_setting_is_a_clear_line(lake: Lake, flags: dict[str, str]) -> None:
    with pytest.raises(Usage), noticing(lake, None, **flags):
        pass


def test_what_could_not_be_delivered_is_told_and_that_it_is_again(
    graph: Graph, receiver: Receiver
) -> None:
    with receiving() as target, noticing(graph.lake, notify_webhook=receiver.url):
        graph.follow("daily", "orders", egress={"webhook": target.url})
        target.statuses = [400]
        job = feed(graph, 1)
        graph.run()
        message = told(receiver)
        assert (message["kind"], message["job"]) == ("failed", job)
        assert message["text"] == "daily could not be delivered to webhook"
        assert message["reason"] == f"{target.url} answered 400."
        feed(graph, 2)
        graph.run()
        message = told(receiver)
        assert (message["kind"], message["text"]) == (
            "recovered",
            "daily is delivered to webhook again",
        )
