"""What all repos, pipelines and flows are like, now or as of a commit set.

A few statements, however many there are. SQLite keeps the order of a CROSS JOIN; left to choose,
it reads all jobs there ever were to find the last ones.

A moment of the past is `At`: what had ended by then, and the commits that the set used, however
late they were finished.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from trunkline.model.commits import RepoName
from trunkline.model.jobs import Job, JobState
from trunkline.model.streams import Batch
from trunkline.storage.catalog.database import Row, Session
from trunkline.storage.catalog.flows import _batch as batch_of
from trunkline.storage.catalog.jobs import _job as job_of
from trunkline.storage.catalog.pipelines import VersionRow

Place = tuple[int, str]
"""A commit, job or branch: the repo's key, and the id or name."""


class At(NamedTuple):
    """A commit set of the past, when it was made, and the commits that it has or was made from."""

    set_id: str
    time: int
    used: frozenset[Place]


class NodeRow(NamedTuple):
    """A repo that is not the system's, with what the pipeline is that writes it, if one does."""

    key: int
    name: RepoName
    kind: str
    description: str
    created: int
    version: int | None
    paused: bool


class HeadRow(NamedTuple):
    commit: str
    at: int
    files: int
    size: int
    message: str
    author: str
    origin: str


def nodes(session: Session) -> list[NodeRow]:
    rows = session.all(
        """SELECT r.*, p.version, p.paused FROM repos r LEFT JOIN pipelines p ON p.repo = r.key
           WHERE r.kind <> 'system' AND coalesce(p.version, 1) > 0 ORDER BY r.project, r.name"""
    )
    return [
        NodeRow(
            row["key"],
            RepoName(row["project"], row["name"]),
            row["kind"],
            row["description"],
            row["created"],
            row["version"],
            bool(row["paused"]),
        )
        for row in rows
    ]


_USED = """WITH RECURSIVE used(repo, id) AS (
        SELECT repo, id FROM commits WHERE id = :set_id
        UNION
        SELECT repo, id FROM jobs WHERE id = :set_id
        UNION
        SELECT p.source_repo, p.source_id FROM provenance p
        JOIN used ON p.repo = used.repo AND p.id = used.id)"""


def used(session: Session, set_id: str) -> frozenset[Place]:
    """The commits and jobs of a set and all that they were made from, at any distance."""
    rows = session.all(f"{_USED} SELECT repo, id FROM used", {"set_id": set_id})
    return frozenset((row["repo"], row["id"]) for row in rows)


def versions(session: Session, at: At | None) -> dict[int, VersionRow]:
    """The version of each pipeline that is, or was, in force; by repo."""
    if at is None:
        last = "SELECT repo, version FROM pipelines WHERE version > 0"
    else:
        # A set that applies versions begins, by a few microseconds, before them.
        last = """SELECT repo, max(version) AS version FROM pipeline_versions
                  WHERE (created <= :time OR code = :set_id) AND environment = ''
                  GROUP BY repo"""
    rows = session.all(
        f"""SELECT v.* FROM ({last}) AS last JOIN repos r ON r.key = last.repo
            JOIN pipeline_versions v ON v.repo = last.repo AND v.version = last.version""",
        _times(at),
    )
    return {
        row["repo"]: VersionRow(
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
        for row in rows
    }


def heads(session: Session, branches: Collection[str], at: At | None) -> dict[Place, HeadRow]:
    """Where all branches of these names point, or pointed."""
    names, values = _listed(branches)
    if at is None:
        rows = session.all(
            f"""SELECT b.name AS of_branch, c.* FROM branches b
                JOIN commits c ON c.repo = b.repo AND c.id = b.head WHERE b.name IN ({names})""",
            values,
        )
        return {(row["repo"], row["of_branch"]): _head(row) for row in rows}
    values |= {"time": at.time}
    logged = session.all(
        f"""SELECT last.repo AS of_repo, last.name AS of_branch, l.new, c.* FROM (
                SELECT repo, name, max(position) AS position FROM reflog
                WHERE kind = 'branch' AND at <= :time AND name IN ({names})
                GROUP BY repo, name) AS last
            JOIN reflog l ON l.position = last.position
            LEFT JOIN commits c ON c.repo = last.repo AND c.id = l.new""",
        values,
    )
    found = {(row["repo"], row["of_branch"]): _head(row) for row in logged if row["id"]}
    # What a branch pointed at may have been squashed since: what is left of it tells.
    if gone := {row["of_repo"] for row in logged if row["new"] and not row["id"]}:
        left = session.all(
            f"""SELECT * FROM (
                    SELECT c.*, row_number() OVER (PARTITION BY c.repo, c.branch
                        ORDER BY c.finished DESC, c.generation DESC) AS place
                    FROM commits c WHERE c.repo IN ({_keys(gone)}) AND c.branch IN ({names})
                    AND c.error IS NULL AND c.finished <= :time
                    AND (c.unreferenced IS NULL OR c.unreferenced > :time)) AS ranked
                WHERE place = 1""",
            values,
        )
        for row in left:
            found.setdefault((row["repo"], row["branch"]), _head(row))
    own = session.all(
        f"""{_USED} SELECT c.* FROM used CROSS JOIN commits c
            WHERE c.repo = used.repo AND c.id = used.id
            AND c.finished IS NOT NULL AND c.error IS NULL""",
        {"set_id": at.set_id},
    )
    for row in sorted(own, key=lambda row: (row["id"] == at.set_id, row["finished"])):
        found[row["repo"], row["branch"]] = _head(row)
    return found


def last_jobs(session: Session, at: At | None) -> dict[int, Job]:
    """The newest job of each pipeline; of the past, the set's own or the last that was over.

    A backfill is about the past, on a branch of its own: it does not tell how a pipeline is.
    """
    found = _jobs(session, "backfill IS NULL AND environment = ''", at)
    if at is not None:
        rows = session.all(
            f"""{_USED} SELECT {_JOB} FROM used
                CROSS JOIN jobs j JOIN repos r ON r.key = j.repo
                WHERE j.repo = used.repo AND j.id = used.id""",
            {"set_id": at.set_id},
        )
        for row in rows:
            before = found.get(row["repo"])
            if before is None or row["id"] == at.set_id or row["created"] > before.created:
                found[row["repo"]] = job_of(row)
    return found


def last_good_jobs(session: Session, at: At | None, last: Mapping[int, Job]) -> dict[int, Job]:
    """The newest job of each pipeline that its output may be of; `last` are the newest at all."""
    good = "state = 'success' AND backfill IS NULL AND environment = ''"
    found = _jobs(session, good, at)
    for repo, job in last.items():
        if at is not None and (repo, job.id) in at.used and job.state is JobState.SUCCESS:
            found[repo] = job
    return found


def unfinished(session: Session) -> dict[int, list[JobState]]:
    """The states of jobs that are not over."""
    found: dict[int, list[JobState]] = {}
    rows = session.all("SELECT repo, state FROM jobs WHERE finished IS NULL AND environment = ''")
    for row in rows:
        found.setdefault(row["repo"], []).append(JobState(row["state"]))
    return found


def check_states(session: Session, at: At | None) -> list[tuple[int, str, str, int]]:
    """Of each pipeline's last job that had checks: (repo, state, action, how many of these)."""
    past = "AND x.at <= :time" if at is not None else ""
    own = "OR c.job = :set_id" if at is not None else ""
    rows = session.all(
        f"""SELECT c.repo, c.job, c.state, c.action, count(*) AS n FROM (
                SELECT p.repo, (
                    SELECT x.job FROM checks x JOIN jobs j ON j.repo = x.repo AND j.id = x.job
                    WHERE x.repo = p.repo AND j.backfill IS NULL AND j.environment = '' {past}
                    ORDER BY x.at DESC, x.job DESC LIMIT 1) AS job
                FROM pipelines p) AS last
            CROSS JOIN checks c WHERE c.repo = last.repo AND (c.job = last.job {own})
            GROUP BY c.repo, c.job, c.state, c.action""",
        _times(at),
    )
    own_repos = {row["repo"] for row in rows if at is not None and row["job"] == at.set_id}
    return [
        (row["repo"], row["state"], row["action"], int(row["n"]))
        for row in rows
        if row["repo"] not in own_repos or (at is not None and row["job"] == at.set_id)
    ]


def batches_at(session: Session, at: At) -> dict[int, Batch]:
    """The newest batch that each flow had made by then, with all rows that had been late."""
    rows = session.all(
        """SELECT b.*, c.finished FROM (
               SELECT f.repo, (
                   SELECT x.id FROM batches x JOIN commits d ON d.repo = x.repo AND d.id = x.id
                   WHERE x.repo = f.repo AND d.finished <= :time
                   ORDER BY x.epoch DESC, x.number DESC LIMIT 1) AS id
               FROM flows f) AS last
           CROSS JOIN batches b JOIN commits c ON c.repo = b.repo AND c.id = b.id
           WHERE b.repo = last.repo AND b.id = last.id""",
        _times(at),
    )
    found = {row["repo"]: batch_of(row) for row in rows}
    # Few batches have late rows; the others need not be read.
    late = session.all(
        f"""SELECT repo, epoch, number, facts FROM batches
            WHERE repo IN ({_keys(found)}) AND facts NOT LIKE :none_late""",
        {"none_late": '%"late": 0,%'},
    )
    sums = dict.fromkeys(found, 0)
    for row in late:
        last = found[row["repo"]]
        if row["epoch"] == last.epoch and row["number"] <= last.number:
            sums[row["repo"]] += json.loads(row["facts"])["late"]
    return {repo: replace(batch, late=sums[repo]) for repo, batch in found.items()}


_JOB = "j.*, r.project, r.name, NULL AS committed, NULL AS commit_error"


def _jobs(session: Session, which: str, at: At | None) -> dict[int, Job]:
    """The newest job of each pipeline among some; what it committed is not looked up."""
    past = "AND created <= :time AND finished <= :time" if at is not None else ""
    rows = session.all(
        f"""SELECT {_JOB} FROM (
                SELECT p.repo, (
                    SELECT id FROM jobs WHERE repo = p.repo AND {which} {past}
                    ORDER BY created DESC, id DESC LIMIT 1) AS id
                FROM pipelines p) AS last
            CROSS JOIN jobs j JOIN repos r ON r.key = j.repo
            WHERE j.repo = last.repo AND j.id = last.id""",
        _times(at),
    )
    return {row["repo"]: job_of(row) for row in rows}


def _times(at: At | None) -> dict[str, object]:
    return {} if at is None else {"time": at.time, "set_id": at.set_id}


def _listed(values: Iterable[str]) -> tuple[str, dict[str, object]]:
    """Texts as parameters of an IN, and the parameters."""
    given: dict[str, object] = {f"v{n}": value for n, value in enumerate(sorted(values))}
    return ", ".join(f":{name}" for name in given) or "NULL", given


def _keys(keys: Iterable[int]) -> str:
    return ", ".join(str(int(key)) for key in sorted(keys)) or "NULL"


def _head(row: Row) -> HeadRow:
    return HeadRow(
        row["id"],
        row["finished"],
        row["files"],
        row["size"],
        row["message"],
        row["author"],
        row["origin"],
    )
