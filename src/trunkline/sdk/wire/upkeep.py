"""Bodies of requests about the lake as a whole: gc, fsck, erasure, secrets."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Collect:
    """`grace` is in seconds; without it the lake's own."""

    dry_run: bool = False
    grace: float | None = None


@dataclass(frozen=True, slots=True)
class Examine:
    deep: bool = False


@dataclass(frozen=True, slots=True)
class Forget:
    ref: str


@dataclass(frozen=True, slots=True)
class Erase:
    """A whole ref, with the path to erase."""

    ref: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SecretValue:
    value: str = field(repr=False)
