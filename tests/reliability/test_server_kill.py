"""A server, its workers and its Spark are killed: nothing that was promised is lost."""

import itertools
import json
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import pytest

import trunkline as tl
from tests.reliability.harness import SMALL, assert_sound
from tests.serving import Serving, is_alive, serving
from tests.waiting import until
from trunkline.errors import Precondition, TrunklineError
from trunkline.lake.access import look_up, split_token
from trunkline.model.jobs import JobState, RunEvent
from trunkline.model.time import now_micros
from trunkline.sdk.places import server_of

_SLOW = """
echo "$TRUNKLINE_LAKE $TRUNKLINE_TOKEN" > "$MARKS/admission"
touch "$MARKS/started"
while [ -e "$MARKS/hang" ]; do sleep 0.05; done
cp "$words" pfs/out/
"""


def slow(marks: Path) -> dict[str, Any]:
    return {
        "pipeline": {"name": "slow"},
        "input": {"pfs": {"repo": "words", "glob": "/*"}},
        "transform": {
            "cmd": ["sh"],
            "stdin": _SLOW.strip().splitlines(),
            "env": {"MARKS": str(marks)},
        },
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "marks").mkdir()
    with tl.init(tmp_path) as lake:
        lake.create_repo("words")
    return tmp_path


def commits_until_it_dies(url: str, kept: list[bytes], begun: threading.Event) -> None:
    """Commit by HTTP; what was acknowledged is in `kept`."""
    with tl.open(url) as lake:
        for number in itertools.count():
            text = f"{number}\n".encode()
            try:
                with lake.commit("words@main") as commit:
                    commit.put(f"/{number:05}", text)
            except TrunklineError:
                return
            kept.append(text)
            if number == 5:
                begun.set()


def test_what_was_acknowledged_is_there_after_a_kill(folder):
    kept: list[bytes] = []
    begun = threading.Event()
    with serving(folder) as server:
        writer = threading.Thread(target=commits_until_it_dies, args=(server.url, kept, begun))
        writer.start()
        assert begun.wait(60)
        server.process.kill()
        server.process.wait()
        writer.join()
    with serving(folder) as server, tl.open(server.url) as lake:
        found = [lake.read(f"words@main:/{number:05}") for number in range(len(kept))]
        assert found == kept
        # One more may have been committed, whose answer was lost.
        assert len(list(lake.ls("words@main"))) - len(kept) in (0, 1)
    with tl.open(folder) as lake:
        assert_sound(lake)


def spark_of(worker: int) -> psutil.Process:
    return next(one for one in psutil.Process(worker).children() if "java" in one.name())


@contextmanager
def always_answering(server: Serving) -> Iterator[None]:
    """The API answers all the while, whatever becomes of its workers."""
    over = threading.Event()
    failed: list[BaseException] = []

    def ask() -> None:
        while not over.wait(0.1):
            try:
                with urlopen(f"{server.url}/healthz", timeout=10) as answer:
                    assert json.load(answer)["status"] == "ok"
            except Exception as error:
                failed.append(error)
                return

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not failed, failed


def hang_in_a_job(folder: Path, text: bytes = b"a\n") -> Path:
    """A job that goes on until `hang` is gone; where it leaves its marks."""
    marks = folder / "marks"
    (marks / "hang").touch()
    with tl.open(folder, direct=True) as lake:
        lake.apply(slow(marks))
        with lake.commit("words@main") as commit:
            commit.put("/a", text)
    return marks


def is_good(folder: Path, token: str) -> bool:
    """Whether a job's token would be let in now."""
    found = split_token(token)
    assert found is not None
    with tl.open(folder, direct=True) as lake:
        known = look_up(lake._core, found[0])
    return known is not None and known.is_good(found[1], now_micros())


@contextmanager
def let_go(marks: Path) -> Iterator[None]:
    """What hangs there goes on when a test fails: nobody waits for it for ever."""
    try:
        yield
    finally:
        (marks / "hang").unlink(missing_ok=True)


def restarted(marks: Path, kill: Callable[[], None]) -> None:
    (marks / "started").unlink()
    kill()
    until((marks / "started").exists, "another start of the job")


def test_jobs_outlive_their_spark_and_their_worker(folder):
    """Run through the server; its JVM is killed in the middle of the job, then its worker."""
    marks = hang_in_a_job(folder)
    # A lease that nobody waits for: what was lost is handed back at once.
    environ = {**SMALL, "TRUNKLINE_WORKER_LEASE": "10m"}
    events: list[RunEvent] = []
    with serving(folder, "--workers", "1", environ=environ) as server:
        with always_answering(server), tl.open(folder) as lake, ThreadPoolExecutor() as pool:
            assert lake.server == server.url
            report = pool.submit(lake.run, listener=events.append)
            with let_go(marks):
                until((marks / "started").exists, "the job's start")
                (worker,) = server.children()
                restarted(marks, spark_of(worker).kill)
                assert server.children() == [worker]
                restarted(marks, psutil.Process(worker).kill)
                assert not is_alive(worker)
                address, token = (marks / "admission").read_text().split()
                assert address == server.url
                assert is_good(folder, token)
            (ended,) = report.result().jobs
            assert (ended.state, ended.attempt) == (JobState.SUCCESS, 3)
            assert [one.name for one in lake.workers()] == [ended.worker]
            assert not is_good(folder, token)
        states = [event.text for event in events if event.job is not None]
        assert states[0] in ("waiting", "running")
        assert states[-1] == "success"
        assert "was killed by signal 9" in server.log
        # Told to stop, it lets the job that runs end.
        (marks / "started").unlink()
        hang_in_a_job(folder, b"b\n")
        until((marks / "started").exists, "the start of the next job")
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server_of(folder / ".trunkline") is None, "the server's leaving")
        (marks / "hang").unlink()
        assert server.process.wait(60) == 0
    with tl.open(folder) as lake:
        assert lake.server == ""
        assert lake.read("slow@main:/a") == b"b\n"
        assert [job.attempt for job in lake.jobs("slow")] == [1, 3]
        assert lake.workers() == []
        assert_sound(lake)


def test_workers_end_with_their_server(folder):
    """Killed outright, it takes its workers with it; the next has others."""
    with serving(folder, "--workers", "1", environ=SMALL) as server:
        with tl.open(folder, direct=True) as lake:
            until(lake.workers, "the worker's first beat")
            (worker,) = server.children()
            server.process.kill()
            server.process.wait()
            until(lambda: not is_alive(worker), "the end of the worker")
            assert lake.workers() == []
        # In a hurry, it does not wait for its worker either.
        with serving(folder, "--workers", "1", environ=SMALL) as another:
            until(another.children, "a worker")
            another.process.send_signal(signal.SIGINT)
            until(lambda: server_of(folder / ".trunkline") is None, "the server's leaving")
            assert another.stop(signal.SIGINT) == 0


def test_a_run_through_a_server_without_workers_is_refused(folder):
    with (
        serving(folder),
        tl.open(folder) as lake,
        pytest.raises(Precondition, match="has no worker") as caught,
    ):
        lake.run()
    assert "trunkline worker" in caught.value.hint
