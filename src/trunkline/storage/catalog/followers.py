"""Followers of the outbox: how far each has come, and who is it for now."""

from __future__ import annotations

from trunkline.storage.catalog.database import Session


def position(session: Session, name: str) -> int | None:
    """The last event that was dealt with; None before the first time."""
    row = session.one("SELECT position FROM followers WHERE name = :name", {"name": name})
    return int(row["position"]) if row else None


def advance(session: Session, name: str, to: int) -> None:
    session.execute(
        """INSERT INTO followers (name, position) VALUES (:name, :to)
           ON CONFLICT (name) DO UPDATE SET position = :to""",
        {"name": name, "to": to},
    )


def skip_all(session: Session, to: int) -> None:
    """Nobody is told of what happened before."""
    session.execute("UPDATE followers SET position = :position", {"position": to})


def take(session: Session, name: str, holder: str, seconds: float) -> bool:
    """Be the one that follows, or go on being it; False while another is."""
    now = session.now()
    given = {
        "id": f"follower-{name}",
        "holder": holder,
        "now": now,
        "expires": now + int(seconds * 1_000_000),
    }
    return bool(
        session.execute(
            """INSERT INTO leases (id, kind, holder, started, expires)
               VALUES (:id, 'follower', :holder, :now, :expires)
               ON CONFLICT (id) DO UPDATE
               SET holder = :holder, started = :now, expires = :expires
               WHERE leases.holder = :holder OR leases.expires <= :now""",
            given,
        )
    )


def let_go(session: Session, name: str, holder: str) -> None:
    session.execute(
        "DELETE FROM leases WHERE id = :id AND holder = :holder",
        {"id": f"follower-{name}", "holder": holder},
    )
