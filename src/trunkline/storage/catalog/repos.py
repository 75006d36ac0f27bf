"""Projects and repos.

A deleted repo stays in `every_repo`, under another name, until gc; `repos` is a view of the others.
What goes by a repo's key finds a deleted one as well, what goes by names or lists does not.
"""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.model.commits import DEFAULT_BRANCH, Project, Repo, RepoKind, RepoName
from trunkline.storage.catalog.database import Row, Session

DELETED = "(deleted)"
"""The project of deleted repos whose own is deleted too. Nobody can give one this name."""

_REPO = """
    SELECT r.key, r.project, r.name, r.kind, r.description, r.created,
           (SELECT c.size FROM commits c WHERE c.repo = r.key AND c.id = b.head) AS size,
           (SELECT c.files FROM commits c WHERE c.repo = r.key AND c.id = b.head) AS files
    FROM repos r LEFT JOIN branches b ON b.repo = r.key AND b.name = :branch
"""


def projects(session: Session) -> list[Project]:
    rows = session.all(
        """SELECT p.name, p.description, p.created,
                  (SELECT count(*) FROM repos r WHERE r.project = p.name) AS repos
           FROM projects p WHERE p.name <> :deleted ORDER BY p.name""",
        {"deleted": DELETED},
    )
    return [Project(row["name"], row["description"], row["created"], row["repos"]) for row in rows]


def has_project(session: Session, name: str) -> bool:
    row = session.one("SELECT 1 AS x FROM projects WHERE name = :name", {"name": name})
    return row is not None and name != DELETED


def add_project(session: Session, name: str, description: str) -> None:
    session.execute(
        "INSERT INTO projects (name, description, created) VALUES (:name, :text, :now)",
        {"name": name, "text": description, "now": session.now()},
    )


def remove_project(session: Session, name: str) -> None:
    session.execute("DELETE FROM grants WHERE scope = :name", {"name": name})
    if session.one("SELECT 1 AS x FROM every_repo WHERE project = :name LIMIT 1", {"name": name}):
        if session.one("SELECT 1 AS x FROM projects WHERE name = :name", {"name": DELETED}) is None:
            add_project(session, DELETED, "")
        session.execute(
            "UPDATE every_repo SET project = :deleted WHERE project = :name",
            {"name": name, "deleted": DELETED},
        )
    session.execute("DELETE FROM projects WHERE name = :name", {"name": name})


def find(session: Session, name: RepoName) -> Repo | None:
    row = session.one(
        f"{_REPO} WHERE r.project = :project AND r.name = :name",
        {"branch": DEFAULT_BRANCH, "project": name.project, "name": name.repo},
    )
    return _repo(session, row) if row else None


def key_of(session: Session, name: RepoName) -> int | None:
    row = session.one(
        "SELECT key FROM repos WHERE project = :project AND name = :name",
        {"project": name.project, "name": name.repo},
    )
    return int(row["key"]) if row else None


def keys(session: Session) -> list[tuple[int, RepoName]]:
    """All repos by their keys."""
    rows = session.all("SELECT key, project, name FROM repos ORDER BY key", {})
    return [(int(row["key"]), RepoName(row["project"], row["name"])) for row in rows]


def name_of(session: Session, key: int) -> RepoName | None:
    row = session.one("SELECT project, name FROM repos WHERE key = :key", {"key": key})
    return RepoName(row["project"], row["name"]) if row else None


def names_of(session: Session, keys: Iterable[int]) -> list[RepoName]:
    return sorted(name for key in keys if (name := name_of(session, key)) is not None)


def all_repos(session: Session, project: str | None = None) -> list[Repo]:
    where = "WHERE r.project = :project" if project is not None else ""
    rows = session.all(
        f"{_REPO} {where} ORDER BY r.project, r.name",
        {"branch": DEFAULT_BRANCH, "project": project},
    )
    return [_repo(session, row) for row in rows]


def every(session: Session) -> dict[int, RepoName]:
    """All repos by their key, also those that are deleted and can be had back."""
    rows = session.all("SELECT key, project, name FROM every_repo ORDER BY key")
    return {row["key"]: RepoName(row["project"], row["name"]) for row in rows}


def names(session: Session, project: str) -> list[str]:
    rows = session.all(
        "SELECT name FROM repos WHERE project = :project ORDER BY name", {"project": project}
    )
    return [row["name"] for row in rows]


def add(session: Session, name: RepoName, kind: RepoKind, description: str) -> int:
    row = session.one(
        """INSERT INTO every_repo (project, name, kind, description, created)
           VALUES (:project, :name, :kind, :text, :now) RETURNING key""",
        {
            "project": name.project,
            "name": name.repo,
            "kind": str(kind),
            "text": description,
            "now": session.now(),
        },
    )
    assert row is not None
    return int(row["key"])


def set_kind(session: Session, key: int, kind: RepoKind) -> None:
    session.execute(
        "UPDATE every_repo SET kind = :kind WHERE key = :key", {"key": key, "kind": kind}
    )


def hide(session: Session, key: int, name: RepoName) -> None:
    """Delete a repo so that it can be had back. Its name is free."""
    session.execute(
        "UPDATE every_repo SET deleted = :now, name = :name WHERE key = :key",
        {"key": key, "now": session.now(), "name": f"{name.repo} (deleted {key})"},
    )


def show(session: Session, key: int, name: RepoName) -> None:
    """Have a deleted repo back, under this name."""
    session.execute(
        "UPDATE every_repo SET deleted = NULL, project = :project, name = :name WHERE key = :key",
        {"key": key, "project": name.project, "name": name.repo},
    )


def readers(session: Session, key: int) -> list[RepoName]:
    """Other repos that hold commits computed from this one's."""
    rows = session.all(
        """SELECT DISTINCT r.project, r.name FROM provenance p JOIN repos r ON r.key = p.repo
           WHERE p.source_repo = :key AND p.repo <> :key ORDER BY r.project, r.name""",
        {"key": key},
    )
    return [RepoName(row["project"], row["name"]) for row in rows]


def remove(session: Session, key: int) -> None:
    """Forget the repo, its pipeline and all its history. The bytes are left to gc."""
    own = {"key": key}
    # Its name may come to mean another repo, which nobody was given a role on.
    session.execute(
        """DELETE FROM grants WHERE scope =
               (SELECT project || '/' || name FROM repos WHERE key = :key)""",
        own,
    )
    for table in ("provenance", "pipeline_inputs", "environment_inputs"):
        session.execute(f"DELETE FROM {table} WHERE repo = :key OR source_repo = :key", own)
    session.execute("DELETE FROM crons WHERE repo = :key OR pipeline = :key", own)
    for table in (
        *("environment_pipelines", "backfills", "checks", "deliveries", "batches", "flows"),
        *("pipeline_versions", "pipelines", "deletions", "staged", "tags", "triggers"),
        *("branches", "reflog", "leases", "jobs", "commits"),
    ):
        session.execute(f"DELETE FROM {table} WHERE repo = :key", own)
    session.execute("DELETE FROM every_repo WHERE key = :key", own)


def _repo(session: Session, row: Row) -> Repo:
    branches = session.all(
        "SELECT name FROM branches WHERE repo = :key ORDER BY name", {"key": row["key"]}
    )
    return Repo(
        key=row["key"],
        name=RepoName(row["project"], row["name"]),
        kind=RepoKind(row["kind"]),
        description=row["description"],
        created=row["created"],
        branches=tuple(branch["name"] for branch in branches),
        size=row["size"] or 0,
        files=row["files"] or 0,
    )
