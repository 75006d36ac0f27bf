"""Environments: which there are, and which version of each pipeline is present in them.

The name of an environment is unique in its project. A pipeline belongs to one project, so its
key and the name say which environment is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trunkline.model.environments import Environment
from trunkline.storage.catalog.database import Row, Session
from trunkline.storage.catalog.pipelines import Edge


class Present(NamedTuple):
    """A pipeline in an environment. `version` 0: it was deleted there.

    `base` is the version that the environment had or took from its base; 0: it is new there.
    """

    repo: int
    environment: str
    version: int
    base: int


def find(session: Session, project: str, name: str) -> Environment | None:
    row = session.one(
        "SELECT * FROM environments WHERE project = :project AND name = :name",
        {"project": project, "name": name},
    )
    return _environment(row) if row else None


def listed(session: Session, project: str | None = None) -> list[Environment]:
    where = "WHERE project = :project" if project is not None else ""
    rows = session.all(
        f"SELECT * FROM environments {where} ORDER BY project, name", {"project": project}
    )
    return [_environment(row) for row in rows]


def owner(session: Session, project: str, branch: str) -> Environment | None:
    """The environment that a branch belongs to by its name, if it is one's."""
    found = (one for one in listed(session, project) if one.owns(branch))
    return next(found, None)


def add(session: Session, environment: Environment) -> None:
    session.execute(
        """INSERT INTO environments (project, name, base, created, author)
           VALUES (:project, :name, :base, :created, :author)""",
        {
            "project": environment.project,
            "name": environment.name,
            "base": environment.base,
            "created": environment.created,
            "author": environment.author,
        },
    )


def remove(session: Session, environment: Environment) -> None:
    """Forget the environment. Its branches are the caller's business."""
    own = {"project": environment.project, "name": environment.name}
    for table in ("environment_inputs", "environment_pipelines"):
        session.execute(
            f"""DELETE FROM {table} WHERE environment = :name
                AND repo IN (SELECT key FROM every_repo WHERE project = :project)""",
            own,
        )
    session.execute("DELETE FROM environments WHERE project = :project AND name = :name", own)


def present(session: Session, project: str, name: str) -> dict[int, Present]:
    """The pipelines of an environment, also those that were deleted there; by repo."""
    rows = session.all(
        """SELECT p.* FROM environment_pipelines p JOIN repos r ON r.key = p.repo
           WHERE r.project = :project AND p.environment = :name ORDER BY r.name""",
        {"project": project, "name": name},
    )
    return {row["repo"]: _present(row) for row in rows}


def only_there(session: Session, project: str) -> set[int]:
    """The repos of pipelines that are in environments only."""
    rows = session.all(
        """SELECT p.repo FROM pipelines p JOIN repos r ON r.key = p.repo
           WHERE r.project = :project AND p.version = 0""",
        {"project": project},
    )
    return {row["repo"] for row in rows}


def present_in(session: Session, repo: int, name: str) -> Present | None:
    row = session.one(
        "SELECT * FROM environment_pipelines WHERE repo = :repo AND environment = :name",
        {"repo": repo, "name": name},
    )
    return _present(row) if row else None


def of_pipeline(session: Session, repo: int) -> list[Present]:
    """Every environment that has a pipeline."""
    rows = session.all(
        "SELECT * FROM environment_pipelines WHERE repo = :repo ORDER BY environment",
        {"repo": repo},
    )
    return [_present(row) for row in rows]


def every_presence(session: Session) -> list[tuple[int, str]]:
    """Which pipelines, by repo, are in which environments."""
    rows = session.all(
        """SELECT DISTINCT repo, environment FROM environment_pipelines
           WHERE repo IN (SELECT key FROM repos)"""
    )
    return [(row["repo"], row["environment"]) for row in rows]


def register(
    session: Session, repo: int, name: str, version: int, base: int, edges: Iterable[Edge]
) -> None:
    """Make this the version of a pipeline in an environment, reading these branches."""
    unregister(session, repo, name)
    session.execute(
        """INSERT INTO environment_pipelines (repo, environment, version, base_version)
           VALUES (:repo, :name, :version, :base)""",
        {"repo": repo, "name": name, "version": version, "base": base},
    )
    for position, edge in enumerate(edges):
        session.execute(
            """INSERT INTO environment_inputs (repo, environment, position, name, source_repo,
                   branch, propagation, is_leaf)
               VALUES (:repo, :environment, :position, :name, :source, :branch, :propagation,
                   :is_leaf)""",
            {
                "repo": repo,
                "environment": name,
                "position": position,
                "name": edge.name,
                "source": edge.source,
                "branch": edge.branch,
                "propagation": int(edge.propagation),
                "is_leaf": int(edge.is_leaf),
            },
        )


def set_base(session: Session, repo: int, name: str, base: int) -> None:
    """What the base has now is known to the environment."""
    session.execute(
        """UPDATE environment_pipelines SET base_version = :base
           WHERE repo = :repo AND environment = :name""",
        {"repo": repo, "name": name, "base": base},
    )


def unregister(session: Session, repo: int, name: str) -> None:
    for table in ("environment_inputs", "environment_pipelines"):
        session.execute(
            f"DELETE FROM {table} WHERE repo = :repo AND environment = :name",
            {"repo": repo, "name": name},
        )


def reads(session: Session, repo: int, name: str) -> list[Edge]:
    """What a pipeline reads in an environment, in the order of its input expression."""
    rows = session.all(
        """SELECT * FROM environment_inputs WHERE repo = :repo AND environment = :name
           ORDER BY position""",
        {"repo": repo, "name": name},
    )
    return [_edge(row) for row in rows]


def readers(session: Session, source: int, branch: str | None = None) -> list[tuple[str, Edge]]:
    """Who reads a repo, or one branch of it, in which environment."""
    where = "" if branch is None else "AND branch = :branch"
    rows = session.all(
        f"""SELECT * FROM environment_inputs WHERE source_repo = :source {where}
            AND repo IN (SELECT key FROM repos) ORDER BY environment, repo, position""",
        {"source": source, "branch": branch},
    )
    return [(row["environment"], _edge(row)) for row in rows]


def edges(session: Session, project: str, name: str) -> list[Edge]:
    """All that is read in an environment."""
    rows = session.all(
        """SELECT i.* FROM environment_inputs i JOIN repos r ON r.key = i.repo
           WHERE r.project = :project AND i.environment = :name ORDER BY i.repo, i.position""",
        {"project": project, "name": name},
    )
    return [_edge(row) for row in rows]


def forget_pipeline(session: Session, repo: int) -> None:
    """The pipeline is about to be removed from everywhere."""
    session.execute("DELETE FROM environment_inputs WHERE repo = :repo", {"repo": repo})
    session.execute("DELETE FROM environment_pipelines WHERE repo = :repo", {"repo": repo})


def _environment(row: Row) -> Environment:
    return Environment(row["project"], row["name"], row["base"], row["created"], row["author"])


def _present(row: Row) -> Present:
    return Present(row["repo"], row["environment"], row["version"], row["base_version"])


def _edge(row: Row) -> Edge:
    return Edge(
        row["repo"],
        row["name"],
        row["source_repo"],
        row["branch"],
        bool(row["propagation"]),
        bool(row["is_leaf"]),
    )
