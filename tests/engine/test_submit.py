"""One Spark job over sets: complete, in order, cancelled whole, and errors in one line."""

import json
import os
import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.engine import runners
from tests.spark import python
from tests.waiting import until
from trunkline import errors
from trunkline.engine import submit
from trunkline.engine.executor import Errand, Frame, error_from, error_in
from trunkline.engine.session import Session
from trunkline.engine.submit import JobCancelled, Progress, cancel, run_sets


def sets(count: int) -> list[bytes]:
    return [str(number).encode() for number in range(count)]


class TestRunning:
    def test_results_come_in_the_order_of_the_sets(self, spark):
        outcome = run_sets(spark, b"work", sets(5), runners.echo, group="order")
        found = [json.loads(result) for result in outcome.results]
        assert [one["set"] for one in found] == ["0", "1", "2", "3", "4"]
        assert {one["work"] for one in found} == {"work"}
        assert {one["attempt"] for one in found} == {0}
        assert len({one["unique"] for one in found}) == 5
        assert len(outcome.job_ids) == 1

    def test_nothing_to_do_is_no_job(self, spark):
        assert run_sets(spark, b"", [], runners.echo, group="none").results == []

    def test_any_bytes_travel(self, spark):
        odd = [bytes(range(256)), b"", b"\n\n", b"x" * 3_000_000]
        assert run_sets(spark, b"", odd, back, group="bytes").results == odd

    def test_no_more_at_a_time_than_allowed(self, spark):
        outcome = run_sets(spark, b"", sets(4), runners.note_times, group="one", parallelism=1)
        times = sorted(json.loads(result) for result in outcome.results)
        assert all(before[1] <= after[0] for before, after in pairwise(times))

    def test_progress_is_told(self, spark):
        seen: list[Progress] = []
        run_sets(spark, b"", sets(10), runners.note_times, group="told", progress=seen.append)
        assert seen
        assert {one.tasks for one in seen} <= {0, 10}
        assert [one.done for one in seen] == sorted(one.done for one in seen)

    def test_jobs_of_two_threads_run_side_by_side(self, spark):
        found: dict[str, list[bytes]] = {}

        def run(group: str) -> None:
            found[group] = run_sets(spark, b"", sets(3), runners.echo, group=group).results

        threads = [threading.Thread(target=run, args=(f"side-{n}",)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert {len(results) for results in found.values()} == {3}
        assert len(found) == 3


class TestErrors:
    def test_what_may_pass_is_tried_again(self, spark):
        (result,) = run_sets(spark, b"", [b"a"], runners.unlucky, group="unlucky").results
        assert json.loads(result)["attempt"] == 2

    def test_an_error_of_ours_arrives_as_it_was(self, spark):
        with pytest.raises(errors.DiskFull) as caught:
            run_sets(spark, b"", [b"a"], runners.full, group="full")
        assert caught.value.message == 'No "space" is left.'
        assert caught.value.hint == "Free some."

    def test_what_no_repetition_mends_is_not_repeated(self, spark, tmp_path):
        with pytest.raises(errors.Precondition, match="It must not be so"):
            run_sets(spark, str(tmp_path).encode(), [b"a"], runners.refuse, group="refuse")
        assert [path.name for path in tmp_path.iterdir()] == ["a-0"]

    def test_any_other_error_is_one_line(self, spark):
        with pytest.raises(errors.Failed) as caught:
            run_sets(spark, b"", [b"a"], runners.wrong, group="wrong")
        assert "ValueError: strange" in caught.value.message
        assert "\n" not in caught.value.message

    def test_a_crash_of_python_is_tried_again(self, spark):
        (result,) = run_sets(spark, b"", [b"a"], runners.crash, group="crash").results
        assert json.loads(result)["attempt"] == 1

    def test_a_crash_each_time_is_one_line(self, spark):
        with pytest.raises(errors.Failed, match="Python crashed"):
            run_sets(spark, b"always", [b"a"], runners.crash, group="crashes")

    def test_another_version_on_the_executor(self):
        frame = Errand("0.0.0", b"", runners.echo)._run(3, b"a", 0, "u")
        assert isinstance(frame.error, errors.Precondition)
        assert "the driver 0.0.0" in frame.error.message

    def test_frames_keep_class_line_and_hint(self):
        for kind in (errors.DiskFull, errors.Usage, errors.InUse, errors.Failed):
            frame = Frame.decode(Frame(7, b"", kind("So.", hint="Do.")).encode())
            assert type(frame.error) is kind
            assert (frame.place, str(frame.error), frame.error.hint) == (7, "So.", "Do.")

    def test_an_unknown_code_is_a_failure(self):
        assert type(error_from({"code": "new", "message": "So."})) is errors.Failed

    def test_no_error_of_ours(self):
        assert error_in("java.lang.Exception: no") is None


class TestCancelling:
    @pytest.mark.slow
    def test_the_job_ends_and_its_python_dies(self, spark, tmp_path):
        def run() -> None:
            with pytest.raises(JobCancelled):
                run_sets(spark, str(tmp_path).encode(), sets(2), runners.wait, group="long")

        thread = threading.Thread(target=run)
        thread.start()
        try:
            pids = until(lambda: waiting(tmp_path, 2))
            cancel(spark, "long")
            thread.join(120)
            assert not thread.is_alive()
            assert all(alive(child) for _, child in pids), "what the sets wait for was waited for"
            until(lambda: not any(alive(worker) for worker, _ in pids))
        finally:
            for _, child in waiting(tmp_path, 0):
                end(child)
        assert run_sets(spark, b"", sets(2), runners.echo, group="after").results

    @pytest.mark.slow
    def test_an_interrupt_ends_the_job_and_its_python(self, tmp_path):
        code = """
            import json, os, signal, threading
            from pathlib import Path
            from tests.engine import runners
            from tests.engine.test_submit import alive, end, waiting
            from tests.waiting import until
            from tests.spark import CONF
            from trunkline.engine.options import SparkOptions
            from trunkline.engine.session import start
            from trunkline.engine.submit import run_sets
            spark, folder = start(SparkOptions(master="local[2]", conf=CONF)), Path(os.environ["F"])
            def strike():
                until(lambda: waiting(folder, 1))
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=strike).start()
            try:
                run_sets(spark, str(folder).encode(), [b"a"], runners.wait, group="long")
            except KeyboardInterrupt:
                interrupted = True
            ((worker, child),) = waiting(folder, 1)
            in_time = alive(child)
            until(lambda: not alive(worker))
            end(child)
            after = len(run_sets(spark, b"", [b"a"], runners.echo, group="after").results)
            spark.stop()
            found = {"interrupted": interrupted, "in time": in_time, "after": after}
            print(json.dumps(found))
        """
        found = python(code, F=str(tmp_path))
        assert found == {"interrupted": True, "in time": True, "after": 1}

    def test_a_run_cancelled_before_spark_has_begun(self, spark, monkeypatch):
        begin = submit._on_rdd

        def late(session: Session, *rest: Any) -> list[bytes]:
            cancel(session, "early")
            return begin(session, *rest)

        monkeypatch.setattr(submit, "_on_rdd", late)
        with pytest.raises(JobCancelled):
            run_sets(spark, b"", sets(2), runners.echo, group="early")
        monkeypatch.undo()
        assert run_sets(spark, b"", sets(2), runners.echo, group="early").results

    def test_cancelling_what_is_not_there(self, spark):
        cancel(spark, "nothing")


def back(work: bytes, one: bytes, *, attempt: int, unique: str) -> bytes:
    return one


def waiting(folder: Path, count: int) -> list[tuple[int, int]]:
    words = [path.read_text().split() for path in folder.iterdir()]
    found = [(int(word[0]), int(word[1])) for word in words if len(word) == 2]
    return found if len(found) >= count else []


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, 9)


def test_the_session_is_shared(spark):
    assert isinstance(spark, Session)
    assert spark.alive()
    assert spark.cores == 2
