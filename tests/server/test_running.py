"""Looking on while the server's workers run jobs; who they are; what one that died had in hand."""

import threading
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Cli
from tests.served import served
from trunkline.jobs import claims
from trunkline.model.jobs import JobState, RunEvent
from trunkline.model.time import to_rfc3339
from trunkline.model.told import said
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.sdk.remote.running import _Looker as RemoteLooker
from trunkline.sdk.running import RunReport
from trunkline.sdk.wire.running import Running
from trunkline.server.routes import info
from trunkline.storage.catalog import jobs, workers

SPEC = {
    "pipeline": {"name": "sizes"},
    "input": {"pfs": {"repo": "words", "glob": "/*"}},
    "transform": {"cmd": ["true"]},
}


@pytest.fixture
def lake(tmp_path: Path):
    with tl.init(tmp_path) as made:
        made.create_repo("words")
        made.apply(SPEC)
        with made.commit("words@main") as commit:
            commit.put("/a", b"a")
        yield made


def beat(lake: tl.Lake, name: str) -> None:
    with lake._core.database.write() as session:
        workers.beat(session, name, 60_000_000)


def test_workers_are_known_by_their_beat(lake):
    with served(lake) as url, tl.open(url) as remote:
        assert remote.workers() == []
        beat(lake, "one")
        beat(lake, "one")
        claim = claims.claim_next(lake._core, "one", 60)
        assert claim is not None
        (found,) = remote.workers()
        assert (found.name, found.jobs) == ("one", 1)
        assert remote.workers() == lake.workers()


def test_what_a_dead_worker_had_is_free_at_once(lake):
    beat(lake, "one")
    first = claims.claim_next(lake._core, "one", 600)
    assert first is not None
    assert claims.claim_next(lake._core, "two", 600) is None
    assert claims.hand_back_all(lake._core, "one") == 1
    assert lake.workers() == []
    second = claims.claim_next(lake._core, "two", 600)
    assert second is not None
    assert (second.job.id, second.job.attempt) == (first.job.id, 2)
    # What the dead one might still have said is not heard.
    assert claims.renew(lake._core, [first])
    assert claims.hand_back_all(lake._core, "one") == 0


def test_a_run_follows_jobs_from_start_to_end(lake):
    beat(lake, "one")
    events: list[RunEvent] = []
    started = threading.Event()
    reports: list[RunReport] = []

    def told(event: RunEvent) -> None:
        events.append(event)
        if event.text == "running":
            started.set()

    with served(lake) as url, tl.open(url) as remote:
        runner = threading.Thread(target=lambda: reports.append(remote.run(listener=told)))
        runner.start()
        claim = claims.claim_next(lake._core, "one", 600)
        assert claim is not None
        assert started.wait(30)
        with lake._core.database.write() as session:
            jobs.end(session, claim.repo, claim.job.id, JobState.FAILURE, said("as told"))
        runner.join(30)
    (ended,) = reports[0].jobs
    assert (ended.state, ended.reason) == (JobState.FAILURE, "as told")
    assert reports[0].failed == 1
    assert [event.text for event in events] == ["running", "failure"]


def test_nothing_to_run(lake):
    lake.cancel_job(lake.jobs("sizes")[0].id)
    beat(lake, "one")
    with served(lake) as url, tl.open(url) as remote:
        assert remote.run().jobs == ()
        stop = threading.Event()
        stop.set()
        assert remote.run(watch=True, stop=stop).jobs == ()


def test_who_asks_when_all_is_done_is_told_so(lake, capfdbinary, monkeypatch):
    lake.cancel_job(lake.jobs("sizes")[0].id)
    beat(lake, "one")
    with served(lake) as url:
        monkeypatch.setenv("TRUNKLINE_LAKE", url)
        said = Cli(capfdbinary).ok("run")
    assert said == (
        "The server's workers have nothing left to run.\n"
        "trunkline job list shows what they have run.\n"
    )


def test_jobs_of_others_do_not_push_out_ones_own(lake, monkeypatch):
    monkeypatch.setattr(info, "MOST_UNFINISHED", 2)
    monkeypatch.setattr(info, "MOST_ENDED", 1)
    for name in ("other", "third", "fourth"):
        lake.apply({**SPEC, "pipeline": {"name": name}})
    lake.create_user("ada", roles={"default/sizes": "reader", "default/words": "reader"})
    token = lake.create_token(owner="ada").token
    (mine,) = lake.jobs("sizes")
    with served(lake, authenticated=True) as url, tl.open(url, token=token) as remote:
        assert isinstance(remote, RemoteLake)
        now = remote._client.get(Running, "/run")
        assert [job.id for job in now.unfinished] == [mine.id]
        assert now.oldest == mine.created
        for job in reversed(lake.jobs()):
            lake.cancel_job(f"{job.pipeline}@{job.id}")
        ended = remote._client.get(Running, "/run", since=to_rfc3339(0)).ended
        assert [ran.job.id for ran in ended] == [mine.id]


def test_of_very_many_jobs_none_is_missed(lake, monkeypatch):
    """The newest are shown; those before them are followed too."""
    monkeypatch.setattr(info, "MOST_UNFINISHED", 1)
    beat(lake, "one")
    with lake.commit("words@main") as commit:
        commit.put("/b", b"b")
    old, new = reversed(lake.jobs("sizes"))
    reports: list[RunReport] = []
    looked = threading.Event()
    with served(lake) as url, tl.open(url) as remote:
        begin = RemoteLooker._begin

        def begun(self: RemoteLooker, now: Running) -> None:
            begin(self, now)
            looked.set()

        monkeypatch.setattr(RemoteLooker, "_begin", begun)
        runner = threading.Thread(target=lambda: reports.append(remote.run()))
        runner.start()
        assert looked.wait(30)
        for job in (old, new):
            lake.cancel_job(f"sizes@{job.id}")
        runner.join(30)
    assert {job.id for job in reports[0].jobs} == {old.id, new.id}
