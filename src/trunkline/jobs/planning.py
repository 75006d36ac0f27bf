"""Which datums a job must run, which results it can take over, and what has to go.

Where each datum depends on one file or folder, and the last good job ran the same version, only
what its inputs changed since then is looked at. The cost is that of the change, not of the repo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from trunkline.jobs.context import Context
from trunkline.jobs.inputtypes import typed
from trunkline.jobs.ledger import EarlierResult, find_result
from trunkline.lake.differences import differences
from trunkline.lake.manifests import Tree
from trunkline.pipelines.datums import Datum, datum_id, datums
from trunkline.pipelines.datums_delta import delta, is_local
from trunkline.pipelines.datums_lines import LineState, line_content
from trunkline.pipelines.plan import (
    FAILED_BEFORE,
    NEW,
    Action,
    CodeChange,
    Step,
    changed_input,
    plan,
    plan_delta,
)

ALL = b""
"""The prefix of every line of an index, whose keys begin with names."""


KEPT = "computed before"
REPLAY = "replay"


class Verdict(StrEnum):
    """What is done about a datum."""

    RUN = "run"
    REUSE = "reuse"
    KEEP = "keep"
    DROP = "drop"


class Decision(NamedTuple):
    """One datum, what is done about it and why. `before` is its line in the last good index."""

    verdict: Verdict
    reason: str
    datum: Datum | None
    before: bytes | None
    kept: EarlierResult | None = None


Found = Mapping[bytes, tuple[bytes, EarlierResult]]
"""Results that no ledger has yet, by key: the content they are for, and where they are."""


def decide(
    context: Context, trees_before: tuple[Tree, ...] | None = None, found: Found | None = None
) -> Iterator[Decision]:
    """A decision for each datum; with the trees of the last good job, only where they differ."""
    every_job = context.spec.every_job
    if trees_before is not None:
        changed = [_changed(old, new) for old, new in zip(trees_before, context.trees, strict=True)]
        changes = delta(context.spec.input, context.trees, changed)
        typed_changes = ((key, one and typed(one, context.retyped)) for key, one in changes)
        steps = plan_delta(typed_changes, context.base.index.find)
    else:
        steps = plan(
            (typed(one, context.retyped) for one in datums(context.spec.input, context.trees)),
            context.base.index.scan(ALL),
            code=_code_change(context),
            every_job=every_job,
        )
    for step in steps:
        yield _decision(context, step, found or {}, every_job)


def _decision(context: Context, step: Step, found: Found, every_job: bool) -> Decision:
    replay = context.replay
    again = bool(replay) and step.datum is not None and datum_id(step.datum) in replay
    if step.action is Action.KEEP and not again:
        return Decision(Verdict.KEEP, step.reason, step.datum, step.before)
    if step.action is Action.DROP:
        return Decision(Verdict.DROP, step.reason, None, step.before)
    datum = step.datum
    assert datum is not None
    done = found.get(datum.key)
    if done is not None and done[0] == datum.content:
        return Decision(Verdict.REUSE, KEPT, datum, step.before, done[1])
    if again:
        return Decision(Verdict.RUN, REPLAY, datum, step.before)
    if not every_job:
        kept = find_result(context.results, datum.key, datum.content, context.version.digest)
        if kept is not None:
            return Decision(Verdict.REUSE, KEPT, datum, step.before, kept)
    reason = step.reason
    if reason == NEW:
        reason = _since_last_attempt(context, datum) or NEW
    return Decision(Verdict.RUN, reason, datum, step.before)


def _since_last_attempt(context: Context, datum: Datum) -> str:
    """Why a datum runs that the job before this one tried in vain; '' if it did not."""
    if context.last is None or context.last_index is context.base.index:
        return ""
    line = context.last_index.find(datum.key)
    if line is None:
        return ""
    content, state = line_content(line)
    if state is LineState.SUCCESS:
        return ""
    return changed_input(datum, content) or FAILED_BEFORE


def _code_change(context: Context) -> CodeChange:
    """How this version's results differ from those that the last good job made."""
    job = context.base.job
    if job is None or job.digest == context.version.digest:
        return CodeChange.SAME
    if context.base.salt != context.version.salt:
        return CodeChange.REPROCESS
    return CodeChange.CHANGED


def can_patch(context: Context) -> bool:
    """Whether it is enough to look at what changed since the last good job."""
    job = context.base.job
    return (
        job is not None
        and job.index is not None
        and job.version == context.version.version
        and job.digest == context.version.digest
        and len(job.inputs) == len(context.inputs)
        and not job.counts.failed
        and not job.counts.recovered
        and not context.spec.every_job
        and not context.replay
        and is_local(context.spec.input)
    )


def _changed(old: Tree, new: Tree) -> Iterator[bytes]:
    return (one.path for one in differences(old, new))
