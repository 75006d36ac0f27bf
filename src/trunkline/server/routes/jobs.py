"""Jobs, datums and logs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

from fastapi import Header, Query, Request
from sse_starlette import EventSourceResponse

from trunkline.errors import AmbiguousId, NotAllowed, NotFound, Usage
from trunkline.jobs.logs import Tail
from trunkline.lake.control import check_job_id
from trunkline.model.access import LAKE, Permission
from trunkline.model.commits import RepoName
from trunkline.model.jobs import DatumInfo, Job, JobState, LogLine
from trunkline.model.refs import parse_repo
from trunkline.sdk import why
from trunkline.sdk.wire.jobs import WAIT_SECONDS, Cancel, Waited, Why
from trunkline.sdk.wire.pipelines import Started
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, READ_REPO, WRITE_REPO, Call, Caller, Needs, On, Routes
from trunkline.server.following import followed, looked, position_of, until_changed
from trunkline.server.hidden_inputs import shown_datums, shown_job, shown_jobs, shown_why
from trunkline.server.lines import Lines, lines
from trunkline.server.paging import Cursor, Limit, decoded, encoded, page_by_number

routes = Routes(tags=["jobs"])
ONE = "/jobs/{project}/{repo}/{job}"
FAILED = (JobState.FAILURE, JobState.KILLED)
Seconds = Annotated[float, Query(ge=0, le=WAIT_SECONDS, description="Wait so long at most.")]
Seen = Annotated[str, Query(description="Wait for a change from what gave this as `seen`.")]


@routes.GET("/jobs", ANYBODY)
def list_jobs(
    call: Caller,
    project: str | None = None,
    pipeline: Annotated[str | None, Query(description="PROJECT/NAME")] = None,
    state: str | None = None,
    id: Annotated[str | None, Query(description="The first digits of the id.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Job]:
    """The jobs of a pipeline, a project, or all that the caller may read; newest first."""
    name = parse_repo(pipeline) if pipeline is not None else None
    if name is not None:
        call.require(Permission.READ, name)
    if project is not None:
        call.require_project_seen(project)
    if id:
        check_job_id(id)
    found, more = call.lake._listed(
        f"{name.project}/{name.repo}" if name else None,
        state,
        limit,
        project,
        id_prefix=id or None,
        before=_before(cursor),
        shows=_shows(call, project),
    )
    return Page(shown_jobs(call, found), _after(found[-1]) if more else None)


@routes.GET(ONE, READ_REPO, quick=True)
def get_job(call: Caller, project: str, repo: str, job: str) -> Job:
    return shown_job(call, call.lake._find(f"{project}/{repo}@{job}")[1])


@routes.GET(f"{ONE}/wait", READ_REPO)
async def wait_for_job(
    request: Request,
    call: Caller,
    project: str,
    repo: str,
    job: str,
    timeout: Seconds = WAIT_SECONDS,
    seen: Seen = "",
) -> Waited:
    """A job, when it has changed or is over. Without `seen` at once."""
    name = f"{project}/{repo}@{job}"
    return await until_changed(
        request, call.lake, lambda: [shown_job(call, call.lake._find(name)[1])], seen, timeout
    )


@routes.POST(f"{ONE}/cancel", WRITE_REPO)
def cancel_job(call: Caller, project: str, repo: str, job: str, body: Cancel) -> Job:
    """Stop a job and all that waits for it."""
    return shown_job(call, call.lake.cancel_job(f"{project}/{repo}@{job}", body.reason))


@routes.GET(f"{ONE}/why", READ_REPO)
def why_job(call: Caller, project: str, repo: str, job: str) -> Why:
    """In words: what made a job start, what was new to it, what it did, how it ended."""
    key, found = call.lake._find(f"{project}/{repo}@{job}")
    inputs = [one.repo for one in found.inputs]
    core = call.lake._core
    told = shown_why(call, found.pipeline, inputs, lambda seen: why.why_job(core, key, found, seen))
    return Why(told)


@routes.GET(f"{ONE}/datums", READ_REPO)
def list_datums(
    call: Caller,
    project: str,
    repo: str,
    job: str,
    state: str | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[DatumInfo]:
    """The datums of a job, with what became of each and why."""
    found = _datums(call, RepoName(project, repo), job, state)
    return page_by_number(found, limit, cursor)


@routes.GET(f"{ONE}/datums/all", READ_REPO, response_class=Lines)
def all_datums(call: Caller, project: str, repo: str, job: str, state: str | None = None) -> Lines:
    """All datums of a job, a line each."""
    return lines(DatumInfo, _datums(call, RepoName(project, repo), job, state))


@routes.GET(f"{ONE}/logs", READ_REPO)
def list_log_lines(
    call: Caller,
    project: str,
    repo: str,
    job: str,
    datum: str | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[LogLine]:
    """What the datums of a job have printed."""
    found = call.lake.logs(f"{project}/{repo}@{job}", datum)
    return page_by_number(found, limit, cursor)


@routes.GET(f"{ONE}/logs/events", READ_REPO, response_class=EventSourceResponse)
async def follow_log(
    request: Request,
    call: Caller,
    project: str,
    repo: str,
    job: str,
    datum: str | None = None,
    follow: bool = True,
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """What the datums of a job print, as it comes, until the job is over.

    Events are `line`; `seen`, whose id can be sent back as Last-Event-ID; `end`; `error`.
    """
    after = position_of(last_event_id)
    lake = call.lake
    key, found = await looked(request, lambda: lake._find(f"{project}/{repo}@{job}"))
    return followed(request, Tail(lake._core, key, found, datum, after), follow)


# -- sets --------------------------------------------------------------------------------------


@routes.GET("/sets/{set_id}/jobs", ANYBODY)
def list_jobs_of_set(call: Caller, set_id: str) -> Page[Job]:
    """The jobs of a commit set that the caller may read."""
    try:
        found = _of_set(call, set_id)
    except NotFound:
        if not _is_seen(call, set_id):
            raise
        found = []
    return Page(shown_jobs(call, found))


@routes.GET("/sets/{set_id}/wait", ANYBODY)
async def wait_for_set(
    request: Request,
    call: Caller,
    set_id: str,
    timeout: Seconds = WAIT_SECONDS,
    seen: Seen = "",
) -> Waited:
    """The jobs of a set, when one has changed or all are over. Without `seen` at once."""
    return await until_changed(
        request, call.lake, lambda: shown_jobs(call, _of_set(call, set_id)), seen, timeout
    )


@routes.POST("/sets/{set_id}/rerun", Needs(On.BODY, Permission.WRITE), status_code=202)
def rerun_set(call: Caller, set_id: str) -> Started:
    """Try again what failed in a set, as a new set."""
    seen = _of_set(call, set_id)
    for one in [job for job in seen if job.state in FAILED] or seen[:1]:
        call.require(Permission.WRITE, one.pipeline)
    hidden = [one for one in call.lake._found(seen[0].id) if one not in seen]
    if any(one.state in FAILED for one in hidden):
        raise NotAllowed(
            f"{call.who.name} may not run all of the set {seen[0].short_id} again.",
            hint="Run the pipelines that are yours: trunkline pipeline run NAME",
        )
    return Started(call.lake.rerun_job(seen[0].id))


def _datums(call: Call, name: RepoName, job: str, state: str | None) -> Iterator[DatumInfo]:
    key, found = call.lake._find(f"{name.project}/{name.repo}@{job}")
    # Datums that were never run say why the job was not.
    told = replace(found, told_reason=shown_job(call, found).told_reason)
    inputs = [one.repo for one in found.inputs]
    return shown_datums(call, name, inputs, call.lake._datums(key, told, state))


def _of_set(call: Call, text: str) -> list[Job]:
    """A set's jobs. Whether there are others than the caller's is not told."""
    try:
        found = call.lake._found(text, call.sees)
    except NotFound:
        if call.sees is None:
            raise
        found = []
    seen = call.visible(found, lambda one: one.pipeline)
    if not seen:
        raise NotFound(f'There is no job "{text}".', hint="trunkline job list shows all jobs.")
    return seen


def _is_seen(call: Call, set_id: str) -> bool:
    """Whether the caller may read a commit of the set."""
    try:
        return bool(call.lake._shown(set_id, call.sees))
    except (NotFound, AmbiguousId):
        return False


def _shows(call: Call, project: str | None) -> Callable[[RepoName], bool] | None:
    """What the caller may read; None if that is everything that is asked for."""
    if call.who.may(Permission.READ, project or LAKE):
        return None
    return lambda name: call.may(Permission.READ, name)


def _after(job: Job) -> str:
    return encoded(json.dumps([job.created, job.id, job.pipeline.project, job.pipeline.repo]))


def _before(cursor: str | None) -> tuple[int, str, RepoName] | None:
    text = decoded(cursor)
    if text is None:
        return None
    try:
        created, job, project, repo = json.loads(text)
        return int(created), str(job), RepoName(str(project), str(repo))
    except (ValueError, TypeError, RecursionError):
        raise Usage("This cursor is none of this list's.", hint="Leave it out.") from None
