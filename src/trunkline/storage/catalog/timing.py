"""What fires by a condition or by the clock: triggers of branches, schedules of pipelines."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, NamedTuple

from trunkline.model.commits import RepoName
from trunkline.model.inputs import Trigger
from trunkline.model.pipelines import Ticks
from trunkline.storage.catalog.database import Session


class TriggerRow(NamedTuple):
    """A branch that follows another, with the last word on why it did or did not."""

    repo: int
    branch: str
    trigger: Trigger
    verdict: str
    evaluated: int | None
    slot: int | None
    created: int


class CronRow(NamedTuple):
    """A schedule. `slot` is the last one that fired; `ticks` as its input or schedule says."""

    repo: int
    name: RepoName
    pipeline: int
    ticks: Ticks
    started: int
    slot: int | None


def set_trigger(session: Session, repo: int, branch: str, trigger: Trigger) -> None:
    session.execute(
        """INSERT INTO triggers (repo, branch, spec, created) VALUES (:repo, :branch, :spec, :now)
           ON CONFLICT (repo, branch) DO UPDATE SET spec = excluded.spec""",
        {
            "repo": repo,
            "branch": branch,
            "spec": json.dumps(asdict(trigger)),
            "now": session.now(),
        },
    )


def triggers(session: Session, repo: int | None = None) -> list[TriggerRow]:
    where = ":repo" if repo is not None else "SELECT key FROM repos"
    rows = session.all(
        f"SELECT * FROM triggers WHERE repo IN ({where}) ORDER BY repo, branch", {"repo": repo}
    )
    return [
        TriggerRow(
            row["repo"],
            row["branch"],
            Trigger(**json.loads(row["spec"])),
            row["verdict"],
            row["evaluated"],
            row["slot"],
            row["created"],
        )
        for row in rows
    ]


def record_verdict(session: Session, repo: int, branch: str, verdict: str) -> None:
    session.execute(
        """UPDATE triggers SET verdict = :verdict, evaluated = :now
           WHERE repo = :repo AND branch = :branch""",
        {"repo": repo, "branch": branch, "verdict": verdict, "now": session.now()},
    )


def claim_trigger_slot(session: Session, repo: int, branch: str, slot: int) -> bool:
    """Whether nobody fired this slot, or a later one, before."""
    touched = session.execute(
        """UPDATE triggers SET slot = :slot
           WHERE repo = :repo AND branch = :branch AND coalesce(slot, -1) < :slot""",
        {"repo": repo, "branch": branch, "slot": slot},
    )
    return touched == 1


def remove_trigger(session: Session, repo: int, branch: str) -> None:
    session.execute(
        "DELETE FROM triggers WHERE repo = :repo AND branch = :branch",
        {"repo": repo, "branch": branch},
    )


def set_cron(session: Session, repo: int, pipeline: int, spec: dict[str, Any]) -> None:
    """Declare a schedule; one that changed counts from now, or from the last slot that fired."""
    session.execute(
        """INSERT INTO crons (repo, pipeline, spec, started)
           VALUES (:repo, :pipeline, :spec, :now)
           ON CONFLICT (repo) DO UPDATE SET pipeline = excluded.pipeline, spec = excluded.spec,
               started = CASE WHEN crons.spec = excluded.spec THEN crons.started
                         ELSE excluded.started END""",
        {"repo": repo, "pipeline": pipeline, "spec": json.dumps(spec), "now": session.now()},
    )


def crons(session: Session, pipeline: int | None = None) -> list[CronRow]:
    where = "WHERE c.pipeline = :pipeline" if pipeline is not None else ""
    rows = session.all(
        f"""SELECT c.*, r.project, r.name FROM crons c JOIN repos r ON r.key = c.repo
            JOIN repos p ON p.key = c.pipeline {where} ORDER BY c.repo""",
        {"pipeline": pipeline},
    )
    return [
        CronRow(
            row["repo"],
            RepoName(row["project"], row["name"]),
            row["pipeline"],
            Ticks(**json.loads(row["spec"])),
            row["started"],
            row["slot"],
        )
        for row in rows
    ]


def claim_slot(session: Session, repo: int, slot: int) -> bool:
    """Whether nobody fired this slot, or a later one, before."""
    touched = session.execute(
        "UPDATE crons SET slot = :slot WHERE repo = :repo AND coalesce(slot, -1) < :slot",
        {"repo": repo, "slot": slot},
    )
    return touched == 1


def remove_cron(session: Session, repo: int) -> None:
    session.execute("DELETE FROM crons WHERE repo = :repo", {"repo": repo})
