"""Joining histories: three-way merge path by path, revert, cherry-pick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.errors import MergeConflict, Usage
from trunkline.lake.changes import Changes, apply, apply_unchecked
from trunkline.lake.core import Core, Resolved, resolve, resolve_commit
from trunkline.lake.differences import Difference, differences
from trunkline.lake.history import merge_bases
from trunkline.lake.manifests import EMPTY, Tree, in_memory
from trunkline.lake.transaction import Draft, Transaction
from trunkline.model.commits import Commit, Origin
from trunkline.model.entries import line_hash, line_size
from trunkline.model.files import Change
from trunkline.model.refs import Ref
from trunkline.pipeline.globs import Glob
from trunkline.storage.catalog import Session, commits
from trunkline.storage.catalog.commits import Link

OURS, THEIRS = "ours", "theirs"
# Stands for a file in a base that is itself a merge with a conflict: no file equals it.
_UNDECIDED = b"\t?\t0\t-\t-"


@dataclass(frozen=True, slots=True)
class Side:
    """What one side did to a path; None where it removed it."""

    size: int | None
    hash: str | None

    @classmethod
    def of(cls, line: bytes | None) -> Side:
        if line is None or line.endswith(_UNDECIDED):
            return cls(None, None)
        return cls(line_size(line), line_hash(line).decode())

    def to_dict(self) -> dict[str, object]:
        return {"size": self.size, "hash": self.hash}


@dataclass(frozen=True, slots=True)
class PathConflict:
    """A path that both sides changed, each in its own way."""

    path: str
    base: Side
    ours: Side
    theirs: Side
    chosen: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "path": self.path,
            "base": self.base.to_dict(),
            "ours": self.ours.to_dict(),
            "theirs": self.theirs.to_dict(),
            "chosen": self.chosen,
        }


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What a merge did, or would do."""

    source: str
    target: str
    base: str | None
    changes: tuple[Change, ...]
    conflicts: tuple[PathConflict, ...]
    commit: Commit | None
    fast_forward: bool = False
    dry_run: bool = False

    @property
    def unresolved(self) -> tuple[PathConflict, ...]:
        return tuple(c for c in self.conflicts if c.chosen is None)

    @property
    def sentence(self) -> str:
        """The merge in words."""
        if not self.changes and not self.conflicts:
            return "already up to date"
        parts = [f"{len(self.changes):,} path(s) changed"]
        if self.conflicts:
            decided = len(self.conflicts) - len(self.unresolved)
            parts.append(f"{len(self.conflicts):,} conflict(s), {decided:,} decided")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, object]:
        return {
            "source": self.source,
            "target": self.target,
            "base": self.base,
            "changes": [change.to_dict() for change in self.changes],
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
            "commit": self.commit.to_dict() if self.commit else None,
            "fast_forward": self.fast_forward,
            "dry_run": self.dry_run,
        }


class Resolver:
    """Who wins a path that both sides changed: a rule per path, else one for all."""

    def __init__(self, strategy: str | None, choose: Mapping[str, str]) -> None:
        for choice in (*([strategy] if strategy else []), *choose.values()):
            if choice not in (OURS, THEIRS):
                raise Usage(f'"{choice}" is no strategy', hint="use ours or theirs")
        self._strategy = strategy
        self._rules = [(Glob(pattern), choice) for pattern, choice in choose.items()]

    def choice(self, path: str) -> str | None:
        for glob, choice in self._rules:
            if glob.matches(path) or any(glob.matches(folder) for folder in _above(path)):
                return choice
        return self._strategy


def merge(
    core: Core,
    source: Ref,
    target: Ref,
    resolver: Resolver,
    *,
    message: str,
    author: str,
    dry_run: bool,
) -> MergeReport:
    """Bring what happened on `source` since it left `target` into `target`, as one commit."""
    with core.database.read() as session:
        theirs, their_commit = resolve_commit(session, source)
        ours = resolve(session, target)
        if theirs.repo != ours.repo:
            raise _different_repos(theirs, target)
        links = commits.links(session, ours.repo)
        bases = merge_bases(links, ours.id, their_commit.id) if ours.id else []
        levels = _levels(session, ours.repo, links, bases)
    base_id = bases[0] if bases else None
    if base_id == their_commit.id:
        return MergeReport(str(source), str(target), base_id, (), (), ours.commit, dry_run=dry_run)
    base_tree = _base_tree(core, levels)
    our_tree, their_tree = core.tree(ours.commit), core.tree(their_commit)
    changes, applied, conflicts = three_way(base_tree, our_tree, their_tree, resolver)
    report = MergeReport(
        str(source),
        str(target),
        base_id,
        tuple(applied),
        tuple(conflicts),
        None,
        fast_forward=base_id == ours.id,
        dry_run=dry_run,
    )
    if dry_run:
        if not report.unresolved:
            apply(our_tree, changes)
        return report
    _refuse_conflicts(report.unresolved, f"merge {source} into {target}")
    with Transaction(core, author) as transaction:
        draft = transaction.draft(
            target,
            message or f"Merge {source.ref} into {target.ref}",
            origin=Origin.MERGE,
            merged=(their_commit.id,),
        )
        _reuse(draft, changes, ours, theirs)
    return MergeReport(
        report.source,
        report.target,
        base_id,
        report.changes,
        report.conflicts,
        draft.result,
        fast_forward=report.fast_forward,
    )


def _levels(
    session: Session, repo: int, links: dict[str, Link], bases: list[str]
) -> list[list[Commit]]:
    """The best common ancestors, then theirs where they are several, down to where they agree."""
    levels = []
    while bases:
        found = [commits.find(session, repo, commit_id) for commit_id in bases]
        levels.append([commit for commit in found if commit is not None])
        bases = merge_bases(links, bases[0], bases[1]) if len(bases) > 1 else []
    return levels


def _base_tree(core: Core, levels: list[list[Commit]]) -> Tree:
    """What both sides started from. Several ancestors are merged first, as Git does it.

    With one of them alone, what a side took from the other and then undid would look as if it
    had never been done, and would silently come back.
    """
    tree = EMPTY
    for level in reversed(levels):
        first, *others = (core.tree(commit) for commit in level)
        base, tree = tree, first
        for other in others:
            changes, _, conflicts = three_way(base, tree, other, Resolver(None, {}))
            changes.put_all(conflict.path.encode() + _UNDECIDED for conflict in conflicts)
            tree = in_memory(apply_unchecked(tree, changes), tree)
    return tree


def revert(
    core: Core, ref: Ref, target: Ref, resolver: Resolver, *, message: str, author: str
) -> Commit:
    """Undo what one commit did, as a new commit on `target`."""
    with core.database.read() as session:
        undone, commit = resolve_commit(session, ref)
        parent = commits.find(session, undone.repo, commit.parent) if commit.parent else None
        ours = resolve(session, target)
    return _pick(
        core,
        before=core.tree(commit),
        after=core.tree(parent),
        source=undone,
        parent=parent,
        ours=ours,
        target=target,
        resolver=resolver,
        author=author,
        origin=Origin.REVERT,
        message=message or f'Revert "{commit.message or commit.short_id}"',
        verb=f"revert {ref}",
    )


def cherry_pick(
    core: Core, ref: Ref, target: Ref, resolver: Resolver, *, message: str, author: str
) -> Commit:
    """Do again what one commit did, as a new commit on `target`."""
    with core.database.read() as session:
        picked, commit = resolve_commit(session, ref)
        parent = commits.find(session, picked.repo, commit.parent) if commit.parent else None
        ours = resolve(session, target)
    return _pick(
        core,
        before=core.tree(parent),
        after=core.tree(commit),
        source=picked,
        parent=parent,
        ours=ours,
        target=target,
        resolver=resolver,
        author=author,
        origin=Origin.CHERRY_PICK,
        message=message or commit.message,
        verb=f"cherry-pick {ref}",
    )


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


def _pick(
    core: Core,
    *,
    before: Tree,
    after: Tree,
    source: Resolved,
    parent: Commit | None,
    ours: Resolved,
    target: Ref,
    resolver: Resolver,
    author: str,
    origin: Origin,
    message: str,
    verb: str,
) -> Commit:
    if source.repo != ours.repo:
        raise _different_repos(source, target)
    our_tree = core.tree(ours.commit)
    changes, _, conflicts = three_way(before, our_tree, after, resolver)
    _refuse_conflicts(tuple(c for c in conflicts if c.chosen is None), verb)
    with Transaction(core, author) as transaction:
        draft = transaction.draft(target, message, origin=origin)
        _reuse(draft, changes, ours, source)
        if parent is not None:
            draft.requires.add((source.name, parent.id))
    assert draft.result is not None
    return draft.result


def _different_repos(source: Resolved, target: Ref) -> Usage:
    return Usage(f"{source.name} and {target.repo} are different repos", hint="use cp instead")


def _reuse(draft: Draft, changes: Changes, ours: Resolved, source: Resolved) -> None:
    """Take changes worked out on `ours`, whose files belong to commits that must still exist."""
    draft.changes = changes
    draft.base = ours.commit
    if source.commit is not None:
        draft.requires.add((source.name, source.commit.id))


def _same_result(ours: Difference, theirs: Difference) -> bool:
    if ours.new is None or theirs.new is None:
        return ours.new is theirs.new
    return line_hash(ours.new) == line_hash(theirs.new)


def _conflict(ours: Difference, theirs: Difference, resolver: Resolver) -> PathConflict:
    path = ours.path.decode()
    return PathConflict(
        path, Side.of(ours.old), Side.of(ours.new), Side.of(theirs.new), resolver.choice(path)
    )


def _refuse_conflicts(conflicts: tuple[PathConflict, ...], verb: str) -> None:
    if conflicts:
        listed = ", ".join(c.path for c in conflicts[:5])
        more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
        raise MergeConflict(
            f"cannot {verb}: both sides changed {listed}{more}",
            paths=[c.path for c in conflicts],
            hint="choose with --strategy ours|theirs, or per path with --ours GLOB, --theirs GLOB",
        )


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(2, len(parts))]
