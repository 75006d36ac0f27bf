"""What a job has to do: which datums run, which keep their results, which go, and why.

A job leaves an index: a line per datum, in the order of keys. The next job's datums come in
the same order, so one walk along both decides, and nothing is held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

from trunkline.pipelines.datums_identity import Datum
from trunkline.pipelines.datums_lines import LineState, line_content, line_key
from trunkline.pipelines.datums_match import path_of

NEW = "new"
INPUT_CHANGED = "input changed"
OTHER_TYPES = f"{INPUT_CHANGED}: other types"
CODE_CHANGED = "code changed"
REPROCESS = "reprocess"
FAILED_BEFORE = "previous attempt failed"
UNCHANGED = "unchanged"
GONE = "input gone"


class Action(StrEnum):
    RUN = "run"
    KEEP = "keep"
    DROP = "drop"


class CodeChange(Enum):
    """How the pipeline's version relates to the one that made the previous results."""

    SAME = ""
    CHANGED = CODE_CHANGED
    REPROCESS = REPROCESS


class Step(NamedTuple):
    """What becomes of one datum. `before` is its line in the previous index."""

    action: Action
    datum: Datum | None
    before: bytes | None
    reason: str


def plan(
    datums: Iterable[Datum],
    previous: Iterable[bytes],
    *,
    code: CodeChange = CodeChange.SAME,
    every_job: bool = False,
) -> Iterator[Step]:
    """The steps from one index to the next, by ascending key, as both streams must be."""
    new, keep = tuple.__new__, Action.KEEP
    may_keep = code is CodeChange.SAME and not every_job
    lines = iter(previous)
    before = next(lines, None)
    for datum in datums:
        if may_keep and before is not None and before.startswith(b"%b\t%b\t1\t" % datum[:2]):
            yield new(Step, (keep, datum, before, UNCHANGED))
            before = next(lines, None)
            continue
        while before is not None and line_key(before) < datum.key:
            yield _dropped(before)
            before = next(lines, None)
        if before is not None and line_key(before) == datum.key:
            yield _step(datum, before, code, every_job)
            before = next(lines, None)
        else:
            yield Step(Action.RUN, datum, None, NEW)
    while before is not None:
        yield _dropped(before)
        before = next(lines, None)


def plan_delta(
    changes: Iterable[tuple[bytes, Datum | None]], lookup: Callable[[bytes], bytes | None]
) -> Iterator[Step]:
    """The steps for the datums of a `delta` only; `lookup` finds a key's previous line.

    For a job with the same code. Datums outside the delta keep their lines as they are, so one
    that failed before is not tried again: plan in full after a job with failures.
    """
    for key, datum in changes:
        before = lookup(key)
        if datum is not None:
            yield _step(datum, before, CodeChange.SAME, False)
        elif before is not None:
            yield _dropped(before)


def _dropped(before: bytes) -> Step:
    return Step(Action.DROP, None, before, GONE)


def _step(datum: Datum, before: bytes | None, code: CodeChange, every_job: bool) -> Step:
    if before is None:
        return Step(Action.RUN, datum, None, NEW)
    reason = _reason(datum, before, code, every_job)
    action = Action.RUN if reason else Action.KEEP
    return Step(action, datum, before, reason or UNCHANGED)


def _reason(datum: Datum, before: bytes, code: CodeChange, every_job: bool) -> str:
    """Why a datum that was there before has to run, or '' if it need not."""
    content, state = line_content(before)
    reasons = [changed_input(datum, content), code.value]
    if any(reasons):
        return "; ".join(filter(None, reasons))
    if state is not LineState.SUCCESS:
        return FAILED_BEFORE
    return REPROCESS if every_job else ""


def changed_input(datum: Datum, before: bytes) -> str:
    """Which input is not what it was when its content was `before`, in words; '' if none."""
    if datum.content == before:
        return ""
    own, _, _ = datum.content.partition(b"@")
    before, _, _ = before.partition(b"@")
    if own == before:
        return OTHER_TYPES
    hashes = before.split(b",")
    if len(hashes) != len(datum.matches):
        return INPUT_CHANGED
    changed = [
        match.path
        for match, old, new in zip(datum.matches, hashes, own.split(b","), strict=True)
        if old != new
    ]
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"{INPUT_CHANGED}: {path_of(changed[0])}{more}"


@dataclass(frozen=True, slots=True)
class Summary:
    """How many datums run, keep their results and go, and how many for which reason."""

    run: int = 0
    keep: int = 0
    drop: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, steps: Iterable[Step]) -> Summary:
        actions: Counter[Action] = Counter()
        reasons: Counter[str] = Counter()
        for action, _, _, reason in steps:
            actions[action] += 1
            reasons[INPUT_CHANGED if reason.startswith(INPUT_CHANGED) else reason] += 1
        counts = (actions[Action.RUN], actions[Action.KEEP], actions[Action.DROP])
        return cls(*counts, dict(reasons.most_common()))

    @property
    def total(self) -> int:
        """The datums that there are now."""
        return self.run + self.keep
