"""Joining histories: merge, revert and cherry-pick, each one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from trunkline.errors import MergeConflict, Usage
from trunkline.lake.changes import Changes, apply, apply_unchecked
from trunkline.lake.core import Core, Resolved, resolve, resolve_commit
from trunkline.lake.drafts import Draft
from trunkline.lake.history import merge_bases
from trunkline.lake.manifests import EMPTY, Tree, in_memory
from trunkline.lake.tablemerge import unite_tables
from trunkline.lake.threeway import UNDECIDED, PathConflict, Resolver, three_way
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, Origin
from trunkline.model.files import Change
from trunkline.model.refs import Ref
from trunkline.model.shape import as_json
from trunkline.storage.catalog import Session, commits
from trunkline.storage.catalog.commits import Link


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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A merge that has been worked out: what it would do, and what it takes to do it."""

    report: MergeReport
    target: Ref
    changes: Changes
    united: Mapping[str, bytes]
    ours: Resolved
    theirs: Resolved

    @property
    def is_needed(self) -> bool:
        return self.report.commit is None

    def put_into(self, transaction: Transaction, message: str) -> Draft:
        """Make it a commit of a transaction."""
        assert self.theirs.commit is not None
        draft = transaction.draft(
            self.target, message, origin=Origin.MERGE, merged=(self.theirs.commit.id,)
        )
        self.changes.put_all(transaction.intake.add_bytes(*one) for one in self.united.items())
        _reuse(draft, self.changes, self.ours, self.theirs)
        return draft


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
    prepared = prepare(core, source, target, resolver)
    report = replace(prepared.report, dry_run=dry_run)
    if not prepared.is_needed:
        return report
    if dry_run:
        if not report.unresolved:
            apply(core.tree(prepared.ours.commit), prepared.changes)
        return report
    _refuse_conflicts(report.unresolved, f"merge {source} into {target}")
    with Transaction(core, author) as transaction:
        draft = prepared.put_into(transaction, message or f"Merge {source.ref} into {target.ref}")
    return replace(report, commit=draft.result)


def prepare(core: Core, source: Ref, target: Ref, resolver: Resolver) -> Prepared:
    """Work a merge out. One that brings nothing has the commit that is there in its report."""
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
        report = MergeReport(str(source), str(target), base_id, (), (), ours.commit)
        return Prepared(report, target, Changes(), {}, ours, theirs)
    base_tree = _base_tree(core, levels)
    our_tree, their_tree = core.tree(ours.commit), core.tree(their_commit)
    changes, applied, conflicts = three_way(base_tree, our_tree, their_tree, resolver)
    united, conflicts = unite_tables(core, base_tree, our_tree, their_tree, conflicts)
    report = MergeReport(
        str(source),
        str(target),
        base_id,
        tuple(applied),
        tuple(conflicts),
        None,
        fast_forward=base_id == ours.id,
    )
    return Prepared(report, target, changes, united, ours, theirs)


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
            changes.put_all(conflict.path.encode() + UNDECIDED for conflict in conflicts)
            tree = in_memory(apply_unchecked(tree, changes), tree)
    return tree


def revert(
    core: Core, ref: Ref, target: Ref, resolver: Resolver, *, message: str, author: str
) -> Commit:
    """Undo what one commit did, as a new commit on `target`."""
    return _replay(core, ref, target, resolver, Origin.REVERT, message, author)


def cherry_pick(
    core: Core, ref: Ref, target: Ref, resolver: Resolver, *, message: str, author: str
) -> Commit:
    """Do again what one commit did, as a new commit on `target`."""
    return _replay(core, ref, target, resolver, Origin.CHERRY_PICK, message, author)


def _replay(
    core: Core,
    ref: Ref,
    target: Ref,
    resolver: Resolver,
    origin: Origin,
    message: str,
    author: str,
) -> Commit:
    """The step between a commit and its parent, forwards or backwards, on another branch."""
    with core.database.read() as session:
        source, commit = resolve_commit(session, ref)
        parent = commits.find(session, source.repo, commit.parent) if commit.parent else None
        ours = resolve(session, target)
    if source.repo != ours.repo:
        raise _different_repos(source, target)
    before, after = core.tree(parent), core.tree(commit)
    # What a pipeline was told of stays with its own commits: here it would be anybody's text.
    said = "" if commit.origin is Origin.PIPELINE else commit.message
    if origin is Origin.REVERT:
        before, after = after, before
        message = message or f'Revert "{said or commit.short_id}"'
    changes, _, conflicts = three_way(before, core.tree(ours.commit), after, resolver)
    _refuse_conflicts(tuple(c for c in conflicts if c.chosen is None), f"{origin} {ref}")
    with Transaction(core, author) as transaction:
        draft = transaction.draft(target, message or said, origin=origin)
        _reuse(draft, changes, ours, source)
        if parent is not None:
            draft.requires.add((source.name, parent.id))
    assert draft.result is not None
    return draft.result


def _different_repos(source: Resolved, target: Ref) -> Usage:
    return Usage(f"{source.name} and {target.repo} are different repos.", hint="Use cp instead.")


def _reuse(draft: Draft, changes: Changes, ours: Resolved, source: Resolved) -> None:
    """Take changes worked out on `ours`, whose files belong to commits that must still exist."""
    draft.changes = changes
    draft.base = ours.commit
    if source.commit is not None:
        draft.requires.add((source.name, source.commit.id))


def _refuse_conflicts(conflicts: tuple[PathConflict, ...], verb: str) -> None:
    if conflicts:
        listed = ", ".join(c.path for c in conflicts[:5])
        more = f" and {len(conflicts) - 5} more" if len(conflicts) > 5 else ""
        raise MergeConflict(
            f"Cannot {verb}: both sides changed {listed}{more}.",
            conflicts=as_json(conflicts),
            hint="Choose with --strategy ours|theirs, or per path with --ours GLOB, --theirs GLOB.",
        )
