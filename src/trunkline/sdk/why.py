"""Why a job ran and ended as it did, and why a pipeline does not run now: in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from trunkline.errors import TrunklineError
from trunkline.jobs.listing import of_job
from trunkline.jobs.streaming import status
from trunkline.lake.control import find_backfill
from trunkline.lake.core import Core, repo_key
from trunkline.lake.pipelines import require
from trunkline.model.commits import RepoName
from trunkline.model.jobs import BAD, DatumInfo, DatumState, Job, JobInput, JobState
from trunkline.model.pipelines import INGEST
from trunkline.model.told import Kind
from trunkline.model.words import count, job_words, reasons
from trunkline.pipelines.cron import BY_HAND, slot_name
from trunkline.pipelines.spec.codec import view_of
from trunkline.schedule.outlook import in_words as schedule_in_words
from trunkline.schedule.outlook import next_ticks
from trunkline.storage.catalog import (
    Session,
    commits,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
    timing,
    workers,
)
from trunkline.storage.catalog.pipelines import PipelineRow

MOST_DATUMS = 1_000
"""Of jobs with more, datums are counted, and not told apart."""
FEW = 3
LOOKED_BACK = 50
NO_WORKER = "No worker is there: trunkline run, or trunkline worker, runs jobs."

Shown = Callable[[Job], Job | None]
"""A job as who asks may see it; None if they may not. Sentences are made of no others."""


def why_job(core: Core, repo: int, job: Job, shown: Shown = lambda job: job) -> list[str]:
    """What made it start, what was new to it, what it did with its datums, and how it ended."""
    if (seen := shown(job)) is None:
        return []
    job = replace(job, told_cause=seen.told_cause, told_reason=seen.told_reason)
    with core.database.read() as session:
        made = commits.find(session, repo, job.id)
        before = _last_good(session, repo, job)
        lines = [_cause(session, job, made.author if made else "")]
        if not job.is_stream:
            lines += _news(job, before)
    lines += _work(core, repo, job)
    with core.database.read() as session:
        lines += _outcome(session, repo, job, shown)
    return lines


def why_pipeline(core: Core, name: RepoName, shown: Shown = lambda job: job) -> list[str]:
    """Why it does not run now, or that it does."""
    with core.database.read() as session:
        row = require(session, name)
        if row.paused:
            more = " Something came meanwhile: resuming makes one job of it." if row.pending else ""
            return [f"It is paused.{more}"]
        under_way = jobs.listed(session, repo=row.repo, unfinished=True, environment="")
        if under_way and (job := shown(under_way[-1])):
            return [_at_work(job), *_outcome(session, row.repo, job, shown)]
        flow = flows.find(session, row.repo)
        newest = jobs.listed(session, repo=row.repo, limit=1, environment="")
        last = shown(newest[0]) if newest else None
    lines = _flow(core, name, flow.kind) if flow else []
    if flow is None or flow.kind != INGEST:
        with core.database.read() as session:
            lines += _last(session, row, last, shown)
        # Which inputs a job had may be more than the pipeline has now, and not for all to know.
        if last and last.inputs == newest[0].inputs:
            lines += _failed_datums(core, row.repo, last)
        with core.database.read() as session:
            lines += _unread(session, row, last, shown) if flow is None else []
    return lines + _timing(core, row)


# -- why it is there ---------------------------------------------------------------------------


def _cause(session: Session, job: Job, author: str) -> str:
    who, cause = author or "Somebody", job.told_cause
    if job.backfill:
        try:
            of = f" of {find_backfill(session, job.backfill).span}"
        except TrunklineError:
            of = ""
        return f"It belongs to the backfill {job.backfill[:12]}{of}, started by {who}."
    match cause.kind:
        case Kind.RUN:
            return f"{who} started it by hand."
        case Kind.TICK:
            return f"{who} ticked its schedule by hand."
        case Kind.APPLIED:
            return f"{who} applied version {job.version}."
        case Kind.RESUMED:
            return f"{who} resumed the pipeline; all that came meanwhile is one job."
        case Kind.RESTARTED:
            return f"{who} restarted the stream."
        case Kind.INTERVAL:
            return "It was time for the next batch of the stream."
        case Kind.RERUN:
            return f"{who} asked to try again: {cause}."
        case Kind.REPLAY:
            return f"{who} asked to make quarantined rows again: {cause}."
        case Kind.SCHEDULE:
            return f"Its schedule ticked for {cause.what}."
        case Kind.NOTHING:
            return "Nothing tells why it started."
        case Kind.HIDDEN:
            return "What it started because of is hidden."
    return f"It started because {cause}."


def _last_good(session: Session, repo: int, job: Job) -> Job | None:
    """The job before it whose output it builds on."""
    earlier = jobs.listed(
        session,
        repo=repo,
        state=JobState.SUCCESS,
        before=(job.created, job.id, repo),
        limit=LOOKED_BACK,
    )
    return next((one for one in earlier if one.branch == job.branch), None)


def _news(job: Job, before: Job | None) -> Iterator[str]:
    """What is new to it since the last good job: commits of inputs, and code."""
    if before is None:
        yield "No job succeeded before it: everything is new to it."
    else:
        read = {one.name: one for one in before.inputs}
        same = []
        for one in job.inputs:
            old = read.get(one.name)
            if old is not None and (old.repo, old.commit) == (one.repo, one.commit):
                same.append(_place(one))
            else:
                yield _moved(one, old)
        if same:
            yield f"Unchanged since job {before.short_id}: {', '.join(dict.fromkeys(same))}."
        if before.version != job.version:
            change = f"Version {job.version} took the place of version {before.version}"
            if before.digest == job.digest:
                yield f"{change}, but what decides its results is the same."
            else:
                yield f"{change}: its code or settings are others, so old results do not count."
    for one in job.inputs:
        if one.commit is None:
            yield f"{_place(one)} has no commit."


def _moved(now: JobInput, old: JobInput | None) -> str:
    if old is None or old.repo != now.repo:
        return f"{_place(now)} was not read before."
    if old.commit is None or now.commit is None:
        return f"{_place(now)} got its first commit, {(now.commit or '')[:12]}."
    return f"{_place(now)} went from {old.commit[:12]} to {now.commit[:12]}."


def _place(one: JobInput) -> str:
    return f"{one.repo}@{one.branch}"


# -- what it did -------------------------------------------------------------------------------


def _work(core: Core, repo: int, job: Job) -> Iterator[str]:
    counts = job.counts
    if counts.total:
        yield f"{job_words(job)}."
    if job.is_stream or not counts.total:
        return
    if ran := _reasons_to_run(core, repo, job):
        yield f"Why datums ran: {ran}."
    if counts.skipped:
        yield (
            f"{count(counts.skipped, 'datum')} skipped: neither the files nor the code changed, "
            "so results of before were taken over."
        )
    yield from _failed_datums(core, repo, job)


def _reasons_to_run(core: Core, repo: int, job: Job) -> str:
    found: Counter[str] = Counter()
    for one in _datums(core, repo, job):
        if one.state is not DatumState.SKIPPED and one.reason:
            found[one.reason] += 1
    return reasons(found)


def _failed_datums(core: Core, repo: int, job: Job) -> Iterator[str]:
    if not job.counts.failed:
        return
    found = (one for one in _datums(core, repo, job) if one.state is DatumState.FAILED)
    for one in islice(found, FEW):
        of = " + ".join(f"{part.repo}:{part.path}" for part in one.inputs)
        said = one.error.strip().partition("\n")[0] or one.reason
        yield f"Failed on {of}: {said}"
    if job.counts.failed > FEW:
        yield f"{count(job.counts.failed, 'datum')} failed in all."


def _datums(core: Core, repo: int, job: Job) -> Iterator[DatumInfo]:
    """Those of a job that is over, unless they are too many, or what it read is gone."""
    if job.is_stream or not job.state.is_over or job.counts.total > MOST_DATUMS:
        return
    try:
        yield from of_job(core, repo, job)
    except TrunklineError:
        return


# -- how it ended, or what it waits for --------------------------------------------------------


def _outcome(session: Session, repo: int, job: Job, shown: Shown) -> Iterator[str]:
    tries = f" after {job.attempt} tries" if job.attempt > 1 else ""
    reason = " ".join(job.reason.split()).rstrip(".")
    match job.state:
        case JobState.SUCCESS:
            made = f" and made the commit {job.output_commit[:12]}" if job.output_commit else ""
            yield f"It succeeded{tries}{made}."
        case JobState.FAILURE:
            yield f"It failed{tries}: {reason}."
        case JobState.KILLED:
            yield f"It was stopped: {reason}." if reason else "It was stopped."
        case JobState.UNRUNNABLE:
            yield f"It could not run: {reason}."
            yield from _root_causes(session, job, shown)
        case JobState.RUNNING | JobState.FINISHING:
            if job.worker and not jobs.is_held(session, repo, job.id):
                yield f"{job.worker} had it and no longer answers; whoever runs jobs takes it up."
                return
            nth = f", in try {job.attempt}" if job.attempt > 1 else ""
            yield f"It is {job.state}{nth}" + (f" on {job.worker}." if job.worker else ".")
        case _:
            yield from _waits(session, repo, job)


def _root_causes(session: Session, job: Job, shown: Shown) -> Iterator[str]:
    """What failed first, of the jobs that it could not do without."""
    waiting, known = [*job.inputs], {(job.pipeline, job.id)}
    while waiting:
        one = waiting.pop()
        source = repos.key_of(session, one.repo)
        made = jobs.find(session, source, one.commit) if source and one.commit else None
        if made is None or (made.pipeline, made.id) in known:
            continue
        known.add((made.pipeline, made.id))
        if made.state is JobState.UNRUNNABLE:
            waiting += made.inputs
        elif made.state in BAD and (seen := shown(made)):
            yield _badly(seen)


def _badly(job: Job) -> str:
    verb = "failed" if job.state is JobState.FAILURE else "was stopped"
    return f"{job.pipeline} {verb}: {' '.join(job.reason.split()).rstrip('.')}."


def _waits(session: Session, repo: int, job: Job) -> Iterator[str]:
    held = False
    if job.attempt and job.reason:
        yield f"Try {job.attempt} failed ({job.reason.rstrip('.')}); it is tried again soon."
        held = True
    earlier = [
        one
        for one in jobs.listed(session, repo=repo, unfinished=True)
        if one.branch == job.branch and (one.created, one.id) < (job.created, job.id)
    ]
    if earlier:
        yield f"It waits for job {earlier[-1].short_id} of the same pipeline, which came first."
    coming = [one for one in job.inputs if one.commit and _is_open(session, one)]
    for one in coming:
        yield f"It waits for {one.repo}, whose commit {(one.commit or '')[:12]} is being made."
    if job.backfill and (state := find_backfill(session, job.backfill).state) != "running":
        yield f"Its backfill is {state}."
        held = True
    full = _full_pool(session, repo, job)
    if full:
        yield full
    if not (held or earlier or coming or full):
        alive = workers.alive(session)
        yield "It waits for a worker that is free." if alive else NO_WORKER


def _is_open(session: Session, one: JobInput) -> bool:
    found = commits.find(session, repo_key(session, one.repo), one.commit or "")
    return found is not None and found.finished is None


def _full_pool(session: Session, repo: int, job: Job) -> str:
    version = pipelines.version(session, repo, job.version)
    name = view_of(version.spec).pool if version else ""
    for pool in pipelines.pools(session) if name else ():
        if pool["name"] == name and pool["running"] >= pool["slots"]:
            if not pool["slots"]:
                return f"The pool {name} has 0 slots: its jobs are held back."
            slots = count(int(pool["slots"]), "slot")
            return f"The pool {name} is full: {slots}, {pool['running']} taken."
    return ""


# -- pipelines ---------------------------------------------------------------------------------


def _at_work(job: Job) -> str:
    verb = "runs" if job.state in (JobState.RUNNING, JobState.FINISHING) else "waits"
    return f"Job {job.short_id} {verb}."


def _flow(core: Core, name: RepoName, kind: str) -> list[str]:
    found = status.ingest(core, name) if kind == INGEST else status.stream(core, name)
    reason = f": {found.reason}" if found.reason else ""
    return [f"It is {'an ingest' if kind == INGEST else 'a stream'}, and {found.state}{reason}."]


def _last(session: Session, row: PipelineRow, last: Job | None, shown: Shown) -> Iterator[str]:
    if last is None:
        yield "It never ran."
        return
    outcome = [*_outcome(session, row.repo, last, shown)]
    yield f"Its last job is {last.short_id}. {outcome[0]}"
    yield from outcome[1:]


def _unread(session: Session, row: PipelineRow, last: Job | None, shown: Shown) -> Iterator[str]:
    """Whether there is anything that its last job has not read, and why that started nothing."""
    read = {one.name: one.commit for one in last.inputs} if last else {}
    fresh, empty = [], []
    for edge in (one for one in pipelines.reads(session, row.repo) if one.is_leaf):
        branch = refs.branch(session, edge.source, edge.branch)
        place = f"{repos.name_of(session, edge.source)}@{edge.branch}"
        head = branch.head if branch else None
        if head is None and not read.get(edge.name):
            empty.append(place)
        elif head is not None and head != read.get(edge.name):
            fresh.append(place)
            if not edge.propagation:
                yield f"{place} has commits that it has not read, but they start no job."
        newest = jobs.newest(session, edge.source, edge.branch)
        failed = shown(newest) if newest is not None and newest.state in BAD else None
        if failed is not None and failed.id != read.get(edge.name):
            at = f"is at {head[:12]}, its last good commit" if head else "has no good commit"
            yield f"{place} {at}. {_badly(failed)}"
        for trigger in timing.triggers(session, edge.source):
            if trigger.branch == edge.branch:
                said = trigger.verdict or "it has not moved yet"
                yield f"{place} follows {trigger.trigger.branch} by a trigger: {said}."
    if empty:
        places = list(dict.fromkeys(empty))
        have = "has" if len(places) == 1 else "have"
        yield f"It has no data to read: {', '.join(places)} {have} no commits yet."
    if last is not None and not fresh and last.state is not JobState.UNRUNNABLE:
        yield f"Nothing is new: all that it reads is as job {last.short_id} read it."


def _timing(core: Core, row: PipelineRow) -> list[str]:
    with core.database.read() as session:
        if not timing.crons(session, row.repo):
            return []
        words = schedule_in_words(session, row.name)
    if words == BY_HAND:
        return [f"It runs only when ticked by hand: trunkline tick {row.name}"]
    ticks = next_ticks(core, row.name, 1)
    coming = f"; next at {slot_name(ticks[0].at)}" if ticks else ""
    return [f"It runs by its schedule, {words}{coming}."]
