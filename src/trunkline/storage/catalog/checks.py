"""What became of expectations: a row for each rule of each job that got to its end."""

from __future__ import annotations

import json
from collections.abc import Sequence

from trunkline.model.commits import RepoName
from trunkline.model.expectations import Action, CheckKind, CheckRecord, CheckResult, CheckState
from trunkline.storage.catalog.database import Row, Session


def record(
    session: Session, repo: int, job_id: str, results: Sequence[CheckResult], at: int
) -> None:
    """Keep the results of a job, in place of any that it had."""
    session.execute(
        "DELETE FROM checks WHERE repo = :repo AND job = :job", {"repo": repo, "job": job_id}
    )
    for position, one in enumerate(results):
        session.execute(
            """INSERT INTO checks (repo, job, position, name, kind, action, state, of_table,
                   row_count, broken, said, samples, at)
               VALUES (:repo, :job, :position, :name, :kind, :action, :state, :of_table,
                   :row_count, :broken, :said, :samples, :at)""",
            {
                "repo": repo,
                "job": job_id,
                "position": position,
                "name": one.name,
                "kind": str(one.kind),
                "action": str(one.action),
                "state": str(one.state),
                "of_table": one.table,
                "row_count": one.rows,
                "broken": one.broken,
                "said": one.said,
                "samples": json.dumps(one.samples, ensure_ascii=False),
                "at": at,
            },
        )


def listed(
    session: Session,
    *,
    repo: int | None = None,
    project: str | None = None,
    job: str | None = None,
    state: CheckState | None = None,
    jobs_each: int = 1,
) -> list[CheckRecord]:
    """Results, newest job first, each job's in the order of its rules.

    Of one job, or of the last few jobs of each pipeline that have any. Backfills, which are
    about the past, are then left out.
    """
    wheres = ["j.backfill IS NULL", "j.environment = ''"] if job is None else ["c.job = :job"]
    wheres += ["c.repo = :repo"] * (repo is not None)
    wheres += ["r.project = :project"] * (project is not None)
    outer = ["age <= :jobs_each"] + ["state = :state"] * (state is not None)
    rows = session.all(
        f"""SELECT * FROM (
                SELECT c.*, r.project AS project, r.name AS pipeline,
                    dense_rank() OVER (PARTITION BY c.repo ORDER BY c.at DESC, c.job DESC) AS age
                FROM checks c JOIN repos r ON r.key = c.repo
                JOIN jobs j ON j.repo = c.repo AND j.id = c.job
                WHERE {" AND ".join(wheres)}) AS ranked
            WHERE {" AND ".join(outer)}
            ORDER BY at DESC, job DESC, project, pipeline, position""",
        {
            "repo": repo,
            "project": project,
            "job": job,
            "state": str(state) if state else None,
            "jobs_each": jobs_each,
        },
    )
    return [_check(row) for row in rows]


def remove(session: Session, repo: int) -> None:
    session.execute("DELETE FROM checks WHERE repo = :repo", {"repo": repo})


def forget_samples(
    session: Session, *, repo: int | None = None, job: str | None = None, before: int | None = None
) -> int:
    """Throw away the rows that were kept as examples; of how many results. What counts stays."""
    wheres = ["samples <> '[]'"]
    wheres += ["repo = :repo"] * (repo is not None)
    wheres += ["job = :job"] * (job is not None)
    wheres += ["at < :before"] * (before is not None)
    return session.execute(
        f"UPDATE checks SET samples = '[]' WHERE {' AND '.join(wheres)}",
        {"repo": repo, "job": job, "before": before},
    )


def _check(row: Row) -> CheckRecord:
    result = CheckResult(
        row["name"],
        CheckKind(row["kind"]),
        Action(row["action"]),
        CheckState(row["state"]),
        row["of_table"],
        row["row_count"],
        row["broken"],
        row["said"],
        tuple(json.loads(row["samples"])),
    )
    pipeline = str(RepoName(row["project"], row["pipeline"]))
    return CheckRecord(pipeline, row["job"], row["at"], result)
