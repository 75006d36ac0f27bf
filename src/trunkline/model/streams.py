"""Streams and ingests: what flows into the lake or along it, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.shape import INTERNAL
from trunkline.model.time import Moment

LATE = "_late"
"""The folder of rows that came after the watermark had passed them, by input."""
MALFORMED = "_malformed"
"""The folder of rows that could not be read, with the reason."""

Position = Mapping[str, Any]
"""How far a flow has read: by input the id of a commit, or what an ingest's source goes by."""


class StreamOutput(StrEnum):
    """What becomes of the rows of a batch: added, or put in the place of those with their key."""

    APPEND = "append"
    UPSERT = "upsert"


class OnChangedRows(StrEnum):
    """What a stream does when rows that it has read were changed or removed at the source."""

    RAISE = "raise"
    SKIP = "skip"
    ROWS = "rows"


class Static(StrEnum):
    """How a stream reads an input that is no stream: as of each batch, or of its start."""

    MOVING = "moving"
    PINNED = "pinned"


@dataclass(frozen=True, slots=True)
class Watermark:
    """Rows whose `column` is more than `delay` seconds behind the newest may be late."""

    column: str
    delay: float


@dataclass(frozen=True, slots=True)
class BatchLimit:
    """How much of an input one micro-batch takes at most. A commit is never parted by commits;
    by files and bytes it may be.
    """

    commits: int | None = None
    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StreamInput:
    """How a stream reads one of its inputs. `static` is "", a `Static`, or a ref that it is
    pinned to.
    """

    watermark: Watermark | None = None
    changes: OnChangedRows = OnChangedRows.RAISE
    limit: BatchLimit = BatchLimit()
    static: str = ""


@dataclass(frozen=True, slots=True)
class Streaming:
    """How a stream pipeline runs. Without `interval` it runs when a commit comes (on_commit).

    `retain` batches keep their state, so that the stream can be rewound to them.
    """

    interval: float | None = None
    output: StreamOutput = StreamOutput.APPEND
    key: tuple[str, ...] = ()
    retain: int = 100


@dataclass(frozen=True, slots=True)
class History:
    """How a flow's history is kept short. The newest `keep` commits stay; of older ones, one for
    each `every` seconds. Files are compacted when `compact` small ones lie in one folder.
    0 is never.
    """

    keep: int = 1000
    every: float = 3600.0
    compact: int = 100


@dataclass(frozen=True, slots=True)
class IngestSource:
    """Where an ingest gets its data. `kind` is folder, kafka, http, python or rate; `options`
    are that kind's, checked. `secrets` are pairs of an option and the secret it gets.

    Rows are gathered for `interval` seconds, or until there are `rows` or `bytes` of them, and
    committed as a table in `folder`. `schema` is DDL; without it, the rows say it themselves.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[tuple[str, str], ...] = ()
    schema: str = ""
    folder: str = "/"
    partition_by: tuple[str, ...] = ()
    interval: float = 1.0
    rows: int = 1_000_000
    bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class Batch:
    """What is known of one commit of a flow. `first` is the number of its first batch, and less
    than `number` only where commits were squashed into it.

    `start` and `end` are positions: each batch starts where the one before ended. Of a stream
    with state, `state` says where that is: {"checkpoint", "batch", "generation"}.
    """

    commit: str
    epoch: int
    first: int
    number: int
    start: Position
    end: Position
    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    malformed: int = 0
    watermark: Moment | None = None
    """Microseconds, as all times."""
    state_rows: int = 0
    state_bytes: int = 0
    seconds: float = 0.0
    state: Mapping[str, Any] = field(
        default_factory=dict, repr=False, compare=False, metadata=INTERNAL
    )
    passed: bool = field(default=False, repr=False, compare=False, metadata=INTERNAL)
    """Whether batches that made no commit had moved the flow on from where the last one ended."""
    at: Moment | None = field(default=None, compare=False)
    """When its commit was finished, where that was looked up."""

    @property
    def count(self) -> int:
        """How many batches it stands for: more than one only where commits were squashed."""
        return self.number - self.first + 1


class FlowState(StrEnum):
    """What a flow does now. PAUSED is the pipeline's own word for it."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Flow:
    """How far a stream or an ingest has come, and who has it in hand.

    `epoch` is raised by a rewind or a restart; batches are numbered through within one. `facts`
    are the newest figures, also of batches that made no commit.
    """

    repo: int
    name: RepoName
    kind: str
    epoch: int
    number: int
    position: Position
    state: FlowState
    reason: str
    facts: Mapping[str, Any]
    updated: Moment
    holder: str | None = None
    expires: int = 0
    fence: int = 0
