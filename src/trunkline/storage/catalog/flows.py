"""Streams and ingests: how far each has come, and the facts of each of their commits.

An ingest is held like a job: by a lease with a fence that every statement of its holder names.
A stream is held through its jobs, and moves on in the transactions that end them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.streams import Batch, Flow, FlowState, Position
from trunkline.storage.catalog.database import Row, Session

PASSED = "passed"
"""The fact that the newest batches of a flow made no commit."""

_SELECT = "SELECT f.*, r.project, r.name FROM flows f JOIN repos r ON r.key = f.repo"


_BATCHES = """
    SELECT b.*, c.finished FROM batches b
    LEFT JOIN commits c ON c.repo = b.repo AND c.id = b.id
"""


def add(session: Session, repo: int, kind: str) -> None:
    session.execute(
        "INSERT INTO flows (repo, kind, updated) VALUES (:repo, :kind, :now)",
        {"repo": repo, "kind": kind, "now": session.now()},
    )


def find(session: Session, repo: int) -> Flow | None:
    row = session.one(f"{_SELECT} WHERE f.repo = :repo", {"repo": repo})
    return _flow(row) if row else None


def listed(session: Session, kind: str = "") -> list[Flow]:
    where = "WHERE f.kind = :kind" if kind else ""
    rows = session.all(f"{_SELECT} {where} ORDER BY r.project, r.name", {"kind": kind})
    return [_flow(row) for row in rows]


def advance(
    session: Session, repo: int, batch: Batch | None, position: Position, facts: Mapping[str, Any]
) -> None:
    """A batch is done: with a commit, or without one if nothing came of it.

    Where batches without a commit have moved the flow on is noted, for whoever checks that
    each commit starts where the one before ended.
    """
    more = ""
    if batch is not None:
        before = find(session, repo)
        passed = before is not None and bool(before.facts.get(PASSED))
        _record(session, repo, replace(batch, passed=passed))
        more = ", number = :number"
    else:
        facts = {**facts, PASSED: True}
    session.execute(
        f"""UPDATE flows SET position = :position, facts = :facts, updated = :now,
               state = :state, reason = '' {more} WHERE repo = :repo""",
        {
            "repo": repo,
            "position": json.dumps(dict(position)),
            "facts": json.dumps(dict(facts)),
            "now": session.now(),
            "state": str(FlowState.RUNNING),
            "number": batch.number if batch else None,
        },
    )


def note(session: Session, repo: int, state: FlowState, reason: str = "") -> None:
    session.execute(
        "UPDATE flows SET state = :state, reason = :reason, updated = :now WHERE repo = :repo",
        {"repo": repo, "state": str(state), "reason": reason, "now": session.now()},
    )


def replace_reason(session: Session, repo: int, before: str, after: str) -> None:
    """Say something else in place of a reason, if it is still that one."""
    session.execute(
        "UPDATE flows SET reason = :after WHERE repo = :repo AND reason = :before",
        {"repo": repo, "before": before, "after": after},
    )


def begin_epoch(
    session: Session, repo: int, number: int, position: Position, facts: Mapping[str, Any]
) -> int:
    """From now on batches are counted anew, on from `number`, and read from `position`."""
    session.execute(
        """UPDATE flows SET epoch = epoch + 1, number = :number, position = :position,
               facts = :facts, state = :state, reason = '', fence = fence + 1, expires = 0,
               updated = :now
           WHERE repo = :repo""",
        {
            "repo": repo,
            "number": number,
            "position": json.dumps(dict(position)),
            "facts": json.dumps(dict(facts)),
            "state": str(FlowState.IDLE),
            "now": session.now(),
        },
    )
    found = find(session, repo)
    assert found is not None
    return found.epoch


# -- who has an ingest in hand -------------------------------------------------------------


def take(session: Session, repo: int, holder: str, lease_micros: int) -> int | None:
    """Take the flow in hand; the fence, or None if another has it."""
    now = session.now()
    taken = session.execute(
        """UPDATE flows SET holder = :holder, expires = :expires, fence = fence + 1
           WHERE repo = :repo AND expires <= :now""",
        {"repo": repo, "holder": holder, "now": now, "expires": now + lease_micros},
    )
    found = find(session, repo) if taken else None
    return found.fence if found else None


def renew(session: Session, repo: int, fence: int, lease_micros: int) -> bool:
    now = session.now()
    held = session.execute(
        """UPDATE flows SET expires = :expires
           WHERE repo = :repo AND fence = :fence AND expires > :now""",
        {"repo": repo, "fence": fence, "now": now, "expires": now + lease_micros},
    )
    return held == 1


def holds(session: Session, repo: int, fence: int) -> bool:
    row = session.one(
        "SELECT 1 AS x FROM flows WHERE repo = :repo AND fence = :fence AND expires > :now",
        {"repo": repo, "fence": fence, "now": session.now()},
    )
    return row is not None


def let_go(session: Session, repo: int, fence: int) -> None:
    session.execute(
        "UPDATE flows SET expires = 0, holder = NULL WHERE repo = :repo AND fence = :fence",
        {"repo": repo, "fence": fence},
    )


def take_away(session: Session, repo: int) -> None:
    """Whoever holds it has lost it, and can write nothing more."""
    session.execute(
        "UPDATE flows SET holder = NULL, expires = 0, fence = fence + 1 WHERE repo = :repo",
        {"repo": repo},
    )


# -- batches -------------------------------------------------------------------------------


def batch_of(session: Session, repo: int, commit_id: str) -> Batch | None:
    row = session.one(
        f"{_BATCHES} WHERE b.repo = :repo AND b.id = :id", {"repo": repo, "id": commit_id}
    )
    return _batch(row) if row else None


def batches(
    session: Session, repo: int, *, epoch: int | None = None, limit: int | None = None
) -> list[Batch]:
    """The newest first."""
    where = "AND b.epoch = :epoch" if epoch is not None else ""
    tail = "LIMIT :limit" if limit is not None else ""
    rows = session.all(
        f"""{_BATCHES} WHERE b.repo = :repo {where}
            ORDER BY b.epoch DESC, b.number DESC {tail}""",
        {"repo": repo, "epoch": epoch, "limit": limit},
    )
    return [_batch(row) for row in rows]


def absorb(session: Session, repo: int, gone: str, into: str) -> None:
    """A commit is squashed into its child, which now begins where that one began.

    A child that no batch made, such as of compaction, is from now on that of the batch.
    """
    old, kept = batch_of(session, repo, gone), batch_of(session, repo, into)
    if old is None:
        return
    if kept is None:
        session.execute(
            "UPDATE batches SET id = :into WHERE repo = :repo AND id = :id",
            {"repo": repo, "id": gone, "into": into},
        )
        return
    session.execute(
        "DELETE FROM batches WHERE repo = :repo AND id = :id", {"repo": repo, "id": gone}
    )
    if kept.epoch != old.epoch:
        return
    wider = replace(
        kept,
        first=old.first,
        start=old.start,
        passed=old.passed,
        rows_in=kept.rows_in + old.rows_in,
        rows_out=kept.rows_out + old.rows_out,
        late=kept.late + old.late,
        malformed=kept.malformed + old.malformed,
        seconds=kept.seconds + old.seconds,
    )
    session.execute(
        "UPDATE batches SET first = :first, facts = :facts WHERE repo = :repo AND id = :id",
        {"repo": repo, "id": into, "first": wider.first, "facts": _facts(wider)},
    )


def remove(session: Session, repo: int) -> None:
    for table in ("batches", "flows"):
        session.execute(f"DELETE FROM {table} WHERE repo = :repo", {"repo": repo})


def _record(session: Session, repo: int, batch: Batch) -> None:
    session.execute(
        """INSERT INTO batches (repo, id, epoch, first, number, facts)
           VALUES (:repo, :id, :epoch, :first, :number, :facts)""",
        {
            "repo": repo,
            "id": batch.commit,
            "epoch": batch.epoch,
            "first": batch.first,
            "number": batch.number,
            "facts": _facts(batch),
        },
    )


_KEPT = (
    *("start", "end", "rows_in", "rows_out", "late", "malformed", "watermark"),
    *("state_rows", "state_bytes", "seconds", "state", "passed"),
)


def _facts(batch: Batch) -> str:
    return json.dumps({name: getattr(batch, name) for name in _KEPT}, default=dict)


def _batch(row: Row) -> Batch:
    facts = json.loads(row["facts"])
    return Batch(row["id"], row["epoch"], row["first"], row["number"], **facts, at=row["finished"])


def _flow(row: Row) -> Flow:
    return Flow(
        row["repo"],
        RepoName(row["project"], row["name"]),
        row["kind"],
        row["epoch"],
        row["number"],
        json.loads(row["position"]),
        FlowState(row["state"]),
        row["reason"],
        json.loads(row["facts"]),
        row["updated"],
        row["holder"],
        row["expires"],
        row["fence"],
    )
