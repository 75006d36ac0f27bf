"""Bodies of requests about commits: merges, reverts, cherry-picks, pruning. Refs are whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """`strategy` decides every conflict, `choose` those whose path matches a glob."""

    source: str
    target: str
    strategy: str | None = None
    choose: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    message: str = ""


@dataclass(frozen=True, slots=True)
class RevertRequest:
    """Without a `branch` the commit is undone on its own."""

    ref: str
    branch: str | None = None
    strategy: str | None = None
    choose: Mapping[str, str] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True, slots=True)
class CherryPickRequest:
    ref: str
    target: str
    strategy: str | None = None
    choose: Mapping[str, str] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True, slots=True)
class PruneRequest:
    """A commit to squash or to drop; `recursive` with what was made from it in other repos."""

    ref: str
    recursive: bool = False
