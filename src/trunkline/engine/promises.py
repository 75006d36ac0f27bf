"""Whether a query gives the same rows however its input came: what `together` and `append` promise.

Their runs see a part of the input: partitions that changed, or new rows. So no row of the output
may depend on rows of another partition, or on any other row. That is told from Spark's analysed
plan (`planwalk`); `pipelines.sql_promises` tells some of it from the text, before a job runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.engine.carriers import State
from trunkline.engine.columns import analysed, relations_of
from trunkline.engine.planwalk import Broken, Walk
from trunkline.errors import TransformFailed
from trunkline.pipelines.promise_words import (
    brings_together,
    column_changed,
    made_from_unknown,
    output,
)
from trunkline.pipelines.sqltext import Step, caret

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Parts = Mapping[str, Sequence[str]]
"""Inputs of which a run sees a part, with the columns that tell which; without, it is new rows."""


def check(
    mode: str,
    parts: Parts,
    inputs: Mapping[str, DataFrame],
    outputs: Mapping[str, DataFrame],
    script: str = "",
    steps: Sequence[tuple[Step, DataFrame]] = (),
) -> None:
    """Refuse outputs that depend on which part of the inputs a run sees."""
    leaves = Leaves(parts, inputs)
    for name, frame in outputs.items():
        try:
            state = leaves.walk(frame)
        except Broken as broken:
            said = brings_together(mode, broken.what, broken.input, parts[broken.input])
            place = _where(leaves, script, steps)
            text = caret(*place, said.text) if place else said.text
            raise TransformFailed(text, hint=said.hint) from None
        _check_columns(mode, name, state, frame)
        if not state.origins and not leaves.has_all_of(frame):
            said = made_from_unknown(mode, output(name), parts)
            raise TransformFailed(said.text, hint=said.hint)


def _check_columns(mode: str, name: str, state: State, frame: DataFrame) -> None:
    own = dict(zip((one.casefold() for one in frame.columns), state.ids, strict=False))
    for origin in state.origins:
        for column, carriers in origin.carriers.items():
            # One that is not there at all is told later.
            if own.get(column.casefold(), -1) not in {*carriers, -1}:
                said = column_changed(mode, output(name), column, origin.input)
                raise TransformFailed(said.text, hint=said.hint)


def _where(
    leaves: Leaves, script: str, steps: Sequence[tuple[Step, DataFrame]]
) -> tuple[str, int, int] | None:
    """The place in a script of the first step that is refused."""
    for step, frame in steps:
        try:
            leaves.walk(frame)
        except Broken as broken:
            node: Any = frame._jdf.queryExecution().analyzed()
            for child in broken.path or ():
                node = node.children().apply(child)
            origin = node.origin()
            if broken.path is None or not origin.line().isDefined():
                return script, step.line, step.column
            line, column = int(origin.line().get()), int(origin.startPosition().get()) + 1
            return script, step.line + line - 1, column + (step.column - 1 if line == 1 else 0)
    return None


class Leaves:
    """Which leaves of a plan are parts of inputs, and which columns tell the part."""

    def __init__(self, parts: Parts, inputs: Mapping[str, DataFrame]) -> None:
        self._parts = parts
        self._inputs: dict[int, str] = {}
        for name, frame in inputs.items():
            for relation in relations_of(frame).values():
                self._inputs[relation] = name

    def walk(self, frame: DataFrame) -> State:
        """What is known of a frame's rows; raises Broken."""
        return Walk(analysed(frame), self._of(frame)).state

    def has_all_of(self, frame: DataFrame) -> bool:
        """Whether a frame reads nothing but inputs."""
        return set(relations_of(frame).values()) <= self._inputs.keys()

    def parts_in(self, frame: DataFrame) -> list[str]:
        """The inputs of which a frame reads the part that the run sees."""
        return list(dict.fromkeys(input for input, _ in self._of(frame).values()))

    def _of(self, frame: DataFrame) -> Mapping[int, tuple[str, Sequence[str]]]:
        found = {}
        for first, relation in relations_of(frame).items():
            name = self._inputs.get(relation, "")
            if name in self._parts:
                found[first] = name, self._parts[name]
        return found
