"""Pipelines, jobs and streams as one caller may see them.

Who may read a pipeline's output need not be able to read what it is made of. Of such an input
they learn that there is one, and no more: not its name, its branch, its commits or its paths. Its
name is in other places too, in SQL and in messages, so these are left out with it. Whoever may
maintain the pipeline sees all of it. What a pipeline's own code writes into its output and its
log is for all readers of the pipeline: nobody can tell what is in there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from trunkline.errors import NotFound
from trunkline.lake.control import Backfill
from trunkline.model.access import LAKE, Permission
from trunkline.model.commits import DEFAULT_PROJECT, Commit, Origin, RepoName
from trunkline.model.flowstatus import StreamStatus
from trunkline.model.jobs import DatumInfo, DatumInput, Job, JobInput
from trunkline.model.overview import LastJob
from trunkline.model.pipelines import PipelineInfo
from trunkline.model.streams import Batch
from trunkline.sdk.reports import PlanReport
from trunkline.server.calls import Call
from trunkline.storage.catalog import repos

WORD = "(hidden)"
HIDDEN = RepoName(DEFAULT_PROJECT, WORD)
AnyJob = TypeVar("AnyJob", Job, LastJob)
_KEPT = ("pipeline", "description", "schedule")
_names = re.compile(r"[\w.-]*\w(?:/[\w.-]*\w)?")


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
    return shown_jobs(call, [job])[0]


def shown_jobs(call: Call, jobs: Iterable[Job]) -> list[Job]:
    words = words_for(call)
    return [_shown_job(call, one, words) for one in jobs]


def with_shown_causes(job: AnyJob, reads_hidden: bool, words: Callable[[str], str]) -> AnyJob:
    """A job without names in what is told of it: its cause may lie further up than its inputs."""
    told = (lambda text: text and WORD) if reads_hidden else words
    return replace(job, reason=told(job.reason), cause=told(job.cause))


def shown_datums(
    call: Call, pipeline: RepoName, datums: Iterator[DatumInfo]
) -> Iterator[DatumInfo]:
    hidden = None if call.may(Permission.MAINTAIN, pipeline) else _Known(call)
    for one in datums:
        if hidden is None or all(hidden.sees(part.repo) for part in one.inputs):
            yield one
            continue
        inputs = (
            part if hidden.sees(part.repo) else DatumInput(WORD, HIDDEN, WORD)
            for part in one.inputs
        )
        yield replace(
            one, inputs=tuple(inputs), reason=one.reason and WORD, error=one.error and WORD
        )


def shown_commits(call: Call, commits: Iterable[Commit]) -> list[Commit]:
    """Commits; the messages of those that a pipeline made say what it was told of."""
    known = call.who.may(Permission.READ, LAKE)
    words = words_for(call)
    return [
        one
        if known or one.origin is Origin.USER or call.may(Permission.MAINTAIN, one.repo)
        else replace(one, message=words(one.message))
        for one in commits
    ]


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
            note = one.note if one.note == "paused" else one.note and WORD
            one = replace(one, reasons={}, samples=(), note=note)
        plans.append(one)
    return replace(report, pipelines=tuple(plans))


def shown_why(
    call: Call,
    pipeline: RepoName,
    inputs: Iterable[RepoName],
    told: Callable[[Callable[[Job], Job | None]], list[str]],
) -> list[str]:
    """Sentences about a pipeline or a job of it; `told` is given how its mates are seen."""
    if _reads_hidden(call, pipeline, inputs):
        return [f"{pipeline} reads what {call.who.name} may not, so this is not told."]

    def mate(job: Job) -> Job | None:
        return shown_job(call, job) if call.may(Permission.READ, job.pipeline) else None

    words = words_for(call)
    return [words(line) for line in told(mate)]


def without_names(call: Call, text: str) -> str:
    """A message in which what the caller may not read is not named."""
    return words_for(call)(text)


def words_for(call: Call) -> Callable[[str], str]:
    """Messages without names that the caller may not know; many of a list are the same."""
    if call.principal is None or call.who.may(Permission.READ, LAKE):
        return str
    known = _Known(call)

    def shown(match: re.Match[str]) -> str:
        word = match.group()
        name = _repo(word)
        if known.sees(name) or not ("/" in word or known.is_there(name)):
            return word
        return WORD

    return lru_cache(maxsize=None)(lambda text: _names.sub(shown, text))


class _Known:
    """What the caller may read, asked once for each name."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.sees = _cached(lambda name: call.may(Permission.READ, name))
        self.is_there = _cached(self._is_there)

    def _is_there(self, name: RepoName) -> bool:
        with self._call.service.lake._core.database.read() as session:
            return repos.key_of(session, name) is not None


def _cached(ask: Callable[[RepoName], bool]) -> Callable[[RepoName], bool]:
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


def _shown_job(call: Call, job: Job, words: Callable[[str], str]) -> Job:
    if call.may(Permission.MAINTAIN, job.pipeline):
        return job
    inputs = tuple(_job_input(call, one) for one in job.inputs)
    return replace(with_shown_causes(job, inputs != job.inputs, words), inputs=inputs)


def _job_input(call: Call, one: JobInput) -> JobInput:
    return one if call.may(Permission.READ, one.repo) else JobInput(WORD, HIDDEN, WORD, None)


def _without_place(batch: Batch) -> Batch:
    return replace(batch, start={}, end={})


def _repo(text: str) -> RepoName:
    project, slash, repo = text.partition("/")
    return RepoName(project, repo) if slash else RepoName(DEFAULT_PROJECT, project)
