"""How streams and ingests go, as people see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.display import fields
from trunkline.model.streams import Batch, FlowState, Position
from trunkline.model.time import Moment, to_rfc3339


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

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "project": self.repo.project,
            "repo": self.repo.repo,
            "branch": self.branch,
            "read": self.read,
            "lag_commits": self.commits,
            "lag_seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a flow's recent batches were. Rows by the second of time that went by."""

    rows_per_second: float = 0.0
    last_rows_per_second: float = 0.0
    p50: float | None = None
    p99: float | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "rows_per_second": round(self.rows_per_second, 3),
            "last_rows_per_second": round(self.last_rows_per_second, 3),
            "batch_seconds_p50": _rounded(self.p50),
            "batch_seconds_p99": _rounded(self.p99),
        }


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

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name.repo,
            "project": self.name.project,
            "state": str(self.state),
            "reason": self.reason or None,
            "epoch": self.epoch,
            "batch": self.batch,
            "commit": self.commit,
            "last_batch": self.last.to_dict() if self.last else None,
            "last_batch_age": _rounded(self.age),
            **self.speed.to_dict(),
            "malformed": self.malformed,
            "updated": to_rfc3339(self.updated),
            "now": to_rfc3339(self.now),
        }


@dataclass(frozen=True, slots=True)
class StreamStatus(FlowStatus):
    """A stream at a glance. `kind` says in words whether it keeps state, and why."""

    trigger: str = ""
    kind: str = ""
    inputs: tuple[InputLag, ...] = ()
    watermark: Moment | None = None
    late: int = 0
    skipped: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    seconds: float | None = None
    """How long the newest batch took, whether it made a commit or not."""

    @property
    def lag_commits(self) -> int:
        return sum(one.commits for one in self.inputs)

    @property
    def lag_seconds(self) -> float:
        return max((one.seconds for one in self.inputs), default=0.0)

    @property
    def watermark_behind(self) -> float | None:
        """Seconds from the watermark to now."""
        return None if self.watermark is None else (self.now - self.watermark) / 1_000_000

    def to_dict(self) -> dict[str, object]:
        return {
            **FlowStatus.to_dict(self),
            "trigger": self.trigger,
            "kind": self.kind or None,
            "inputs": [one.to_dict() for one in self.inputs],
            "lag_commits": self.lag_commits,
            "lag_seconds": round(self.lag_seconds, 3),
            "watermark": _moment(self.watermark),
            "watermark_behind": _rounded(self.watermark_behind),
            "late": self.late,
            "skipped": self.skipped,
            "state_rows": self.state_rows,
            "state_bytes": self.state_bytes,
            "seconds": _rounded(self.seconds),
        }

    def _repr_html_(self) -> str:
        return fields(f"Stream {self.name}", self.to_dict())


@dataclass(frozen=True, slots=True)
class IngestStatus(FlowStatus):
    """An ingest at a glance. `facts` are what its source says of itself, such as how far it is
    behind.
    """

    source: str = ""
    interval: float = 1.0
    holder: str | None = None
    rows: int = 0
    position: Position = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return {
            **FlowStatus.to_dict(self),
            "source": self.source,
            "interval": self.interval,
            "worker": self.holder,
            "rows": self.rows,
            "position": dict(self.position),
            "facts": dict(self.facts),
        }

    def _repr_html_(self) -> str:
        return fields(f"Ingest {self.name}", self.to_dict())


def _moment(micros: int | None) -> str | None:
    return to_rfc3339(micros) if micros is not None else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
