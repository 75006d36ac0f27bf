"""Erasures: which bytes were destroyed on purpose, when, by whom and why.

`done` is 0 until the bytes are gone, then 1, and 2 when nothing of what was in them is left in
any tree, and nobody is at work who might bring it back (`lake.redact`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from trunkline.model.entries import Entry
from trunkline.storage.catalog import identity
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


def complete(session: Session, rows: Iterable[Row]) -> None:
    """Those alone whose bytes were destroyed: of the same object more may be recorded by now."""
    for row in rows:
        session.execute(
            "UPDATE erasures SET done = 1 WHERE position = :position AND done = 0",
            {"position": row["position"]},
        )


def completed(session: Session) -> list[Row]:
    """Erasures whose bytes must be nowhere."""
    return list(session.all("SELECT path, key, start, size FROM erasures WHERE done > 0"))


def unsettled(session: Session) -> dict[Place, set[tuple[int, str]]]:
    """Where bytes were destroyed of which something may still be noted, with repo and path."""
    found: dict[Place, set[tuple[int, str]]] = defaultdict(set)
    for row in session.all("SELECT repo, path, key, start, size FROM erasures WHERE done = 1"):
        found[row["key"], row["start"], row["size"]].add((row["repo"], row["path"]))
    return dict(found)


def settle(session: Session, settled: Collection[Place]) -> None:
    for key, start, size in settled:
        session.execute(
            """UPDATE erasures SET done = 2
               WHERE key = :key AND coalesce(start, -1) = :start AND size = :size AND done = 1""",
            {"key": key, "start": -1 if start is None else start, "size": size},
        )


def redacted(session: Session) -> int:
    """When trees were last written anew, in microseconds; 0 if never."""
    return int(identity.fact(session, "redacted") or 0)


def changed(session: Session) -> int:
    """When something was last erased, or trees written anew for it."""
    row = session.one("SELECT coalesce(max(at), 0) AS at FROM erasures")
    return max(int(row["at"]) if row else 0, redacted(session))


def note_redaction(session: Session) -> None:
    identity.note(session, {"redacted": str(session.now())})


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
    return _places(session.all("SELECT key, start, size FROM erasures"))


def _places(rows: Iterable[Row]) -> set[Place]:
    return {(row["key"], row["start"], row["size"]) for row in rows}
