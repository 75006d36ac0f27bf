"""Bodies of requests: deliveries and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Deliver:
    """To one target, or to all."""

    target: str | None = None


@dataclass(frozen=True, slots=True)
class Settle:
    """Deliveries to try again or to leave out: to one target, of one job, or all."""

    target: str | None = None
    job: str | None = None


@dataclass(frozen=True, slots=True)
class Export:
    """`target` is one as a spec has it. `password` is for this once."""

    ref: str
    target: Mapping[str, Any]
    password: str | None = field(default=None, repr=False)
