"""The server itself: what it is, who works for it, and what they do."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from trunkline import __version__
from trunkline.model.access import LAKE, Permission
from trunkline.model.jobs import Job
from trunkline.model.streams import Batch
from trunkline.model.time import Moment
from trunkline.model.workers import WorkerInfo
from trunkline.schedule.ticker import Ticker
from trunkline.sdk.wire.running import API_VERSION, Fired, Info, RanJob, Running
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import (
    ANYBODY,
    PUBLIC,
    READ_SOMETHING,
    WRITE_SOMETHING,
    Call,
    Caller,
    Routes,
)
from trunkline.server.hidden_inputs import shown_batches, shown_job, shown_jobs
from trunkline.server.service import Service
from trunkline.storage.catalog import Session, flows, jobs, repos, workers

routes = Routes(tags=["server"])

MOST_UNFINISHED = 1000
MOST_ENDED = 5000
Since = Annotated[Moment | None, Query(description="Also those that ended since then.")]
Oldest = Annotated[Moment | None, Query(description="Of these, those made since then.")]


@routes.GET("/info", PUBLIC, quick=True)
def info(call: Caller) -> Info:
    """What this server is; who asks need not say who they are."""
    known = call.principal
    return Info(
        version=__version__,
        api=API_VERSION,
        authenticated=call.service.authenticated,
        user=known.name if known else None,
        features=("spark",) if call.service.engine is not None else (),
        workers=len(_workers(call.service)) if known else 0,
    )


@routes.GET("/workers", READ_SOMETHING)
def list_workers(call: Caller) -> Page[WorkerInfo]:
    """Who runs jobs here: workers of this server, and those elsewhere that reach the lake."""
    return Page(_workers(call.service))


@routes.GET("/run", ANYBODY)
def running(call: Caller, since: Since = None, oldest: Oldest = None) -> Running:
    """The jobs that wait and run, as far as the caller may see them, and those that ended."""
    with call.service.lake._core.database.read() as session:
        now = session.now()
        among = _seen(session, call)
        made = jobs.oldest_unfinished(session, among)
        unfinished = jobs.listed(session, unfinished=True, limit=MOST_UNFINISHED, among=among)
        ended = []
        if since is not None:
            first = since if oldest is None else oldest
            ended = jobs.ended_since(session, since, first, MOST_ENDED, among)
        ran = [(job, _batch(session, job)) for job in ended]
    shown = [
        RanJob(
            shown_job(call, job),
            shown_batches(call, job.pipeline, [batch])[0] if batch is not None else None,
        )
        for job, batch in ran
    ]
    return Running(now, shown_jobs(call, unfinished), shown, made)


@routes.POST("/run", WRITE_SOMETHING)
def fire(call: Caller) -> Fired:
    """Fire what is due by now, without waiting for the clock; workers run it."""
    ticker = Ticker(call.service.lake._core)
    ticker.fire_due(waits=False)
    return Fired(ticker.fired)


def _workers(service: Service) -> list[WorkerInfo]:
    with service.lake._core.database.read() as session:
        found = workers.alive(session)
    known = {one.name for one in found}
    return [*found, *(WorkerInfo(name) for name in service.workers if name not in known)]


def _seen(session: Session, call: Call) -> list[int] | None:
    """The repos whose jobs the caller may know of; None for all."""
    if call.who.may(Permission.READ, LAKE):
        return None
    return [one.key for one in call.visible(repos.all_repos(session, None), lambda one: one.name)]


def _batch(session: Session, job: Job) -> Batch | None:
    repo = repos.key_of(session, job.pipeline) if job.is_stream else None
    return flows.batch_of(session, repo, job.id) if repo is not None else None
