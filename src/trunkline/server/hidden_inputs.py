"""Pipelines, jobs and streams as one caller may see them.

Who may read a pipeline's output need not be able to read what it is made of. Of such an input
they learn that there is one, and no more: not its name, its branch, its commits or its paths. It
is named in other places too: in SQL and in free text, which are left out with it, and in what is
told of jobs, whose values say which places they speak of (`model/told.py`). Whoever may maintain
the pipeline sees all of it. What a pipeline's own code writes into its output and its log is for
all readers of the pipeline: nobody can tell what is in there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from trunkline.errors import NotFound, Precondition, TrunklineError
from trunkline.model.access import LAKE, Permission
from trunkline.model.commits import DEFAULT_PROJECT, Commit, Origin, RepoName
from trunkline.model.flowstatus import StreamStatus
from trunkline.model.jobs import Backfill, DatumInfo, DatumInput, Job, JobInput
from trunkline.model.overview import PAUSED, OverviewNode
from trunkline.model.pipelines import PipelineInfo
from trunkline.model.streams import Batch
from trunkline.model.told import HIDDEN_REPO as HIDDEN
from trunkline.model.told import WORD, Sees, Told
from trunkline.sdk.reports import PlanReport
from trunkline.server.calls import Call
from trunkline.storage.catalog import jobs as catalog

_KEPT = ("pipeline", "description", "schedule")
_HIDDEN_INPUT = JobInput(WORD, HIDDEN, WORD, None)


def hides(call: Call, pipeline: RepoName, environment: str | None = None) -> bool:
    """Whether a pipeline of now reads what the caller may not; with `environment`, there."""
    if call.may(Permission.MAINTAIN, pipeline):
        return False
    try:
        found = call.lake.pipeline(f"{pipeline.project}/{pipeline.repo}", None, environment)
    except NotFound:
        return False
    return _reads_hidden(call, pipeline, found.inputs)


def shown_pipeline(call: Call, info: PipelineInfo) -> PipelineInfo:
    if not _reads_hidden(call, info.name, info.inputs):
        return info
    return replace(
        info,
        inputs=tuple(one if call.may(Permission.READ, one) else HIDDEN for one in info.inputs),
        spec={key: value for key, value in info.spec.items() if key in _KEPT},
    )


def shown_job(call: Call, job: Job) -> Job:
    return _shown(call)(job)


def shown_jobs(call: Call, jobs: Iterable[Job]) -> list[Job]:
    shown = _shown(call)
    return [shown(one) for one in jobs]


def shown_cause(call: Call) -> Callable[[RepoName, Told], Told]:
    """How the causes of pipelines' jobs are seen: they may lie further up than their inputs."""
    sees = _sees(call)

    def shown(pipeline: RepoName, cause: Told) -> Told:
        return cause if _knows_all(call, pipeline) else cause.as_seen(sees, False)

    return shown


def shown_nodes(call: Call, nodes: Iterable[OverviewNode]) -> list[OverviewNode]:
    """Nodes without what a pipeline's reader may not know of its inputs."""
    nodes = list(nodes)
    sees, shown = _sees(call), _shown(call)
    ids = [one.head.commit for one in nodes if one.head and one.head.origin == Origin.PIPELINE]
    made = _jobs(call, [*ids, *(one.job.id for one in nodes if one.job)])

    def of(node: OverviewNode) -> OverviewNode:
        if _knows_all(call, node.name):
            return node
        head, job = node.head, node.job
        if head is not None and head.origin == Origin.PIPELINE:
            maker = made.get((node.name, head.commit))
            head = replace(head, message=shown(maker).cause if maker else WORD)
        if job is not None and (found := made.get((node.name, job.id))):
            seen = shown(found)
            job = replace(job, told_reason=seen.told_reason, told_cause=seen.told_cause)
        else:
            job = None
        inputs = tuple(one if sees(one) else HIDDEN for one in node.inputs)
        return replace(node, head=head, job=job, inputs=inputs)

    return [of(one) for one in nodes]


def shown_datums(
    call: Call, pipeline: RepoName, inputs: Iterable[RepoName], datums: Iterator[DatumInfo]
) -> Iterator[DatumInfo]:
    """The datums of a job of a pipeline, which reads these inputs."""
    sees = _sees(call)
    if _knows_all(call, pipeline) or all(map(sees, inputs)):
        yield from datums
        return
    try:
        yield from (_shown_datum(one, sees) for one in datums)
    except TrunklineError as error:
        # What cannot be read there, and why, is told with the names of inputs.
        raise Precondition(f"The inputs of {pipeline} cannot be read there.") from error


def _shown_datum(one: DatumInfo, sees: Sees) -> DatumInfo:
    if all(sees(part.repo) for part in one.inputs):
        return one
    inputs = (part if sees(part.repo) else DatumInput(WORD, HIDDEN, WORD) for part in one.inputs)
    return replace(one, inputs=tuple(inputs), reason=one.reason and WORD, error=one.error and WORD)


def shown_commits(call: Call, commits: Iterable[Commit]) -> list[Commit]:
    """Commits; those that a pipeline made say what its jobs were told of."""
    commits, shown = list(commits), _shown(call)
    told = {
        one.id
        for one in commits
        if one.origin is Origin.PIPELINE and not _knows_all(call, one.repo)
    }
    made = _jobs(call, told)

    def of(commit: Commit) -> Commit:
        if commit.id not in told or commit.origin is not Origin.PIPELINE:
            return commit
        job = made.get((commit.repo, commit.id))
        if job is None:  # gone, or of another lake
            return replace(commit, message=WORD, error=commit.error and WORD)
        seen = shown(job)
        return replace(commit, message=seen.cause, error=commit.error and _error(seen))

    return [of(one) for one in commits]


def shown_stream(call: Call, status: StreamStatus) -> StreamStatus:
    if not _reads_hidden(call, status.name, (one.repo for one in status.inputs)):
        return status
    return replace(
        status,
        inputs=tuple(
            one
            if call.may(Permission.READ, one.repo)
            else replace(one, name=WORD, repo=HIDDEN, branch=WORD, read=None)
            for one in status.inputs
        ),
        reason=status.reason and WORD,
        last=_without_place(status.last) if status.last else None,
    )


def shown_batches(call: Call, pipeline: RepoName, found: Iterable[Batch]) -> list[Batch]:
    """Batches without where they read, which is told by the names of the inputs."""
    hidden = hides(call, pipeline)
    return [_without_place(one) if hidden else one for one in found]


def shown_backfills(call: Call, found: Iterable[Backfill]) -> list[Backfill]:
    sees = _cached(lambda name: not hides(call, name))
    return [one if sees(one.pipeline) else replace(one, span=WORD) for one in found]


def shown_plan(call: Call, report: PlanReport, environment: str | None = None) -> PlanReport:
    """Also without the names of readers that the caller may not see."""
    plans = []
    for one in report.pipelines:
        seen = (text for text in one.downstream if call.may(Permission.READ, _repo(text)))
        one = replace(one, downstream=tuple(seen))
        if hides(call, one.name, environment):
            note = one.note if one.note == PAUSED else one.note and WORD
            one = replace(one, reasons={}, samples=(), note=note)
        plans.append(one)
    return replace(report, pipelines=tuple(plans))


def shown_why(
    call: Call,
    pipeline: RepoName,
    inputs: Iterable[RepoName],
    told: Callable[[Callable[[Job], Job | None]], list[str]],
) -> list[str]:
    """Sentences about a pipeline or a job of it; `told` is given how jobs are seen."""
    if _reads_hidden(call, pipeline, inputs):
        return [f"{pipeline} reads what {call.who.name} may not, so this is not told."]
    shown = _shown(call)
    return told(lambda job: shown(job) if call.may(Permission.READ, job.pipeline) else None)


def _jobs(call: Call, ids: Iterable[str]) -> dict[tuple[RepoName, str], Job]:
    with call.service.lake._core.database.read() as session:
        return catalog.of_sets(session, ids)


def _knows_all(call: Call, pipeline: RepoName) -> bool:
    return call.who.may(Permission.READ, LAKE) or call.may(Permission.MAINTAIN, pipeline)


def _sees(call: Call) -> Sees:
    """What the caller may read, asked once for each name."""
    return _cached(lambda name: call.may(Permission.READ, name))


def _cached(ask: Sees) -> Sees:
    known: dict[RepoName, bool] = {}

    def answer(name: RepoName) -> bool:
        if name not in known:
            known[name] = ask(name)
        return known[name]

    return answer


def _reads_hidden(call: Call, pipeline: RepoName, inputs: Iterable[RepoName]) -> bool:
    if call.may(Permission.MAINTAIN, pipeline):
        return False
    return not all(call.may(Permission.READ, one) for one in inputs)


def _shown(call: Call) -> Callable[[Job], Job]:
    sees = _sees(call)

    def shown(job: Job) -> Job:
        if _knows_all(call, job.pipeline):
            return job
        reads_all = all(sees(one.repo) for one in job.inputs)
        return replace(
            job,
            inputs=tuple(one if sees(one.repo) else _HIDDEN_INPUT for one in job.inputs),
            told_reason=job.told_reason.as_seen(sees, reads_all),
            told_cause=job.told_cause.as_seen(sees, reads_all),
        )

    return shown


def _error(job: Job) -> str:
    return f"{job.state}: {job.reason}" if job.reason else str(job.state)


def _without_place(batch: Batch) -> Batch:
    return replace(batch, start={}, end={})


def _repo(text: str) -> RepoName:
    project, slash, repo = text.partition("/")
    return RepoName(project, repo) if slash else RepoName(DEFAULT_PROJECT, project)
