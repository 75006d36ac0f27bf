"""Deliveries: which version of an output goes to which target, who sends it, what became of it.

Versions of one target go out one at a time, in the order of `position`. Who sends one holds it by
a lease with a fence that every statement of the holder names.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from trunkline.model.commits import RepoName
from trunkline.model.egress import BLOCKED, Delivery, DeliveryState
from trunkline.storage.catalog.database import Row, Session

KEPT = 1000
"""So many deliveries that are over are kept of each target."""

_COLUMNS = "d.*, r.project, r.name, coalesce(p.paused, 0) AS paused"
_PARENTS = "JOIN repos r ON r.key = d.repo LEFT JOIN pipelines p ON p.repo = d.repo"
_SELECT = f"SELECT {_COLUMNS} FROM deliveries d {_PARENTS}"
_FIRST = """SELECT repo, target, min(position) AS first, max(position) AS last
            FROM deliveries WHERE finished IS NULL GROUP BY repo, target"""


class DeliveryRow(NamedTuple):
    """A delivery as it is kept: `spec` is the target as it was declared then."""

    repo: int
    position: int
    spec: dict[str, Any]
    fence: int
    expires: int
    shown: Delivery

    @property
    def key(self) -> dict[str, Any]:
        return {"repo": self.repo, "id": self.shown.commit, "target": self.shown.target}

    @property
    def group(self) -> tuple[int, str]:
        return self.repo, self.shown.target


_ONE = "repo = :repo AND commit_id = :id AND target = :target"
_HELD = f"{_ONE} AND fence = :fence AND expires > :now AND finished IS NULL"


def enqueue(
    session: Session, repo: int, commit_id: str, target: str, kind: str, spec: Mapping[str, Any]
) -> None:
    """A version is to go out; if it went out before, once more."""
    last = session.one(
        "SELECT max(position) AS last FROM deliveries WHERE repo = :repo AND target = :target",
        {"repo": repo, "target": target},
    )
    session.execute(
        """INSERT INTO deliveries (repo, commit_id, target, position, kind, spec, created)
           VALUES (:repo, :id, :target, :position, :kind, :spec, :now)
           ON CONFLICT (repo, commit_id, target) DO UPDATE SET position = excluded.position,
               kind = excluded.kind, spec = excluded.spec, created = excluded.created,
               state = 'waiting', reason = '', attempt = 0, not_before = 0, started = NULL,
               finished = NULL, expires = 0, fence = deliveries.fence + 1""",
        {
            "repo": repo,
            "id": commit_id,
            "target": target,
            "position": (last["last"] or 0) + 1 if last else 1,
            "kind": kind,
            "spec": json.dumps(dict(spec)),
            "now": session.now(),
        },
    )


def find(session: Session, repo: int, commit_id: str, target: str) -> DeliveryRow | None:
    row = session.one(
        f"{_SELECT} WHERE d.repo = :repo AND d.commit_id = :id AND d.target = :target",
        {"repo": repo, "id": commit_id, "target": target},
    )
    return _delivery(row) if row else None


def listed(
    session: Session,
    *,
    project: str | None = None,
    repo: int | None = None,
    target: str | None = None,
    commit_id: str | None = None,
    states: Collection[DeliveryState] = (),
    limit: int | None = None,
) -> list[DeliveryRow]:
    """The newest first."""
    wheres = ["1 = 1"]
    wheres += ["r.project = :project"] * (project is not None)
    wheres += ["d.repo = :repo"] * (repo is not None)
    wheres += ["d.target = :target"] * (target is not None)
    wheres += ["d.commit_id = :id"] * (commit_id is not None)
    if states:
        names = ", ".join(f"'{state}'" for state in states)
        wheres.append(f"d.state IN ({names})")
    tail = "LIMIT :limit" if limit is not None else ""
    rows = session.all(
        f"""{_SELECT} WHERE {" AND ".join(wheres)}
            ORDER BY d.created DESC, d.position DESC, d.repo, d.target {tail}""",
        {"project": project, "repo": repo, "target": target, "id": commit_id, "limit": limit},
    )
    return [_delivery(row) for row in rows]


def failing(session: Session, project: str | None = None) -> list[DeliveryRow]:
    """Of each target whose newest delivery that is over has failed, that one."""
    where = "AND r.project = :project" if project is not None else ""
    rows = session.all(
        f"""{_SELECT} WHERE d.state = 'failed' {where} AND NOT EXISTS (
                SELECT 1 FROM deliveries n WHERE n.repo = d.repo AND n.target = d.target
                AND n.position > d.position AND n.state IN ('done', 'failed'))
            ORDER BY d.created DESC, d.repo, d.target""",
        {"project": project},
    )
    return [_delivery(row) for row in rows]


def last_done(session: Session, repo: int, target: str) -> str | None:
    """The commit that the target got last."""
    row = session.one(
        """SELECT commit_id FROM deliveries WHERE repo = :repo AND target = :target
           AND state = 'done' ORDER BY position DESC LIMIT 1""",
        {"repo": repo, "target": target},
    )
    return str(row["commit_id"]) if row else None


def blocking(session: Session, row: DeliveryRow) -> Delivery | None:
    """The failed delivery that must be settled before this one may go out, in order."""
    found = session.one(
        f"""{_SELECT} WHERE d.repo = :repo AND d.target = :target AND d.state = 'failed'
            AND d.position < :position ORDER BY d.position DESC LIMIT 1""",
        {**row.key, "position": row.position},
    )
    return _delivery(found).shown if found else None


# -- who sends -----------------------------------------------------------------------------


def waiting(session: Session) -> list[tuple[DeliveryRow, bool]]:
    """The oldest that is not over of each target whose pipeline is not paused, and whether
    newer ones wait behind it. Nothing is sent by a copy of a lake (`identity`)."""
    rows = session.all(
        f"""SELECT {_COLUMNS}, f.last AS last FROM deliveries d
            JOIN ({_FIRST}) f ON f.repo = d.repo AND f.target = d.target AND f.first = d.position
            {_PARENTS}
            WHERE d.finished IS NULL AND coalesce(p.paused, 0) = 0
            AND NOT EXISTS (SELECT 1 FROM meta WHERE name = 'held')
            ORDER BY d.created, d.repo, d.target"""
    )
    return [(_delivery(row), row["last"] > row["position"]) for row in rows]


def newest_waiting(session: Session, repo: int, target: str) -> DeliveryRow | None:
    row = session.one(
        f"""{_SELECT} WHERE d.repo = :repo AND d.target = :target AND d.finished IS NULL
            ORDER BY d.position DESC LIMIT 1""",
        {"repo": repo, "target": target},
    )
    return _delivery(row) if row else None


def take(session: Session, row: DeliveryRow, holder: str, lease_micros: int) -> int | None:
    """Take a delivery in hand; the fence, or None if one of its target is in another's hands."""
    now = session.now()
    taken = session.execute(
        f"""UPDATE deliveries SET holder = :holder, expires = :expires, fence = fence + 1,
               state = 'running', attempt = attempt + 1, started = :now
            WHERE {_ONE} AND finished IS NULL AND not_before <= :now AND NOT EXISTS (
               SELECT 1 FROM deliveries o WHERE o.repo = :repo AND o.target = :target
               AND o.finished IS NULL AND o.expires > :now)""",
        {**row.key, "holder": holder, "now": now, "expires": now + lease_micros},
    )
    found = find(session, row.repo, row.shown.commit, row.shown.target) if taken else None
    return found.fence if found else None


def renew(session: Session, row: DeliveryRow, fence: int, lease_micros: int) -> bool:
    now = session.now()
    held = session.execute(
        f"UPDATE deliveries SET expires = :expires WHERE {_HELD}",
        {**row.key, "fence": fence, "now": now, "expires": now + lease_micros},
    )
    return held == 1


def try_later(session: Session, row: DeliveryRow, fence: int, reason: str, wait: float) -> bool:
    """It waits for its next try, `wait` seconds; whether it was still the holder's to say so."""
    now = session.now()
    done = session.execute(
        f"""UPDATE deliveries SET state = 'waiting', reason = :reason, not_before = :later,
               expires = 0, holder = NULL WHERE {_HELD}""",
        {
            **row.key,
            "fence": fence,
            "now": now,
            "later": now + int(wait * 1_000_000),
            "reason": reason,
        },
    )
    return done == 1


def hand_back(session: Session, row: DeliveryRow, fence: int) -> None:
    """It was not tried to the end, through no fault of its own: the try does not count."""
    session.execute(
        f"""UPDATE deliveries SET state = 'waiting', expires = 0, holder = NULL,
               attempt = attempt - 1 WHERE {_HELD}""",
        {**row.key, "fence": fence, "now": session.now()},
    )


def take_away(session: Session, repo: int) -> None:
    """Whoever holds one of the repo's has lost it; all that are not finished wait."""
    session.execute(
        """UPDATE deliveries SET holder = NULL, expires = 0, fence = fence + 1, state = 'waiting'
           WHERE repo = :repo AND finished IS NULL""",
        {"repo": repo},
    )


def end(
    session: Session,
    row: DeliveryRow,
    fence: int,
    state: DeliveryState,
    reason: str = "",
    receipt: Mapping[str, Any] | None = None,
) -> bool:
    """It is over; whether it was still the holder's to say so."""
    done = session.execute(
        f"""UPDATE deliveries SET state = :state, reason = :reason, receipt = :receipt,
               finished = :now, expires = 0, holder = NULL WHERE {_HELD}""",
        {
            **row.key,
            "fence": fence,
            "now": session.now(),
            "state": str(state),
            "reason": reason,
            "receipt": json.dumps(dict(receipt or {})),
        },
    )
    if done:
        _prune(session, row)
    return done == 1


def note(session: Session, row: DeliveryRow, reason: str) -> None:
    """Why one waits that nobody holds."""
    session.execute(
        f"UPDATE deliveries SET reason = :reason WHERE {_ONE} AND finished IS NULL",
        {**row.key, "reason": reason},
    )


# -- by hand -------------------------------------------------------------------------------


def skip(
    session: Session,
    repo: int,
    target: str,
    reason: str,
    *,
    before: int | None = None,
    commit_id: str | None = None,
    failed: bool = False,
) -> int:
    """Leave out what waits and nobody holds: those before a position, or of one commit.

    With `failed` also those that failed. How many there were.
    """
    wheres = "AND position < :before" * (before is not None)
    wheres += " AND commit_id = :id" * (commit_id is not None)
    over = "(finished IS NULL OR state = 'failed')" if failed else "finished IS NULL"
    return session.execute(
        f"""UPDATE deliveries SET state = 'skipped', reason = :reason, finished = :now,
               fence = fence + 1 WHERE repo = :repo AND target = :target AND expires <= :now
               AND {over} {wheres}""",
        {
            "repo": repo,
            "target": target,
            "reason": reason,
            "before": before,
            "id": commit_id,
            "now": session.now(),
        },
    )


def retry(session: Session, repo: int, target: str, commit_id: str) -> bool:
    """Try one that failed, or waits for its next try, at once; its tries are counted anew."""
    again = session.execute(
        f"""UPDATE deliveries SET state = 'waiting', reason = '', attempt = 0, not_before = 0,
               finished = NULL WHERE {_ONE} AND state IN ('failed', 'waiting')
               AND NOT EXISTS (SELECT 1 FROM deliveries n WHERE n.repo = :repo
               AND n.target = :target AND n.position > deliveries.position
               AND n.state IN ('done', 'running'))""",
        {"repo": repo, "id": commit_id, "target": target},
    )
    return again == 1


def unfinished_places(session: Session) -> list[tuple[int, str]]:
    """The commits that wait to go out, or may be tried again: (repo, id)."""
    rows = session.all(
        """SELECT DISTINCT d.repo, d.commit_id FROM deliveries d
           JOIN commits c ON c.repo = d.repo AND c.id = d.commit_id
           WHERE d.finished IS NULL"""
    )
    return [(row["repo"], row["commit_id"]) for row in rows]


def remove(session: Session, repo: int) -> None:
    session.execute("DELETE FROM deliveries WHERE repo = :repo", {"repo": repo})


def _prune(session: Session, row: DeliveryRow) -> None:
    """Old ones go; the newest that was done, which tells what the target has, is never old."""
    session.execute(
        """DELETE FROM deliveries WHERE repo = :repo AND target = :target
           AND position < :oldest AND finished IS NOT NULL AND position < coalesce((
               SELECT max(position) FROM deliveries WHERE repo = :repo AND target = :target
               AND state = 'done'), 0)""",
        {"repo": row.repo, "target": row.shown.target, "oldest": row.position - KEPT},
    )


def _delivery(row: Row) -> DeliveryRow:
    waits = row["not_before"] if row["finished"] is None and row["not_before"] else None
    is_paused = row["paused"] and row["state"] == DeliveryState.WAITING
    shown = Delivery(
        RepoName(row["project"], row["name"]),
        row["commit_id"],
        row["target"],
        row["kind"],
        DeliveryState(row["state"]),
        f"{BLOCKED}the pipeline is paused" if is_paused else row["reason"],
        row["attempt"],
        row["created"],
        row["started"],
        row["finished"],
        waits,
        json.loads(row["receipt"]),
    )
    return DeliveryRow(
        row["repo"], row["position"], json.loads(row["spec"]), row["fence"], row["expires"], shown
    )
