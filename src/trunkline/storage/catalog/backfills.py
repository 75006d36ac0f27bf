"""Backfills: jobs for commits of the past, told of together."""

from __future__ import annotations

from trunkline.model.commits import RepoName
from trunkline.model.jobs import Backfill
from trunkline.storage.catalog.database import Session


def add(session: Session, backfill_id: str, repo: int, branch: str, span: str, author: str) -> None:
    session.execute(
        """INSERT INTO backfills (id, repo, branch, span, created, author)
           VALUES (:id, :repo, :branch, :span, :now, :author)""",
        {
            "id": backfill_id,
            "repo": repo,
            "branch": branch,
            "span": span,
            "now": session.now(),
            "author": author,
        },
    )


def listed(session: Session) -> list[Backfill]:
    """All of them with how far their jobs are, the newest first."""
    rows = session.all(
        """SELECT b.*, r.project, r.name,
               (SELECT count(*) FROM jobs j WHERE j.backfill = b.id) AS total,
               (SELECT count(*) FROM jobs j WHERE j.backfill = b.id
                AND j.finished IS NOT NULL) AS done,
               (SELECT count(*) FROM jobs j WHERE j.backfill = b.id
                AND j.state IN ('failure', 'killed', 'unrunnable')) AS failed
           FROM backfills b JOIN repos r ON r.key = b.repo ORDER BY b.created DESC"""
    )
    return [
        Backfill(
            row["id"],
            RepoName(row["project"], row["name"]),
            row["branch"],
            row["span"],
            "done" if row["done"] == row["total"] else row["state"],
            row["created"],
            row["author"],
            row["total"],
            row["done"],
            row["failed"],
        )
        for row in rows
    ]


def set_state(session: Session, backfill_id: str, state: str) -> None:
    session.execute(
        "UPDATE backfills SET state = :state WHERE id = :id", {"id": backfill_id, "state": state}
    )
