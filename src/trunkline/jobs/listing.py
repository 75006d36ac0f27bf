"""Datums as people see them: of a job, of a spec that never ran, and of a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from trunkline.engine.runner.task import DatumResult
from trunkline.jobs.claims import parts_prefix
from trunkline.jobs.context import Context, at_heads, index_of, load
from trunkline.jobs.ledger import Parts
from trunkline.jobs.planning import Decision, Verdict, decide
from trunkline.lake.core import Core
from trunkline.model.commits import RepoName
from trunkline.model.environments import Environment
from trunkline.model.inputs import Leaf
from trunkline.model.jobs import DatumInfo, DatumInput, DatumState, Job, JobState
from trunkline.model.pipelines import Mode, PipelineVersion
from trunkline.pipelines.datums import Datum, datum_id, datums, described
from trunkline.pipelines.datums_lines import IndexLine, line_key

SAMPLES = 20


@dataclass(frozen=True, slots=True)
class PlanSample:
    """One datum of a plan: what becomes of it, and why."""

    action: str
    reason: str
    datum: str


@dataclass(frozen=True, slots=True)
class PipelinePlan:
    """What a pipeline would do: how many datums for which reason, and some of them by name."""

    name: RepoName
    action: str
    version: int
    run: int = 0
    reuse: int = 0
    keep: int = 0
    drop: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    samples: tuple[PlanSample, ...] = ()
    downstream: tuple[str, ...] = ()
    note: str = ""


def of_spec(core: Core, version: PipelineVersion) -> Iterator[DatumInfo]:
    """The datums that a version would have at the present heads, and what would become of each."""
    context = at_heads(core, version, version.spec.output_branch)
    for one in decide(context):
        if one.datum is not None:
            state = DatumState.WAITING if one.verdict is Verdict.RUN else DatumState.SKIPPED
            yield _info(context.leaves, one.datum, state, one.reason)


def of_job(core: Core, repo: int, job: Job) -> Iterator[DatumInfo]:
    """The datums of a job with state and reason; of one that still runs, as far as it is.

    A stream's has none: its work is a batch.
    """
    if job.is_stream:
        return
    context = load(core, repo, job)
    if job.index is None:
        yield from _of_unfinished(core, context, job)
        return
    parts = Parts(core)
    lines = dict(_lines(core, job))
    for datum in datums(context.spec.input, context.trees):
        line = lines.get(datum.key)
        if line is None:
            yield _info(context.leaves, datum, DatumState.WAITING, "")
            continue
        yield _with_result(context.leaves, datum, line, job, parts)


def _lines(core: Core, job: Job) -> Iterator[tuple[bytes, IndexLine]]:
    for line in index_of(core, job).scan(b""):
        found = IndexLine.decode(line)
        yield found.key, found


def _with_result(
    leaf_of: tuple[Leaf, ...], datum: Datum, line: IndexLine, job: Job, parts: Parts
) -> DatumInfo:
    if line.job != job.id:
        info = _info(leaf_of, datum, DatumState.SKIPPED, "unchanged")
        return replace(info, job=line.job)
    result = parts.at(line.pointer)
    state = line.state.datum_state
    info = _info(leaf_of, datum, state, line.reason)
    return replace(
        info,
        job=job.id,
        error=result.error,
        tries=result.tries,
        seconds=result.down + result.process + result.up,
        outputs=len(result.outputs),
        bytes_in=result.bytes_in,
        bytes_out=result.bytes_out,
    )


def _of_unfinished(core: Core, context: Context, job: Job) -> Iterator[DatumInfo]:
    parts = Parts(core)
    done: dict[bytes, DatumResult] = {}
    for part in parts.listed(parts_prefix(context.repo, job.id)):
        done.update((result.key.encode(), result) for result in parts.read(part))
    states = {"success": DatumState.SUCCESS, "failed": DatumState.FAILED}
    # One call takes them all. Of others nobody hears before they have ended.
    transform = context.spec.transform
    at_once = transform.makes_tables and transform.mode is not Mode.EACH
    begun = at_once and job.state is JobState.RUNNING
    undone = DatumState.RUNNING if begun else DatumState.WAITING
    for one in decide(context):
        if one.datum is None:
            continue
        result = done.get(one.datum.key)
        if result is not None:
            state = states.get(result.state, DatumState.RECOVERED)
            info = _info(context.leaves, one.datum, state, result.reason)
            yield replace(info, job=job.id, error=result.error, tries=result.tries)
        elif one.verdict is Verdict.RUN:
            state = undone if not job.state.is_over else DatumState.FAILED
            reason = one.reason if not job.state.is_over else f"{job.state}: {job.reason}"
            yield _info(context.leaves, one.datum, state, reason)
        else:
            yield _info(context.leaves, one.datum, DatumState.SKIPPED, "unchanged")


def plan_of(
    core: Core,
    version: PipelineVersion,
    action: str,
    downstream: tuple[str, ...],
    note: str = "",
    environment: Environment | None = None,
) -> PipelinePlan:
    """What applying this version would do, counted; nothing is changed."""
    context = at_heads(core, version, version.spec.output_branch, environment)
    counts: Counter[Verdict] = Counter()
    reasons: Counter[str] = Counter()
    samples: list[PlanSample] = []
    for one in decide(context):
        counts[one.verdict] += 1
        reasons[_plain(one.reason)] += 1
        if one.verdict is not Verdict.KEEP and len(samples) < SAMPLES:
            samples.append(PlanSample(str(one.verdict), one.reason, _text(one)))
    if not counts and not note:
        note = _nothing(context)
    return PipelinePlan(
        version.name,
        action,
        version.version,
        counts[Verdict.RUN],
        counts[Verdict.REUSE],
        counts[Verdict.KEEP],
        counts[Verdict.DROP],
        dict(reasons.most_common()),
        tuple(samples),
        downstream,
        note,
    )


def _nothing(context: Context) -> str:
    """Why a pipeline has no datums."""
    without = [f"{one.repo}@{one.branch}" for one in context.inputs if one.commit is None]
    if without:
        verb = "has" if len(set(without)) == 1 else "have"
        return f"no data: {', '.join(dict.fromkeys(without))} {verb} no commits"
    if len(context.leaves) == 1:
        (one,), (leaf,) = context.inputs, context.leaves
        return f"no datums: nothing in {one.repo}@{one.branch} matches {leaf.glob}"
    return "no datums: its inputs have nothing that goes together"


def _text(one: Decision) -> str:
    if one.datum is not None:
        return described(one.datum.key)
    assert one.before is not None
    return described(line_key(one.before))


def _plain(reason: str) -> str:
    """Reasons without the path that they name, to be counted."""
    return reason.partition(":")[0]


def _info(leaf_of: tuple[Leaf, ...], datum: Datum, state: DatumState, reason: str) -> DatumInfo:
    return DatumInfo(
        datum_id(datum),
        state,
        reason,
        tuple(
            DatumInput(
                leaf_of[match.leaf].name,
                leaf_of[match.leaf].repo,
                match.path.decode().rstrip("/") or "/",
                match.join_on,
                match.group_by,
            )
            for match in datum.matches
        ),
    )
