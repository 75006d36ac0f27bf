"""Events: what happened in a lake, in the order it happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.time import Moment

PROGRESS = "progress"
"""The kind that says how far a job is. Only the newest of each job is kept, and not for long."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a repo. Positions rise, with gaps."""

    position: int
    at: Moment
    kind: str
    repo: RepoName
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_lasting(self) -> bool:
        """Whether a power cut cannot undo it, and give its position to another."""
        return self.kind != PROGRESS and self.facts.get("state") != "running"
