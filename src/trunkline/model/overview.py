"""The lake at a glance, now or as of a commit set; the sets themselves; what a search finds."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.model.commits import RepoName
from trunkline.model.jobs import JobState
from trunkline.model.time import Moment
from trunkline.model.told import Told, put_in_words

NEW = "new"
"""The state of a pipeline that never had a job."""
PAUSED = "paused"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest good commit of a branch."""

    commit: str
    at: Moment
    files: int
    size: int
    message: str
    author: str
    origin: str


@dataclass(frozen=True, slots=True)
class LastJob:
    """The newest job of a pipeline, with its datums by what became of them and what they moved."""

    id: str
    state: JobState
    told_reason: Told
    told_cause: Told
    version: int
    created: Moment
    started: Moment | None
    finished: Moment | None
    reason: str = field(init=False, default="")
    cause: str = field(init=False, default="")
    """What is told, in words."""
    processed: int = 0
    skipped: int = 0
    failed: int = 0
    total: int = 0
    rows_in: int | None = None
    rows_out: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0

    def __post_init__(self) -> None:
        put_in_words(self)


@dataclass(frozen=True, slots=True)
class CheckCounts:
    """The rules of the last job that had any: `quarantined` and `warned` were broken, the former
    by rows that were put aside.
    """

    passed: int = 0
    warned: int = 0
    quarantined: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class OverviewNode:
    """A "repo", a "cron" repo, or a "pipeline", "stream" or "ingest" with its output.

    `state` is "" for repos; of a pipeline that of its last job, "paused" or "new"; of a flow what
    it does. `how` is what does the work, of an ingest the kind of its source. `behind` counts the
    inputs that are newer than what its output was made from.
    """

    name: RepoName
    kind: str
    state: str = ""
    description: str = ""
    paused: bool = False
    version: int | None = None
    how: str = ""
    schedule: str = ""
    inputs: tuple[RepoName, ...] = ()
    head: Head | None = None
    job: LastJob | None = None
    checks: CheckCounts | None = None
    behind: int = 0
    rows_per_second: float | None = None
    late: int = 0


@dataclass(frozen=True, slots=True)
class OverviewEdge:
    """A pipeline reads a repo under a name. Without `starts` its commits start nothing."""

    source: RepoName
    target: RepoName
    label: str
    starts: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything there is and how it is, or was.

    As of a commit set it has the set's own commits and jobs, whatever those were made from, and
    of all else what was in force when the change was made. Who was paused is not known of the
    past, and what was deleted since is not shown.
    """

    at: str | None
    time: Moment
    nodes: tuple[OverviewNode, ...]
    edges: tuple[OverviewEdge, ...]


@dataclass(frozen=True, slots=True)
class SetSummary:
    """A change and what it caused. It began in the repos of `origin`.

    `jobs` counts those of the set by their state; `finished` is None while any is not over.
    """

    id: str
    at: Moment
    origin: tuple[RepoName, ...]
    repos: tuple[RepoName, ...]
    message: str
    author: str
    jobs: dict[str, int]
    finished: Moment | None


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a search found. `kind` is "repo", "pipeline", "stream", "ingest", "branch",
    "tag", "commit", "job", "table", "column" or "file".
    """

    kind: str
    repo: RepoName
    text: str
    detail: str = ""
    commit: str | None = None
    path: str | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The best hits of a search, best first; `partial` if not everything was looked at."""

    items: tuple[Hit, ...]
    partial: bool = False


@dataclass(frozen=True, slots=True)
class SettingInfo:
    """A setting as it is in force. `source` is where its value came from."""

    name: str
    value: str
    source: str
    description: str
