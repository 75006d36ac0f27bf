"""What must hold of environments: they have versions, branches and edges that are there."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.model.environments import Environment
from trunkline.storage.catalog import Session, environments, jobs, pipelines, refs, repos


def check_environments(session: Session) -> Iterator[tuple[str, str]]:
    """What is wrong: where, and what it is."""
    known = environments.listed(session)
    for one in known:
        yield from _check(session, one)
    names = {(one.project, one.name) for one in known}
    for job in jobs.listed(session, unfinished=True):
        if job.environment and (job.pipeline.project, job.environment) not in names:
            where = f"{job.pipeline}@{job.short_id}"
            yield where, f"waits in the environment {job.environment}, which is gone"
    for repo, environment in environments.every_presence(session):
        name = repos.name_of(session, repo)
        if name is None or (name.project, environment) not in names:
            yield str(name), f"is in the environment {environment}, which is gone"


def _check(session: Session, one: Environment) -> Iterator[tuple[str, str]]:
    for repo, here in environments.present(session, one.project, one.name).items():
        where = f"{repos.name_of(session, repo)} in {one.name}"
        if not here.version:
            continue
        if pipelines.version(session, repo, here.version) is None:
            yield where, f"has version {here.version}, which is not there"
        for edge in environments.reads(session, repo, one.name):
            source = repos.name_of(session, edge.source)
            if one.owns(edge.branch) and refs.branch(session, edge.source, edge.branch) is None:
                yield where, f"reads {source}@{edge.branch}, which is not there"
