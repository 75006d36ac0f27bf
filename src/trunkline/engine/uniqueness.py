"""Columns of a DataFrame that no two rows share, as its plan tells.

What was grouped by a key has it once. Spark knows that of its own plans, for joins and subqueries
too, and it is asked here: looking at the rows would mean to sort them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.model.best_effort import BestEffort

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Keys:
    """The keys that a frame certainly has. The plan is looked at when the first is asked for."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self._plan: Any = None
        self._found: list[frozenset[int]] | None = None

    def certain(self, places: Sequence[int]) -> bool:
        """Whether no two rows are the same in all of the columns at these places."""
        # Spark Connect shows no plan.
        with BestEffort("Telling the keys of a plan", "info"):
            if self._found is None:
                self._plan = _plain(self._frame)
                self._found = _keys(self._plan)
            if not self._found:
                return False
            output = self._plan.output()
            asked = {_number(output.apply(place)) for place in places}
            return any(key <= asked for key in self._found)
        self._found = []
        return False


def _plain(frame: DataFrame) -> Any:
    """The analysed plan, without what only names its parts: Spark finds no key behind a name."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    if not plan.distinctKeys().isEmpty():
        return plan
    catalyst: Any = frame.sparkSession._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]
    analysis, optimizer = catalyst.analysis, catalyst.optimizer
    if "WithCTE" in plan.getClass().getName():
        plan = optimizer.InlineCTE(True, False, False).apply(plan)
    plan = analysis.EliminateView.apply(analysis.EliminateSubqueryAliases.apply(plan))
    return optimizer.ReplaceDeduplicateWithAggregate.apply(plan)


def _keys(plan: Any) -> list[frozenset[int]]:
    found = plan.distinctKeys().toSeq()
    keys = []
    for number in range(found.size()):
        key = found.apply(number).toSeq()
        keys.append(frozenset(_number(key.apply(place)) for place in range(key.size())))
    return keys


def _number(attribute: Any) -> int:
    return int(attribute.exprId().id())
