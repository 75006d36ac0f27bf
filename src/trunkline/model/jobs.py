"""Jobs and datums: one pipeline in one commit set, and the units of its work."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from trunkline.model.commits import RepoName
from trunkline.model.shape import INTERNAL
from trunkline.model.streams import Batch
from trunkline.model.time import Moment
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
    index: str | None = field(default=None, repr=False, compare=False, metadata=INTERNAL)
    index_hash: str | None = field(default=None, repr=False, compare=False, metadata=INTERNAL)
    digest: str = field(default="", repr=False, compare=False, metadata=INTERNAL)
    fence: int = field(default=0, repr=False, compare=False, metadata=INTERNAL)
    worker: str | None = None
    spark_application: str | None = None
    priority: int = 0
    backfill: str | None = None
    replay: str = field(default="", repr=False, compare=False, metadata=INTERNAL)
    """The rule whose quarantined rows it makes again, or * for all; "" if it is no such job."""
    is_stream: bool = False
    """Of a stream the units of work are batches and not datums."""

    environment: str = ""
    """The one that it runs in; "" if in none."""

    def __post_init__(self) -> None:
        put_in_words(self)

    @property
    def is_failure(self) -> bool:
        """Whether it ended badly by itself: not since somebody stopped it, or its input failed."""
        return self.state is JobState.FAILURE or self.told_reason.kind is Kind.TIMED_OUT

    @property
    def short_id(self) -> str:
        return self.id[:12]


@dataclass(frozen=True, slots=True)
class DatumInput:
    """One file or folder of a datum."""

    name: str
    repo: RepoName
    path: str
    join_on: str = ""
    group_by: str = ""


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


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line that a datum printed, or that Trunkline has to say about it."""

    at: Moment
    job: str
    pipeline: str
    datum: str
    stream: str
    text: str


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
