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


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What would happen. Nothing did."""

    pipelines: tuple[PipelinePlan, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
