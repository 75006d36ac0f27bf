"""Expectations: what became of each rule, and what was set aside."""

from __future__ import annotations

from trunkline.lake.control import read_job
from trunkline.model.access import Permission
from trunkline.model.expectations import CheckRecord
from trunkline.model.refs import parse_repo
from trunkline.sdk.wire.pipelines import Started
from trunkline.sdk.wire.tables import Replay
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, Caller, Needs, On, Routes
from trunkline.server.paging import Cursor, Limit, page_by_number

routes = Routes(tags=["checks"])


@routes.GET("/checks", ANYBODY)
def list_checks(
    call: Caller,
    project: str | None = None,
    pipeline: str | None = None,
    job: str | None = None,
    failed: bool = False,
    jobs: int = 1,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[CheckRecord]:
    """What became of each rule in the last jobs of each pipeline, or in one job.

    Without a project, those of all projects.
    """
    lake = call.lake.bound(project=project)
    if pipeline is not None:
        call.require(Permission.READ, parse_repo(pipeline, project=lake.project))
    if job is not None and (named := read_job(job, lake.project)[0]) is not None:
        call.require(Permission.READ, named)
    found = lake._checks(pipeline, job, failed, jobs, project is None, call.sees)
    return page_by_number(call.visible(found, lambda one: parse_repo(one.pipeline)), limit, cursor)


@routes.POST("/checks/replay", Needs(On.BODY, Permission.WRITE), status_code=202)
def replay(call: Caller, body: Replay) -> Started:
    """Compute again what has quarantined rows."""
    call.require(Permission.WRITE, parse_repo(body.pipeline, project=call.lake.project))
    return Started(call.lake.replay(body.pipeline, body.rule))
