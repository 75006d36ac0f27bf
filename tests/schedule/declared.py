"""Pipelines on a schedule, and what became of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from trunkline import Lake
from trunkline.lake import pipelines as declaring
from trunkline.lake.versions import Declared
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Cron, Cross, Input, Pfs, Trigger
from trunkline.model.jobs import Job
from trunkline.model.pipelines import PipelineSpec, Schedule, Transform
from trunkline.storage.catalog import jobs as job_rows
from trunkline.storage.catalog import refs, repos, timing
from trunkline.storage.catalog.timing import CronRow, TriggerRow


def micros(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1_000_000


def repo(name: str) -> RepoName:
    return RepoName("default", name)


def apply(lake: Lake, name: str, expression: Input, schedule: Schedule | None = None) -> None:
    spec = PipelineSpec(repo(name), expression, Transform(cmd=("true",)), schedule=schedule)
    declaring.apply(lake._core, [Declared(spec)], "ada")


def cron(pipeline: str, text: str, name: str = "tick", **fields: Any) -> Cron:
    return Cron(name, repo(f"{pipeline}_{name}"), text, **fields)


def apply_cron(lake: Lake, pipeline: str, text: str, **fields: Any) -> None:
    """A pipeline whose one input is a cron."""
    apply(lake, pipeline, cron(pipeline, text, **fields))


def pfs(source: str, name: str = "", **fields: Any) -> Pfs:
    return Pfs(name or source, repo(source), "/*", **fields)


def cross(*members: Input) -> Cross:
    return Cross(members)


def ticks(lake: Lake, name: str) -> list[str]:
    """The times for which a repo got a commit, in the order of the commits."""
    found = [commit.message.removeprefix("Tick ") for commit in lake.commits(f"{name}@main")]
    return found[::-1]


def files(lake: Lake, ref: str) -> list[str]:
    return [info.path for info in lake.ls(ref)]


def jobs(lake: Lake, pipeline: str) -> list[Job]:
    """The jobs of a pipeline, oldest first."""
    with lake._core.database.read() as session:
        key = repos.key_of(session, repo(pipeline))
        found = job_rows.listed(session, repo=key)
    return sorted(found, key=lambda job: job.id)


def cron_row(lake: Lake, name: str) -> CronRow:
    with lake._core.database.read() as session:
        return next(row for row in timing.crons(session) if row.name == repo(name))


def set_trigger(lake: Lake, name: str, branch: str, trigger: Trigger) -> None:
    with lake._core.database.write() as session:
        key = repos.key_of(session, repo(name))
        assert key is not None
        timing.set_trigger(session, key, branch, trigger)


def trigger_row(lake: Lake, branch: str) -> TriggerRow:
    with lake._core.database.read() as session:
        return next(row for row in timing.triggers(session) if row.branch == branch)


def head(lake: Lake, name: str, branch: str) -> str | None:
    with lake._core.database.read() as session:
        key = repos.key_of(session, repo(name))
        assert key is not None
        found = refs.branch(session, key, branch)
    return found.head if found else None


def put(lake: Lake, ref: str, name: str) -> str:
    with lake.commit(ref) as commit:
        commit.put(f"/{name}", name.encode())
    return commit.result.id
