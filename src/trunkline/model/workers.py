"""Workers, as others see them."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.time import Moment


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A process that runs jobs. One that has only just been started has no `started` yet."""

    name: str
    started: Moment | None = None
    jobs: int = 0
