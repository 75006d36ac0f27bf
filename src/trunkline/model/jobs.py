"""Jobs and datums: one pipeline in one commit set, and the units of its work."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from trunkline.model.commits import RepoName
from trunkline.model.streams import Batch
from trunkline.model.time import Moment, to_rfc3339
from trunkline.model.told import Kind, Told, put_in_words


class JobState(StrEnum):
    """Where a job is. The moves it may make are in `MOVES`."""

    CREATED = "created"
    WAITING = "waiting"
    RUNNING = "running"
    FINISHING = "finishing"
    SUCCESS = "success"
    FAILURE = "failure"
    KILLED = "killed"
    UNRUNNABLE = "unrunnable"

    @property
    def is_over(self) -> bool:
        return self in OVER


OVER = frozenset({JobState.SUCCESS, JobState.FAILURE, JobState.KILLED, JobState.UNRUNNABLE})
BAD = OVER - {JobState.SUCCESS}
"""How a job ends whose commit nobody may read."""
MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.CREATED: BAD | {JobState.WAITING, JobState.RUNNING},
    JobState.WAITING: BAD | {JobState.RUNNING},
    # A retry, or a worker that took over, starts again from waiting or running.
    JobState.RUNNING: OVER | {JobState.FINISHING, JobState.WAITING, JobState.RUNNING},
    JobState.FINISHING: OVER | {JobState.WAITING, JobState.RUNNING},
    **{state: frozenset() for state in OVER},
}


class DatumState(StrEnum):
    SUCCESS = "success"
    FAILED = "failed"
    RECOVERED = "recovered"
    SKIPPED = "skipped"
    RUNNING = "running"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class JobInput:
    """What a job reads under a name. `commit` is None where the branch had none."""

    name: str
    repo: RepoName
    branch: str
    commit: str | None

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "project": self.repo.project,
            "repo": self.repo.repo,
            "branch": self.branch,
            "commit": self.commit,
        }


@dataclass(frozen=True, slots=True)
class Counts:
    """Datums by what became of them, and what they moved. Times in seconds.

    Rows are those of tables, where every file says how many it has.
    """

    processed: int = 0
    skipped: int = 0
    failed: int = 0
    recovered: int = 0
    total: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    download: float = 0.0
    process: float = 0.0
    upload: float = 0.0
    spark_jobs: tuple[int, ...] = ()
    rows_in: int | None = None
    rows_out: int | None = None

    def to_dict(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Job:
    """One pipeline in one commit set; its id is the set's."""

    id: str
    pipeline: RepoName
    version: int
    branch: str
    state: JobState
    told_reason: Told
    told_cause: Told
    created: Moment
    reason: str = field(init=False, default="")
    cause: str = field(init=False, default="")
    """What is told, in words."""
    started: Moment | None = None
    finished: Moment | None = None
    attempt: int = 0
    counts: Counts = Counts()
    inputs: tuple[JobInput, ...] = ()
    output_commit: str | None = None
    index: str | None = field(default=None, repr=False)
    index_hash: str | None = field(default=None, repr=False)
    digest: str = field(default="", repr=False)
    fence: int = field(default=0, repr=False)
    worker: str | None = None
    spark_application: str | None = None
    priority: int = 0
    backfill: str | None = None
    replay: str = field(default="", repr=False)
    """The rule whose quarantined rows it makes again, or * for all; "" if it is no such job."""
    lane: str = field(default="", repr=False)
    """"stream" for jobs of streams, whose units of work are batches and not datums."""

    environment: str = ""
    """The one that it runs in; "" if in none."""

    def __post_init__(self) -> None:
        put_in_words(self)

    @property
    def is_failure(self) -> bool:
        """Whether it ended badly by itself: not since somebody stopped it, or its input failed."""
        return self.state is JobState.FAILURE or self.told_reason.kind is Kind.TIMED_OUT

    @property
    def is_stream(self) -> bool:
        return self.lane == "stream"

    @property
    def short_id(self) -> str:
        return self.id[:12]

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "pipeline": self.pipeline.repo,
            "project": self.pipeline.project,
            "version": self.version,
            "branch": self.branch,
            "environment": self.environment,
            "state": str(self.state),
            "reason": self.reason,
            "cause": self.cause,
            "attempt": self.attempt,
            **self.counts.to_dict(),
            "created": to_rfc3339(self.created),
            "started": _moment(self.started),
            "finished": _moment(self.finished),
            "input_commits": [one.to_dict() for one in self.inputs],
            "output_commit": self.output_commit,
            "worker": self.worker,
            "spark_application": self.spark_application,
            "backfill": self.backfill,
        }


@dataclass(frozen=True, slots=True)
class DatumInput:
    """One file or folder of a datum."""

    name: str
    repo: RepoName
    path: str
    join_on: str = ""
    group_by: str = ""

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "project": self.repo.project,
            "repo": self.repo.repo,
            "path": self.path,
            "join_on": self.join_on,
            "group_by": self.group_by,
        }


@dataclass(frozen=True, slots=True)
class DatumInfo:
    """A unit of work, what became of it, and why."""

    id: str
    state: DatumState
    reason: str
    inputs: tuple[DatumInput, ...]
    job: str | None = None
    error: str = ""
    tries: int = 0
    seconds: float = 0.0
    outputs: int = 0
    bytes_in: int = 0
    bytes_out: int = 0

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "state": str(self.state),
            "reason": self.reason,
            "inputs": [one.to_dict() for one in self.inputs],
            "job": self.job,
            "error": self.error,
            "tries": self.tries,
            "seconds": round(self.seconds, 6),
            "outputs": self.outputs,
            "bytes_in": self.bytes_in,
            "bytes_out": self.bytes_out,
        }


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a datum printed, or that Trunkline has to say about it."""

    at: Moment
    job: str
    pipeline: str
    datum: str
    stream: str
    text: str

    def to_dict(self) -> dict[str, object]:
        return {
            "at": to_rfc3339(self.at),
            "job": self.job,
            "pipeline": self.pipeline,
            "datum": self.datum,
            "stream": self.stream,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something to show while jobs run. `rate` is datums per second, `left` seconds.

    A job of a stream has its `batch` where it made a commit. A `kind` of "empty" is such a job of
    which nothing came: it is gone. "ingest" is what an ingest says: its name,
    ": ", and that.
    """

    kind: str
    text: str = ""
    job: Job | None = None
    done: int = 0
    failed: int = 0
    skipped: int = 0
    total: int = 0
    rate: float = 0.0
    left: float | None = None
    batch: Batch | None = None


def _moment(micros: int | None) -> str | None:
    return to_rfc3339(micros) if micros is not None else None


@dataclass(frozen=True, slots=True)
class Backfill:
    """Jobs for commits of the past. Its progress is that of its jobs."""

    id: str
    pipeline: RepoName
    branch: str
    span: str
    state: str
    created: Moment
    author: str
    total: int = 0
    done: int = 0
    failed: int = 0

    def to_dict(self) -> dict[str, object]:
        return {
            "id": self.id,
            "pipeline": self.pipeline.repo,
            "project": self.pipeline.project,
            "branch": self.branch,
            "span": self.span,
            "state": self.state,
            "total": self.total,
            "done": self.done,
            "failed": self.failed,
            "created": to_rfc3339(self.created),
            "author": self.author,
        }
