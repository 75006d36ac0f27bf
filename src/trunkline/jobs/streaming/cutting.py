"""Micro-batches: what several inputs brought, cut by their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from trunkline.errors import TrunklineError
from trunkline.jobs.streaming.positions import Place
from trunkline.jobs.streaming.step import Step
from trunkline.model.entries import line_size
from trunkline.model.streams import BatchLimit
from trunkline.model.tables import Schema, TableSpec


@dataclass(frozen=True, slots=True)
class Micro:
    """One batch: by input the steps it takes, perhaps parts of them, and where that leads.

    `position` has the inputs that moved on, also over commits that brought no rows. `schemas`
    are those of the inputs with rows: one each, as a batch ends where a table changes.
    """

    steps: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
    position: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows in it."""
        return all(one.is_empty for some in self.steps.values() for one in some)

    @property
    def files(self) -> int:
        return sum(one.files for some in self.steps.values() for one in some)

    @property
    def skipped(self) -> int:
        return sum(one.skipped for some in self.steps.values() for one in some)


def cut(
    per_input: Mapping[str, Iterable[Step]], limits: Mapping[str, BatchLimit]
) -> Iterator[Micro]:
    """Batches until every input has given all; each takes of each input what its limit allows.

    Where an input raises, all that it gave before comes first.
    """
    inputs = {
        name: _Input(iter(found), limits.get(name) or BatchLimit())
        for name, found in per_input.items()
    }
    while True:
        steps: dict[str, tuple[Step, ...]] = {}
        position: dict[str, str] = {}
        schemas: dict[str, Schema] = {}
        for name, one in inputs.items():
            taken = one.batch()
            if one.place is not None:
                position[name] = str(one.place)
            if taken:
                steps[name] = tuple(taken)
            schema = next((step.schema for step in taken if not step.is_empty), None)
            if schema is not None:
                schemas[name] = schema
        if position:
            yield Micro(steps, position, schemas)
            continue
        for one in inputs.values():
            if one.error is not None:
                raise one.error
        return


class _Input:
    """One input, read as far ahead as the next step."""

    def __init__(self, found: Iterator[Step], limit: BatchLimit) -> None:
        self._found = found
        self._limit = limit
        self._next: Step | None = None
        self._done = 0
        self.place: Place | None = None
        self.error: TrunklineError | None = None

    def batch(self) -> list[Step]:
        """The steps of the next batch; afterwards `place` is where it ends, None if nowhere."""
        self.place = None
        taken: list[Step] = []
        commits = files = size = 0
        table: TableSpec | None = None
        while (step := self._peek()) is not None:
            if step.is_empty:
                if step.skipped:
                    taken.append(step)
                self._pass(step)
                continue
            if table is not None and not _alike(table, step.table):
                break
            if self._limit.commits is not None and commits >= self._limit.commits:
                break
            count = self._fitting(step, files, size, first=table is None)
            if count is None:
                break
            part = step.part(self._done, self._done + count)
            table, commits = step.table, commits + 1
            files, size = files + part.files, size + part.bytes
            taken.append(part)
            self._done += count
            if self._done < len(step.added):
                self.place = Place(step.commit, step.taken + self._done, step.base)
                break
            self._pass(step)
        return taken

    def _peek(self) -> Step | None:
        if self._next is None and self.error is None:
            try:
                self._next = next(self._found, None)
            except TrunklineError as error:
                self.error = error
        return self._next

    def _pass(self, step: Step) -> None:
        self._next, self._done, self.place = None, 0, step.place

    def _fitting(self, step: Step, files: int, size: int, *, first: bool) -> int | None:
        """How many files of a step fit in, None if none does; the first always does."""
        left = step.added[self._done :]
        if step.whole:
            fits = first or self._fits(files + step.files, size + step.bytes)
            return len(left) if fits else None
        count = 0
        for line in left:
            files, size = files + 1, size + line_size(line)
            if not self._fits(files, size) and not (first and not count):
                break
            count += 1
        return count or None

    def _fits(self, files: int, size: int) -> bool:
        limit = self._limit
        return (limit.files is None or files <= limit.files) and (
            limit.bytes is None or size <= limit.bytes
        )


def _alike(one: TableSpec, other: TableSpec | None) -> bool:
    """Whether rows of both can be read as one table, without anybody noticing a difference."""
    return other is not None and _seen(one) == _seen(other)


def _seen(table: TableSpec) -> object:
    columns = tuple((one.name, one.type) for one in table.schema)
    return table.format, table.options, table.partition_by, columns
