"""The outbox: what happened, in order, written in the transaction that made it happen.

Positions become visible in their order: a writer takes the catalog's one writer lock before it
gets a position, and gives it up only after its commit can be seen. So who reads on from the last
position it saw loses nothing, on PostgreSQL too. The newest event is never removed, since
SQLite would give its position to the next one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from trunkline.model.commits import RepoName
from trunkline.model.events import PROGRESS, Event
from trunkline.storage.catalog.database import Row, Session

_PROGRESS_MICROS = 3600 * 1_000_000


def emit(session: Session, kind: str, repo: RepoName, payload: Mapping[str, object]) -> int:
    """Tell of something, and wake those who wait for it once it is committed; its position."""
    session.ring()
    return _add(session, kind, repo, payload)


def _add(session: Session, kind: str, repo: RepoName, payload: Mapping[str, object]) -> int:
    row = session.one(
        """INSERT INTO events (at, kind, project, repo, payload)
           VALUES (:at, :kind, :project, :repo, :payload) RETURNING position""",
        {
            "at": session.now(),
            "kind": kind,
            "project": repo.project,
            "repo": repo.repo,
            "payload": json.dumps(payload),
        },
    )
    assert row is not None
    return int(row["position"])


def since(session: Session, position: int, limit: int = 1000) -> list[Row]:
    """Events after `position`, oldest first."""
    return list(
        session.all(
            "SELECT * FROM events WHERE position > :position ORDER BY position LIMIT :limit",
            {"position": position, "limit": limit},
        )
    )


def listed(
    session: Session,
    after: int,
    until: int | None = None,
    *,
    kinds: Collection[str] = (),
    project: str | None = None,
    repo: str | None = None,
    limit: int = 1000,
) -> list[Event]:
    """Events after a position, up to and with another, oldest first."""
    wanted = {f"kind{n}": kind for n, kind in enumerate(kinds)}
    wheres = ["position > :after"]
    wheres += ["position <= :until"] * (until is not None)
    wheres += [f"kind IN ({', '.join(':' + name for name in wanted)})"] * bool(wanted)
    wheres += ["project = :project"] * (project is not None)
    wheres += ["repo = :repo"] * (repo is not None)
    given = {"after": after, "until": until, "project": project, "repo": repo, "limit": limit}
    rows = session.all(
        f"SELECT * FROM events WHERE {' AND '.join(wheres)} ORDER BY position LIMIT :limit",
        {**given, **wanted},
    )
    return [_event(row) for row in rows]


def last(session: Session) -> int:
    """The position of the newest event; 0 if there is none."""
    row = session.one("SELECT max(position) AS position FROM events")
    return int(row["position"] or 0) if row else 0


def replace_progress(
    session: Session, repo: RepoName, payload: Mapping[str, object], old: int | None
) -> int:
    """Tell how far a job is, in place of what was told before; the position."""
    new = _add(session, PROGRESS, repo, payload)
    remove(session, old)
    return new


def remove(session: Session, position: int | None) -> None:
    """Take one event out, unless it is the newest."""
    if position is not None:
        session.execute(
            """DELETE FROM events WHERE position = :position
               AND position < (SELECT max(position) FROM events)""",
            {"position": position},
        )


def prune(session: Session, keep_micros: int) -> int:
    """Remove what is older, and the progress of jobs whose workers died; how many."""
    now = session.now()
    return session.execute(
        """DELETE FROM events WHERE (at < :oldest OR (kind = :progress AND at < :lately))
           AND position < (SELECT max(position) FROM events)""",
        {"oldest": now - keep_micros, "progress": PROGRESS, "lately": now - _PROGRESS_MICROS},
    )


def _event(row: Row) -> Event:
    repo = RepoName(row["project"], row["repo"])
    return Event(row["position"], row["at"], row["kind"], repo, json.loads(row["payload"]))
