"""Pipelines: what is read, what is done with it, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from trunkline.model.backoff import Backoff
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.egress import Target
from trunkline.model.expectations import Expectation
from trunkline.model.inputs import Input
from trunkline.model.streams import History, IngestSource, Streaming
from trunkline.model.time import Moment


class Sandbox(StrEnum):
    """Where commands and Python functions run: `ON` behind a wall, or not at all; `OFF` on the
    machine as it is; `AUTO`, commands with /pfs and a /tmp of their own, where these can be had."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class Merge(StrEnum):
    """What happens when two datums write one path."""

    ERROR = "error"
    CONCAT = "concat"


class Mode(StrEnum):
    """How `sql` and `spark` meet datums."""

    WHOLE = "whole"
    TOGETHER = "together"
    EACH = "each"
    APPEND = "append"


class OnChange(StrEnum):
    """What `append` does when a file that it has read was changed or removed."""

    ERROR = "error"
    REFRESH = "refresh"


TRANSFORMS = ("cmd", "python", "sql", "spark", "stream")
INGEST = "ingest"

Param = str | int | float | bool | tuple[str | int | float | bool, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """What is done with a datum. One of `cmd`, `python`, `sql`, `spark` and `stream` is set, and
    none of an ingest, which only brings data in.

    `python`, `spark` and `stream` are "file.py:function" in the code folder. `sql` is the text of
    the statements; `sql_file` is the file it was in, for errors. `code` is where the files that
    travel with the pipeline were when it was applied; its commit is kept with the version.
    `secrets` are pairs of a variable and the secret it gets: "name" or "name/key". Dates among
    `params` are ISO text.
    """

    cmd: tuple[str, ...] = ()
    python: str = ""
    sql: str = ""
    sql_file: str = ""
    spark: str = ""
    stream: str = ""
    streaming: Streaming | None = None
    """Set for streams: those of `stream`, and those whose query is `sql`."""
    mode: Mode = Mode.WHOLE
    partition_by: tuple[str, ...] = ()
    params: tuple[tuple[str, Param], ...] = ()
    requirements: tuple[str, ...] = ()
    on_change: OnChange = OnChange.ERROR
    stdin: tuple[str, ...] = ()
    err_cmd: tuple[str, ...] = ()
    err_stdin: tuple[str, ...] = ()
    accept_return_code: tuple[int, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    secrets: tuple[tuple[str, str], ...] = ()
    working_dir: str = ""
    code: str = ""
    sandbox: Sandbox = Sandbox.AUTO
    memory: int | None = None

    @property
    def kind(self) -> str:
        if self.streaming is not None:
            return "stream"
        return next((kind for kind in TRANSFORMS if getattr(self, kind)), INGEST)

    @property
    def makes_tables(self) -> bool:
        """Whether it is a batch transform of tables; a stream makes them in its own way."""
        return bool(self.sql or self.spark) and self.streaming is None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Times at which the pipeline runs, instead of whenever its inputs change."""

    cron: str
    timezone: str = "UTC"
    catch_up: str = "latest"
    start: str | None = None


@dataclass(frozen=True, slots=True)
class Ticks(Schedule):
    """When a cron repo ticks. With `overwrite` a tick removes those before it."""

    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a whole job is tried, and how long between. Seconds."""

    tries: int = 1
    backoff: float = 10.0
    factor: float = 2.0
    longest: float = 600.0

    def pause_after(self, attempt: int) -> float:
        """How long to wait once that attempt has failed."""
        return Backoff(self.backoff, self.longest, self.factor).pause(attempt)


@dataclass(frozen=True, slots=True)
class PipelineSpec:
    """A pipeline as it was declared, checked and with every default filled in.

    Names in `metadata` start with "annotations." or "labels.". The order of the fields is the one
    in which they are kept and shown.
    """

    name: RepoName
    input: Input
    transform: Transform
    description: str = ""
    metadata: tuple[tuple[str, str], ...] = ()
    output_branch: str = DEFAULT_BRANCH
    parallelism: int | None = None
    set_number: int | None = None
    set_bytes: int | None = None
    datum_tries: int = 3
    datum_timeout: float | None = None
    job_timeout: float | None = None
    every_job: bool = False
    max_failed_datums: int = 0
    merge: Merge = Merge.ERROR
    priority: int = 0
    pool: str = ""
    retry: Retry = Retry()
    schedule: Schedule | None = None
    expectations: tuple[Expectation, ...] = ()
    egress: tuple[Target, ...] = ()
    """Where its output goes. No part of what decides on results."""
    spark: tuple[tuple[str, str], ...] = ()
    history: History = field(default_factory=History)
    """Of a stream or an ingest: how its history is kept short."""
    source: IngestSource | None = None
    """Of an ingest: where its data comes from. It has no input then (`Union(())`)."""


@dataclass(frozen=True, slots=True)
class PipelineVersion:
    """One version of a pipeline. `digest` tells whether results of other versions are its own."""

    name: RepoName
    version: int
    spec: PipelineSpec
    digest: str
    salt: str
    code: str
    created: Moment
    author: str


@dataclass(frozen=True, slots=True)
class PipelineInfo:
    """A pipeline as `list` and `inspect` show it."""

    name: RepoName
    version: int
    paused: bool
    created: Moment
    updated: Moment
    description: str = ""
    inputs: tuple[RepoName, ...] = ()
    kind: str = "cmd"
    schedule: str = ""
    last_job: str | None = None
    last_state: str | None = None
    pending: bool = False
    spec: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def state(self) -> str:
        return "paused" if self.paused else "running"
