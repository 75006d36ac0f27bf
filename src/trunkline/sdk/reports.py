"""What applying and planning pipelines tell. Apart from `pipelines`, which must load fast."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.jobs.listing import PipelinePlan
from trunkline.lake.pipelines import Applied


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What became of the pipelines that were applied; fields that mean nothing here, and what is
    hardly meant."""

    applied: tuple[Applied, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "applied": [one.to_dict() for one in self.applied],
            "ignored": list(self.ignored),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What would happen. Nothing did."""

    pipelines: tuple[PipelinePlan, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "pipelines": [one.to_dict() for one in self.pipelines],
            "ignored": list(self.ignored),
            "notes": list(self.notes),
        }
