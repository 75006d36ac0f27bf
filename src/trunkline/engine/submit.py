"""Sets of datums as one Spark job: sent, watched, cancelled, and answered in bytes."""

from __future__ import annotations

import contextlib
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from trunkline.engine import executor, failures
from trunkline.engine.executor import Chunk, Errand, Frame, Runner
from trunkline.engine.session import Session
from trunkline.errors import Failed, TrunklineError, Unavailable
from trunkline.model.best_effort import BestEffort

T = TypeVar("T")
POLL = 0.25
_POOLS = 64  # Spark never forgets a pool, so there are not as many as jobs


class JobCancelled(Failed):
    """The job was cancelled before all sets were done."""

    code = "cancelled"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is, counted in Spark's tasks. `failed` ones are being tried again."""

    job_ids: tuple[int, ...]
    stage_ids: tuple[int, ...]
    tasks: int
    active: int
    done: int
    failed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results, in the order of the sets, and Spark's own numbers of the job."""

    results: list[bytes]
    job_ids: tuple[int, ...]


def run_sets(
    session: Session,
    work: bytes,
    sets: Sequence[bytes],
    runner: Runner,
    *,
    group: str,
    description: str = "",
    parallelism: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run each set once on some executor, at most `parallelism` at a time, and wait for all.

    `group` names the job to `cancel`. A set is tried again when its executor is lost or a
    failure may pass; what an error says is what the executor said, in one line.
    """
    if not sets:
        return Outcome([], ())
    tasks = min(len(sets), parallelism or len(sets))
    numbered = list(enumerate(sets))
    chunks: list[Chunk] = [numbered[first::tasks] for first in range(tasks)]
    errand = Errand(executor.version(), work, runner)
    run = _on_connect if session.is_connect else _on_rdd
    with named_run(session, group) as unique, _watch(session, unique, progress):
        answers = _wait(session, lambda: run(session, chunks, errand, unique, description))
    frames = sorted(map(Frame.decode, answers), key=lambda frame: frame.place)
    if wrong := next((frame.error for frame in frames if frame.error), None):
        raise wrong
    if [frame.place for frame in frames] != list(range(len(sets))):
        raise Failed(f"Spark answered {len(frames)} of {len(sets)} sets.")
    return Outcome([frame.result for frame in frames], _job_ids(session, unique))


def run_actions(
    session: Session,
    actions: Sequence[Callable[[], T]],
    *,
    group: str,
    description: str = "",
    parallelism: int = 1,
) -> tuple[list[T], tuple[int, ...]]:
    """Call what uses Spark by itself, some at a time; their results, and Spark's job numbers.

    The first that fails ends the others. `group` names them all to `cancel`.
    """
    with named_run(session, group) as unique:
        rest = iter(range(len(actions)))
        found: dict[int, T] = {}
        wrong: list[BaseException] = []
        lock = threading.Lock()

        def work() -> None:
            _enter_group(session, unique, description)
            while True:
                with lock:
                    number = None if wrong else next(rest, None)
                if number is None:
                    return
                try:
                    found[number] = actions[number]()
                except BaseException as error:
                    wrong.append(error)
                    cancel(session, group)

        threads = [_thread(session, work) for _ in range(min(parallelism, len(actions)))]
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]
        return [found[number] for number in range(len(actions))], _job_ids(session, unique)


@contextlib.contextmanager
def named_run(session: Session, group: str) -> Iterator[str]:
    """A run that `cancel` can end, by a name of its own; errors of Spark become ours."""
    # What is cancelled stays so, while a group may come again.
    unique = session.runs[group] = f"{group}-{os.urandom(4).hex()}"
    try:
        with explained(session):
            yield unique
    except Exception:
        raise
    except BaseException:  # Ctrl-C, or whatever else ends the waiting
        cancel(session, group)
        raise
    finally:
        if session.runs.get(group) == unique:
            del session.runs[group]


@contextlib.contextmanager
def explained(session: Session) -> Iterator[None]:
    """Errors of Spark become ours."""
    try:
        yield
    except TrunklineError as error:
        # Whatever a pipeline's own code made of it: that Spark ended is not its fault.
        if session.alive():
            raise
        raise _explain(session, error) from None
    except Exception as error:
        raise _explain(session, error) from None


def _enter_group(session: Session, group: str, description: str) -> None:
    """Have this thread's Spark jobs belong to a group; it is the thread's own."""
    context: Any = session.context
    if context is None:
        session.spark.addTag(group)
        return
    context.setJobGroup(group, description or group, interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", f"pool-{zlib.crc32(group.encode()) % _POOLS}")


def cancel(session: Session, group: str) -> None:
    """End the run of that group, whether Spark has begun with it or not, and kill what it runs."""
    unique, context = session.runs.get(group), session.context
    if unique is None:
        return
    with BestEffort("Cancelling a run"):  # if it cannot be reached, it does not run
        if context is None:
            session.spark.interruptTag(unique)
        else:
            context._jsc.sc().cancelJobGroupAndFutureJobs(unique)


def _on_rdd(
    session: Session, chunks: list[Chunk], errand: Errand, group: str, description: str
) -> list[bytes]:
    from pyspark.serializers import NoOpSerializer

    context: Any = session.context
    _enter_group(session, group, description)
    mapped = context.parallelize(chunks, len(chunks)).mapPartitions(errand.on_chunks)
    # What executors send is taken as it is: this process never unpickles it.
    mapped._jrdd_deserializer = NoOpSerializer()
    found: list[bytes] = mapped.collect()
    return found


def _on_connect(
    session: Session, chunks: list[Chunk], errand: Errand, group: str, description: str
) -> list[bytes]:
    spark: Any = session.spark
    spark.addTag(group)
    try:
        places = spark.range(0, len(chunks), 1, len(chunks))
        rows = places.mapInArrow(_ArrowErrand(errand, chunks), "result binary").collect()
        return [bytes(row[0]) for row in rows]
    finally:
        with BestEffort("Taking a tag away"):
            spark.removeTag(group)


@dataclass(frozen=True)
class _ArrowErrand:
    """An errand in the form that mapInArrow calls; rows say which chunks a task has."""

    errand: Errand
    chunks: list[Chunk]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            mine = [self.chunks[place] for place in batch.column(0).to_pylist()]
            for frame in self.errand.on_chunks(mine):
                yield pa.RecordBatch.from_arrays([pa.array([frame], pa.binary())], ["result"])


@contextlib.contextmanager
def _watch(
    session: Session, group: str, progress: Callable[[Progress], None] | None
) -> Iterator[None]:
    """Tell the caller how far the job is, from a thread of its own."""
    if progress is None or session.context is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        before = None
        while not over.wait(POLL):
            with BestEffort("Looking how far a run is"):  # if the JVM is gone, the job says so
                if (now := _progress(session, group)) != before:
                    progress(now)
                    before = now

    thread = _thread(session, look)
    try:
        yield
    finally:
        over.set()
        thread.join(5)


def _progress(session: Session, group: str) -> Progress:
    context: Any = session.context
    tracker = context.statusTracker()
    jobs = tuple(sorted(tracker.getJobIdsForGroup(group)))
    infos = [info for job in jobs if (info := tracker.getJobInfo(job))]
    stages = tuple(sorted(stage for info in infos for stage in info.stageIds))
    counts = [info for stage in stages if (info := tracker.getStageInfo(stage))]
    return Progress(
        jobs,
        stages,
        sum(info.numTasks for info in counts),
        sum(info.numActiveTasks for info in counts),
        sum(info.numCompletedTasks for info in counts),
        sum(info.numFailedTasks for info in counts),
    )


def _job_ids(session: Session, group: str) -> tuple[int, ...]:
    if session.context is None:
        return ()
    return tuple(sorted(session.context.statusTracker().getJobIdsForGroup(group)))


def _explain(session: Session, error: Exception) -> TrunklineError:
    text, log = str(error), session.jvm.log if session.jvm else None
    if not session.alive():
        return Unavailable(
            "Spark ended while the job ran.", hint=f"Its log is {log}." if log else "Start again."
        )
    if re.search(r"cancelled part of cancelled job group|cancelled job tag|OPERATION_CANCEL", text):
        return JobCancelled("The job was cancelled.")
    return executor.error_in(text) or failures.explain(text, log)


def _wait(session: Session, action: Callable[[], list[bytes]]) -> list[bytes]:
    """Do it in another thread: an interrupt must not hit pyspark's line to the JVM in mid-call."""
    found: list[list[bytes] | BaseException] = []

    def run() -> None:
        try:
            found.append(action())
        except BaseException as error:
            found.append(error)

    _thread(session, run).join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _thread(session: Session, action: Callable[[], None]) -> threading.Thread:
    """A thread, started, whose counterpart in the JVM ends when it does."""
    from pyspark import InheritableThread

    kind = threading.Thread if session.is_connect else InheritableThread
    thread = kind(target=action)
    thread.daemon = True
    thread.start()
    return thread
