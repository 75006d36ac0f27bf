"""How streams and ingests go, as people see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.display import fields
from trunkline.model.shape import as_json
from trunkline.model.streams import Batch, FlowState, Position
from trunkline.model.time import Moment


@dataclass(frozen=True, slots=True)
class InputLag:
    """How far a stream is behind one input: commits it has not read, and how old their oldest is.

    `read` is the commit up to which it has read, or the one in the middle of which it is.
    """

    name: str
    repo: RepoName
    branch: str
    read: str | None
    commits: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a flow's recent batches were. Rows by the second of time that went by."""

    rows_per_second: float = 0.0
    last_rows_per_second: float = 0.0
    p50: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class FlowStatus:
    """What streams and ingests have to say alike. `now` is the moment it was true.

    `last` is the newest batch that made a commit; `late`, `malformed` and `skipped` count since
    the epoch began.
    """

    name: RepoName
    state: FlowState
    reason: str
    epoch: int
    batch: int
    now: Moment
    updated: Moment
    last: Batch | None = None
    speed: Speed = Speed()
    malformed: int = 0

    @property
    def commit(self) -> str | None:
        return self.last.commit if self.last else None

    @property
    def age(self) -> float | None:
        """Seconds since the newest commit."""
        if self.last is None or self.last.at is None:
            return None
        return max(self.now - self.last.at, 0) / 1_000_000


@dataclass(frozen=True, slots=True)
class StreamStatus(FlowStatus):
    """A stream at a glance. `kind` says in words whether it keeps state, and why."""

    trigger: str = ""
    kind: str = ""
    inputs: tuple[InputLag, ...] = ()
    lag_commits: int = field(init=False, default=0)
    lag_seconds: float = field(init=False, default=0.0)
    """Of all inputs together: the sum, and the longest."""

    watermark: Moment | None = None
    late: int = 0
    skipped: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    seconds: float | None = None
    """How long the newest batch took, whether it made a commit or not."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lag_commits", sum(one.commits for one in self.inputs))
        longest = max((one.seconds for one in self.inputs), default=0.0)
        object.__setattr__(self, "lag_seconds", longest)

    @property
    def watermark_behind(self) -> float | None:
        """Seconds from the watermark to now."""
        return None if self.watermark is None else (self.now - self.watermark) / 1_000_000

    def _repr_html_(self) -> str:
        return fields(f"Stream {self.name}", as_json(self))


@dataclass(frozen=True, slots=True)
class IngestStatus(FlowStatus):
    """An ingest at a glance. `facts` are what its source says of itself, such as how far it is
    behind.
    """

    source: str = ""
    interval: float = 1.0
    worker: str | None = None
    rows: int = 0
    position: Position = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return fields(f"Ingest {self.name}", as_json(self))
