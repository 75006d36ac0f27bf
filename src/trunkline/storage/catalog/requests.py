"""Answers to requests that came with a key, to be given again when they come again.

None of this is durable by itself: after a power cut a request that comes again is done again,
and the lake's own rules say what that means.
"""

from __future__ import annotations

from typing import NamedTuple

from trunkline.storage.catalog.database import Session


class Kept(NamedTuple):
    """A request that was seen before. Without a status its answer is not known (yet)."""

    digest: str
    status: int | None
    body: str
    age_micros: int


def begin(session: Session, owner: str, key: str, digest: str) -> Kept | None:
    """Note that a request is being answered; what is known of it if it was noted before."""
    now = session.now()
    given = {"owner": owner, "key": key, "digest": digest, "now": now}
    new = session.execute(
        """INSERT INTO requests (owner, key, digest, at) VALUES (:owner, :key, :digest, :now)
           ON CONFLICT (owner, key) DO NOTHING""",
        given,
    )
    if new:
        return None
    row = session.one("SELECT * FROM requests WHERE owner = :owner AND key = :key", given)
    assert row is not None
    return Kept(row["digest"], row["status"], row["body"] or "", now - row["at"])


def touch(session: Session, owner: str, key: str) -> None:
    """Say that a request is in hand: by who began it, or by who takes it over from the dead."""
    session.execute(
        "UPDATE requests SET at = :now WHERE owner = :owner AND key = :key",
        {"owner": owner, "key": key, "now": session.now()},
    )


def finish(session: Session, owner: str, key: str, status: int, body: str) -> None:
    session.execute(
        "UPDATE requests SET status = :status, body = :body WHERE owner = :owner AND key = :key",
        {"owner": owner, "key": key, "status": status, "body": body},
    )


def forget(session: Session, owner: str, key: str) -> None:
    """No answer that is worth keeping: when it comes again, it is done again."""
    session.execute(
        "DELETE FROM requests WHERE owner = :owner AND key = :key", {"owner": owner, "key": key}
    )


def forget_answers(session: Session) -> None:
    """Forget what was answered, to whomever: it may tell of what was erased."""
    session.execute("DELETE FROM requests WHERE status IS NOT NULL")


def prune(session: Session, keep_micros: int) -> int:
    """Remove what is older; how many."""
    return session.execute(
        "DELETE FROM requests WHERE at < :oldest", {"oldest": session.now() - keep_micros}
    )
