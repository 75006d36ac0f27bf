"""Erasures: which bytes were destroyed on purpose, when, by whom and why."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.model.entries import Entry
from trunkline.storage.catalog.database import Row, Session

# Which bytes: object, offset and size. An empty file shares its offset with the next one.
Place = tuple[str, int | None, int]


def place_of(entry: Entry) -> Place:
    return entry.key, entry.offset, entry.size


def record(session: Session, repo: int, entries: Iterable[Entry], author: str, reason: str) -> None:
    """Note the intent before any byte goes, so that a crash half-way can be taken up again."""
    now = session.now()
    for entry in entries:
        session.execute(
            """INSERT INTO erasures (repo, path, hash, key, start, size, at, author, reason, done)
               VALUES (:repo, :path, :hash, :key, :start, :size, :at, :author, :reason, 0)""",
            {
                "repo": repo,
                "path": entry.path,
                "hash": entry.hash,
                "key": entry.key,
                "start": entry.offset,
                "size": entry.size,
                "at": now,
                "author": author,
                "reason": reason,
            },
        )


def pending(session: Session) -> list[Row]:
    return list(session.all("SELECT * FROM erasures WHERE done = 0 ORDER BY position"))


def complete(session: Session, key: str) -> None:
    session.execute("UPDATE erasures SET done = 1 WHERE key = :key", {"key": key})


def find(session: Session, entry: Entry) -> Row | None:
    """The erasure of the bytes that this file had, if there was one."""
    return session.one(
        """SELECT * FROM erasures
           WHERE key = :key AND coalesce(start, -1) = :start AND size = :size""",
        {
            "key": entry.key,
            "start": -1 if entry.offset is None else entry.offset,
            "size": entry.size,
        },
    )


def latest(session: Session) -> int:
    """Goes up with every erasure."""
    row = session.one("SELECT coalesce(max(position), 0) AS latest FROM erasures")
    return int(row["latest"]) if row else 0


def places(session: Session) -> set[Place]:
    """Where bytes were destroyed."""
    rows = session.all("SELECT key, start, size FROM erasures")
    return {(row["key"], row["start"], row["size"]) for row in rows}
