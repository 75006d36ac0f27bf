"""Streams and ingests as the SDK shows and steers them; what must not be done to their output."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.flows import (
    INGEST,
    READER,
    STREAM,
    batch,
    batches,
    commit,
    empty_batch,
    flow_of,
    key_of,
)
from tests.sdk.conftest import head, put
from tests.sdk.test_fsck import edit
from tests.served import home
from trunkline import Lake
from trunkline.errors import InUse, NotAllowed, NotFound, Precondition, Usage
from trunkline.jobs.streaming.status import quantile, speed
from trunkline.model.commits import RepoName
from trunkline.model.jobs import Counts, Job, JobState
from trunkline.model.shape import as_json
from trunkline.model.streams import Batch, FlowState
from trunkline.model.told import NOTHING, Kind, Told
from trunkline.storage.catalog import commits, flows, jobs

SECOND = 1_000_000


@pytest.fixture
def flowing(lake: Lake) -> Lake:
    """The repo clicks, and the stream sessions that reads it."""
    lake.create_repo("clicks")
    lake.apply(STREAM)
    return lake


@pytest.fixture
def ran(flowing: Lake) -> tuple[Lake, list[str], list[str]]:
    """Five commits of clicks, and a batch for each: (lake, clicks, sessions)."""
    sources, outputs = [], []
    for number in range(1, 6):
        sources.append(put(flowing, "clicks", **{f"f{number}": str(number)}))
        facts = {"late": number, "watermark": number * SECOND, "kind": "no state"}
        outputs.append(
            batch(
                flowing,
                "sessions",
                {"clicks": sources[-1]},
                facts,
                rows_in=10 * number,
                rows_out=number,
                late=1,
                seconds=0.5,
            )
        )
    return flowing, sources, outputs


class TestStatus:
    def test_a_new_stream_has_everything_before_it(self, flowing: Lake):
        first = put(flowing, "clicks", a="1")
        put(flowing, "clicks", b="2")
        status = flowing.stream("sessions")
        assert (status.state, status.reason) == (FlowState.IDLE, "")
        assert (status.trigger, status.epoch, status.batch) == ("every 1s", 1, 0)
        assert (status.commit, status.age, status.watermark) == (None, None, None)
        (lag,) = status.inputs
        assert (lag.name, lag.read, lag.commits) == ("clicks", None, 2)
        finished = flowing.commit_info(f"clicks@{first}").finished
        assert finished is not None
        assert lag.seconds == (status.now - finished) / SECOND

    def test_one_that_runs_tells_where_it_is(self, ran):
        lake, sources, outputs = ran
        put(lake, "clicks", more="x")
        status = lake.stream("sessions")
        assert status.state is FlowState.RUNNING
        assert (status.batch, status.commit, status.late) == (5, outputs[-1], 5)
        assert status.watermark == 5 * SECOND
        assert status.watermark_behind == (status.now - 5 * SECOND) / SECOND
        assert (status.lag_commits, status.inputs[0].read) == (1, sources[-1])
        assert status.lag_seconds > 0
        assert (status.speed.p50, status.speed.p99) == (0.5, 0.5)
        assert status.speed.rows_per_second > 0
        assert status.kind == "no state"
        assert [one.name for one in lake.streams()] == [status.name]

    def test_a_commit_that_is_half_read_is_behind(self, flowing: Lake):
        first = put(flowing, "clicks", a="1", b="2")
        batch(flowing, "sessions", {"clicks": f"{first}+1~"})
        (lag,) = flowing.stream("sessions").inputs
        assert (lag.read, lag.commits) == (first, 1)

    def test_paused_goes_before_failed(self, ran):
        lake, _, _ = ran
        repo = key_of(lake, "sessions")
        with home(lake)._core.database.write() as session:
            flows.note(session, repo, FlowState.FAILED, "no luck")
        status = lake.stream("sessions")
        assert (status.state, status.reason) == (FlowState.FAILED, "no luck")
        assert lake.status().flows_failed == ("sessions",)
        lake.pause_pipeline("sessions")
        assert lake.stream("sessions").state is FlowState.PAUSED
        lake.resume_pipeline("sessions")
        assert lake.stream("sessions").state is FlowState.FAILED

    def test_what_waits_for_a_worker_says_so(self, flowing: Lake):
        flowing.apply({**STREAM, "transform": {"stream": "SELECT * FROM clicks"}})
        put(flowing, "clicks", a="1")
        status = flowing.stream("sessions")
        assert status.trigger == "on commit"
        assert status.state is FlowState.IDLE
        assert "a job waits" in status.reason

    def test_json(self, ran):
        lake, _, outputs = ran
        shown = json.loads(json.dumps(as_json(lake.stream("sessions"))))
        assert shown["name"] == {"project": "default", "repo": "sessions"}
        assert (shown["last"]["commit"], shown["last"]["number"]) == (outputs[-1], 5)
        assert shown["watermark"] == "1970-01-01T00:00:05.000000Z"
        assert shown["inputs"][0] | {"read": ""} == {
            "name": "clicks",
            "repo": {"project": "default", "repo": "clicks"},
            "branch": "main",
            "read": "",
            "commits": 0,
            "seconds": 0.0,
        }
        assert shown.keys() >= {
            "state", "reason", "trigger", "kind", "epoch", "batch", "speed", "late",
            "lag_commits", "lag_seconds", "malformed", "skipped", "state_rows", "state_bytes",
            "seconds", "updated", "now",
        }  # fmt: skip
        assert "<td>default/sessions</td>" in lake.stream("sessions")._repr_html_()

    def test_what_is_no_stream_is_refused(self, flowing: Lake):
        flowing.apply(READER)
        with pytest.raises(Usage, match="report is no stream"):
            flowing.stream("report")
        with pytest.raises(NotFound, match='no pipeline "session"'):
            flowing.stream("session")
        flowing.apply(INGEST)
        with pytest.raises(Usage, match="feed is an ingest"):
            flowing.stream("feed")
        with pytest.raises(Usage, match="sessions is no ingest"):
            flowing.ingest("sessions")

    def test_batches_come_newest_first(self, ran):
        lake, _, outputs = ran
        found = lake.stream_batches("sessions", 2)
        assert [one.commit for one in found] == outputs[:2:-1]
        assert found[0].start == found[1].end
        assert found[0].at == lake.commit_info(f"sessions@{outputs[-1]}").finished


class TestSpeed:
    ONE = Batch("a", 1, 1, 1, {}, {}, rows_in=100, seconds=1.0, at=10 * SECOND)

    def test_time_between_batches_counts(self):
        later = replace(self.ONE, number=2, first=2, at=18 * SECOND)
        found = speed([later, self.ONE], None)
        assert found.rows_per_second == pytest.approx(200 / 9)
        assert found.last_rows_per_second == pytest.approx(100)

    def test_squashed_batches_are_many(self):
        found = speed([replace(self.ONE, number=4, seconds=2.0)], None)
        assert (found.p50, found.p99) == (0.5, 0.5)

    def test_without_batches(self):
        assert (speed([], 7.0).last_rows_per_second, speed([], None).p50) == (7.0, None)

    @pytest.mark.parametrize(
        "count, part, wanted", [(1, 0.5, 1), (2, 0.5, 1), (100, 0.5, 50), (100, 0.99, 99)]
    )
    def test_quantiles(self, count, part, wanted):
        assert quantile([float(n) for n in range(1, count + 1)], part) == wanted


class TestSteering:
    def test_rewind_takes_output_and_offsets_back(self, ran):
        lake, sources, outputs = ran
        lake.apply(READER)
        plan = lake.plan_rewind("sessions", "main~2")
        assert (plan.commit, plan.batch, plan.commits, plan.rows, plan.late) == (
            outputs[2], 3, 2, 9, 2,
        )  # fmt: skip
        assert plan.position == {"clicks": sources[2]}
        assert [str(name) for name in plan.readers] == ["report"]
        assert head(lake, "sessions@main") == outputs[-1], "a plan changes nothing"

        done = lake.rewind_stream("sessions", "sessions@main~2")
        assert (done.epoch, done.batch, done.commit) == (2, 3, outputs[2])
        assert head(lake, "sessions@main") == outputs[2]
        flow = flow_of(lake, "sessions")
        assert (flow.number, flow.position) == (3, {"clicks": sources[2]})
        status = lake.stream("sessions")
        assert (status.lag_commits, status.commit, status.state) == (2, outputs[2], "idle")
        job = lake.jobs("report")[0]
        assert job.id == done.job
        assert "was rewound" in job.cause
        assert lake.fsck().problems == []

    def test_forward_again_to_what_was_undone(self, ran):
        lake, _, outputs = ran
        lake.rewind_stream("sessions", outputs[1])
        assert lake.plan_rewind("sessions", outputs[4]).commits == 0
        batch(lake, "sessions", {"clicks": "x"}, rows_out=7)
        plan = lake.plan_rewind("sessions", outputs[4])
        assert (plan.commits, plan.rows) == (1, 7)
        assert lake.rewind_stream("sessions", outputs[4]).batch == 5

    def test_what_was_undone_goes_with_gc(self, ran):
        lake, sources, outputs = ran
        lake.rewind_stream("sessions", outputs[1])
        batch(lake, "sessions", {"clicks": sources[-1]})
        lake.gc(grace=0)
        lake.gc(grace=0)
        assert [one.commit for one in lake.stream_batches("sessions")[1:]] == outputs[1::-1]
        assert lake.fsck().problems == []

    def test_only_to_its_own_commits(self, ran):
        lake, sources, _ = ran
        with pytest.raises(Usage, match="cannot go back to a commit of clicks"):
            lake.rewind_stream("sessions", "clicks@main")
        with pytest.raises(NotFound):
            lake.plan_rewind("sessions", sources[0])

    @pytest.mark.parametrize("start, wanted", [("start", None), ("now", 4), ("main~3", 1)])
    def test_restart(self, ran, start, wanted):
        lake, sources, outputs = ran
        done = lake.restart_stream("sessions", start)
        assert done.position == ({} if wanted is None else {"clicks": sources[wanted]})
        flow = flow_of(lake, "sessions")
        assert (flow.epoch, flow.number, flow.facts) == (2, 0, {"replace": True})
        assert head(lake, "sessions@main") == outputs[-1], "readable until the first new batch"
        assert lake.fsck().problems == []

    def test_restart_may_keep_the_output(self, ran):
        lake, _, _ = ran
        lake.restart_stream("sessions", keep_output=True)
        assert flow_of(lake, "sessions").facts == {}

    def test_savepoints_are_of_streams_with_state(self, ran):
        lake, _, _ = ran
        assert lake.savepoints("sessions") == []
        with pytest.raises(Precondition, match="keeps no state"):
            lake.take_savepoint("sessions")


class TestIngest:
    def test_status(self, lake: Lake):
        lake.apply(INGEST)
        assert lake.ingest("feed").state is FlowState.IDLE
        told = {"lag": 3, "rows": 9, "malformed": 1}
        batch(lake, "feed", {"value": 10}, told, rows_in=10, rows_out=9, malformed=1)
        told = {"lag": 0, "rows": 19, "malformed": 1}
        batch(lake, "feed", {"value": 20}, told, rows_in=10, rows_out=10)
        repo = key_of(lake, "feed")
        with home(lake)._core.database.write() as session:
            flows.take(session, repo, "w1", 60 * SECOND)
        (status,) = lake.ingests()
        assert (status.state, status.worker, status.batch) == (FlowState.RUNNING, "w1", 2)
        assert (status.rows, status.malformed, status.position) == (19, 1, {"value": 20})
        assert status.source == "rate 10 rows/s"
        assert as_json(status)["facts"] == {"lag": 0}
        lake.pause_pipeline("feed")
        assert lake.ingest("feed").state is FlowState.PAUSED

    def test_what_it_brought_stays_where_it_is(self, lake: Lake):
        lake.apply(INGEST)
        first = batch(lake, "feed", {"value": 1})
        batch(lake, "feed", {"value": 2})
        with pytest.raises(NotAllowed, match="output of an ingest"):
            lake.move_branch("feed@main", first)


class TestOutput:
    """The branch of a stream is where its offsets say, whoever wants it elsewhere."""

    @pytest.mark.parametrize(
        "change",
        [
            lambda lake: lake.move_branch("sessions@main", "main~1"),
            lambda lake: lake.drop("sessions@main"),
            lambda lake: lake.delete_branch("sessions@main", force=True),
            lambda lake: lake.revert("sessions@main"),
            lambda lake: lake.merge("sessions@dev", "sessions@main", strategy="theirs"),
            lambda lake: lake.cherry_pick("sessions@dev", "sessions@main", strategy="theirs"),
            lambda lake: put(lake, "sessions@main", a="b"),
            lambda lake: lake.start_commit("sessions@main"),
        ],
        ids=["move", "drop", "delete", "revert", "merge", "pick", "put", "start"],
    )
    def test_is_not_changed_by_hand(self, ran, change):
        lake, _, outputs = ran
        lake.create_branch("sessions@dev", outputs[1])
        commit(lake, "sessions", "apart", "dev")
        with pytest.raises(NotAllowed) as refused:
            change(lake)
        assert "trunkline stream rewind sessions --to REF" in (refused.value.hint or "")
        assert head(lake, "sessions@main") == outputs[-1]

    def test_other_branches_of_it_are_free(self, ran):
        lake, _, outputs = ran
        lake.create_branch("sessions@dev", outputs[3])
        lake.move_branch("sessions@dev", outputs[1])
        lake.delete_branch("sessions@dev")

    def test_is_not_dropped_with_its_source(self, ran):
        lake, sources, outputs = ran
        repo, source = key_of(lake, "sessions"), key_of(lake, "clicks")
        with home(lake)._core.database.write() as session:
            commits.add_provenance(session, repo, outputs[-1], source, sources[-1])
        empty_batch(lake, "sessions", {"clicks": put(lake, "clicks", more="x")})
        lake.create_branch("clicks@old", sources[-1])
        with pytest.raises(InUse, match="where sessions has read to"):
            lake.drop("clicks@main")
        empty_batch(lake, "sessions", {"clicks": sources[0]})
        lake.drop("clicks@main")
        with pytest.raises(NotAllowed, match="output of a stream"):
            lake.drop("clicks@main", recursive=True)

    def test_where_it_has_read_to_is_not_squashed(self, ran):
        lake, sources, _ = ran
        put(lake, "clicks", more="x")
        with pytest.raises(InUse, match="where sessions has read to"):
            lake.squash(f"clicks@{sources[-1]}")
        lake.squash(f"clicks@{sources[1]}")


class TestSquash:
    def test_positions_stay_chained(self, ran):
        lake, sources, outputs = ran
        for gone in (outputs[1], outputs[2]):
            lake.squash(f"sessions@{gone}")
        assert list(batches(lake, "sessions")) == [(1, 1), (2, 4), (5, 5)]
        wide = lake.stream_batches("sessions")[1]
        assert (wide.commit, wide.start, wide.end) == (
            outputs[3], {"clicks": sources[0]}, {"clicks": sources[3]},
        )  # fmt: skip
        assert (wide.rows_in, wide.rows_out, wide.late, wide.seconds) == (90, 9, 3, 1.5)
        assert lake.fsck().problems == []
        lake.squash(f"sessions@{outputs[0]}")
        assert list(batches(lake, "sessions")) == [(1, 4), (5, 5)]
        assert lake.stream_batches("sessions")[1].start == {}
        assert lake.fsck().problems == []

    def test_a_compaction_takes_over_the_batch_it_builds_on(self, ran):
        lake, sources, outputs = ran
        tidy = commit(lake, "sessions", "compacted")
        batch(lake, "sessions", {"clicks": put(lake, "clicks", more="x")})
        lake.squash(f"sessions@{outputs[-1]}")
        assert list(batches(lake, "sessions")) == [(n, n) for n in range(1, 7)]
        done = lake.rewind_stream("sessions", tidy)
        assert (done.batch, done.position) == (5, {"clicks": sources[-1]})
        assert lake.fsck().problems == []

    def test_forget_and_erase_leave_the_chain_alone(self, ran):
        lake, _, outputs = ran
        lake.forget(f"sessions@{outputs[1]}")
        lake.erase(f"sessions@main:/{outputs[0]}.txt")
        assert list(batches(lake, "sessions")) == [(n, n) for n in range(1, 6)]
        assert lake.fsck().problems == []


class TestFsck:
    def test_batches_without_a_commit_are_no_gap(self, ran):
        lake, _, _ = ran
        empty_batch(lake, "sessions", {"clicks": put(lake, "clicks", more="x")})
        assert lake.fsck().problems == []
        batch(lake, "sessions", {"clicks": put(lake, "clicks", more="y")})
        assert lake.fsck().problems == []
        assert home(lake).stream_batches("sessions", 1)[0].passed

    @pytest.mark.parametrize("lane, problems", [("stream", 0), ("", 1)])
    def test_jobs_of_streams_have_batches_and_no_index(self, ran, lane, problems):
        lake, _, outputs = ran
        name, repo = RepoName("default", "sessions"), key_of(lake, "sessions")
        cause = Told(Kind.INTERVAL)
        job = Job(outputs[-1], name, 1, "main", JobState.WAITING, NOTHING, cause, 1)
        with home(lake)._core.database.write() as session:
            jobs.add(session, repo, job, lane=lane)
            jobs.end(session, repo, job.id, JobState.SUCCESS, counts=Counts(1, total=1))
        assert len(lake.fsck().problems) == problems
        assert lake.job(f"sessions@{job.id}").info.is_stream is (lane == "stream")

    @pytest.mark.parametrize(
        "sql, said",
        [
            ("DELETE FROM batches WHERE number = 3", "3 to 3 are missing"),
            ("UPDATE batches SET first = 2 WHERE number = 3", "begins with 2, which batch 2 holds"),
            ("UPDATE batches SET first = 9 WHERE number = 5", "of batches 9 to 5"),
            (
                "UPDATE batches SET facts = (SELECT facts FROM batches WHERE number = 1)",
                "starts at the beginning, but batch 2 ended at clicks",
            ),
            ("UPDATE batches SET id = 'gone' WHERE number = 4", "its commit is not there"),
            ("UPDATE flows SET number = 4", "counts 4 batches, but its newest is 5"),
            ("UPDATE flows SET position = '{}'", "is at the beginning, but batch 5 ended"),
            ("UPDATE batches SET epoch = 2 WHERE number = 5", "has epoch 2, but the flow is at 1"),
        ],
    )
    def test_what_does_not_add_up_is_found(self, ran, sql, said):
        lake, _, _ = ran
        edit(lake, sql)
        report = lake.fsck()
        assert {problem.kind for problem in report.problems} == {"stream"}
        assert any(said in problem.message for problem in report.problems), report.problems
        assert all(problem.where.startswith("sessions") for problem in report.problems)


def test_commits_know_their_batch(ran):
    lake, _, outputs = ran
    found = lake.commit_batch(lake.commit_info("sessions@main"))
    assert found is not None
    assert found.number == 5
    assert lake.commit_batch(lake.commit_info("clicks@main")) is None
    assert [one.number for one in lake.commit_batches("sessions").values()] == [5, 4, 3, 2, 1]
    assert lake.commit_batches("clicks") == {}
    shown = as_json(lake.show(outputs[2]))
    assert shown["batches"]["sessions"]["number"] == 3
