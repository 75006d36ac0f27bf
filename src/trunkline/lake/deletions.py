"""Deleting so that it can be had back: what is left behind of refs and repos, until gc.

A branch or tag leaves behind where it pointed, which keeps those commits. A repo is hidden, with
all that belongs to it, and its name is free. gc forgets what was deleted longer ago than its grace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from trunkline.lake.core import Core
from trunkline.model.commits import Branch, RepoName, Tag
from trunkline.model.deletions import Deleted
from trunkline.storage.catalog import (
    Session,
    access,
    deletions,
    deliveries,
    flows,
    leases,
    pipelines,
    refs,
    repos,
    timing,
)

BRANCH, TAG, REPO, PIPELINE = "branch", "tag", "repo", "pipeline"


def bury_branch(
    session: Session,
    repo: int,
    branch: Branch,
    move: refs.Move,
    part_of: int | None = None,
) -> None:
    """Remove a branch and the trigger that moves it."""
    trigger = next((t for t in timing.triggers(session, repo) if t.branch == branch.name), None)
    deletions.record(
        session,
        BRANCH,
        branch.repo,
        repo,
        move.author,
        ref=branch.name,
        commit=branch.head,
        content={"trigger": asdict(trigger.trigger) if trigger else None},
        part_of=part_of,
    )
    timing.remove_trigger(session, repo, branch.name)
    refs.remove_branch(session, repo, branch, move)


def bury_tag(session: Session, repo: int, tag: Tag, move: refs.Move) -> None:
    deletions.record(
        session,
        TAG,
        tag.repo,
        repo,
        move.author,
        ref=tag.name,
        commit=tag.commit,
        content={"message": tag.message, "author": tag.author, "created": tag.created},
    )
    refs.remove_tag(session, repo, tag, move)


def bury_repo(
    session: Session,
    key: int,
    name: RepoName,
    author: str,
    *,
    kind: str = REPO,
    readers: Sequence[dict[str, Any]] = (),
    part_of: int | None = None,
) -> int:
    """Hide a repo with all that belongs to it. Who had its pipeline in hand has lost it."""
    scope = f"{name.project}/{name.repo}"
    # Its name may come to mean another repo, which nobody was given a role on.
    content = {
        "grants": access.take_grants(session, scope),
        "readers": list(readers),
    }
    flows.take_away(session, key)
    deliveries.take_away(session, key)
    position = deletions.record(session, kind, name, key, author, content=content, part_of=part_of)
    repos.hide(session, key, name)
    return position


def bury_pipeline(session: Session, repo: int, name: RepoName, author: str) -> int:
    """Note what makes a pipeline whose output stays as a plain repo, and where that is now."""
    heads = {branch.name: branch.head for branch in refs.branches(session, repo)}
    content = {"rows": pipelines.rows_of(session, repo), "heads": heads}
    return deletions.record(session, PIPELINE, name, repo, author, content=content)


def leaves_repo(row: deletions.DeletionRow) -> bool:
    """Whether the output of a pipeline was not deleted with it."""
    return "rows" in row.content


def listed(core: Core, project: str | None) -> list[Deleted]:
    """What can be had back, the newest first."""
    grace = int(core.options.gc_grace_seconds * 1_000_000)
    with core.database.read() as session:
        return [
            Deleted(
                row.position,
                row.kind,
                row.name,
                row.ref,
                row.commit,
                row.author,
                row.at,
                row.at + grace,
                tuple(
                    f"{part.name}@{part.ref}" if part.ref else str(part.name)
                    for part in deletions.parts(session, row.position)
                ),
            )
            for row in deletions.listed(session, project)
        ]


def expired(session: Session, before: int) -> list[deletions.DeletionRow]:
    """What gc may forget: deleted until then, and nobody is still reading it."""
    read = {repo for repo, _ in leases.pinned(session)}
    rows = deletions.before(session, before)
    return [row for row in rows if row.ref or row.repo not in read]


def forget(session: Session, rows: list[deletions.DeletionRow]) -> None:
    """It cannot be had back any more. The bytes are left to gc."""
    for row in rows:
        parts = deletions.parts(session, row.position)
        deletions.remove(session, row.position)
        if not row.ref:
            # The pipeline is in the first of its repos, and names the others.
            for one in [row, *parts]:
                if not one.ref and not leaves_repo(one):
                    repos.remove(session, one.repo)
