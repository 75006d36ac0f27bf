"""Branches that follow others: they move when a commit finishes and their condition holds."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.pipelines.triggers import Facts, fires, order
from trunkline.storage.catalog import Session, commits, events, refs, repos, timing
from trunkline.storage.catalog.refs import Move
from trunkline.storage.catalog.timing import TriggerRow

Place = tuple[int, str]


def follow(
    session: Session,
    moved: Mapping[Place, str | None],
    finished: frozenset[Place],
    author: str,
) -> dict[Place, str | None]:
    """Move every branch whose trigger fires on these finished commits; where they point now."""
    done: dict[Place, str | None] = {}
    for repo in sorted({repo for repo, _ in finished}):
        declared = {row.branch: row for row in timing.triggers(session, repo)}
        heads = {name: moved[(r, name)] for r, name in finished if r == repo}
        for branch in order({name: row.trigger for name, row in declared.items()}):
            row = declared[branch]
            source = heads.get(row.trigger.branch)
            if source is None:
                continue
            if _fires(session, row, source):
                heads[branch] = source
                done[(repo, branch)] = source
                point(session, repo, branch, source, author)
    return done


def catch_up(session: Session, repo: int, branch: str, author: str) -> None:
    """A branch has begun to follow: it counts what was there before."""
    found = refs.branch(session, repo, branch)
    if found is not None and found.head is not None:
        place = (repo, branch)
        follow(session, {place: found.head}, frozenset({place}), author)


def _fires(session: Session, row: TriggerRow, source: str) -> bool:
    fired, verdict = fires(row.trigger, _facts(session, row, source))
    timing.record_verdict(session, row.repo, row.branch, verdict)
    return fired


def _facts(session: Session, row: TriggerRow, source: str) -> Facts:
    """How far the followed branch is ahead of the one that follows."""
    new = commits.find(session, row.repo, source)
    branch = refs.branch(session, row.repo, row.branch)
    old = commits.find(session, row.repo, branch.head) if branch and branch.head else None
    assert new is not None
    return Facts(
        growth=max(new.size - (old.size if old else 0), 0),
        commits=new.depth - (old.depth if old else 0),
        since=row.created if old is None or old.finished is None else old.finished,
        now=session.now(),
    )


def point(session: Session, repo: int, branch: str, commit_id: str, author: str) -> None:
    """Move a branch that follows, or make it where it is still missing."""
    found = refs.branch(session, repo, branch)
    move = Move(author, "trigger")
    if found is None:
        refs.add_branch(session, repo, branch, commit_id, move)
    else:
        refs.swap_head(session, repo, branch, found.head, commit_id, move)
    name = repos.name_of(session, repo)
    assert name is not None
    events.emit(session, "branch", name, {"branch": branch, "head": commit_id})
