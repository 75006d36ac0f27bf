"""Environments: branches of all repos of a project, with the pipelines that run on them.

What is said of one names repos of all the project, so it is for those who may read all of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from trunkline.lake.versions import Declared
from trunkline.model.access import Permission
from trunkline.model.environments import (
    CodeDiff,
    CodeState,
    Environment,
    EnvironmentDiff,
    EnvironmentReport,
    EnvironmentStatus,
)
from trunkline.model.inputs import leaves
from trunkline.pipelines.spec.codec import from_json, view_of
from trunkline.sdk.wire.environments import MergeEnvironment, NewEnvironment, SyncEnvironment
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, MAINTAIN_PROJECT, Call, Caller, Needs, On, Routes
from trunkline.server.declaring import require_apply
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["environments"])
READ_PROJECT = Needs(On.PROJECT, Permission.READ)
ALL = "/projects/{project}/environments"
ONE = f"{ALL}/{{environment}}"


@routes.GET("/environments", ANYBODY)
def list_environments(
    call: Caller, project: str | None = None, limit: Limit = 100, cursor: Cursor = None
) -> Page[Environment]:
    """The environments of a project, or of all that the caller may read."""
    if project is not None:
        call.require_project_seen(project)
    lake = call.lake.bound(project=project) if project is not None else call.lake
    found = lake.environments(all_projects=project is None)
    seen = [one for one in found if call.who.may(Permission.READ, one.project)]
    return page(seen, lambda one: f"{one.project}\0{one.name}", limit, cursor)


@routes.POST(ALL, MAINTAIN_PROJECT, status_code=201)
def create_environment(call: Caller, project: str, body: NewEnvironment) -> Environment:
    """A branch of every repo of a project, and its pipelines on them. No data is copied."""
    return call.lake.bound(project=project).create_environment(body.name, body.base)


@routes.GET(ONE, READ_PROJECT)
def get_environment(call: Caller, project: str, environment: str) -> EnvironmentStatus:
    """Which pipelines and branches are not as in its base."""
    return call.lake.bound(project=project).environment_status(environment)


@routes.GET(f"{ONE}/diff", READ_PROJECT)
def diff_environment(
    call: Caller, project: str, environment: str, rows: Annotated[int, Query(ge=0, le=1000)] = 0
) -> EnvironmentDiff:
    """What code, schemas and rows differ in; of each table up to `rows` of these.

    The code of a pipeline is only for those who may read all that it reads, as it names that.
    """
    found = call.lake.bound(project=project).environment_diff(environment, rows)
    code = [one if _knows(call, one, environment) else replace(one, text="") for one in found.code]
    return replace(found, code=tuple(code))


def _knows(call: Call, one: CodeDiff, environment: str) -> bool:
    """Whether the caller may read all that both versions read."""
    name = f"{one.name.project}/{one.name.repo}"
    numbers = ((one.version, environment), (one.base_version, None))
    infos = [call.lake.pipeline(name, number, where) for number, where in numbers if number]
    read = {leaf.repo for info in infos for leaf in leaves(view_of(info.spec).input)}
    return all(call.may(Permission.READ, repo) for repo in read)


@routes.POST(f"{ONE}/sync", MAINTAIN_PROJECT)
def sync_environment(
    call: Caller, project: str, environment: str, body: SyncEnvironment
) -> EnvironmentReport:
    """Bring it what its base got since."""
    lake = call.lake.bound(project=project)
    return lake.sync_environment(environment, body.strategy, body.dry_run)


@routes.POST(f"{ONE}/merge", MAINTAIN_PROJECT)
def merge_environment(
    call: Caller, project: str, environment: str, body: MergeEnvironment
) -> EnvironmentReport:
    """Publish its code and data. What was computed there is not computed again."""
    lake = call.lake.bound(project=project)
    for one in lake.environment_status(environment).pipelines:
        if one.state in (CodeState.NEW, CodeState.CHANGED):
            info = lake.pipeline(f"{project}/{one.name.repo}", env=environment)
            require_apply(call, [Declared(from_json(info.spec))])
    return lake.merge_environment(environment, body.dry_run, body.force, body.delete)


@routes.DELETE(ONE, MAINTAIN_PROJECT, status_code=204)
def delete_environment(call: Caller, project: str, environment: str, force: bool = False) -> None:
    call.lake.bound(project=project).delete_environment(environment, force)
