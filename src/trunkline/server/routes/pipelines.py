"""Pipelines: applied, planned, listed, steered; schedules, backfills, pools."""

from __future__ import annotations

from typing import Any

from trunkline.errors import NotAllowed, NotFound
from trunkline.lake.pipelines import Applied
from trunkline.lake.versions import Declared
from trunkline.model.access import Permission
from trunkline.model.commits import Commit, RepoName
from trunkline.model.jobs import Backfill
from trunkline.model.pipelines import PipelineInfo
from trunkline.pipelines.spec.codec import from_json
from trunkline.pipelines.spec.schema import json_schema
from trunkline.schedule.outlook import NextTick
from trunkline.sdk import why
from trunkline.sdk.lake import Lake
from trunkline.sdk.pipelines import mode_of
from trunkline.sdk.reports import ApplyReport, PlanReport
from trunkline.sdk.spectext import PipelineText, SpecText, declaration_of
from trunkline.sdk.wire.jobs import Why
from trunkline.sdk.wire.pipelines import (
    DatumOf,
    Declaration,
    NewBackfill,
    Pool,
    PoolSlots,
    Restore,
    Started,
    Tick,
    all_declared,
)
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import (
    ANYBODY,
    MAINTAIN_REPO,
    READ_REPO,
    READ_SOMETHING,
    WRITE_REPO,
    WRITE_SOMETHING,
    Call,
    Caller,
    Needs,
    On,
    Routes,
)
from trunkline.server.declaring import require_apply, require_branches, require_plan
from trunkline.server.hidden_inputs import (
    shown_backfills,
    shown_pipeline,
    shown_plan,
    shown_why,
)
from trunkline.server.limits import LARGEST_MANY
from trunkline.server.lines import Lines, lines
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["pipelines"])
MAINTAIN_BODY = Needs(On.BODY, Permission.MAINTAIN)
MAINTAIN_LAKE = Needs(On.LAKE, Permission.MAINTAIN)
READ_BODY = Needs(On.BODY, Permission.READ)
ONE = "/pipelines/{project}/{repo}"


@routes.POST("/pipelines", MAINTAIN_BODY, largest=LARGEST_MANY)
def apply(call: Caller, body: Declaration) -> ApplyReport:
    """Make or change pipelines, all or none: runs code on the workers, in the caller's name."""
    mode = mode_of(body.reprocess, body.no_reprocess)
    declared = all_declared(body.pipelines)
    require_apply(call, declared)
    lake, where = _in_environment(call, body)
    if where is not None:
        require_branches(call, declared, where)
    return lake._apply(declared, body.ignored, mode, where)


@routes.POST("/pipelines/plan", READ_BODY)
def plan(call: Caller, body: Declaration) -> PlanReport:
    """What applying would do, and why. Nothing happens."""
    mode = mode_of(body.reprocess, body.no_reprocess)
    declared = all_declared(body.pipelines)
    require_plan(call, declared)
    lake, where = _in_environment(call, body)
    return shown_plan(call, lake._planned(declared, body.ignored, mode, where), where)


def _in_environment(call: Call, body: Declaration) -> tuple[Lake, str | None]:
    """Where it is applied: the environment's project must be one that the caller may see."""
    if body.environment is None:
        return call.lake, None
    call.require_project_seen(body.environment.project)
    return call.lake.bound(project=body.environment.project), body.environment.name


@routes.POST("/pipelines/datums", READ_BODY, response_class=Lines)
def datums_of(call: Caller, body: Declaration) -> Lines:
    """The datums that pipelines would have, a line each."""
    declared = all_declared(body.pipelines)
    require_plan(call, declared)
    found = call.lake._datums_of(declared)
    return lines(DatumOf, (DatumOf(name, datum) for name, datum in found))


@routes.POST("/pipelines/read", WRITE_SOMETHING)
def read_text(call: Caller, body: SpecText) -> Declaration:
    """Pipelines from the text of an editor, as applying takes them. Nothing happens, or is run.

    YAML or JSON. Files that the specs name must be in `code`.
    """
    return declaration_of(body)


@routes.GET("/pipelines/schema", ANYBODY)
def get_schema(call: Caller) -> dict[str, Any]:
    """The JSON Schema of a spec, for editors."""
    return json_schema()


@routes.GET("/projects/{project}/plan", ANYBODY)
def due(call: Caller, project: str, environment: str | None = None) -> PlanReport:
    """What the next job of each pipeline would do now."""
    call.require_project_seen(project)
    lake = call.lake.bound(project=project)
    found = lake._due(lambda name: call.may(Permission.READ, name), environment)
    return shown_plan(call, found, environment)


@routes.GET("/pipelines", ANYBODY)
def list_pipelines(
    call: Caller,
    project: str | None = None,
    environment: str | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[PipelineInfo]:
    """The pipelines of a project, or of all, that the caller may read.

    With `environment` those of one of the project's.
    """
    if project is not None:
        call.require_project_seen(project)
    lake = call.lake.bound(project=project) if project is not None else call.lake
    found = lake.pipelines(all_projects=project is None, env=environment)
    seen = call.visible(found, lambda one: one.name)
    shown = [shown_pipeline(call, one) for one in seen]
    return page(shown, lambda one: f"{one.name.project}\0{one.name.repo}", limit, cursor)


@routes.GET(ONE, READ_REPO, quick=True)
def get_pipeline(
    call: Caller,
    project: str,
    repo: str,
    version: int | None = None,
    environment: str | None = None,
) -> PipelineInfo:
    """A pipeline, with its spec; with `environment` as it is there."""
    return shown_pipeline(call, call.lake.pipeline(f"{project}/{repo}", version, environment))


@routes.GET(f"{ONE}/versions", READ_REPO)
def list_versions(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[PipelineInfo]:
    """Every version, newest first."""
    found = [shown_pipeline(call, one) for one in call.lake.pipeline_versions(f"{project}/{repo}")]
    return page(found, lambda one: _downwards(one.version), limit, cursor)


@routes.GET(f"{ONE}/text", READ_REPO)
def get_text(call: Caller, project: str, repo: str, version: int | None = None) -> PipelineText:
    """A pipeline to be edited and applied again: YAML, and its files of code.

    Only for those who may read all that it reads, as these are named in it.
    """
    info = call.lake.pipeline(f"{project}/{repo}", version)
    if shown_pipeline(call, info) is not info:
        raise NotAllowed(
            f"{call.who.name} may not read all that {info.name} reads.",
            hint="Ask an admin for the role.",
        )
    return call.lake.pipeline_text(f"{project}/{repo}", version)


@routes.GET(f"{ONE}/why", READ_REPO)
def why_pipeline(call: Caller, project: str, repo: str) -> Why:
    """In words: why a pipeline does not run now, or that it does."""
    name, core = RepoName(project, repo), call.lake._core
    inputs = call.lake.pipeline(f"{project}/{repo}").inputs
    return Why(shown_why(call, name, inputs, lambda seen: why.why_pipeline(core, name, seen)))


@routes.POST(f"{ONE}/restore", MAINTAIN_REPO)
def restore_pipeline(call: Caller, project: str, repo: str, body: Restore) -> Applied:
    """Make an earlier version the newest. Its inputs must still be the caller's to read."""
    name = f"{project}/{repo}"
    try:
        old = call.lake.pipeline(name, body.version)
    except NotFound:
        pass  # said better where it is restored
    else:
        require_apply(call, [Declared(from_json(old.spec))])
    return call.lake.restore_pipeline(name, body.version)


@routes.DELETE(ONE, MAINTAIN_REPO, status_code=204)
def delete_pipeline(
    call: Caller,
    project: str,
    repo: str,
    force: bool = False,
    keep_repo: bool = False,
    environment: str | None = None,
) -> None:
    """Delete a pipeline, or with `environment` only what it is there."""
    call.lake.delete_pipeline(f"{project}/{repo}", force, keep_repo, environment)


@routes.POST(f"{ONE}/pause", MAINTAIN_REPO, status_code=204)
def pause_pipeline(call: Caller, project: str, repo: str) -> None:
    """No new jobs; running ones are stopped."""
    call.lake.pause_pipeline(f"{project}/{repo}")


@routes.POST(f"{ONE}/resume", MAINTAIN_REPO, status_code=202)
def resume_pipeline(call: Caller, project: str, repo: str) -> Started:
    return Started(call.lake.resume_pipeline(f"{project}/{repo}"))


@routes.POST(f"{ONE}/run", WRITE_REPO, status_code=202)
def run_pipeline(call: Caller, project: str, repo: str, environment: str | None = None) -> Started:
    """Start a job at the present heads, or at those of an environment."""
    return Started(call.lake.run_pipeline(f"{project}/{repo}", environment))


@routes.POST(f"{ONE}/ticks", WRITE_REPO)
def tick(call: Caller, project: str, repo: str, body: Tick) -> Page[Commit]:
    """Tick by hand."""
    return Page(call.lake.tick(f"{project}/{repo}", body.name))


@routes.GET(f"{ONE}/ticks", READ_REPO)
def next_ticks(call: Caller, project: str, repo: str, limit: Limit = 5) -> Page[NextTick]:
    """When its schedules tick next."""
    return Page(call.lake.next_ticks(f"{project}/{repo}", limit))


# -- backfills ---------------------------------------------------------------------------------


@routes.POST(f"{ONE}/backfills", MAINTAIN_REPO, status_code=201)
def backfill(call: Caller, project: str, repo: str, body: NewBackfill) -> Backfill:
    """Jobs for past commits of an input."""
    for ref in (body.start, body.to):
        if ref is not None:
            call.require_ref(Permission.READ, ref)
    return call.lake.backfill(f"{project}/{repo}", body.start, body.to, body.branch)


@routes.GET("/backfills", ANYBODY)
def list_backfills(call: Caller, limit: Limit = 100, cursor: Cursor = None) -> Page[Backfill]:
    """Newest first."""
    found = call.visible(call.lake.backfills(), lambda one: one.pipeline)
    return page(
        shown_backfills(call, found),
        lambda one: f"{_downwards(one.created)} {one.id}",
        limit,
        cursor,
    )


@routes.POST("/backfills/{backfill}/{action}", MAINTAIN_BODY)
def steer_backfill(call: Caller, backfill: str, action: str) -> Backfill:
    """Pause, resume or cancel a backfill."""
    seen = call.visible(call.lake.backfills(), lambda one: one.pipeline)
    found = next((one for one in seen if one.id.startswith(backfill)), None)
    if found is None:
        raise NotFound(
            f'There is no backfill "{backfill}".', hint="trunkline backfill list shows them."
        )
    call.require(Permission.MAINTAIN, found.pipeline)
    return call.lake.steer_backfill(found.id, action)


# -- pools -------------------------------------------------------------------------------------


@routes.GET("/pools", READ_SOMETHING)
def list_pools(call: Caller, limit: Limit = 100, cursor: Cursor = None) -> Page[Pool]:
    """Limits on how many jobs run at once, with what runs and waits in each."""
    found = [Pool(**one) for one in call.lake.pools()]
    return page(found, lambda one: one.name, limit, cursor)


@routes.PUT("/pools/{name}", MAINTAIN_LAKE, status_code=204)
def set_pool(call: Caller, name: str, body: PoolSlots) -> None:
    call.lake.set_pool(name, body.slots)


@routes.DELETE("/pools/{name}", MAINTAIN_LAKE, status_code=204)
def delete_pool(call: Caller, name: str) -> None:
    call.lake.delete_pool(name)


def _downwards(number: int) -> str:
    """A key by which larger numbers come first."""
    return f"{(1 << 62) - number:020d}"
