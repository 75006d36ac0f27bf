"""Workers, as others see them."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.time import Moment, to_rfc3339


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A process that runs jobs. One that has only just been started has no `started` yet."""

    name: str
    started: Moment | None = None
    jobs: int = 0

    def to_dict(self) -> dict[str, object]:
        started = None if self.started is None else to_rfc3339(self.started)
        return {"name": self.name, "started": started, "jobs": self.jobs}
