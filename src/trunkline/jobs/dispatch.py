"""Datums to be run, in sets: small enough to share out, large enough to be worth a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from trunkline.engine.runner.task import DatumInput, DatumTask, SetTask
from trunkline.jobs.context import Context
from trunkline.jobs.planning import Decision
from trunkline.pipelines.datums import Match, datum_hash, datum_id

SETS_PER_CORE = 4
LARGEST_SET = 2_500
BUFFER = 20_000
"""Up to here all datums are known before they are cut into sets of equal size."""


def task_of(context: Context, decision: Decision) -> DatumTask:
    datum = decision.datum
    assert datum is not None
    number = datum_id(datum)
    return DatumTask(
        datum.key.decode(),
        datum.content.decode(),
        number,
        datum_hash(number, datum.content, context.version.digest),
        decision.reason,
        tuple([_input(context, match) for match in datum.matches]),
    )


def _input(context: Context, match: Match) -> DatumInput:
    leaf = context.leaves[match.leaf]
    tree = context.trees[match.leaf]
    if match.path.endswith(b"/"):
        lines = tuple([line.decode() for line in tree.scan(match.path)])
    else:
        line = tree.find(match.path)
        assert line is not None
        lines = (line.decode(),)
    path = match.path.decode()
    return DatumInput(
        leaf.name,
        path.rstrip("/") or "/",
        context.inputs[match.leaf].commit or "",
        lines,
        match.join_on,
        match.group_by,
        leaf.empty_files,
        leaf.lazy,
    )


def in_sets(
    context: Context, tasks: Iterable[DatumTask], cores: Callable[[], int]
) -> Iterator[SetTask]:
    """The datums in the order they come, in sets."""
    stream = iter(tasks)
    first = list(islice(stream, BUFFER))
    if not first:
        return
    size = _size(context, len(first), cores)
    chunks = _chunks(chain(first, stream), size, context.spec.set_bytes)
    for number, held in enumerate(chunks):
        yield SetTask(number, tuple(held))


def _size(context: Context, known: int, cores: Callable[[], int]) -> int:
    if context.spec.set_number:
        return context.spec.set_number
    if known >= BUFFER:
        return LARGEST_SET
    return max(-(-known // (cores() * SETS_PER_CORE)), 1)


def _chunks(
    tasks: Iterator[DatumTask], size: int, most_bytes: int | None
) -> Iterator[list[DatumTask]]:
    held: list[DatumTask] = []
    weight = 0
    for task in tasks:
        if most_bytes is not None:
            weight += sum(int(line.split("\t", 3)[2]) for one in task.inputs for line in one.lines)
        held.append(task)
        if len(held) >= size or (most_bytes is not None and weight >= most_bytes):
            yield held
            held, weight = [], 0
    if held:
        yield held
