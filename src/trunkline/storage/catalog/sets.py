"""Commit sets as a list: the changes of the lake, each with all that it caused."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from trunkline.model.commits import Origin, RepoName
from trunkline.model.told import Told
from trunkline.storage.catalog.database import Session

# The code of a pipeline counts as the pipeline's own; other repos of the system are nobody's.
_MEMBERS = """
    SELECT m.id, r.key, r.project, r.name, {facts} FROM {table} m
    JOIN repos o ON o.key = m.repo
    LEFT JOIN pipelines p ON p.code_repo = m.repo
    JOIN repos r ON r.key = coalesce(p.repo, m.repo) AND r.kind <> 'system'
"""
_COMMIT = """o.kind AS own_kind, m.message, m.author, m.origin, m.started,
    m.finished"""
_JOB = "m.state, m.cause, m.created, m.finished"


class CommitRow(NamedTuple):
    """A commit of a set; `is_code` if it is of the code of the pipeline that it is listed for."""

    set_id: str
    repo: RepoName
    is_code: bool
    message: str
    author: str
    origin: Origin
    started: int
    finished: int | None
    is_derived: bool
    """Whether it was made from another commit of the set."""


class JobRow(NamedTuple):
    set_id: str
    repo: RepoName
    state: str
    cause: Told
    created: int
    finished: int | None


def ids(session: Session, among: Collection[int] | None, before: str | None, n: int) -> list[str]:
    """The newest sets, older than `before`, that have a commit or a job in one of these repos."""
    wheres = ["1 = 1"] + ["m.id < :before"] * (before is not None)
    wheres += [f"r.key IN ({_keys(among)})"] if among is not None else []
    found: set[str] = set()
    for table in ("commits", "jobs"):
        members = _MEMBERS.format(table=table, facts="1 AS x")
        rows = session.all(
            f"""SELECT DISTINCT id FROM ({members} WHERE {" AND ".join(wheres)}) AS members
                ORDER BY id DESC LIMIT :n""",
            {"before": before, "n": n},
        )
        found.update(row["id"] for row in rows)
    return sorted(found, reverse=True)[:n]


def commits(session: Session, set_ids: Collection[str]) -> list[CommitRow]:
    """The commits of sets, in the order in which they were begun."""
    names, values = _listed(set_ids)
    derived = session.all(
        f"""SELECT DISTINCT p.repo, p.id FROM commits m CROSS JOIN provenance p
            JOIN repos s ON s.key = p.source_repo AND s.kind <> 'system'
            WHERE m.id IN ({names}) AND p.repo = m.repo AND p.id = m.id AND p.source_id = m.id""",
        values,
    )
    inside = {(row["repo"], row["id"]) for row in derived}
    rows = session.all(
        f"""{_MEMBERS.format(table="commits", facts=_COMMIT)} WHERE m.id IN ({names})
            ORDER BY m.started, r.project, r.name""",
        values,
    )
    return [
        CommitRow(
            row["id"],
            RepoName(row["project"], row["name"]),
            row["own_kind"] == "system",
            row["message"],
            row["author"],
            Origin(row["origin"]),
            row["started"],
            row["finished"],
            (row["key"], row["id"]) in inside,
        )
        for row in rows
    ]


def jobs(session: Session, set_ids: Collection[str]) -> list[JobRow]:
    names, values = _listed(set_ids)
    rows = session.all(
        f"""{_MEMBERS.format(table="jobs", facts=_JOB)} WHERE m.id IN ({names})
            ORDER BY m.created, r.project, r.name""",
        values,
    )
    return [
        JobRow(
            row["id"],
            RepoName(row["project"], row["name"]),
            row["state"],
            Told.from_text(row["cause"]),
            row["created"],
            row["finished"],
        )
        for row in rows
    ]


def _keys(keys: Iterable[int]) -> str:
    return ", ".join(str(int(key)) for key in sorted(keys)) or "NULL"


def _listed(values: Iterable[str]) -> tuple[str, dict[str, object]]:
    """Texts as parameters of an IN, and the parameters."""
    given: dict[str, object] = {f"v{n}": value for n, value in enumerate(values)}
    return ", ".join(f":{name}" for name in given) or "NULL", given
