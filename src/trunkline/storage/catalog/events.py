"""The outbox: what happened, in order, written in the transaction that made it happen."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trunkline.model.commits import RepoName
from trunkline.storage.catalog.database import Row, Session


def emit(session: Session, kind: str, repo: RepoName, payload: Mapping[str, object]) -> None:
    session.execute(
        """INSERT INTO events (at, kind, project, repo, payload)
           VALUES (:at, :kind, :project, :repo, :payload)""",
        {
            "at": session.now(),
            "kind": kind,
            "project": repo.project,
            "repo": repo.repo,
            "payload": json.dumps(payload),
        },
    )


def since(session: Session, position: int, limit: int = 1000) -> list[Row]:
    """Events after `position`, oldest first."""
    return list(
        session.all(
            "SELECT * FROM events WHERE position > :position ORDER BY position LIMIT :limit",
            {"position": position, "limit": limit},
        )
    )


def last(session: Session) -> int:
    """The position of the newest event; 0 if there is none."""
    row = session.one("SELECT max(position) AS position FROM events")
    return int(row["position"] or 0) if row else 0
