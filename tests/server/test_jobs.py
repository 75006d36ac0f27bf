"""Jobs over HTTP: listed, waited for, stopped, tried again; datums and logs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import zstandard

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.graphs import Graph
from tests.server.lakewide.people import asked_by
from tests.waiting import until
from trunkline import Lake, errors
from trunkline.jobs.claims import parts_prefix
from trunkline.jobs.logs import Tail
from trunkline.model.jobs import Job, JobState, LogLine
from trunkline.sdk.remote import following
from trunkline.sdk.remote.following import events
from trunkline.sdk.remote.lake import RemoteLake, connect
from trunkline.server.following import THREADS, position_of

PEOPLE = {
    "root": {"": "admin"},
    "reader": {"": "reader"},
    "writer": {"": "writer"},
    "mine": {"mine": "maintainer"},
    "one": {"default/b": "writer"},
}
As = Callable[[str], RemoteLake]


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jobs")
    with tl.init(folder) as lake:
        lake.create_project("mine")
        for name in ("orders", "mine/own"):
            lake.create_repo(name)
    return folder


@pytest.fixture
def lake(empty_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(empty_lake, folder)
    with tl.open(folder, author="root", direct=True) as opened:
        yield opened


@pytest.fixture
def as_(lake: Lake) -> Iterator[As]:
    with asked_by(lake, PEOPLE) as ask:
        yield ask


@pytest.fixture
def remote(as_: As) -> RemoteLake:
    return as_("root")


@pytest.fixture
def graph(lake: Lake, tmp_path: Path) -> Graph:
    """Its jobs have no datums, or are not run: no Spark."""
    return Graph(lake, tmp_path / "code")


def said(call: Callable[[], Any]) -> tuple[type, str, str]:
    with pytest.raises(errors.TrunklineError) as raised:
        call()
    return type(raised.value), raised.value.message, raised.value.hint


def print_lines(lake: Lake, job: Job, number: int, *texts: str, writer: str = "w") -> None:
    """A log as a datum's process leaves it, the `number`th of its writer."""
    with lake._core.database.read() as session:
        from trunkline.storage.catalog import repos

        key = repos.key_of(session, job.pipeline)
    assert key is not None
    lines = [
        json.dumps({"at": 1000 * number + i, "datum": f"d{i}", "stream": "out", "text": text})
        for i, text in enumerate(texts)
    ]
    data = zstandard.ZstdCompressor().compress("\n".join(lines).encode() + b"\n")
    name = f"{parts_prefix(key, job.id)}txn-0x{writer}x{number:x}.log"
    lake._core.objects.put(name, data)


# -- the same values ---------------------------------------------------------------------------


def test_jobs_are_listed_by_pages_as_the_lake_lists_them(
    graph: Graph, remote: RemoteLake, monkeypatch: pytest.MonkeyPatch
):
    graph.follow("b", "orders")
    graph.follow("c", "b", "orders")
    elsewhere = Graph(graph.lake.bound(project="mine"), graph.code)
    elsewhere.follow("d", "own")
    for n in range(4):
        graph.put("orders", a=str(n))
        elsewhere.put("own", a=str(n))
    graph.run()
    lake = graph.lake
    assert len(lake.jobs(all_projects=True)) == 12
    monkeypatch.setattr("trunkline.sdk.remote.client.PAGE", 3)
    for how in (
        {},
        {"all_projects": True},
        {"pipeline": "c"},
        {"state": "success"},
        {"state": "failure"},
        {"limit": 5},
        {"limit": 2, "all_projects": True},
        {"limit": 0},
    ):
        assert remote.jobs(**how) == lake.jobs(**how)
    assert remote.bound(project="mine").jobs() == lake.bound(project="mine").jobs()
    job = lake.jobs("b")[0]
    handle = remote.job(f"b@{job.id[:24]}")
    assert handle.info == job
    assert handle.wait() == job
    assert list(handle.datums()) == []
    assert list(handle.logs()) == []
    assert remote.wait(job.id) == lake.wait(job.id)


def test_errors_are_those_of_the_local_lake(graph: Graph, remote: RemoteLake):
    graph.follow("b", "orders")
    graph.follow("c", "b", "orders")
    made = graph.put("orders", a="1")
    graph.run()
    for call in (
        lambda to: to.jobs("bb"),
        lambda to: to.jobs(state="done"),
        lambda to: to.job("b@0123456789"),
        lambda to: to.job("0123456789"),
        lambda to: to.job("bb@0123456789"),
        lambda to: to.job("no id"),
        lambda to: to.job(made),
        lambda to: to.wait("0123456789"),
        lambda to: to.wait("b@0123456789"),
        lambda to: to.cancel_job(f"b@{made}"),
        lambda to: to.cancel_job("0123456789"),
        lambda to: to.rerun_job(made),
        lambda to: to.rerun_job(f"b@{made}"),
        lambda to: to.rerun_job("0123456789"),
        lambda to: list(to.datums(made)),
        lambda to: list(to.datums(f"b@{made}", "odd")),
        lambda to: list(to.logs("0" * 32)),
    ):
        assert said(lambda: call(remote)) == said(lambda: call(graph.lake))  # noqa: B023


def test_who_waits_is_told_of_every_change(graph: Graph, remote: RemoteLake):
    graph.follow("b", "orders")
    graph.follow("c", "b")
    made = graph.put("orders", a="1")
    told: list[list[JobState]] = []
    first = threading.Event()

    def on_change(jobs: list[Job]) -> None:
        told.append([job.state for job in jobs])
        first.set()

    found: list[list[Job]] = []
    waiting = threading.Thread(target=lambda: found.append(remote.wait(made, 60, on_change)))
    waiting.start()
    assert first.wait(30)
    graph.run()
    waiting.join(60)
    assert found == [graph.lake.wait(made)]
    assert not any(state.is_over for state in told[0])
    assert told[-1] == [JobState.SUCCESS] * 2


def test_waiting_ends_when_its_time_is_up(graph: Graph, remote: RemoteLake):
    graph.apply("b", tl.pfs("orders", "/*"), ["true"])
    made = graph.put("orders", a="1")
    assert said(lambda: remote.wait(made, 0.2)) == said(lambda: graph.lake.wait(made, 0.2))
    assert said(lambda: remote.job(made).wait(0))[0] is errors.TimedOut


def test_a_job_is_cancelled_and_tried_again(graph: Graph, remote: RemoteLake):
    graph.apply("b", "orders", ["true"])
    made = graph.put("orders", a="1")
    done = remote.cancel_job(made)
    assert done == graph.job("b", made)
    assert (done.state, done.reason) == (JobState.KILLED, "cancelled by root")
    again = remote.rerun_job(made)
    assert again == graph.sets("b")[-1] != made
    assert remote.job(again).cancel("no more").reason == "no more"


def test_datums_of_a_job_that_has_not_run_yet(graph: Graph, remote: RemoteLake):
    graph.apply("b", "orders", ["true"])
    graph.put("orders", **{f"f{n}": "x" for n in range(5)})
    job = graph.job("b")
    assert len(list(remote.datums(f"b@{job.id}"))) == 5
    assert list(remote.datums(f"b@{job.id}")) == list(graph.lake.datums(f"b@{job.id}"))
    assert list(remote.datums(f"b@{job.id}", "success")) == []
    pages: list[Any] = []
    place, cursor = f"/jobs/default/b/{job.id}/datums", None
    while True:
        found = remote._client.get(dict[str, Any], place, limit=2, cursor=cursor)
        pages.append([one["id"] for one in found["items"]])
        if (cursor := found["next"]) is None:
            break
    assert [len(page) for page in pages] == [2, 2, 1]
    every = [one.id for one in graph.lake.datums(f"b@{job.id}")]
    assert [one for page in pages for one in page] == every


# -- logs --------------------------------------------------------------------------------------


@pytest.fixture
def printing(graph: Graph) -> Job:
    """A job that waits for a worker; its logs are written by the test."""
    graph.apply("b", "orders", ["true"])
    graph.put("orders", a="1")
    return graph.job("b")


def test_lines_are_those_of_the_local_lake(lake: Lake, remote: RemoteLake, printing: Job):
    odd = "line\u2028separators\x85 and \x0b more"
    print_lines(lake, printing, 0, "one", odd)
    print_lines(lake, printing, 1, "two", "", " three ")
    name = f"b@{printing.id}"
    assert list(remote.logs(name)) == list(lake.logs(name))
    assert list(remote.logs(name, "d1")) == list(lake.logs(name, "d1"))
    assert [line.text for line in remote.job(name).logs("d1")] == [odd, ""]
    place = f"/jobs/default/b/{printing.id}/logs"
    assert list(remote._client.pages(LogLine, place)) == list(lake.logs(name))


def test_a_damaged_log_is_told_as_it_is_locally(lake: Lake, remote: RemoteLake, printing: Job):
    print_lines(lake, printing, 0, "one")
    (path,) = Path(lake.location).rglob("*.log")
    path.chmod(0o600)
    path.write_bytes(b"rubbish")
    name = f"b@{printing.id}"
    assert said(lambda: list(remote.logs(name))) == said(lambda: list(lake.logs(name)))


def test_followed_lines_come_until_the_job_is_over(lake: Lake, remote: RemoteLake, printing: Job):
    print_lines(lake, printing, 0, "early")
    found: list[str] = []
    lines = remote.logs(f"b@{printing.id}", follow=True)
    found.append(next(lines).text)
    print_lines(lake, printing, 1, "late")
    lake.cancel_job(printing.id)
    found += [line.text for line in lines]
    assert found == ["early", "late"]


def test_a_follower_whose_connection_breaks_goes_on_without_a_line_twice(
    lake: Lake, remote: RemoteLake, printing: Job, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(following, "_AGAIN_SECONDS", 0)
    whole = following.lines_of
    cuts = iter([5, 9, 2])

    def broken(answer: httpx2.Response) -> Iterator[bytes]:
        cut = next(cuts, None)
        for number, line in enumerate(whole(answer)):
            if number == cut:
                raise errors.Unavailable("the wire was cut")
            yield line

    monkeypatch.setattr(following, "lines_of", broken)
    print_lines(lake, printing, 0, *"abc")
    print_lines(lake, printing, 0, *"de", writer="v")
    lines = remote.logs(f"b@{printing.id}", follow=True)
    found = [next(lines).text for _ in range(5)]
    print_lines(lake, printing, 1, *"fg")
    lake.cancel_job(printing.id)
    found += [line.text for line in lines]
    assert sorted(found) == list("abcdefg")


def test_events_can_be_gone_on_with_from_an_id(lake: Lake, remote: RemoteLake, printing: Job):
    print_lines(lake, printing, 0, "one")
    place = f"/jobs/default/b/{printing.id}/logs/events"

    def asked(position: str) -> list[Any]:
        headers = {"Last-Event-ID": position}
        with remote._client.stream("GET", place, headers=headers, follow=False) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            return list(events(following.lines_of(answer)))

    line, seen, end = asked("")
    assert (line.kind, seen.kind, end.kind) == ("line", "seen", "end")
    print_lines(lake, printing, 1, "two")
    line, later, end = asked(seen.id)
    assert json.loads(line.data)["text"] == "two"
    assert [one.kind for one in asked(later.id)] == ["end"]
    assert said(lambda: asked("no position"))[0] is errors.Usage
    assert position_of(later.id) == {next(iter(position_of(seen.id))): 1}


def test_followers_starve_nobody_and_leave_no_thread(
    lake: Lake, as_: As, printing: Job, monkeypatch: pytest.MonkeyPatch
):
    looks: list[int] = []
    look = Tail.look

    def counted(tail: Tail) -> Any:
        looks.append(threading.get_ident())
        return look(tail)

    monkeypatch.setattr(Tail, "look", counted)
    print_lines(lake, printing, 0, "one")
    client = as_("root")._client
    token = client._http.headers["Authorization"].removeprefix("Bearer ")
    clients = [connect(client.url, token, lake._settings) for _ in range(2)]
    followers = [one.logs(f"b@{printing.id}", follow=True) for one in clients for _ in range(25)]
    for one in followers:
        assert next(one).text == "one"
    assert as_("root").jobs("b") == lake.jobs("b")
    assert len({*looks}) <= THREADS
    for one in followers:
        one.close()  # type: ignore[attr-defined]
    lake.cancel_job(printing.id)

    def quiet() -> bool:
        """Nobody looks any more once all have gone."""
        before = len(looks)
        threading.Event().wait(1.2)
        return len(looks) == before

    until(quiet)
    for made in clients:
        made.close()


# -- who may what ------------------------------------------------------------------------------


def test_readers_read_and_writers_run(graph: Graph, as_: As):
    graph.apply("b", "orders", ["true"])
    made = graph.put("orders", a="1")
    reader, writer = as_("reader"), as_("writer")
    print_lines(graph.lake, graph.job("b"), 0, "one")
    assert [line.text for line in reader.logs(made)] == ["one"]
    assert len(list(reader.datums(made))) == 1
    assert said(lambda: reader.cancel_job(made))[0] is errors.NotAllowed
    assert writer.cancel_job(made).reason == "cancelled by writer"
    assert said(lambda: reader.rerun_job(made))[0] is errors.NotAllowed
    assert writer.rerun_job(made) == graph.sets("b")[-1]


def test_jobs_of_what_one_may_not_read_are_not_there(graph: Graph, as_: As):
    graph.apply("b", "orders", ["true"])
    Graph(graph.lake.bound(project="mine"), graph.code).follow("d", "own")
    hidden, seen = graph.put("orders", a="1"), graph.put("mine/own", a="1")
    mine = as_("mine")
    assert [job.id for job in mine.jobs(all_projects=True)] == [seen]
    assert mine.job(seen).info == graph.lake.job(seen).info
    nothing = said(lambda: mine.job("0" * 32))
    assert said(lambda: mine.job(hidden)) == (
        nothing[0],
        nothing[1].replace("0" * 32, hidden),
        nothing[2],
    )
    for call in (
        lambda name: mine.wait(name, 0),
        lambda name: mine.rerun_job(name),
        lambda name: mine.cancel_job(name),
        lambda name: list(mine.logs(name)),
        lambda name: list(mine.datums(name)),
    ):
        there, absent = said(lambda: call(hidden)), said(lambda: call("0" * 32))  # noqa: B023
        assert there[0] is errors.NotFound
        assert there[1].replace(hidden, "") == absent[1].replace("0" * 32, "")
    for path in ("", "/wait", "/datums", "/datums/all", "/logs", "/logs/events"):
        with pytest.raises(errors.NotFound):
            mine._client.get(Any, f"/jobs/default/b/{hidden}{path}")
    assert said(lambda: mine.jobs("default/b"))[0] is errors.NotFound
    assert said(lambda: mine.jobs("b"))[0] is errors.NotFound


def test_a_set_shows_only_its_jobs_that_one_may_read(graph: Graph, as_: As):
    graph.apply("b", tl.pfs("orders", "/*"), ["true"])
    graph.apply("c", tl.pfs("orders", "/*"), ["true"])
    made = graph.put("orders", a="1")
    one = as_("one")
    assert [str(job.pipeline) for job in one.jobs()] == ["b"]
    assert one.job(made).info.pipeline == graph.job("b").pipeline
    one.cancel_job(made)
    assert [job.state for job in one.wait(made)] == [JobState.KILLED]
    graph.lake.cancel_job(f"c@{made}")
    refused = said(lambda: one.rerun_job(made))
    assert refused[0] is errors.NotAllowed
    assert "c" not in refused[1].split()
    assert len(graph.sets("b")) == len(graph.sets("c")) == 1


def test_a_set_without_jobs_has_none_and_an_unknown_one_is_not_there(graph: Graph, as_: As):
    graph.apply("b", tl.pfs("orders", "/*"), ["true"])
    quiet, busy = graph.put("mine/own", a="1"), graph.put("orders", a="1")

    def jobs_of(who: str, set_id: str) -> list[str]:
        found = as_(who)._client.get(Any, f"/sets/{set_id}/jobs")
        return [one["pipeline"]["repo"] for one in found["items"]]

    assert jobs_of("reader", quiet) == jobs_of("mine", quiet) == []
    assert jobs_of("reader", busy) == ["b"]
    for who, unseen in (("reader", "0" * 32), ("mine", "0" * 32), ("mine", busy), ("one", quiet)):
        assert said(lambda: jobs_of(who, unseen))[0] is errors.NotFound  # noqa: B023
