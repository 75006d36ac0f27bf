"""Pipelines, their versions and what each reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from trunkline.model.commits import RepoName
from trunkline.storage.catalog import checks, deliveries, flows
from trunkline.storage.catalog.database import Row, Session

_SELECT = """
    SELECT p.*, r.project, r.name FROM pipelines p JOIN repos r ON r.key = p.repo
"""


class PipelineRow(NamedTuple):
    """A pipeline's present state. `repo` is its output repo, `code` the repo of its code.

    Version 0: it is present in environments only.
    """

    repo: int
    name: RepoName
    code_repo: int
    version: int
    paused: bool
    pending: bool
    results: str | None
    results_hash: str | None
    created: int
    updated: int


class VersionRow(NamedTuple):
    """One version as it is kept: `spec` is the declaration, `code` the commit of its files."""

    repo: int
    version: int
    spec: dict[str, Any]
    digest: str
    salt: str
    code: str
    created: int
    author: str
    environment: str = ""
    """Where it was applied; "" if in none."""


class Edge(NamedTuple):
    """A pipeline reads a branch. Without `propagation` its commits start nothing."""

    pipeline: int
    name: str
    source: int
    branch: str
    propagation: bool
    is_leaf: bool


def find(session: Session, repo: int) -> PipelineRow | None:
    row = session.one(f"{_SELECT} WHERE p.repo = :repo", {"repo": repo})
    return _pipeline(row) if row else None


def all_pipelines(session: Session, project: str | None = None) -> list[PipelineRow]:
    """The pipelines of a project, or of all; not those that only environments have."""
    where = "AND r.project = :project" if project is not None else ""
    rows = session.all(
        f"{_SELECT} WHERE p.version > 0 {where} ORDER BY r.project, r.name", {"project": project}
    )
    return [_pipeline(row) for row in rows]


def with_results(session: Session) -> list[PipelineRow]:
    """Every pipeline, wherever it is, that has computed something; also deleted ones."""
    rows = session.all(
        """SELECT p.*, r.project, r.name FROM pipelines p JOIN every_repo r ON r.key = p.repo
           WHERE p.results IS NOT NULL ORDER BY r.project, r.name"""
    )
    return [_pipeline(row) for row in rows]


def add(session: Session, repo: int, code_repo: int) -> None:
    now = session.now()
    session.execute(
        """INSERT INTO pipelines (repo, code_repo, created, updated)
           VALUES (:repo, :code, :now, :now)""",
        {"repo": repo, "code": code_repo, "now": now},
    )


def keep_version(session: Session, version: VersionRow) -> None:
    """Add a version without making it the present one."""
    session.execute(
        """INSERT INTO pipeline_versions
               (repo, version, spec, digest, salt, code, created, author, environment)
           VALUES (:repo, :version, :spec, :digest, :salt, :code, :created, :author,
               :environment)""",
        {**version._asdict(), "spec": json.dumps(version.spec)},
    )


def add_version(session: Session, version: VersionRow, edges: Iterable[Edge]) -> None:
    """Make this the pipeline's present version, reading these branches."""
    keep_version(session, version)
    session.execute(
        "UPDATE pipelines SET version = :version, updated = :now WHERE repo = :repo",
        {"repo": version.repo, "version": version.version, "now": version.created},
    )
    session.execute("DELETE FROM pipeline_inputs WHERE repo = :repo", {"repo": version.repo})
    for position, edge in enumerate(edges):
        session.execute(
            """INSERT INTO pipeline_inputs
                   (repo, position, name, source_repo, branch, propagation, is_leaf)
               VALUES (:repo, :position, :name, :source, :branch, :propagation, :is_leaf)""",
            {
                "repo": version.repo,
                "position": position,
                "name": edge.name,
                "source": edge.source,
                "branch": edge.branch,
                "propagation": int(edge.propagation),
                "is_leaf": int(edge.is_leaf),
            },
        )


def version(session: Session, repo: int, number: int) -> VersionRow | None:
    row = session.one(
        "SELECT * FROM pipeline_versions WHERE repo = :repo AND version = :version",
        {"repo": repo, "version": number},
    )
    return _version(row) if row else None


def versions(session: Session, repo: int) -> list[VersionRow]:
    """All versions, newest first."""
    rows = session.all(
        "SELECT * FROM pipeline_versions WHERE repo = :repo ORDER BY version DESC", {"repo": repo}
    )
    return [_version(row) for row in rows]


def last_number(session: Session, repo: int) -> int:
    """The number of the newest version, in whichever environment it was applied."""
    row = session.one(
        "SELECT max(version) AS last FROM pipeline_versions WHERE repo = :repo", {"repo": repo}
    )
    return int(row["last"] or 0) if row else 0


def reads(session: Session, repo: int) -> list[Edge]:
    """What a pipeline reads, in the order of its input expression."""
    rows = session.all(
        "SELECT * FROM pipeline_inputs WHERE repo = :repo ORDER BY position", {"repo": repo}
    )
    return [_edge(row) for row in rows]


def readers(session: Session, source: int, branch: str | None = None) -> list[Edge]:
    """Who reads a repo, or one branch of it."""
    where = "" if branch is None else "AND branch = :branch"
    rows = session.all(
        f"""SELECT * FROM pipeline_inputs WHERE source_repo = :source {where}
            AND repo IN (SELECT key FROM repos) ORDER BY repo, position""",
        {"source": source, "branch": branch},
    )
    return [_edge(row) for row in rows]


def every_edge(session: Session) -> list[Edge]:
    rows = session.all(
        """SELECT * FROM pipeline_inputs WHERE repo IN (SELECT key FROM repos)
           ORDER BY repo"""
    )
    return [_edge(row) for row in rows]


def stop_reading(session: Session, source: int) -> list[dict[str, Any]]:
    """A repo is going: pipelines that are there do not read it any more. What they read of it."""
    rows = session.all(
        """SELECT i.*, p.version FROM pipeline_inputs i JOIN pipelines p ON p.repo = i.repo
           WHERE i.source_repo = :source AND i.repo IN (SELECT key FROM repos)""",
        {"source": source},
    )
    names = (
        *("repo", "position", "name", "source_repo", "branch", "propagation", "is_leaf"),
        "version",
    )
    lost = [{name: row[name] for name in names} for row in rows]
    session.execute(
        """DELETE FROM pipeline_inputs
           WHERE source_repo = :source AND repo IN (SELECT key FROM repos)""",
        {"source": source},
    )
    return lost


def read_again(session: Session, lost: dict[str, Any]) -> bool:
    """Let a pipeline, also a deleted one, read what `stop_reading` took from it; False if it has
    changed since.
    """
    same = "SELECT 1 AS x FROM pipelines WHERE repo = :repo AND version = :version"
    if session.one(same, lost) is None:
        return False
    session.execute(
        """INSERT INTO pipeline_inputs
               (repo, position, name, source_repo, branch, propagation, is_leaf)
           VALUES (:repo, :position, :name, :source_repo, :branch, :propagation, :is_leaf)""",
        lost,
    )
    return True


def set_paused(session: Session, repo: int, paused: bool) -> None:
    session.execute(
        "UPDATE pipelines SET paused = :paused, updated = :now WHERE repo = :repo",
        {"repo": repo, "paused": int(paused), "now": session.now()},
    )


def set_pending(session: Session, repo: int, pending: bool) -> None:
    """Whether something arrived that a paused pipeline did not see yet."""
    session.execute(
        "UPDATE pipelines SET pending = :pending WHERE repo = :repo",
        {"repo": repo, "pending": int(pending)},
    )


def set_results(session: Session, repo: int, key: str | None, digest: str | None) -> None:
    session.execute(
        "UPDATE pipelines SET results = :key, results_hash = :digest WHERE repo = :repo",
        {"repo": repo, "key": key, "digest": digest},
    )


def results(session: Session, repo: int) -> str | None:
    """The tree of what a pipeline has computed, also of a deleted one."""
    row = session.one("SELECT results FROM pipelines WHERE repo = :repo", {"repo": repo})
    return row["results"] if row else None


def remove(session: Session, repo: int) -> None:
    """Forget the pipeline; its repos and jobs are the caller's business."""
    own = {"repo": repo}
    session.execute("DELETE FROM backfills WHERE repo = :repo", own)
    session.execute("DELETE FROM crons WHERE pipeline = :repo", own)
    flows.remove(session, repo)
    checks.remove(session, repo)
    deliveries.remove(session, repo)
    session.execute("DELETE FROM environment_inputs WHERE repo = :repo", own)
    session.execute("DELETE FROM environment_pipelines WHERE repo = :repo", own)
    for table in ("pipeline_inputs", "pipeline_versions", "pipelines"):
        session.execute(f"DELETE FROM {table} WHERE repo = :repo", own)


def rows_of(session: Session, repo: int) -> dict[str, list[dict[str, Any]]]:
    """What makes a pipeline, and how far it has come, for `put_back`.

    Not its results: they save computing, and gc may take them when it is gone.
    """
    taken: dict[str, list[dict[str, Any]]] = {}
    for table, names in _OWN.items():
        key = "pipeline" if table == "crons" else "repo"
        rows = session.all(f"SELECT * FROM {table} WHERE {key} = :repo", {"repo": repo})
        taken[table] = [{name: row[name] for name in names.split()} for row in rows]
    return taken


def put_back(session: Session, taken: dict[str, list[dict[str, Any]]]) -> None:
    """Have a pipeline back. It reads no repo that is gone for good."""
    there = {row["key"] for row in session.all("SELECT key FROM every_repo")}
    for table in _OWN:
        for row in taken[table]:
            if row.get("source_repo") in {None, *there}:
                values = ", ".join(f":{name}" for name in row)
                session.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", row)


_OWN = {
    "pipelines": "repo code_repo version paused pending created updated",
    "pipeline_versions": "repo version spec digest salt code created author environment",
    "pipeline_inputs": "repo position name source_repo branch propagation is_leaf",
    "crons": "repo pipeline spec started slot",
    "flows": "repo kind epoch number position state reason facts fence updated",
    "batches": "repo id epoch first number facts",
}
"""What makes a pipeline, in the order in which it can be put back."""


def set_pool(session: Session, name: str, slots: int) -> None:
    session.execute(
        """INSERT INTO pools (name, slots) VALUES (:name, :slots)
           ON CONFLICT (name) DO UPDATE SET slots = excluded.slots""",
        {"name": name, "slots": slots},
    )


def remove_pool(session: Session, name: str) -> bool:
    return session.execute("DELETE FROM pools WHERE name = :name", {"name": name}) > 0


def pools(session: Session) -> Sequence[Row]:
    """Each with its slots, and how many jobs run and wait in it."""
    return session.all(
        """SELECT p.name, p.slots,
                  (SELECT count(*) FROM jobs j WHERE j.pool = p.name AND j.finished IS NULL
                   AND j.expires > :now) AS running,
                  (SELECT count(*) FROM jobs j WHERE j.pool = p.name AND j.finished IS NULL
                   AND j.expires <= :now) AS waiting
           FROM pools p ORDER BY p.name""",
        {"now": session.now()},
    )


def _pipeline(row: Row) -> PipelineRow:
    return PipelineRow(
        repo=row["repo"],
        name=RepoName(row["project"], row["name"]),
        code_repo=row["code_repo"],
        version=row["version"],
        paused=bool(row["paused"]),
        pending=bool(row["pending"]),
        results=row["results"],
        results_hash=row["results_hash"],
        created=row["created"],
        updated=row["updated"],
    )


def _version(row: Row) -> VersionRow:
    return VersionRow(
        row["repo"],
        row["version"],
        json.loads(row["spec"]),
        row["digest"],
        row["salt"],
        row["code"],
        row["created"],
        row["author"],
        row["environment"],
    )


def _edge(row: Row) -> Edge:
    return Edge(
        row["repo"],
        row["name"],
        row["source_repo"],
        row["branch"],
        bool(row["propagation"]),
        bool(row["is_leaf"]),
    )
