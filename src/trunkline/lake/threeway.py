"""Three-way merge of trees, path by path: no commits, no branches, no bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.errors import Usage
from trunkline.lake.changes import Changes
from trunkline.lake.differences import Difference, differences
from trunkline.lake.manifests import Tree
from trunkline.model.entries import line_hash, line_size
from trunkline.model.files import Change
from trunkline.pipelines.globs import Glob

OURS, THEIRS = "ours", "theirs"
# Stands for a file in a base that is itself a merge with a conflict: no file equals it.
UNDECIDED = b"\t?\t0\t-\t-"


@dataclass(frozen=True, slots=True)
class Side:
    """What one side did to a path; None where it removed it."""

    size: int | None
    hash: str | None

    @classmethod
    def of(cls, line: bytes | None) -> Side:
        if line is None or line.endswith(UNDECIDED):
            return cls(None, None)
        return cls(line_size(line), line_hash(line).decode())


@dataclass(frozen=True, slots=True)
class PathConflict:
    """A path that both sides changed, each in its own way."""

    path: str
    base: Side
    ours: Side
    theirs: Side
    chosen: str | None = None


class Resolver:
    """Who wins a path that both sides changed: a rule per path, else one for all."""

    def __init__(self, strategy: str | None, choose: Mapping[str, str]) -> None:
        for choice in (*([strategy] if strategy else []), *choose.values()):
            if choice not in (OURS, THEIRS):
                raise Usage(f'"{choice}" is no strategy.', hint="Use ours or theirs.")
        self._strategy = strategy
        self._rules = [(Glob(pattern), choice) for pattern, choice in choose.items()]

    def choice(self, path: str) -> str | None:
        for glob, choice in self._rules:
            if glob.matches(path) or any(glob.matches(folder) for folder in _above(path)):
                return choice
        return self._strategy


def three_way(
    base: Tree, ours: Tree, theirs: Tree, resolver: Resolver
) -> tuple[Changes, list[Change], list[PathConflict]]:
    """What to do to `ours` so that it also holds what `theirs` did to `base`."""
    mine = {d.path: d for d in differences(base, ours)} if base is not ours else {}
    changes = Changes()
    applied: list[Change] = []
    conflicts: list[PathConflict] = []
    for theirs_did in differences(base, theirs):
        we_did = mine.get(theirs_did.path)
        if we_did is not None:
            if _same_result(we_did, theirs_did):
                continue
            conflict = _conflict(we_did, theirs_did, resolver)
            conflicts.append(conflict)
            if conflict.chosen != THEIRS:
                continue
        if theirs_did.new is None:
            changes.remove_file(theirs_did.path)
        else:
            changes.put_all([theirs_did.new])
        current = we_did.new if we_did else theirs_did.old
        applied.append(Difference(theirs_did.path, current, theirs_did.new).to_change())
    return changes, applied, conflicts


def _same_result(ours: Difference, theirs: Difference) -> bool:
    if ours.new is None or theirs.new is None:
        return ours.new is theirs.new
    return line_hash(ours.new) == line_hash(theirs.new)


def _conflict(ours: Difference, theirs: Difference, resolver: Resolver) -> PathConflict:
    path = ours.path.decode()
    return PathConflict(
        path, Side.of(ours.old), Side.of(ours.new), Side.of(theirs.new), resolver.choice(path)
    )


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(2, len(parts))]
