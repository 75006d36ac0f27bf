"""Datums to be run, in sets: small enough to share out, large enough to be worth a task.

A datum is a plain row here (`engine.runner.task.Row`): there may be a million of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from trunkline.engine.runner.task import Row, encode_set
from trunkline.jobs.context import Context
from trunkline.jobs.planning import Decision
from trunkline.lake.manifests import Tree
from trunkline.model.entries import total_size
from trunkline.model.hidden import shown
from trunkline.pipelines.datums import datum_hash, datum_id

SETS_PER_CORE = 4
SET_SECONDS = 2.0
LARGEST_SET = 2_500
QUICK = 1_000
"""More datums than this for a core are taken to be quick ones, if a function does them."""
BUFFER = 20_000
"""Up to here all datums are known before they are cut into sets of equal size."""

_INPUTS, _LINES = 5, 3


def encoded_sets(
    context: Context, decisions: Iterable[Decision], cores: Callable[[], int]
) -> list[bytes]:
    """The datums in the order they come, in sets, as Spark is given them."""
    rows = _rows(context, decisions)
    first = list(islice(rows, BUFFER))
    if not first:
        return []
    size = _size(context, len(first), cores())
    chunks = _chunks(chain(first, rows), size, context.spec.set_bytes)
    return [encode_set(number, held) for number, held in enumerate(chunks)]


def _rows(context: Context, decisions: Iterable[Decision]) -> Iterator[Row]:
    digest = context.version.digest
    finders = [_Finder(tree) for tree in context.trees]
    fixed = [
        (leaf.name, one.commit or "", leaf.empty_files, leaf.lazy)
        for leaf, one in zip(context.leaves, context.inputs, strict=True)
    ]
    for _, reason, datum, _, _ in decisions:
        assert datum is not None
        key, content, matches = datum
        number = datum_id(key)
        inputs: list[list[Any]] = []
        for leaf, path, _, _, _, join_on, group_by in matches:
            name, commit, empty, lazy = fixed[leaf]
            lines = finders[leaf].lines(path)
            place = path.decode().rstrip("/") or "/"
            inputs.append([name, place, commit, lines, join_on, group_by, empty, lazy])
        hashed = datum_hash(number, content, digest)
        yield [key.decode(), content.decode(), number, hashed, reason, inputs]


class _Finder:
    """Looks up files that mostly come in path order: the next is where the last one was."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._held: list[bytes] = []
        self._next = 0

    def lines(self, path: bytes) -> list[str]:
        """The manifest lines of a file, or of the files in a folder given with its slash."""
        if path.endswith(b"/"):
            return [line.decode() for line in shown(self._tree.scan(path), path.decode())]
        start = path + b"\t"
        held, place = self._held, self._next
        if place >= len(held) or not held[place].startswith(start):
            held, place = self._seek(path, start)
        self._next = place + 1
        return [held[place].decode()]

    def _seek(self, path: bytes, start: bytes) -> tuple[list[bytes], int]:
        (within,) = self._tree.overlapping(path, start + b"\xff")[:1]
        self._held = held = self._tree.lines(within)
        return held, bisect_left(held, start)


def _size(context: Context, known: int, cores: int) -> int:
    """How many datums make a set: a few seconds of work, as far as that can be known."""
    if context.spec.set_number:
        return context.spec.set_number
    if known >= BUFFER:
        return LARGEST_SET
    return max(-(-known // _sets(context, known, cores)), 1)


def _sets(context: Context, known: int, cores: int) -> int:
    """Several for each core, to even out what takes longer; fewer where a set is soon done."""
    job = context.last or context.base.job
    if job is not None and job.counts.processed:
        counts = job.counts
        each = (counts.download + counts.process + counts.upload) / counts.processed
        wanted = int(known * each / SET_SECONDS) + 1
    elif context.spec.transform.python and known > QUICK * cores:
        wanted = 2 * cores
    else:
        wanted = SETS_PER_CORE * cores
    return min(max(wanted, cores), SETS_PER_CORE * cores)


def _chunks(rows: Iterator[Row], size: int, most_bytes: int | None) -> Iterator[list[Row]]:
    held: list[Row] = []
    weight = 0
    for row in rows:
        if most_bytes is not None:
            lines = [line for one in row[_INPUTS] for line in one[_LINES]]
            weight += total_size(line.encode() for line in lines)
        held.append(row)
        if len(held) >= size or (most_bytes is not None and weight >= most_bytes):
            yield held
            held, weight = [], 0
    if held:
        yield held
