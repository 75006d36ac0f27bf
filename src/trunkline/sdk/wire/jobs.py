"""Bodies of requests: jobs, datums and logs."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.jobs import Job

WAIT_SECONDS = 25.0
"""The longest that one request waits for a job."""


@dataclass(frozen=True, slots=True)
class Cancel:
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Waited:
    """Jobs as they are now. `seen` sent back tells which change to wait for."""

    jobs: list[Job]
    seen: str


@dataclass(frozen=True, slots=True)
class Why:
    """Sentences, each for itself."""

    lines: list[str]
