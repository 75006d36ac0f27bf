"""Starting and stopping pipelines and jobs by hand."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.errors import AmbiguousId, NotFound, Precondition, Usage
from trunkline.lake.core import Core, Sees, repo_key, resolve, resolve_set, seen_keys
from trunkline.lake.environmentpipelines import require_in
from trunkline.lake.pipelines import require
from trunkline.lake.propagation import output_branch
from trunkline.lake.publish import Change, kill_job, open_job, spread
from trunkline.lake.versions import lacks_input
from trunkline.model.commits import RepoName
from trunkline.model.ids import is_id_like, is_id_prefix, new_id
from trunkline.model.jobs import BAD, Backfill, Job, JobState
from trunkline.model.paths import is_name
from trunkline.model.pipelines import INGEST
from trunkline.model.refs import Ref
from trunkline.model.told import Kind, Told
from trunkline.storage.catalog import (
    Session,
    backfills,
    commits,
    environments,
    events,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
)
from trunkline.storage.catalog.pipelines import Edge, PipelineRow


def pause(core: Core, name: RepoName) -> None:
    """No new jobs; those that run are stopped. What arrives meanwhile makes one job on resume."""
    with core.database.write() as session:
        row = require(session, name)
        pipelines.set_paused(session, row.repo, True)
        for job in jobs.listed(session, repo=row.repo, unfinished=True, environment=""):
            kill_job(session, row.repo, job.id, Told(Kind.PIPELINE_PAUSED))
            pipelines.set_pending(session, row.repo, True)
        events.emit(session, "pipeline", name, {"paused": True})


def resume(core: Core, name: RepoName, author: str) -> str | None:
    """Go on; the set of the one job for all that was missed, if there was anything."""
    with core.database.write() as session:
        row = require(session, name)
        version = pipelines.version(session, row.repo, row.version)
        if version is not None and lacks_input(session, version):
            raise Precondition(
                f"An input of {name} was deleted, so it cannot run.",
                hint="Apply it again with inputs that exist.",
            )
        pipelines.set_paused(session, row.repo, False)
        pipelines.set_pending(session, row.repo, False)
        events.emit(session, "pipeline", name, {"paused": False})
        if not row.paused or not row.pending:
            return None
        return spread(session, new_id(), Change(Told(Kind.RESUMED), author, forced=(row.repo,)))


def run(core: Core, name: RepoName, author: str, environment: str = "") -> str:
    """A job at the present heads, whatever changed; and one for all that reads it."""
    with core.database.write() as session:
        row = require_in(session, name, environment) if environment else require(session, name)
        if row.paused:
            raise Precondition(
                f"{name} is paused.", hint=f"Resume it first: trunkline pipeline resume {name}"
            )
        flow = flows.find(session, row.repo)
        if flow is not None and flow.kind == INGEST:
            raise Precondition(
                f"{name} is an ingest, and has no jobs.",
                hint="trunkline run takes in what is there; trunkline worker goes on with it.",
            )
        cause = Told(Kind.RUN)
        change = Change(cause, author, forced=(row.repo,), environment=environment)
        started = spread(session, new_id(), change)
        if started is None:
            raise Precondition(
                f"The inputs of {name} have no commits yet.", hint="Put something into them first."
            )
        return started


def find_job(
    session: Session,
    text: str,
    project: str,
    *,
    unfinished: bool = False,
    sees: Sees | None = None,
) -> tuple[int, Job]:
    """The job named by its id, by pipeline@id where several pipelines share that id, or by its
    pipeline, whose newest it is. With `unfinished` a pipeline means its only job that is not over,
    with `sees` an id only jobs of the pipelines that it lets through.
    """
    name, job_id = read_job(text, project)
    repo = require(session, name, anywhere=True).repo if name else None
    if job_id:
        among = seen_keys(session, sees)
        listed = jobs.listed(session, repo=repo, id_prefix=job_id, limit=50, among=among)
    elif unfinished:
        listed = jobs.listed(session, repo=repo, unfinished=True, limit=50)
        listed = listed or jobs.listed(session, repo=repo, limit=1)
    else:
        listed = jobs.listed(session, repo=repo, limit=1)
    found = only_job(text, listed)
    return repo_key(session, found.pipeline), found


def read_job(text: str, project: str) -> tuple[RepoName | None, str]:
    """The pipeline that the name of a job gives, if it does, and the first digits of its id; none
    of them for the newest job of the pipeline."""
    if is_id_prefix(text):
        return None, text
    name, at, job_id = text.rpartition("@")
    if not at and is_name(text.rpartition("/")[2]) and not is_id_like(text):
        name, job_id = text, ""
    elif job_id or not name:
        check_job_id(job_id, text)
    owner, slash, short = name.rpartition("/")
    return RepoName(owner if slash else project, short) if name else None, job_id


def check_job_id(job_id: str, text: str = "") -> None:
    """Refuse what cannot be how the id of a job begins; `text` is what it stood in."""
    if not is_id_prefix(job_id):
        raise Usage(
            f"{text or job_id!r} is not the id of a job.",
            hint="A job is ID, PIPELINE@ID, or PIPELINE for its newest: 8 digits suffice.",
        )


def only_job(text: str, found: Sequence[Job]) -> Job:
    """The one job of those that a name could mean."""
    if len(found) == 1:
        return found[0]
    by_id = is_id_prefix(text.rpartition("@")[2])
    said = f'There is no job "{text}".' if by_id else f"{text} has no jobs yet."
    missing = NotFound(said, hint="trunkline job list shows all jobs.")
    if not found:
        raise missing
    raise AmbiguousId(
        f'"{text}" could be {{among}}.',
        hint="Name one of them: PIPELINE@ID.",
        among=((job.pipeline, f"{job.pipeline}@{job.id[:12]}") for job in found),
        missing=missing,
    )


def cancel(core: Core, text: str, project: str, reason: Told) -> Job:
    """Stop a job, and with it all that waits for it."""
    with core.database.write() as session:
        repo, job = find_job(session, text, project, unfinished=True)
        if job.state.is_over:
            raise Precondition(f"{job.pipeline}@{job.short_id} is over: {job.state}.")
        kill_job(session, repo, job.id, reason)
        done = jobs.find(session, repo, job.id)
        assert done is not None
        return done


def rerun(core: Core, text: str, project: str, author: str) -> str:
    """Try again what failed or was stopped in a job's set, at the present heads, as a new set."""
    with core.database.write() as session:
        set_id = text if is_id_prefix(text) else find_job(session, text, project)[1].id
        mates = jobs.listed(session, id_prefix=resolve_set(session, set_id))
        if not mates:
            raise NotFound(f'There is no job "{text}".', hint="trunkline job list shows all jobs.")
        bad = (JobState.FAILURE, JobState.KILLED)
        job = next((one for one in mates if one.state in bad), mates[0])
        mates = [one for one in mates if one.environment == job.environment]
        # Of a set where none failed by itself: what could not run for want of another's.
        tried = [one for one in mates if one.state in bad] or [
            one for one in mates if one.state in BAD
        ]
        failed = [repo_key(session, one.pipeline) for one in tried]
        failed = [repo for repo in failed if pipelines.find(session, repo)]
        if not failed:
            raise Precondition(
                f"Nothing failed in the set {job.short_id}.",
                hint=f"To run it again all the same: trunkline pipeline run {job.pipeline}",
            )
        cause = Told(Kind.RERUN, what=job.short_id)
        replay = next((one.replay for one in mates if one.replay and one.state in bad), "")
        change = Change(
            cause, author, forced=tuple(failed), replay=replay, environment=job.environment
        )
        started = spread(session, new_id(), change)
        if started is None:
            raise Precondition(f"The pipelines of {job.short_id} are paused.", hint="Resume them.")
        return started


def backfill(
    core: Core, name: RepoName, first: Ref | None, last: Ref | None, author: str, branch: str = ""
) -> Backfill:
    """Jobs for the past commits of an input, from `first` to `last`, each under that commit's id.

    The output goes to a branch of its own, so that readers of the present see nothing of it.
    """
    with core.database.write() as session:
        row = require(session, name)
        edge, span = _span(session, row, first, last)
        backfill_id = new_id()
        branch = branch or f"backfill-{backfill_id[:8]}{backfill_id[-4:]}"
        if branch == output_branch(session, row):
            raise Usage(f"A backfill cannot go to {branch}, where the present is.")
        if environments.owner(session, name.project, branch) is not None:
            raise Usage(f"A backfill cannot go to {branch}, which is an environment's.")
        shown = f"{len(span)} commits of {repos.name_of(session, edge.source)}"
        backfills.add(session, backfill_id, row.repo, branch, shown, author)
        for commit_id in span:
            there = commits.find(session, row.repo, commit_id)
            if there is not None and there.error is None:
                continue
            # The record of one that ended badly stays; what makes up for it has its own id.
            set_id = commit_id if there is None else new_id()
            inputs = [
                (one, commit_id if one is edge else _at(session, one, commit_id))
                for one in pipelines.reads(session, row.repo)
            ]
            cause = Told(Kind.BACKFILL)
            open_job(session, set_id, row, branch, inputs, cause, author, backfill=backfill_id)
        return find_backfill(session, backfill_id)


def _span(
    session: Session, row: PipelineRow, first: Ref | None, last: Ref | None
) -> tuple[Edge, list[str]]:
    """The input that is gone through, and its commits from the oldest to the newest."""
    edges = [edge for edge in pipelines.reads(session, row.repo) if edge.is_leaf]
    named = first or last
    if named is not None:
        source = repo_key(session, named.repo)
        edges = [edge for edge in edges if edge.source == source]
        if not edges:
            raise Usage(f"{row.name} does not read {named.repo}.")
    if not edges:
        raise Precondition(
            f"{row.name} reads no repo, so it has no past to go through.",
            hint="A backfill is of a pipeline with inputs.",
        )
    edge = edges[0]
    branch = refs.branch(session, edge.source, edge.branch)
    end = resolve(session, last).id if last else (branch.head if branch else None)
    if end is None:
        raise NotFound("There are no commits to go through.")
    start = resolve(session, first).id if first else None
    span = []
    for commit in commits.chain(session, edge.source, end, 1 << 30):
        if commit.finished is not None and commit.error is None:
            span.append(commit.id)
        if commit.id == start:
            break
    else:
        if start is not None:
            raise Usage(f"{start[:12]} does not come before {end[:12]}.")
    return edge, span[::-1]


def _at(session: Session, edge: Edge, commit_id: str) -> str | None:
    """What another input's branch pointed at when the commit was made."""
    same = commits.find(session, edge.source, commit_id)
    if same is not None and same.error is None:
        return same.id
    branch = refs.branch(session, edge.source, edge.branch)
    found = branch.head if branch else None
    while found is not None and found > commit_id:
        older = commits.find(session, edge.source, found)
        found = older.parent if older else None
    return found


def find_backfill(session: Session, text: str) -> Backfill:
    for one in backfills.listed(session):
        if one.id.startswith(text):
            return one
    raise NotFound(f'There is no backfill "{text}".', hint="trunkline backfill list shows them.")


def steer_backfill(core: Core, text: str, action: str) -> Backfill:
    """Pause, resume or cancel a backfill."""
    with core.database.write() as session:
        found = find_backfill(session, text)
        state = {"pause": "paused", "resume": "running", "cancel": "cancelled"}[action]
        backfills.set_state(session, found.id, state)
        session.ring()
        if action == "cancel":
            repo = repo_key(session, found.pipeline)
            for job in jobs.listed(session, backfill=found.id, unfinished=True):
                kill_job(session, repo, job.id, Told(Kind.BACKFILL_CANCELLED))
        return find_backfill(session, found.id)
