"""Walking history, and the two ways to prune it: squash keeps the data, drop does not."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from trunkline.errors import CommitUnfinished, InUse, Precondition
from trunkline.lake.branches import moved_by_hand, refuse_open, refuse_read
from trunkline.lake.core import Core, repo_key, resolve, resolve_commit
from trunkline.lake.differences import Difference, differences
from trunkline.lake.flowguards import absorb, refuse_flow, refuse_position
from trunkline.lake.publish import Moved, move
from trunkline.model.commits import Branch, Commit, RepoCommit, RepoName
from trunkline.model.refs import Ref
from trunkline.model.streams import Batch
from trunkline.model.told import Place
from trunkline.storage.catalog import (
    Session,
    commits,
    deletions,
    events,
    flows,
    refs,
    repos,
)
from trunkline.storage.catalog.commits import Link


@dataclass(frozen=True, slots=True)
class CommitSet:
    """Every commit that one change caused, with what each was made from."""

    id: str
    commits: tuple[Commit, ...]
    sources: dict[str, tuple[RepoCommit, ...]]
    batches: dict[str, Batch] = field(default_factory=dict)
    """What is known of those that a stream or an ingest made, by repo."""


def first_parents(core: Core, ref: Ref, limit: int | None) -> list[Commit]:
    """A branch's own commits, newest first; before them one that is not finished."""
    with core.database.read() as session:
        found = resolve(session, ref)
        branch = refs.branch(session, found.repo, ref.ref)
        opened = commits.find(session, found.repo, branch.open) if branch and branch.open else None
        first = [opened] if opened else []
        if found.commit is None:
            return first[:limit]
        most = found.commit.depth if limit is None else limit
        return [*first, *commits.chain(session, found.repo, found.commit.id, most)][:limit]


def log(core: Core, ref: Ref, limit: int | None, path: str | None) -> Iterator[Commit]:
    """All ancestors, newest first; with a path, only those that changed something there."""
    if limit is not None and limit <= 0:
        return
    with core.database.read() as session:
        found = resolve(session, ref)
    heads = [found.commit.id] if found.commit else []
    count = 0
    for commit in commits.Walk(fetcher(core, found.repo), heads):
        if path is not None and not changed(core, found.repo, commit, path):
            continue
        yield commit
        count += 1
        if count == limit:
            return


def whole_history(core: Core, ref: Ref, limit: int | None) -> list[Commit]:
    """The commits of every branch and tag of a repo, newest first, for drawing a graph."""
    with core.database.read() as session:
        repo = repo_key(session, ref.repo)
        heads = every_head(session, repo)
    walk = commits.Walk(fetcher(core, repo), heads)
    return list(islice(walk, None if limit is None else max(limit, 0)))


def every_head(session: Session, repo: int) -> list[str]:
    """What branches and tags point at."""
    heads = {b.head for b in refs.branches(session, repo) if b.head}
    return sorted(heads | {t.commit for t in refs.tags(session, repo)})


def fetcher(core: Core, repo: int) -> Callable[[str, int], list[Commit]]:
    def fetch(commit_id: str, limit: int) -> list[Commit]:
        with core.database.read() as session:
            return commits.chain(session, repo, commit_id, limit)

    return fetch


def changed(core: Core, repo: int, commit: Commit, path: str) -> bool:
    """Whether the commit differs from each of its parents at or below `path`."""
    if commit.forgotten is not None or commit.finished is None:
        return False
    tree = core.tree(commit)
    name = path.encode()
    with core.database.read() as session:
        parents = [commits.find(session, repo, p) for p in commit.parents] or [None]
    for parent in parents:
        if parent is not None and parent.forgotten is not None:
            continue
        before = core.tree(parent)
        found = Difference(name, before.find(name), tree.find(name))
        if found.old == found.new or found.same_content:
            below = name.rstrip(b"/") + b"/"
            if next(differences(before, tree, below), None) is None:
                return False
    return True


def commit_set(session: Session, set_id: str) -> CommitSet:
    members = commits.in_set(session, set_id)
    edges = {}
    batches = {}
    for member in members:
        key = repo_key(session, member.repo)
        edges[str(member.repo)] = tuple(commits.sources(session, key, member.id))
        if batch := flows.batch_of(session, key, member.id):
            batches[str(member.repo)] = batch
    return CommitSet(set_id, tuple(members), edges, batches)


def squash(
    core: Core, ref: Ref, recursive: bool, author: str, *, keep_deleted: bool = False
) -> None:
    """Remove a commit whose children keep the data; with `keep_deleted` none that a deleted branch
    or tag would come back to. Who squashes it by hand means it.
    """
    with core.database.write() as session:
        found, commit = resolve_commit(session, ref)
        repo = found.repo
        _refuse_unfinished(commit)
        refuse_read(session, repo, commit)
        heads = _pointing_at(session, repo, commit.id)
        if keep_deleted and (repo, commit.id) in deletions.heads(session):
            heads.append("what was deleted")
        if heads:
            raise Precondition(
                f"{commit.short_id} is the head of {', '.join(heads)}: no child keeps its data.",
                hint="To remove it with its data: trunkline commit drop",
            )
        children = commits.children(session, repo, commit.id, good=True)
        if not children:
            raise Precondition(
                f"{commit.short_id} has no child that keeps its data.",
                hint="To remove it with its data: trunkline commit drop",
            )
        for child in children:
            below = commits.find(session, repo, child)
            if below is not None and below.finished is None:
                raise CommitUnfinished(
                    f"{commit.short_id} has the unfinished child {child[:12]}.",
                    hint="Finish it first.",
                )
        refuse_position(session, repo, commit)
        moved = _drop_derived(session, repo, commit, recursive, author)
        if commit.merged:
            raise Precondition(
                f"{commit.short_id} is a merge; squashing it would lose where its data came from."
            )
        absorb(session, repo, commit.id, children)
        commits.reparent(session, repo, commit.id, commit.parent)
        commits.remove(session, repo, [commit.id])
        events.emit(session, "squash", commit.repo, {"id": commit.id})
        moved_by_hand(session, moved, author)


def drop(core: Core, ref: Ref, recursive: bool, author: str) -> list[Branch]:
    """Remove a head and its data; its branches fall back to the parent."""
    with core.database.write() as session:
        found, commit = resolve_commit(session, ref)
        repo = found.repo
        branches = [b for b in refs.branches(session, repo) if commit.id in (b.head, b.open)]
        _refuse_tagged(session, repo, commit)
        for branch in branches:
            refuse_flow(session, repo, commit.repo, branch.name)
        refuse_read(session, repo, commit)
        if below := commits.children(session, repo, commit.id, good=True):
            some = ", ".join(one[:12] for one in below[:3])
            raise Precondition(
                f"{commit.short_id} has children that build on it: {some}.",
                hint=f"Drop them first, newest first: trunkline commit drop {commit.repo}@"
                f"{below[-1][:12]}. Or squash it and keep the data.",
            )
        refuse_position(session, repo, commit)
        moved = _drop_derived(session, repo, commit, recursive, author)
        commits.reparent(session, repo, commit.id, commit.parent)
        for branch in branches:
            if branch.open == commit.id:
                refs.set_open(session, repo, branch.name, None)
                continue
            refuse_open(branch)
            move(session, repo, branch, commit.parent, author, "drop")
            moved[repo, branch.name] = commit.parent
        commits.remove(session, repo, [commit.id])
        events.emit(session, "drop", commit.repo, {"id": commit.id})
        moved_by_hand(session, moved, author)
        return [b for b in refs.branches(session, repo) if b.name in {x.name for x in branches}]


def derived_repos(core: Core, ref: Ref) -> set[RepoName]:
    """The other repos with commits made from this one, at any distance."""
    with core.database.read() as session:
        _, commit = resolve_commit(session, ref)
        waiting = [RepoCommit(commit.repo, commit.id)]
        known = set(waiting)
        while waiting:
            one = waiting.pop()
            key = repos.key_of(session, one.repo)
            below = commits.derived(session, key, one.id) if key is not None else []
            fresh = [edge for edge in below if edge not in known]
            known.update(fresh)
            waiting += fresh
    return {edge.repo for edge in known} - {commit.repo}


def merge_bases(links: dict[str, Link], ours: str, theirs: str) -> list[str]:
    """The best common ancestors, newest first: those that no other common one builds on.

    There are several when each side has merged the other before.
    """
    both, below = 3, 4
    marks: dict[str, int] = {}
    queue: list[tuple[int, str]] = []
    open_ends: set[str] = set()
    bases: list[str] = []

    def mark(commit_id: str, side: int) -> None:
        before = marks.get(commit_id, 0)
        if before | side != before and commit_id in links:
            marks[commit_id] = before | side
            (open_ends.discard if marks[commit_id] & below else open_ends.add)(commit_id)
            heapq.heappush(queue, (-links[commit_id].generation, commit_id))

    mark(ours, 1)
    mark(theirs, 2)
    while open_ends:
        _, commit_id = heapq.heappop(queue)
        open_ends.discard(commit_id)
        if marks[commit_id] == both:
            bases.append(commit_id)
            marks[commit_id] |= below
        for parent in links[commit_id].parents:
            mark(parent, marks[commit_id])
    return bases


def reachable(links: dict[str, Link], heads: set[str]) -> set[str]:
    """Every commit that `heads` build on, and themselves."""
    seen: set[str] = set()
    stack = list(heads)
    while stack:
        commit_id = stack.pop()
        if commit_id not in seen and commit_id in links:
            seen.add(commit_id)
            stack.extend(links[commit_id].parents)
    return seen


def _pointing_at(session: Session, repo: int, commit_id: str) -> list[str]:
    names = [b.name for b in refs.branches(session, repo) if b.head == commit_id]
    return names + [t.name for t in refs.tags(session, repo) if t.commit == commit_id]


def _refuse_unfinished(commit: Commit) -> None:
    if commit.finished is None:
        raise CommitUnfinished(f"{commit.short_id} is not finished.", hint="Finish it, or drop it.")


def _refuse_tagged(session: Session, repo: int, commit: Commit) -> None:
    tags = [t.name for t in refs.tags(session, repo) if t.commit == commit.id]
    if tags:
        raise Precondition(
            f"{commit.short_id} of {commit.repo} is tagged {', '.join(tags)}.",
            hint="Delete the tag first.",
        )


def _drop_derived(
    session: Session, repo: int, commit: Commit, recursive: bool, author: str
) -> Moved:
    """Other repos' commits made from this one: refused, or removed with it; what then moved."""
    moved: Moved = {}
    derived = [d for d in commits.derived(session, repo, commit.id) if d.repo != commit.repo]
    if derived and not recursive:
        raise InUse(
            f"{commit.short_id} of {commit.repo} has commits derived from it: {{by}}.",
            hint="Use --recursive to remove them too.",
            by=[Place(one.repo, one.id[:12]) for one in derived[:3]],
        )
    for edge in derived:
        key = repos.key_of(session, edge.repo)
        below = commits.find(session, key, edge.id) if key is not None else None
        if key is None or below is None:
            continue
        _refuse_tagged(session, key, below)
        for branch in refs.branches(session, key):
            if branch.head == below.id:
                refuse_flow(session, key, below.repo, branch.name)
        refuse_position(session, key, below)
        moved |= _drop_derived(session, key, below, recursive, author)
        absorb(session, key, below.id, commits.children(session, key, below.id, good=True))
        commits.reparent(session, key, below.id, below.parent)
        for branch in refs.branches(session, key):
            if branch.open == below.id:
                refs.set_open(session, key, branch.name, None)
            if branch.head == below.id:
                move(session, key, branch, below.parent, author, "drop")
                moved[key, branch.name] = below.parent
        commits.remove(session, key, [below.id])
        events.emit(session, "drop", below.repo, {"id": below.id})
    return moved
