"""What was deleted and can be had back until gc: where branches and tags pointed, hidden repos.

A pipeline has several repos, and branches that were made for it. What went with it is part of its
deletion, and comes back with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from trunkline.model.commits import RepoName
from trunkline.storage.catalog.database import Row, Session


class DeletionRow(NamedTuple):
    position: int
    kind: str
    name: RepoName
    ref: str
    """The branch or tag; "" if it was a repo or a pipeline."""
    repo: int
    commit: str | None
    content: dict[str, Any]
    author: str
    at: int


def record(
    session: Session,
    kind: str,
    name: RepoName,
    repo: int,
    author: str,
    *,
    ref: str = "",
    commit: str | None = None,
    content: Mapping[str, object] | None = None,
    part_of: int | None = None,
) -> int:
    row = session.one(
        """INSERT INTO deletions (kind, project, name, ref, repo, commit_id, content, author, at,
               part_of)
           VALUES (:kind, :project, :name, :ref, :repo, :commit, :content, :author, :at, :part_of)
           RETURNING position""",
        {
            "kind": kind,
            "project": name.project,
            "name": name.repo,
            "ref": ref,
            "repo": repo,
            "commit": commit,
            "content": json.dumps(dict(content or {})),
            "author": author,
            "at": session.now(),
            "part_of": part_of,
        },
    )
    assert row is not None
    return int(row["position"])


def listed(
    session: Session, project: str | None = None, name: RepoName | None = None
) -> list[DeletionRow]:
    """What can be had back, the newest first. Refs of a repo that is deleted come with it."""
    wheres = ["d.part_of IS NULL", "(d.ref = '' OR r.key IS NOT NULL)"]
    wheres += ["d.project = :project"] * (project is not None)
    wheres += ["d.project = :of AND d.name = :name"] * (name is not None)
    rows = session.all(
        f"""SELECT d.* FROM deletions d LEFT JOIN repos r ON r.key = d.repo
            WHERE {" AND ".join(wheres)} ORDER BY d.position DESC""",
        {
            "project": project,
            "of": name.project if name else None,
            "name": name.repo if name else None,
        },
    )
    return [_deletion(row) for row in rows]


def parts(session: Session, position: int) -> list[DeletionRow]:
    """What went with it, in the order in which it did."""
    rows = session.all(
        "SELECT * FROM deletions WHERE part_of = :position ORDER BY position",
        {"position": position},
    )
    return [_deletion(row) for row in rows]


def before(session: Session, moment: int) -> list[DeletionRow]:
    rows = session.all(
        "SELECT * FROM deletions WHERE at <= :moment AND part_of IS NULL ORDER BY position",
        {"moment": moment},
    )
    return [_deletion(row) for row in rows]


def heads(session: Session) -> list[tuple[int, str]]:
    """The commits that deleted branches and tags pointed at: (repo, id)."""
    rows = session.all("SELECT repo, commit_id FROM deletions WHERE commit_id IS NOT NULL")
    return [(row["repo"], row["commit_id"]) for row in rows]


def hidden(session: Session, name: RepoName) -> list[int]:
    """The keys of deleted repos that had this name."""
    rows = session.all(
        """SELECT DISTINCT d.repo FROM deletions d JOIN every_repo e ON e.key = d.repo
           WHERE d.project = :project AND d.name = :name AND d.ref = '' AND e.deleted IS NOT NULL
           ORDER BY d.repo""",
        {"project": name.project, "name": name.repo},
    )
    return [row["repo"] for row in rows]


def rename(session: Session, repo: int, name: RepoName) -> None:
    """A repo is had back under this name: so are its branches and tags."""
    session.execute(
        """UPDATE deletions SET project = :project, name = :name
           WHERE repo = :repo AND ref <> ''""",
        {"repo": repo, "project": name.project, "name": name.repo},
    )


def remove(session: Session, position: int) -> None:
    session.execute(
        "DELETE FROM deletions WHERE position = :position OR part_of = :position",
        {"position": position},
    )


def remove_commit(session: Session, repo: int, commit_id: str) -> None:
    """A commit is going: what pointed at it cannot be had back."""
    session.execute(
        "DELETE FROM deletions WHERE repo = :repo AND commit_id = :id",
        {"repo": repo, "id": commit_id},
    )


def _deletion(row: Row) -> DeletionRow:
    return DeletionRow(
        row["position"],
        row["kind"],
        RepoName(row["project"], row["name"]),
        row["ref"],
        row["repo"],
        row["commit_id"],
        json.loads(row["content"]),
        row["author"],
        row["at"],
    )
