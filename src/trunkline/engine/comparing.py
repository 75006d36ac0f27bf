"""Two tables, row by row, on Spark: which rows has only one of them, and how often.

Rows are compared by their exact hashes, so every type that a table can hold is compared alike,
at any size, and nothing but what differs comes to the driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.engine import tables
from trunkline.engine.sessions import own_session
from trunkline.engine.submit import explained
from trunkline.engine.transform import Source
from trunkline.model.tables import Schema
from trunkline.model.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from trunkline.engine.session import Session

Row = tuple[str | None, ...]
_HASH, _SIDE = f"{tables.RESERVED}hash", f"{tables.RESERVED}side"


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """How many rows only one side has, and the first of them, their values as text."""

    left: int
    right: int
    left_rows: tuple[Row, ...] = ()
    right_rows: tuple[Row, ...] = ()

    @property
    def none(self) -> bool:
        return not self.left and not self.right

    @property
    def complete(self) -> bool:
        """Whether all rows that differ are here."""
        return len(self.left_rows) == self.left and len(self.right_rows) == self.right


def differing_rows(session: Session, left: Source, right: Source, most: int) -> RowDifferences:
    """The rows of two tables of the same schema, as multisets; at most `most` of each side."""
    from pyspark.sql import functions as f

    with explained(session), own_session(session, "verify", {}) as spark:
        frames = [
            tables.hashed(session, tables.read(session, source.scans, source.schema, spark), _HASH)
            for source in (left, right)
        ]
        sides = [
            frame.select(_HASH, f.lit(side).alias(_SIDE))
            for frame, side in zip(frames, (1, -1), strict=True)
        ]
        odd = sides[0].unionAll(sides[1]).groupBy(_HASH).agg(f.sum(_SIDE).alias(_SIDE))
        odd = odd.where(f"{_SIDE} <> 0")
        counted: Any = odd.agg(
            f.expr(f"coalesce(sum(greatest({_SIDE}, 0)), 0)"),
            f.expr(f"coalesce(sum(greatest(-{_SIDE}, 0)), 0)"),
        ).first()
        counts = int(counted[0]), int(counted[1])
        if not any(counts):
            return RowDifferences(0, 0)
        rows = [
            _rows(frame, odd.where(f"{_SIDE} {sign} 0"), left.schema, most)
            for frame, sign in zip(frames, (">", "<"), strict=True)
        ]
        return RowDifferences(*counts, *rows)


def _rows(frame: DataFrame, odd: DataFrame, schema: Schema, most: int) -> tuple[Row, ...]:
    """Rows of the hashes given, each as often as the other side lacks it."""
    found = frame.join(odd, _HASH).orderBy(_HASH)
    texts = [f"CAST({quoted(name)} AS string)" for name in schema.names]
    kept: list[Row] = []
    taken: dict[str, int] = {}
    for row in found.selectExpr(_HASH, f"abs({_SIDE})", *texts).limit(2 * most).collect():
        number, times, *values = row
        taken[number] = taken.get(number, 0) + 1
        if taken[number] <= times and len(kept) < most:
            kept.append(tuple(values))
    return tuple(kept)
