"""Branches and tags, and the log of where they pointed."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.commits import Branch, RepoName, Tag
from trunkline.storage.catalog import commits
from trunkline.storage.catalog.database import Row, Session


@dataclass(frozen=True, slots=True)
class Move:
    """Who moves a ref, and why: one line of the log."""

    author: str
    reason: str


def branch(session: Session, repo: int, name: str) -> Branch | None:
    row = session.one(f"{_BRANCH} AND b.name = :name", {"repo": repo, "name": name})
    return _branch(row) if row else None


def branches(session: Session, repo: int) -> list[Branch]:
    return [_branch(row) for row in session.all(f"{_BRANCH} ORDER BY b.name", {"repo": repo})]


def add_branch(session: Session, repo: int, name: str, head: str | None, move: Move) -> None:
    session.execute(
        "INSERT INTO branches (repo, name, head, created) VALUES (:repo, :name, :head, :now)",
        {"repo": repo, "name": name, "head": head, "now": session.now()},
    )
    if head:
        commits.mark_unreferenced(session, repo, head, None)
    _log(session, repo, "branch", name, None, head, move)


def swap_head(
    session: Session, repo: int, name: str, old: str | None, new: str | None, move: Move
) -> bool:
    """Point the branch at `new` if it still points at `old`; whether it did."""
    touched = session.execute(
        """UPDATE branches SET head = :new
           WHERE repo = :repo AND name = :name AND coalesce(head, '') = :old""",
        {"repo": repo, "name": name, "old": old or "", "new": new},
    )
    if touched != 1:
        return False
    if new:
        commits.mark_unreferenced(session, repo, new, None)
    if old and not _is_parent(session, repo, old, new):
        commits.mark_unreferenced(session, repo, old, session.now())
    _log(session, repo, "branch", name, old, new, move)
    return True


def last_reason(session: Session, repo: int, name: str) -> str | None:
    """Why the branch was last moved or made."""
    row = session.one(
        """SELECT reason FROM reflog WHERE repo = :repo AND kind = 'branch' AND name = :name
           ORDER BY position DESC LIMIT 1""",
        {"repo": repo, "name": name},
    )
    return row["reason"] if row else None


def head_at(session: Session, repo: int, name: str, at: int) -> str | None:
    """Where the branch pointed at a moment (in microseconds since 1970)."""
    row = session.one(
        """SELECT new FROM reflog
           WHERE repo = :repo AND kind = 'branch' AND name = :name AND at <= :at
           ORDER BY position DESC LIMIT 1""",
        {"repo": repo, "name": name, "at": at},
    )
    return row["new"] if row else None


def set_open(session: Session, repo: int, name: str, commit_id: str | None) -> None:
    session.execute(
        "UPDATE branches SET open = :open WHERE repo = :repo AND name = :name",
        {"repo": repo, "name": name, "open": commit_id},
    )


def remove_branch(session: Session, repo: int, found: Branch, move: Move) -> None:
    session.execute(
        "DELETE FROM branches WHERE repo = :repo AND name = :name",
        {"repo": repo, "name": found.name},
    )
    if found.head:
        commits.mark_unreferenced(session, repo, found.head, session.now())
        _log(session, repo, "branch", found.name, found.head, None, move)


def tag(session: Session, repo: int, name: str) -> Tag | None:
    row = session.one(f"{_TAG} AND t.name = :name", {"repo": repo, "name": name})
    return _tag(row) if row else None


def tags(session: Session, repo: int) -> list[Tag]:
    return [_tag(row) for row in session.all(f"{_TAG} ORDER BY t.name", {"repo": repo})]


def add_tag(
    session: Session,
    repo: int,
    name: str,
    commit_id: str,
    message: str,
    author: str,
    created: int | None = None,
) -> None:
    session.execute(
        """INSERT INTO tags (repo, name, commit_id, message, author, created)
           VALUES (:repo, :name, :id, :message, :author, :now)""",
        {
            "repo": repo,
            "name": name,
            "id": commit_id,
            "message": message,
            "author": author,
            "now": session.now() if created is None else created,
        },
    )
    commits.mark_unreferenced(session, repo, commit_id, None)
    _log(session, repo, "tag", name, None, commit_id, Move(author, "tag"))


def remove_tag(session: Session, repo: int, found: Tag, move: Move) -> None:
    session.execute(
        "DELETE FROM tags WHERE repo = :repo AND name = :name", {"repo": repo, "name": found.name}
    )
    commits.mark_unreferenced(session, repo, found.commit, session.now())
    _log(session, repo, "tag", found.name, found.commit, None, move)


def _is_parent(session: Session, repo: int, old: str, new: str | None) -> bool:
    row = session.one(
        "SELECT parent FROM commits WHERE repo = :repo AND id = :id", {"repo": repo, "id": new}
    )
    return row is not None and row["parent"] == old


def _log(
    session: Session, repo: int, kind: str, name: str, old: str | None, new: str | None, move: Move
) -> None:
    session.execute(
        """INSERT INTO reflog (repo, kind, name, old, new, at, author, reason)
           VALUES (:repo, :kind, :name, :old, :new, :at, :author, :reason)""",
        {
            "repo": repo,
            "kind": kind,
            "name": name,
            "old": old,
            "new": new,
            "at": session.now(),
            "author": move.author,
            "reason": move.reason,
        },
    )


_BRANCH = """
    SELECT r.project, r.name AS repo_name, b.name, b.head, b.open, b.created
    FROM branches b JOIN every_repo r ON r.key = b.repo WHERE b.repo = :repo
"""
_TAG = """
    SELECT r.project, r.name AS repo_name, t.name, t.commit_id, t.message, t.author, t.created
    FROM tags t JOIN every_repo r ON r.key = t.repo WHERE t.repo = :repo
"""


def _branch(row: Row) -> Branch:
    name = RepoName(row["project"], row["repo_name"])
    return Branch(name, row["name"], row["head"], row["created"], row["open"])


def _tag(row: Row) -> Tag:
    name = RepoName(row["project"], row["repo_name"])
    return Tag(name, row["name"], row["commit_id"], row["message"], row["author"], row["created"])
