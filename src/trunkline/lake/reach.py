"""What is still needed: which commits refs lead to, and which objects commits name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

import zstandard

from trunkline.errors import CorruptObject
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core
from trunkline.lake.history import reachable
from trunkline.lake.jobobjects import name_kept, name_running
from trunkline.lake.manifests import Lines, Tree, decompress
from trunkline.lake.named import Named
from trunkline.storage.catalog import (
    Row,
    Session,
    commits,
    deletions,
    deliveries,
    jobs,
    leases,
    refs,
    repos,
)
from trunkline.storage.catalog.commits import Link

T = TypeVar("T")
_JUST_NOW = 2**63
"""After all moments: since nobody has noted yet when it was lost."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A commit that no ref, lease or derived commit leads to, and since when (None: just seen)."""

    repo: int
    id: str
    since: int | None


def unreachable_commits(session: Session, deleted: bool = True) -> list[Unreachable]:
    """Commits that nothing needs: no branch, tag, reader, or commit computed from them. Without
    `deleted` also those that only what was deleted and can be had back led to.
    """
    links = {repo: commits.links(session, repo) for repo in repos.every(session)}
    needed = needed_commits(session, links, deleted=deleted)
    found = []
    for repo, known in links.items():
        lost = {i: link for i, link in known.items() if i not in needed[repo]}
        found += [Unreachable(repo, i, since) for i, since in _since(lost).items()]
    return found


def needed_commits(
    session: Session,
    links: dict[int, dict[str, Link]],
    without: Collection[tuple[int, str]] = (),
    deleted: bool = True,
) -> dict[int, set[str]]:
    """What refs, jobs, readers and derived commits lead to; as if some refs were not there."""
    heads: dict[int, set[str]] = {repo: set() for repo in links}
    for repo in links:
        for branch in refs.branches(session, repo):
            if (repo, branch.name) not in without:
                heads[repo] |= {c for c in (branch.head, branch.open) if c}
        tags = refs.tags(session, repo)
        heads[repo] |= {tag.commit for tag in tags if (repo, tag.name) not in without}
    # What a job will fill, and what it left for diagnosis, no branch leads to.
    needed_by_jobs = [*leases.pinned(session), *jobs.unfinished_places(session)]
    needed_by_jobs += deliveries.unfinished_places(session)
    others = [*commits.with_error(session), *(deletions.heads(session) if deleted else ())]
    for repo, commit_id in [*needed_by_jobs, *others]:
        if repo in heads:
            heads[repo].add(commit_id)
    edges = commits.every_provenance(session)
    while True:
        needed = {repo: reachable(links[repo], heads[repo]) for repo in links}
        missing = [
            edge
            for edge in edges
            if edge["id"] in needed[edge["repo"]]
            and edge["source_id"] not in needed[edge["source_repo"]]
        ]
        if not missing:
            return needed
        for edge in missing:
            heads[edge["source_repo"]].add(edge["source_id"])


def _since(lost: dict[str, Link]) -> dict[str, int | None]:
    """When each commit was lost: when it lost its ref, or when the last of its children was."""
    since = {i: link.unreferenced or 0 for i, link in lost.items()}
    for link in sorted(lost.values(), key=lambda x: -x.generation):
        mine = since[link.id] = since[link.id] or _JUST_NOW
        for parent in link.parents:
            if parent in since:
                since[parent] = max(since[parent], mine)
    return {i: None if moment == _JUST_NOW else moment for i, moment in since.items()}


def used_objects(core: Core, named: Named | None = None) -> set[str]:
    """The keys of all manifests, packs and files that any commit needs.

    Raises on a manifest that cannot be read: what it names would look unused.
    """
    named = named or Named()
    with core.database.read() as session:
        roots = commits.every_root(session)
        staged = commits.every_staged(session)
    running = name_kept(core, core.options.keep_logs_seconds, named)
    for lines in _staged_lines(core, staged):
        named.files(lines)
    named.others(staged)
    seen: set[str] = set()
    waiting = [(row["repo"], row["id"], row["root"], row["root_hash"]) for row in roots]
    while waiting:
        repo, commit_id, root, root_hash = waiting.pop()
        try:
            tree = core.manifests.read(root, root_hash)
            for lines in new_ranges(tree, seen):
                named.files(lines)
        except CorruptObject:
            with core.database.read() as session:
                now = commits.find(session, repo, commit_id)
            # Another gc may have removed the commit since it was listed here, or its tree, after
            # an erasure wrote that anew: then the new one names the files that are left.
            if now is not None and now.root == root:
                raise
            if now is not None:
                waiting.append((repo, commit_id, now.root, now.root_hash))
            continue
        named.tree(root, root_hash, tree)
    name_running(core, running, named)
    return named.keys


def with_roots(core: Core, what: Callable[[list[Row]], T]) -> T:
    """Do something with the trees of all commits, and again where some were removed meanwhile:
    gc takes those that nothing leads to, and after an erasure those that were written anew.
    """
    while True:
        with core.database.read() as session:
            roots = commits.every_root(session)
        try:
            return what(roots)
        except CorruptObject:
            with core.database.read() as session:
                now = {row["root"] for row in commits.every_root(session)}
            if all(row["root"] in now for row in roots):
                raise


def new_ranges(tree: Tree, seen: set[str]) -> Iterator[Lines]:
    """The lines of ranges that no tree before had."""
    for held in tree.ranges:
        if held.id not in seen:
            lines = tree.lines(held)
            # Only now: the same lines, kept elsewhere, may still be readable there.
            seen.add(held.id)
            yield lines


def read_staged(core: Core, key: str) -> Changes:
    """One list of changes made to an open commit."""
    try:
        return Changes.decode(decompress(core.objects.get(key)))
    except (FileNotFoundError, zstandard.ZstdError):
        raise CorruptObject(
            f"The list of changes {key} of an open commit is missing or damaged.",
            hint="Drop the open commit and put its files again.",
        ) from None


def _staged_lines(core: Core, keys: list[str]) -> Iterator[Lines]:
    for key in keys:
        changes = read_staged(core, key)
        yield [
            *changes.puts.values(),
            *(part for parts in changes.appends.values() for part in parts),
        ]
