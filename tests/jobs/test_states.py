"""How jobs begin, wait, end and are begun again: SEMANTICS 7."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import trunkline as tl
from tests.jobs.graphs import COPY, NOTHING, Graph, reads
from tests.waiting import until
from trunkline import errors
from trunkline.jobs import claims
from trunkline.model.jobs import MOVES, Job, JobState, RunEvent
from trunkline.model.shape import as_json


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def hang_on_bad(pids: Path) -> list[str]:
    """A command that copies its file, or says who it is and hangs if the file is bad."""
    bad = f'if grep -q bad pfs/orders/*; then echo $$ > "{pids}"; sleep 600; fi'
    return sh(f"{bad}; cp pfs/orders/* pfs/out/")


@contextmanager
def working(graph: Graph, **how) -> Iterator[None]:
    """A worker in the background, for as long as the test looks."""
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: graph.lake.run(watch=True, stop=stop, **how), daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(90)
        assert not thread.is_alive()


def names(jobs: list[Job]) -> list[str]:
    return [str(job.pipeline) for job in jobs]


# -- the way of a job --------------------------------------------------------------------------


def test_a_job_is_created_then_runs_then_succeeds(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    assert graph.job("b").state is JobState.CREATED
    seen: list[JobState] = []
    graph.lake.run(listener=lambda event: seen.append(event.job.state) if event.job else None)
    moves = list(zip([JobState.CREATED, *seen], seen, strict=False))
    assert all(new is old or new in MOVES[old] for old, new in moves)
    assert (seen[0], seen[-1]) == (JobState.RUNNING, JobState.SUCCESS)


def test_its_record_tells_all_there_is_to_know(graph: Graph):
    graph.put("orders", a="four")
    graph.apply("b", "orders", sh("cat pfs/orders/a pfs/orders/a > pfs/out/a"))
    found = as_json(graph.run_well())
    counts = found["counts"]
    counted = {name: counts[name] for name in ("processed", "skipped", "failed", "recovered")}
    assert counted == {"processed": 1, "skipped": 0, "failed": 0, "recovered": 0}
    assert (counts["bytes_in"], counts["bytes_out"], counts["total"]) == (4, 8, 1)
    assert (found["pipeline"]["repo"], found["version"], found["attempt"]) == ("b", 1, 1)
    assert found["output_commit"] == found["id"] == graph.head("b")
    assert found["created"] <= found["started"] <= found["finished"]
    assert found["spark_application"]


def test_jobs_are_listed_newest_first_and_by_state(graph: Graph):
    graph.apply("b", "orders")
    first = graph.put("orders", a="x")
    second = graph.put("orders", a="bad")
    graph.run()
    assert [job.id for job in graph.lake.jobs("b")] == [second, first]
    assert [job.id for job in graph.lake.jobs(state="failure")] == [second]
    assert [job.id for job in graph.lake.jobs("b", limit=1)] == [second]
    with pytest.raises(errors.Usage, match="is no state of a job"):
        graph.lake.jobs(state="failed")


def test_a_job_is_named_by_its_id_or_with_its_pipeline_where_several_share_it(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    assert idle.lake.job(made).info.id == made
    idle.follow("c", "orders")
    other = idle.put("orders", a="2")
    with pytest.raises(errors.AmbiguousId, match="PIPELINE@ID|could be"):
        idle.lake.job(other)
    assert str(idle.lake.job(f"c@{other[:12]}").info.pipeline) == "c"
    with pytest.raises(errors.NotFound):
        idle.lake.job("0" * 32)


def test_a_pipeline_stands_for_its_newest_job(idle: Graph):
    idle.follow("b", "orders")
    with pytest.raises(errors.NotFound, match="b has no jobs yet"):
        idle.lake.job("b")
    first = idle.put("orders", a="1")
    second = idle.put("orders", a="2")
    assert idle.lake.job("b").info.id == idle.lake.job("b@").info.id == second
    with pytest.raises(errors.AmbiguousId, match=f"b@{first[:12]}"):
        idle.lake.cancel_job("b")
    idle.lake.cancel_job(first)
    assert idle.lake.cancel_job("b").id == second
    assert [job.id for job in idle.lake.wait("b", 5)] == [second]
    assert [*idle.lake.datums("b")] == []
    assert [*idle.lake.logs("b")] == []
    assert idle.lake.job(idle.lake.rerun_job("b")).info.cause == f"rerun of {second[:12]}"
    with pytest.raises(errors.NotFound, match='There is no pipeline "bb"'):
        idle.lake.job("bb")
    for text in ("0123", "b@01", "@", ""):
        with pytest.raises(errors.TrunklineError):
            idle.lake.job(text)


def test_run_says_what_it_leaves_to_a_pool_without_room(lake: tl.Lake, tmp_path):
    graph = Graph(lake, tmp_path / "code")
    lake.set_pool("closed", 0)
    graph.put("orders", a="1")
    graph.follow("b", "orders", pool="closed")
    report = lake.run()
    assert report.jobs == ()
    assert report.held == (
        "1 job held back by the pool closed, which has 0 slots: trunkline pool set closed SLOTS",
    )
    assert as_json(report)["held"] == list(report.held)
    lake.set_pool("closed", 1)
    assert lake.run().held == ()


def test_run_says_whose_claim_it_waits_for(lake: tl.Lake, tmp_path):
    graph = Graph(lake, tmp_path / "code")
    graph.put("orders", a="1")
    graph.follow("b", "orders")
    claim = claims.claim_next(lake._core, "far:1:dead", 1.5)
    assert claim is not None
    events: list[RunEvent] = []
    (job,) = lake.run(listener=events.append).jobs
    (note,) = [one.text for one in events if one.kind == "note"]
    assert re.fullmatch(
        rf"b@{job.short_id} is in the hands of far:1:dead; if that has died, it is run here in "
        r"[12] s\.",
        note,
    )
    assert job.state is JobState.SUCCESS


def test_why_knows_that_a_worker_no_longer_answers(lake: tl.Lake, tmp_path):
    graph = Graph(lake, tmp_path / "code")
    graph.put("orders", a="1")
    graph.follow("b", "orders")
    claims.claim_next(lake._core, "far:1:dead", 0.05)
    time.sleep(0.1)
    said = "far:1:dead had it and no longer answers; whoever runs jobs takes it up."
    assert said in lake.why(lake.job("b").ref)


def test_two_jobs_of_a_pipeline_run_in_order_though_there_is_room(graph: Graph, tmp_path):
    order = tmp_path / "order"
    graph.apply("b", tl.pfs("orders", "/"), sh(f'sleep 0.1; cat pfs/orders/a >> "{order}"'))
    for text in ("1", "2", "3"):
        graph.put("orders", a=text)
    jobs = graph.run(jobs=3)
    assert order.read_text() == "123"
    assert [job.id for job in jobs] == graph.sets("b")


def test_pipelines_without_a_common_path_run_side_by_side(graph: Graph, tmp_path):
    here, there = tmp_path / "b", tmp_path / "c"
    meet = 'touch "{}"; n=0; until test -e "{}" || test $((n=n+1)) -gt 200; do sleep 0.05; done; {}'
    graph.apply("b", "orders", sh(meet.format(here, there, f'test -e "{there}"')), datum_tries=1)
    graph.apply("c", "orders", sh(meet.format(there, here, f'test -e "{here}"')), datum_tries=1)
    graph.put("orders", a="x")
    assert {job.state for job in graph.run(jobs=2)} == {JobState.SUCCESS}


# -- unrunnable --------------------------------------------------------------------------------


def test_a_failure_makes_everything_below_unrunnable_down_the_chain(graph: Graph):
    graph.apply("b", "orders")
    graph.apply("c", "b")
    graph.apply("d", "c")
    graph.apply("other", "orders", ["true"])
    made = graph.put("orders", a="bad")
    graph.run()
    assert graph.states(made) == {
        "b": "failure",
        "c": "unrunnable",
        "d": "unrunnable",
        "other": "success",
    }
    assert graph.job("c", made).reason == "its input b failed"
    assert graph.job("d", made).reason == "its input c is unrunnable"


def test_the_next_good_set_runs_all_of_the_chain(graph: Graph):
    graph.apply("b", "orders")
    graph.apply("c", "b")
    graph.put("orders", a="bad")
    graph.run()
    made = graph.put("orders", a="good")
    graph.run()
    assert graph.states(made) == {"b": "success", "c": "success"}
    assert graph.files("c") == {"/a": "good"}


def test_what_waits_for_a_job_of_another_set_is_unrunnable_when_that_fails(graph: Graph):
    graph.apply("b", "orders")
    graph.apply("c", tl.cross(tl.pfs("b", "/*"), tl.pfs("rates", "/*")))
    graph.apply("d", "c")
    good = graph.put("orders", a="x")
    graph.run()
    bad = graph.put("orders", a="bad")
    late = graph.put("rates", r="1")
    assert {(str(job.pipeline), job.id) for job in graph.run()} == {
        (name, id_) for id_ in (bad, late) for name in "bcd" if (name, id_) != ("b", late)
    }
    assert graph.states(late) == {"c": "unrunnable", "d": "unrunnable"}
    assert graph.job("c", late).reason == "its input b failed"
    assert any("b failed: 1 of 1 datums failed" in line for line in graph.lake.why("d"))
    assert graph.files("c") == {}
    # Who comes later reads the head, which is the last that went well.
    later = graph.put("rates", r="2")
    graph.run()
    assert reads(graph.job("c", later)) == {"b": good, "rates": later}
    assert graph.files("d") == {"/a": "x", "/r": "2"}
    said = graph.lake.why("c")
    assert any(line.startswith(f"b@main is at {good[:12]}, its last good") for line in said)


def test_a_pipeline_applied_to_one_that_only_failed_is_unrunnable(graph: Graph):
    graph.put("orders", a="bad")
    graph.apply("b", "orders")
    graph.apply("early", "b")
    graph.run()
    graph.put("rates", r="1")
    graph.apply("late", tl.union(tl.pfs("b", "/*"), tl.pfs("rates", "/*")))
    graph.apply("below", "late")
    assert graph.run() == []
    for name, reason in (("early", "b failed"), ("late", "b failed"), ("below", "late is unr")):
        job = graph.job(name)
        assert job.state is JobState.UNRUNNABLE
        assert job.reason.startswith(f"its input {reason}")
        assert any("b failed: 1 of 1" in line for line in graph.lake.why(name))
        assert not any("no commits yet" in line for line in graph.lake.why(name))
    graph.lake.rerun_job(f"late@{graph.job('late').id}")
    assert graph.job("late").state is JobState.UNRUNNABLE
    graph.put("orders", a="good")
    graph.run()
    assert graph.files("below") == {"/a": "good", "/r": "1"}
    assert graph.lake.fsck().ok


def test_who_waits_across_sets_ends_with_what_is_cancelled_paused_or_replaced(idle: Graph):
    def waiting() -> str:
        idle.put("orders", a=str(len(idle.sets("b"))))
        return idle.put("rates", r=str(len(idle.sets("b"))))

    idle.follow("b", "orders")
    idle.follow("c", "b", "rates")
    idle.put("orders", a="0")
    idle.run()
    first = waiting()
    assert idle.job("c", first).reason == "waits for b"
    idle.lake.cancel_job(f"b@{idle.job('b').id}")
    assert idle.job("c", first).reason == "its input b was stopped"
    assert idle.run() == []
    idle.lake.rerun_job(f"c@{first}")
    assert [job.state for job in idle.run()] == [JobState.SUCCESS]
    second = waiting()
    idle.lake.pause_pipeline("b")
    assert idle.job("c", second).state is JobState.UNRUNNABLE
    idle.lake.resume_pipeline("b")
    assert {str(job.pipeline) for job in idle.run()} == {"b", "c"}
    assert reads(idle.job("c"))["rates"] == second


def test_who_would_only_be_started_by_another_input_starts_with_what_replaces_its_own(idle: Graph):
    idle.follow("b", "orders")
    quiet = tl.cross(tl.pfs("b", NOTHING, propagation="never"), tl.pfs("rates", NOTHING))
    idle.apply("c", quiet, ["true"])
    idle.put("orders", a="0")
    idle.put("rates", r="0")
    idle.follow("b", "orders", description="other")
    assert [str(job.state) for job in idle.lake.jobs("c")] == ["waiting", "unrunnable"]
    assert {job.state for job in idle.run()} == {JobState.SUCCESS}


# -- retry, timeout ----------------------------------------------------------------------------


def test_a_job_is_tried_again_and_only_what_failed_runs(graph: Graph, tmp_path):
    ran = tmp_path / "ran"
    script = (
        f'echo $(basename pfs/orders/*) >> "{ran}"; cp pfs/orders/* pfs/out/; '
        f'test ! -e pfs/orders/b || test $(grep -c b "{ran}") -ge 3'
    )
    graph.put("orders", a="x", b="y")
    retry = {"tries": 3, "backoff": "10ms", "factor": 2}
    graph.apply("b", "orders", sh(script), datum_tries=1, retry=retry)
    job = graph.run_well()
    assert job.attempt == 3
    assert sorted(ran.read_text().split()) == ["a", "b", "b", "b"]
    assert graph.files("b") == {"/a": "x", "/b": "y"}


def test_a_job_fails_when_all_its_tries_did(graph: Graph):
    graph.put("orders", a="bad")
    graph.apply("b", "orders", retry={"tries": 2, "backoff": "10ms"})
    job = graph.run_one()
    assert (job.state, job.attempt) == (JobState.FAILURE, 2)
    assert "ValueError: bad content" in job.reason


def test_while_it_waits_for_its_next_try_a_job_says_so(graph: Graph):
    graph.put("orders", a="bad")
    graph.apply("b", "orders", retry={"tries": 2, "backoff": "1h"})
    with working(graph):
        job = until(lambda: (job := graph.job("b")).state is JobState.WAITING and job)
    assert "ValueError: bad content" in job.reason


@pytest.mark.slow
def test_a_job_that_takes_too_long_is_ended_and_its_processes_with_it(graph: Graph, tmp_path):
    pids = tmp_path / "pids"
    graph.put("orders", a="x", b="bad")
    graph.apply("b", "orders", hang_on_bad(pids), job_timeout="3s", datum_set_spec={"number": 1})
    job = graph.run_one()
    assert (job.state, job.reason) == (JobState.KILLED, "timed out after 3 s")
    assert job.is_failure
    until(lambda: not psutil.pid_exists(int(pids.read_text())))


@pytest.mark.slow
def test_its_datums_tell_how_far_it_came(graph: Graph, tmp_path):
    graph.put("orders", a="x", b="bad")
    fields = {"job_timeout": "3s", "datum_set_spec": {"number": 1}}
    graph.apply("b", "orders", hang_on_bad(tmp_path / "pids"), **fields)
    job = graph.run_one()
    found = {paths: (str(one.state), one.reason) for paths, one in graph.datums(job).items()}
    assert found == {
        "/a": ("success", "new"),
        "/b": ("failed", "killed: timed out after 3 s"),
    }


@pytest.mark.slow
def test_what_it_did_before_is_used_by_the_next(graph: Graph, tmp_path):
    graph.put("orders", a="x", b="bad")
    fields = {"job_timeout": "3s", "datum_set_spec": {"number": 1}}
    graph.apply("b", "orders", hang_on_bad(tmp_path / "pids"), **fields)
    graph.run_one()
    graph.put("orders", b="good")
    job = graph.run_well()
    assert graph.ran(job) == {"/b"}
    assert graph.files("b") == {"/a": "x", "/b": "good"}


@pytest.mark.slow
def test_but_not_by_a_pipeline_that_runs_everything_in_every_job(graph: Graph, tmp_path):
    graph.put("orders", a="x", b="bad")
    fields = {"job_timeout": "3s", "datum_set_spec": {"number": 1}, "reprocess_spec": "every_job"}
    graph.apply("b", "orders", hang_on_bad(tmp_path / "pids"), **fields)
    graph.run_one()
    graph.put("orders", b="good")
    assert graph.ran(graph.run_well()) == {"/a", "/b"}


# -- cancel ------------------------------------------------------------------------------------


def test_a_job_that_waits_can_be_cancelled_and_so_is_what_waits_for_it(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    made = idle.put("orders", a="1")
    done = idle.lake.cancel_job(f"b@{made}")
    assert (done.state, done.reason) == (JobState.KILLED, "cancelled by ada")
    assert idle.states(made) == {"b": "killed", "c": "unrunnable"}
    assert idle.run() == []


@pytest.mark.slow
def test_a_job_that_runs_can_be_cancelled_and_its_processes_die(graph: Graph, tmp_path):
    pids = tmp_path / "pids"
    graph.put("orders", a="bad")
    graph.apply("b", "orders", hang_on_bad(pids))
    with working(graph):
        pid = int(until(lambda: pids.exists() and pids.read_text().strip()))
        graph.lake.cancel_job(f"b@{graph.job('b').id}", "enough")
        until(lambda: not psutil.pid_exists(pid))
        job = graph.job("b")
    assert (job.state, job.reason) == (JobState.KILLED, "enough")
    assert graph.head("b") is None


def test_the_worker_goes_on_with_the_next_job(graph: Graph, tmp_path):
    pids = tmp_path / "pids"
    graph.put("orders", a="bad")
    graph.apply("b", "orders", hang_on_bad(pids))
    with working(graph):
        until(lambda: pids.exists() and pids.read_text().strip())
        graph.lake.cancel_job(f"b@{graph.job('b').id}")
        made = graph.put("orders", a="good")
        assert graph.lake.job(f"b@{made}").wait(60).state is JobState.SUCCESS


def test_what_is_over_cannot_be_cancelled(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    idle.run()
    with pytest.raises(errors.Precondition, match="is over: success"):
        idle.lake.cancel_job(made)


@pytest.mark.slow
def test_pausing_kills_the_job_that_runs_and_resuming_makes_up_for_it(graph: Graph, tmp_path):
    pids = tmp_path / "pids"
    graph.put("orders", a="bad")
    graph.apply("b", "orders", hang_on_bad(pids))
    with working(graph):
        pid = int(until(lambda: pids.exists() and pids.read_text().strip()))
        graph.lake.pause_pipeline("b")
        until(lambda: not psutil.pid_exists(pid))
        graph.put("orders", a="good")
        resumed = graph.lake.resume_pipeline("b")
        assert graph.lake.job(f"b@{resumed}").wait(60).state is JobState.SUCCESS
    assert graph.files("b") == {"/a": "good"}


@pytest.mark.slow
def test_a_new_version_kills_the_job_that_runs(graph: Graph, tmp_path):
    pids = tmp_path / "pids"
    graph.put("orders", a="bad")
    graph.apply("b", "orders", hang_on_bad(pids))
    with working(graph):
        pid = int(until(lambda: pids.exists() and pids.read_text().strip()))
        applied = graph.apply("b", "orders", sh("cp pfs/orders/* pfs/out/"))
        until(lambda: not psutil.pid_exists(pid))
        assert graph.lake.job(f"b@{applied.job}").wait(60).state is JobState.SUCCESS
    first = graph.lake.jobs("b")[-1]
    assert (first.state, first.reason) == (JobState.KILLED, "version 2 was applied")


# -- wait --------------------------------------------------------------------------------------


def test_waiting_for_a_set_waits_for_all_its_jobs(graph: Graph):
    graph.apply("b", "orders")
    graph.apply("c", "b")
    with working(graph):
        made = graph.put("orders", a="x")
        assert {str(job.state) for job in graph.lake.wait(made, 60)} == {"success"}


def test_waiting_ends_when_the_time_is_up(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    with pytest.raises(errors.TimedOut, match="is not over"):
        idle.lake.wait(made, 0.01)


# -- rerun -------------------------------------------------------------------------------------


def test_a_rerun_tries_what_failed_and_all_below_as_a_new_set(graph: Graph, tmp_path):
    mended = tmp_path / "mended"
    body = COPY.replace("if ", f'if not __import__("os").path.exists("{mended}") and ')
    graph.apply("b", "orders", COPY)
    graph.apply("c", "b", body.replace('"bad"', '"x"'))
    graph.apply("d", "c", COPY)
    made = graph.put("orders", a="x")
    graph.run()
    assert graph.states(made) == {"b": "success", "c": "failure", "d": "unrunnable"}
    mended.touch()
    again = graph.lake.rerun_job(f"c@{made}")
    graph.run()
    assert graph.states(again) == {"c": "success", "d": "success"}
    assert graph.job("c", again).cause == f"rerun of {made[:12]}"
    assert graph.files("d") == {"/a": "x"}


def test_a_cancelled_job_can_be_rerun(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    idle.lake.cancel_job(made)
    again = idle.lake.rerun_job(made)
    assert idle.run_one().id == again


def test_what_did_not_fail_is_not_rerun(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    idle.run()
    with pytest.raises(errors.Precondition, match="Nothing failed"):
        idle.lake.rerun_job(made)


# -- backfill ----------------------------------------------------------------------------------


def test_a_backfill_makes_a_job_for_each_past_commit_on_a_branch_apart(graph: Graph):
    past = [graph.put("orders", a=text) for text in ("1", "2", "3")]
    graph.apply("b", "orders")
    graph.run()
    head = graph.head("b")
    made = graph.lake.backfill("b")
    assert (made.total, made.done, made.state) == (3, 0, "running")
    graph.run()
    for commit, text in zip(past, "123", strict=True):
        assert graph.files(f"b@{commit}") == {"/a": text}
    assert graph.head("b") == head
    (after,) = graph.lake.backfills()
    assert (after.state, after.total, after.done, after.failed) == ("done", 3, 3, 0)


def test_a_backfill_uses_the_results_there_are(graph: Graph):
    graph.put("orders", a="1", b="x")
    graph.apply("b", "orders")
    graph.run()
    graph.put("orders", a="2")
    graph.lake.pause_pipeline("b")
    graph.lake.resume_pipeline("b")
    graph.run()
    graph.lake.backfill("b")
    jobs = graph.run()
    assert [graph.ran(job) for job in jobs] == [set() for _ in jobs]


def test_a_backfill_can_be_of_some_commits_only(idle: Graph):
    past = [idle.put("orders", a=text) for text in "12345"]
    idle.follow("b", "orders")
    idle.run()
    made = idle.lake.backfill("b", f"orders@{past[1]}", f"orders@{past[3]}", branch="old")
    assert (made.total, made.branch) == (3, "old")
    idle.run()
    assert [commit.id for commit in idle.lake.commits("b@old")] == past[3:0:-1]


def test_a_backfill_can_be_paused_and_resumed(idle: Graph):
    for text in "123":
        idle.put("orders", a=text)
    idle.follow("b", "orders")
    idle.run()
    made = idle.lake.backfill("b")
    assert idle.lake.steer_backfill(made.id, "pause").state == "paused"
    assert idle.run() == []
    idle.lake.steer_backfill(made.id, "resume")
    assert len(idle.run()) == 3


def test_a_cancelled_backfill_kills_what_it_has_not_done(idle: Graph):
    for text in "123":
        idle.put("orders", a=text)
    idle.follow("b", "orders")
    idle.run()
    made = idle.lake.backfill("b")
    idle.lake.steer_backfill(made.id, "cancel")
    assert idle.run() == []
    reasons = {job.reason for job in idle.lake.jobs("b", state="killed")}
    assert reasons == {"its backfill was cancelled"}


def test_what_a_backfill_did_not_finish_another_one_does(graph: Graph):
    for text in "12":
        graph.put("orders", a=text)
    graph.apply("b", "orders")
    graph.run()
    first = graph.lake.backfill("b")
    graph.lake.steer_backfill(first.id, "cancel")
    graph.lake.backfill("b", branch="again")
    graph.run()
    found = [graph.files(f"b@{commit.id}") for commit in graph.lake.commits("b@again")]
    assert found == [{"/a": "2"}, {"/a": "1"}]


def test_a_backfill_cannot_go_where_the_present_is(idle: Graph):
    idle.put("orders", a="1")
    idle.follow("b", "orders")
    with pytest.raises(errors.Usage, match="where the present is"):
        idle.lake.backfill("b", branch="main")


def test_a_backfill_goes_through_a_repo_that_the_pipeline_reads(idle: Graph):
    idle.put("orders", a="1")
    made = idle.put("rates", r="1")
    idle.follow("b", "orders")
    with pytest.raises(errors.Usage, match="b does not read rates"):
        idle.lake.backfill("b", f"rates@{made}")


# -- pools and priorities ----------------------------------------------------------------------


def test_a_pool_limits_how_many_of_its_jobs_run_at_once(graph: Graph, tmp_path):
    lock = tmp_path / "lock"
    script = sh(f'mkdir "{lock}" && sleep 0.2 && rmdir "{lock}"')
    graph.lake.set_pool("small", 1)
    for name in ("b", "c", "d"):
        graph.apply(name, "orders", script, pool="small", datum_tries=1)
    graph.put("orders", a="x")
    assert {job.state for job in graph.run(jobs=3)} == {JobState.SUCCESS}


def test_a_pool_without_slots_holds_its_jobs(idle: Graph):
    idle.lake.set_pool("shut", 0)
    idle.follow("b", "orders", pool="shut")
    idle.follow("c", "orders")
    idle.put("orders", a="1")
    assert names(idle.run()) == ["c"]
    assert idle.lake.pools() == [{"name": "shut", "slots": 0, "running": 0, "waiting": 1}]
    idle.lake.set_pool("shut", 1)
    assert names(idle.run()) == ["b"]


def test_a_pool_that_is_deleted_limits_nothing(idle: Graph):
    idle.lake.set_pool("shut", 0)
    idle.follow("b", "orders", pool="shut")
    idle.put("orders", a="1")
    idle.lake.delete_pool("shut")
    assert names(idle.run()) == ["b"]
    with pytest.raises(errors.NotFound, match='no pool "shut"'):
        idle.lake.delete_pool("shut")


def test_jobs_with_a_higher_priority_go_first(idle: Graph):
    for name, priority in (("low", -1), ("none", 0), ("high", 5)):
        idle.follow(name, "orders", priority=priority)
    idle.put("orders", a="1")
    assert names(idle.run(jobs=1)) == ["high", "none", "low"]


def test_of_equal_priority_the_oldest_goes_first(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "rates")
    idle.put("rates", r="1")
    idle.put("orders", a="1")
    assert names(idle.run(jobs=1)) == ["c", "b"]


# -- history under running jobs ----------------------------------------------------------------


def test_dropping_an_input_with_all_that_derives_from_it_leaves_no_job_behind(idle: Graph):
    idle.apply("b", tl.pfs("orders", NOTHING), ["true"])
    first = idle.put("orders", a="1")
    idle.run()
    dropped = idle.put("orders", a="2")
    idle.lake.drop("orders@main", recursive=True)
    assert idle.head("orders") == first
    jobs = idle.run()
    assert [job.state for job in jobs] == [JobState.SUCCESS]
    assert reads(jobs[0]) == {"orders": first}
    gone = idle.job("b", dropped)
    assert (gone.state, gone.reason) == (JobState.KILLED, "its commit was removed")


# -- what happens around a job that runs -------------------------------------------------------


def copy_when_told(go: Path) -> list[str]:
    """A command that waits for a file before it copies a file called wait."""
    wait = f'until test -e "{go}"; do sleep 0.05; done'
    return sh(f"if test -e pfs/orders/wait; then {wait}; fi; cp pfs/orders/* pfs/out/")


def test_an_output_branch_that_is_moved_meanwhile_is_built_on_as_it_is_then(graph: Graph, tmp_path):
    go = tmp_path / "go"
    graph.apply("b", "orders", copy_when_told(go))
    first = graph.put("orders", a="1")
    graph.run_well()
    second = graph.put("orders", b="2")
    graph.run_well()
    with working(graph):
        third = graph.put("orders", wait="3")
        until(lambda: graph.job("b").state is JobState.RUNNING)
        graph.lake.move_branch("b@main", first)
        go.touch()
        assert graph.lake.job(f"b@{third}").wait(60).state is JobState.SUCCESS
    assert graph.files("b") == {"/a": "1", "/b": "2", "/wait": "3"}
    assert [commit.id for commit in graph.lake.commits("b@main")] == [third, first]
    assert graph.files(f"b@{second}") == {"/a": "1", "/b": "2"}


@pytest.mark.slow
@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_pipeline_that_is_deleted_while_it_runs_leaves_nothing(graph: Graph, tmp_path):
    pids = tmp_path / "pids"
    graph.put("orders", a="bad")
    graph.apply("b", "orders", hang_on_bad(pids))
    graph.apply("c", "orders", ["true"])
    with working(graph):
        pid = int(until(lambda: pids.exists() and pids.read_text().strip()))
        graph.lake.delete_pipeline("b")
        until(lambda: not psutil.pid_exists(pid))
        made = graph.put("orders", a="x")
        assert graph.lake.job(f"c@{made}").wait(60).state is JobState.SUCCESS
    assert {str(repo.name) for repo in graph.lake.repos()} == {"orders", "rates", "c"}


def test_a_worker_that_is_stopped_gives_its_job_back_for_the_next(graph: Graph, tmp_path):
    go = tmp_path / "go"
    graph.put("orders", a="1", wait="2")
    graph.apply("b", "orders", copy_when_told(go), datum_set_spec={"number": 1})
    with working(graph):
        until(lambda: graph.job("b").state is JobState.RUNNING)
    job = graph.job("b")
    assert (job.state, job.reason) == (JobState.WAITING, "its worker stopped")
    go.touch()
    graph.run_well()
    assert graph.files("b") == {"/a": "1", "/wait": "2"}
