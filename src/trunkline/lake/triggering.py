"""Branches that follow others move when a commit finishes and their condition holds."""

from __future__ import annotations

from trunkline.pipelines import triggers
from trunkline.pipelines.triggers import Facts
from trunkline.storage.catalog import Session, commits, refs, timing
from trunkline.storage.catalog.timing import TriggerRow


def fires(session: Session, row: TriggerRow, source: str) -> bool:
    """Whether a branch follows to a commit; the verdict is kept, for who asks why."""
    fired, verdict = triggers.fires(row.trigger, _facts(session, row, source))
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
