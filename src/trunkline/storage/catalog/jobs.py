"""Jobs: queued in the transaction that caused them, claimed by one worker at a time.

A claim is a lease with a number, the *fence*. Each claim raises it, and every statement of a
worker names it: one that was stopped past its lease touches no row and so learns that it lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from trunkline.model.commits import RepoName
from trunkline.model.jobs import OVER, Counts, Job, JobInput, JobState
from trunkline.model.told import NOTHING, Kind, Told
from trunkline.storage.catalog.database import Row, Session

_JOBS = """
    SELECT j.*, r.project, r.name, c.finished AS committed, c.error AS commit_error
    FROM jobs j JOIN {repos} r ON r.key = j.repo
    LEFT JOIN commits c ON c.repo = j.repo AND c.id = j.id
"""


_OF_ANY = _JOBS.format(repos="every_repo")
_SELECT = _JOBS.format(repos="repos")


STREAM = "stream"
"""The lane of jobs of streams: batch jobs do not hold them up."""


def add(session: Session, repo: int, job: Job, pool: str = "", lane: str = "") -> None:
    """Make a job, after all others of its pipeline: also where the clock was set back."""
    last = session.one("SELECT max(created) AS last FROM jobs WHERE repo = :repo", {"repo": repo})
    newest = last["last"] or 0 if last else 0
    session.execute(
        """INSERT INTO jobs (repo, id, version, branch, state, reason, cause, created, priority,
               pool, inputs, digest, backfill, replay, lane, environment)
           VALUES (:repo, :id, :version, :branch, :state, :reason, :cause, :created, :priority,
               :pool, :inputs, :digest, :backfill, :replay, :lane, :environment)""",
        {
            "repo": repo,
            "id": job.id,
            "version": job.version,
            "branch": job.branch,
            "state": str(job.state),
            "reason": job.told_reason.to_text(),
            "cause": job.told_cause.to_text(),
            "created": newest + 1 if newest > job.created else job.created,
            "priority": job.priority,
            "pool": pool,
            "inputs": _encode_inputs(job.inputs),
            "digest": job.digest,
            "backfill": job.backfill,
            "replay": job.replay,
            "lane": lane,
            "environment": job.environment,
        },
    )


def of_sets(session: Session, ids: Iterable[str]) -> dict[tuple[RepoName, str], Job]:
    """The jobs of sets, by pipeline and set."""
    given: dict[str, object] = {f"v{n}": one for n, one in enumerate(dict.fromkeys(ids))}
    names = ", ".join(f":{name}" for name in given) or "NULL"
    found = map(_job, session.all(f"{_SELECT} WHERE j.id IN ({names})", given))
    return {(job.pipeline, job.id): job for job in found}


def find(session: Session, repo: int, job_id: str) -> Job | None:
    row = session.one(
        f"{_OF_ANY} WHERE j.repo = :repo AND j.id = :id", {"repo": repo, "id": job_id}
    )
    return _job(row) if row else None


def listed(
    session: Session,
    *,
    repo: int | None = None,
    state: JobState | None = None,
    project: str | None = None,
    id_prefix: str | None = None,
    backfill: str | None = None,
    unfinished: bool = False,
    limit: int | None = None,
    before: tuple[int, str, int] | None = None,
    among: Iterable[int] | None = None,
    environment: str | None = None,
) -> list[Job]:
    """Jobs, newest first; `before` is the last one seen: when it was made, its id and its repo.

    With `among` those of these repos; with `environment` those of one, or with "" of none.
    """
    wheres = ["1 = 1"]
    wheres += ["j.repo = :repo"] * (repo is not None)
    wheres += ["j.state = :state"] * (state is not None)
    wheres += ["r.project = :project"] * (project is not None)
    wheres += ["j.id >= :low AND j.id < :high"] * (id_prefix is not None)
    wheres += ["j.backfill = :backfill"] * (backfill is not None)
    wheres += ["j.finished IS NULL"] * unfinished
    wheres += ["j.environment = :environment"] * (environment is not None)
    wheres += ["(j.created, j.id, j.repo) < (:created, :id, :last_repo)"] * (before is not None)
    wheres += _of(among)
    created, last_id, last_repo = before or (None, None, None)
    tail = "LIMIT :limit" if limit is not None else ""
    rows = session.all(
        f"""{_SELECT} WHERE {" AND ".join(wheres)}
            ORDER BY j.created DESC, j.id DESC, j.repo DESC {tail}""",
        {
            "repo": repo,
            "state": str(state) if state else None,
            "project": project,
            "low": id_prefix,
            "high": f"{id_prefix}g",
            "backfill": backfill,
            "limit": limit,
            "created": created,
            "id": last_id,
            "last_repo": last_repo,
            "environment": environment,
        },
    )
    return [_job(row) for row in rows]


def oldest_unfinished(session: Session, among: Iterable[int] | None = None) -> int | None:
    """When the oldest job was made that is not over; with `among` of these repos."""
    wheres = ["j.finished IS NULL", *_of(among)]
    row = session.one(f"SELECT min(j.created) AS made FROM jobs j WHERE {' AND '.join(wheres)}")
    return row["made"] if row else None


def _of(among: Iterable[int] | None) -> list[str]:
    if among is None:
        return []
    return [f"j.repo IN ({', '.join(str(int(key)) for key in among) or 'NULL'})"]


def ended_since(
    session: Session,
    moment: int,
    oldest: int,
    limit: int,
    among: Iterable[int] | None = None,
) -> list[Job]:
    """Jobs that ended at or after a moment, in that order, of those made since `oldest`."""
    wheres = ["j.created >= :oldest", "j.finished >= :moment", *_of(among)]
    rows = session.all(
        f"""{_SELECT} WHERE {" AND ".join(wheres)}
            ORDER BY j.finished, j.created, j.id, j.repo LIMIT :limit""",
        {"moment": moment, "oldest": oldest, "limit": limit},
    )
    return [_job(row) for row in rows]


def newest(session: Session, repo: int, branch: str, *, unfinished: bool = False) -> Job | None:
    """The job that was made last for a branch."""
    more = "AND j.finished IS NULL" if unfinished else ""
    row = session.one(
        f"""{_SELECT} WHERE j.repo = :repo AND j.branch = :branch {more}
            ORDER BY j.created DESC, j.id DESC LIMIT 1""",
        {"repo": repo, "branch": branch},
    )
    return _job(row) if row else None


def claim(
    session: Session, holder: str, lease_micros: int, lane: str | None = None
) -> tuple[int, Job] | None:
    """Take the first job that can run now: the most urgent, then the oldest.

    With `lane` only one of that lane.
    """
    now = session.now()
    row = session.one(
        """SELECT j.repo, j.id FROM jobs j
           LEFT JOIN backfills b ON b.id = j.backfill
           LEFT JOIN pools o ON o.name = j.pool
           WHERE j.finished IS NULL AND j.expires <= :now AND j.not_before <= :now
             AND coalesce(b.state, 'running') = 'running'
             AND NOT EXISTS (
                 SELECT 1 FROM jobs e WHERE e.repo = j.repo AND e.branch = j.branch
                 AND e.finished IS NULL AND (e.created < j.created
                     OR (e.created = j.created AND e.id < j.id)))
             AND NOT EXISTS (
                 SELECT 1 FROM provenance p JOIN commits c
                 ON c.repo = p.source_repo AND c.id = p.source_id
                 WHERE p.repo = j.repo AND p.id = j.id AND c.finished IS NULL)
             AND (o.slots IS NULL OR o.slots > (
                 SELECT count(*) FROM jobs q WHERE q.pool = j.pool AND q.finished IS NULL
                 AND q.expires > :now))
             AND (:any_lane = 1 OR j.lane = :lane)
           ORDER BY j.priority DESC, j.created, j.id, j.repo LIMIT 1""",
        {"now": now, "any_lane": int(lane is None), "lane": lane or ""},
    )
    if row is None:
        return None
    session.execute(
        """UPDATE jobs SET state = :state, holder = :holder, expires = :expires,
               fence = fence + 1, attempt = attempt + 1, reason = '',
               started = coalesce(started, :now)
           WHERE repo = :repo AND id = :id""",
        {
            "state": str(JobState.RUNNING),
            "holder": holder,
            "expires": now + lease_micros,
            "now": now,
            "repo": row["repo"],
            "id": row["id"],
        },
    )
    job = find(session, row["repo"], row["id"])
    assert job is not None
    return int(row["repo"]), job


def forget(session: Session, repo: int, job_id: str) -> None:
    """Leave nothing of a job: nothing came of it, or its commit was squashed."""
    session.execute(
        "DELETE FROM checks WHERE repo = :repo AND job = :id", {"repo": repo, "id": job_id}
    )
    session.execute(
        "DELETE FROM jobs WHERE repo = :repo AND id = :id", {"repo": repo, "id": job_id}
    )


def next_due(session: Session) -> int | None:
    """When a job that waits for its time or for a lease to run out may be claimed."""
    row = session.one(
        """SELECT min(CASE WHEN not_before > expires THEN not_before ELSE expires END) AS due
           FROM jobs WHERE finished IS NULL AND (not_before > :now OR expires > :now)""",
        {"now": session.now()},
    )
    return row["due"] if row else None


def held(session: Session) -> list[tuple[Job, int]]:
    """Jobs in somebody's hands, each with how many microseconds that claim still holds."""
    now = session.now()
    rows = session.all(
        f"{_SELECT} WHERE j.finished IS NULL AND j.expires > :now ORDER BY j.created, j.id",
        {"now": now},
    )
    return [(_job(row), row["expires"] - now) for row in rows]


def is_held(session: Session, repo: int, job_id: str) -> bool:
    """Whether somebody has a claim on the job that did not run out."""
    row = session.one(
        "SELECT 1 FROM jobs WHERE repo = :repo AND id = :id AND expires > :now",
        {"repo": repo, "id": job_id, "now": session.now()},
    )
    return row is not None


def count_unfinished(session: Session) -> int:
    row = session.one("SELECT count(*) AS n FROM jobs WHERE finished IS NULL")
    return int(row["n"]) if row else 0


def overview(session: Session) -> dict[str, int]:
    """Pipelines; jobs that wait and run; pipelines whose newest finished job failed."""
    row = session.one(
        """SELECT (SELECT count(*) FROM pipelines p JOIN repos r ON r.key = p.repo
                   WHERE p.version > 0) AS pipelines,
                  (SELECT count(*) FROM jobs WHERE finished IS NULL AND expires <= :now)
                      AS jobs_waiting,
                  (SELECT count(*) FROM jobs WHERE finished IS NULL AND expires > :now)
                      AS jobs_running,
                  (SELECT count(*) FROM jobs j JOIN repos r ON r.key = j.repo
                   WHERE (j.state IN ('failure', 'unrunnable') OR j.reason LIKE :late)
                   AND j.environment = '' AND NOT EXISTS (SELECT 1 FROM jobs n WHERE n.repo = j.repo
                       AND n.branch = j.branch AND n.created > j.created)) AS jobs_failed""",
        {"now": session.now(), "late": f"{Told(Kind.TIMED_OUT).to_text()[:-1]}%"},
    )
    assert row is not None
    names = ("pipelines", "jobs_waiting", "jobs_running", "jobs_failed")
    return {name: int(row[name]) for name in names}


def renew(session: Session, repo: int, job_id: str, fence: int, lease_micros: int) -> bool:
    """Go on holding the job; False if it is over, or another's."""
    now = session.now()
    held = session.execute(
        """UPDATE jobs SET expires = :expires
           WHERE repo = :repo AND id = :id AND fence = :fence AND expires > :now
             AND finished IS NULL""",
        {"repo": repo, "id": job_id, "fence": fence, "now": now, "expires": now + lease_micros},
    )
    return held == 1


def holds(session: Session, repo: int, job_id: str, fence: int) -> bool:
    """Whether the claim with this fence is still good."""
    row = session.one(
        """SELECT 1 AS x FROM jobs WHERE repo = :repo AND id = :id AND fence = :fence
           AND expires > :now AND finished IS NULL""",
        {"repo": repo, "id": job_id, "fence": fence, "now": session.now()},
    )
    return row is not None


def note(
    session: Session,
    repo: int,
    job_id: str,
    fence: int,
    *,
    counts: Counts | None = None,
    spark_application: str | None = None,
    state: JobState | None = None,
) -> bool:
    """Write down how far a running job is; False if it is no longer ours."""
    sets = ["fence = fence"]
    sets += ["counts = :counts"] * (counts is not None)
    sets += ["spark_application = :spark"] * (spark_application is not None)
    sets += ["state = :state"] * (state is not None)
    touched = session.execute(
        f"""UPDATE jobs SET {", ".join(sets)}
            WHERE repo = :repo AND id = :id AND fence = :fence AND finished IS NULL""",
        {
            "repo": repo,
            "id": job_id,
            "fence": fence,
            "counts": json.dumps(asdict(counts)) if counts else None,
            "spark": spark_application,
            "state": str(state) if state else None,
        },
    )
    return touched == 1


def start(session: Session, repo: int, job_id: str) -> None:
    """The job begins now, in nobody's hands: it is about to be ended where it was made."""
    session.execute(
        "UPDATE jobs SET started = :now WHERE repo = :repo AND id = :id",
        {"repo": repo, "id": job_id, "now": session.now()},
    )


def wait(
    session: Session, repo: int, job_id: str, reason: Told, not_before: int, *, tried: bool = True
) -> None:
    """Give the job back, to be claimed again not before a moment; it may not count as a try."""
    session.execute(
        """UPDATE jobs SET state = :state, reason = :reason, not_before = :not_before,
               expires = 0, holder = NULL, attempt = attempt - :untried
           WHERE repo = :repo AND id = :id AND finished IS NULL""",
        {
            "repo": repo,
            "id": job_id,
            "state": str(JobState.WAITING),
            "reason": reason.to_text(),
            "not_before": not_before,
            "untried": 0 if tried else 1,
        },
    )


def end(
    session: Session,
    repo: int,
    job_id: str,
    state: JobState,
    reason: Told = NOTHING,
    *,
    counts: Counts | None = None,
    index: tuple[str, str] | None = None,
    inputs: Sequence[JobInput] | None = None,
) -> bool:
    """The job is over. False if it was before."""
    assert state in OVER
    sets = ["state = :state", "reason = :reason", "finished = :now", "expires = 0"]
    sets += ["counts = :counts"] * (counts is not None)
    sets += ["index_key = :index_key, index_hash = :index_hash"] * (index is not None)
    sets += ["inputs = :inputs"] * (inputs is not None)
    touched = session.execute(
        f"""UPDATE jobs SET {", ".join(sets)}
            WHERE repo = :repo AND id = :id AND finished IS NULL""",
        {
            "repo": repo,
            "id": job_id,
            "state": str(state),
            "reason": reason.to_text(),
            "now": session.now(),
            "counts": json.dumps(asdict(counts)) if counts else None,
            "index_key": index[0] if index else None,
            "index_hash": index[1] if index else None,
            "inputs": _encode_inputs(inputs or ()),
        },
    )
    return touched == 1


def replace_reason(session: Session, repo: int, job_id: str, before: Told, after: Told) -> None:
    """Say something else in place of a reason, if it is still that one."""
    session.execute(
        """UPDATE jobs SET reason = :after
           WHERE repo = :repo AND id = :id AND reason = :before""",
        {"repo": repo, "id": job_id, "before": before.to_text(), "after": after.to_text()},
    )


def using(
    session: Session, repo: int, job_id: str, state: JobState | None = None
) -> list[tuple[int, str]]:
    """Jobs that cannot do without this one's output: the unfinished, or those in a state.

    A stream reads what comes after what it has read: it passes by what others left undone.
    """
    rows = session.all(
        f"""SELECT j.repo, j.id FROM provenance p JOIN jobs j ON j.repo = p.repo AND j.id = p.id
           WHERE p.source_repo = :repo AND p.source_id = :id
             AND {"j.finished IS NULL" if state is None else "j.state = :state"}
             AND (j.id = :id OR j.lane <> :stream)""",
        {"repo": repo, "id": job_id, "state": str(state or ""), "stream": STREAM},
    )
    return [(row["repo"], row["id"]) for row in rows]


def unfinished_places(session: Session) -> list[tuple[int, str]]:
    """Every job that is not over: what it has stored so far must be kept."""
    rows = session.all("SELECT repo, id FROM jobs WHERE finished IS NULL")
    return [(row["repo"], row["id"]) for row in rows]


def places_with_reason(session: Session) -> list[tuple[int, str]]:
    """Every job that has something to say for itself: (repo, id)."""
    rows = session.all("SELECT repo, id FROM jobs WHERE reason <> ''")
    return [(row["repo"], row["id"]) for row in rows]


def places_since(session: Session, moment: int) -> list[tuple[int, str]]:
    """Jobs that are not over, or ended after a moment: (repo, id)."""
    rows = session.all(
        "SELECT repo, id FROM jobs WHERE finished IS NULL OR finished > :moment",
        {"moment": moment},
    )
    return [(row["repo"], row["id"]) for row in rows]


def every_index(session: Session) -> list[tuple[str, str]]:
    """The datum indexes of all jobs: (key, hash)."""
    rows = session.all("SELECT index_key, index_hash FROM jobs WHERE index_key IS NOT NULL")
    return [(row["index_key"], row["index_hash"]) for row in rows]


def head_indexes(session: Session, repo: int) -> list[tuple[str, str]]:
    """The indexes of the jobs that made what a pipeline's branches point at."""
    rows = session.all(
        """SELECT j.index_key, j.index_hash FROM branches b
           JOIN jobs j ON j.repo = b.repo AND j.id = b.head
           WHERE b.repo = :repo AND j.index_key IS NOT NULL""",
        {"repo": repo},
    )
    return [(row["index_key"], row["index_hash"]) for row in rows]


def lenders(session: Session) -> list[tuple[int, str]]:
    """Jobs that ended before their results were written down: others may take these over."""
    rows = session.all(
        """SELECT repo, id FROM jobs
           WHERE finished IS NOT NULL AND index_key IS NULL AND digest <> ''"""
    )
    return [(row["repo"], row["id"]) for row in rows]


def stop_lending(session: Session, moment: int) -> None:
    """What such jobs computed before a moment is nobody's from now on."""
    session.execute(
        """UPDATE jobs SET digest = '' WHERE finished <= :moment AND index_key IS NULL
           AND digest <> ''""",
        {"moment": moment},
    )


def _encode_inputs(inputs: Iterable[JobInput]) -> str:
    kept = [
        {
            "name": one.name,
            "project": one.repo.project,
            "repo": one.repo.repo,
            "branch": one.branch,
            "commit": one.commit,
        }
        for one in inputs
    ]
    return json.dumps(kept)


def _job(row: Row) -> Job:
    counts = json.loads(row["counts"])
    counts["spark_jobs"] = tuple(counts.get("spark_jobs", ()))
    inputs = tuple(
        JobInput(one["name"], RepoName(one["project"], one["repo"]), one["branch"], one["commit"])
        for one in json.loads(row["inputs"])
    )
    done = row["committed"] is not None and row["commit_error"] is None
    return Job(
        id=row["id"],
        pipeline=RepoName(row["project"], row["name"]),
        version=row["version"],
        branch=row["branch"],
        state=JobState(row["state"]),
        told_reason=Told.from_text(row["reason"]),
        told_cause=Told.from_text(row["cause"]),
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
        attempt=row["attempt"],
        counts=Counts(**counts),
        inputs=inputs,
        output_commit=row["id"] if done else None,
        index=row["index_key"],
        index_hash=row["index_hash"],
        digest=row["digest"],
        fence=row["fence"],
        worker=row["holder"],
        spark_application=row["spark_application"],
        priority=row["priority"],
        backfill=row["backfill"],
        replay=row["replay"],
        is_stream=row["lane"] == STREAM,
        environment=row["environment"],
    )
