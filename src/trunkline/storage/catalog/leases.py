"""Leases: what is being written or read right now, so that gc leaves it alone.

A writer that was paused for longer than its lease finds it gone and may not commit.
"""

from __future__ import annotations

from trunkline.storage.catalog.database import Row, Session

LEASE_MICROS = 10 * 60 * 1_000_000
RENEW_SECONDS = 60.0
BACKUP = "backup"
ERASE = "erase"
WRITER = "writer"
UPLOAD = "upload"
JOB = "job"
WORKER = "worker"


def take(
    session: Session,
    lease_id: str,
    kind: str,
    holder: str,
    pin: tuple[int, str] | None = None,
) -> None:
    """Take a lease; with `pin`, on the commit (repo key, id) that a reader still needs."""
    now = session.now()
    repo, commit_id = pin or (None, None)
    session.execute(
        """INSERT INTO leases (id, kind, holder, started, expires, repo, commit_id)
           VALUES (:id, :kind, :holder, :now, :expires, :repo, :commit_id)""",
        {
            "id": lease_id,
            "kind": kind,
            "holder": holder,
            "now": now,
            "expires": now + LEASE_MICROS,
            "repo": repo,
            "commit_id": commit_id,
        },
    )


def find(session: Session, lease_id: str) -> Row | None:
    """A lease that has not run out: its kind, holder, start and end."""
    return session.one(
        "SELECT kind, holder, started, expires FROM leases WHERE id = :id AND expires > :now",
        {"id": lease_id, "now": session.now()},
    )


def renew(session: Session, lease_id: str) -> bool:
    now = session.now()
    touched = session.execute(
        "UPDATE leases SET expires = :expires WHERE id = :id AND expires > :now",
        {"id": lease_id, "now": now, "expires": now + LEASE_MICROS},
    )
    return touched == 1


def release(session: Session, lease_id: str) -> bool:
    """Give the lease back; False if it had run out, and its objects may be gone."""
    now = session.now()
    alive = session.execute(
        "DELETE FROM leases WHERE id = :id AND expires > :now", {"id": lease_id, "now": now}
    )
    if not alive:
        session.execute("DELETE FROM leases WHERE id = :id", {"id": lease_id})
    return alive == 1


def end(session: Session, holder: str | None = None) -> None:
    """All of them, or those of one holder, have run out: nobody is at work with them any more."""
    mine = "" if holder is None else " WHERE holder = :holder"
    session.execute(f"UPDATE leases SET expires = 0{mine}", {"holder": holder} if mine else {})


def end_writer(session: Session, lease_id: str) -> None:
    """Let somebody who writes files commit nothing more. A job makes its output from others."""
    session.execute(
        "DELETE FROM leases WHERE id = :id AND kind IN (:writer, :upload)",
        {"id": lease_id, "writer": WRITER, "upload": UPLOAD},
    )


def live(session: Session) -> set[str]:
    rows = session.all("SELECT id FROM leases WHERE expires > :now", {"now": session.now()})
    return {row["id"] for row in rows}


def live_before(session: Session, moment: int) -> bool:
    """Whether somebody is still at work who began before a moment, and may use what was there.
    Who only says that something is being erased, or that a worker is there, uses nothing: what
    a worker does has leases of its own.
    """
    row = session.one(
        """SELECT id FROM leases
           WHERE expires > :now AND started <= :moment AND kind NOT IN (:erase, :worker)
           LIMIT 1""",
        {"now": session.now(), "moment": moment, "erase": ERASE, "worker": WORKER},
    )
    return row is not None


def backing_up(session: Session) -> bool:
    """Whether a backup is being taken, which needs everything that was there when it began."""
    return _is_any(session, BACKUP)


def erasing(session: Session) -> bool:
    """Whether something is being erased, which may not be on the record yet."""
    return _is_any(session, ERASE)


def _is_any(session: Session, kind: str) -> bool:
    row = session.one(
        "SELECT id FROM leases WHERE kind = :kind AND expires > :now LIMIT 1",
        {"kind": kind, "now": session.now()},
    )
    return row is not None


def pinned(session: Session) -> set[tuple[int, str]]:
    rows = session.all(
        """SELECT repo, commit_id FROM leases
           WHERE expires > :now AND commit_id IS NOT NULL""",
        {"now": session.now()},
    )
    return {(row["repo"], row["commit_id"]) for row in rows}


def reap(session: Session) -> int:
    return session.execute("DELETE FROM leases WHERE expires <= :now", {"now": session.now()})
