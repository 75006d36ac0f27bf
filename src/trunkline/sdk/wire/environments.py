"""Bodies of requests: environments made, synced and merged."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.commits import DEFAULT_BRANCH


@dataclass(frozen=True, slots=True)
class NewEnvironment:
    name: str
    base: str = DEFAULT_BRANCH


@dataclass(frozen=True, slots=True)
class SyncEnvironment:
    """`strategy` is `ours` or `theirs`; ours is what the environment has."""

    strategy: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class MergeEnvironment:
    dry_run: bool = False
    force: bool = False
    delete: bool = False
