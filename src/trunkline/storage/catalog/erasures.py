"""Erasures: which bytes were destroyed on purpose, when, by whom and why."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.model.entries import Entry
from trunkline.storage.catalog.database import Row, Session


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


def find(session: Session, key: str, start: int | None) -> Row | None:
    """The erasure that covers the file at this place, if there was one."""
    return session.one(
        "SELECT * FROM erasures WHERE key = :key AND coalesce(start, -1) = :start",
        {"key": key, "start": -1 if start is None else start},
    )


def every_key(session: Session) -> set[tuple[str, int | None]]:
    return {(row["key"], row["start"]) for row in session.all("SELECT key, start FROM erasures")}
