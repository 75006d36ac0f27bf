"""Whether rows differ in the last digits of floating-point numbers only."""

from __future__ import annotations

import math
from collections import defaultdict

from trunkline.engine.comparing import Row, RowDifferences
from trunkline.model.tables import Schema

_FLOATING = ("double", "float")


def largest(schema: Schema, found: RowDifferences) -> float | None:
    """The largest relative difference of two such numbers; None if more than that differs."""
    places = [n for n, column in enumerate(schema) if column.type in _FLOATING]
    if not places or not found.complete or found.left != found.right:
        return None
    left, right = (_by_rest(rows, places) for rows in (found.left_rows, found.right_rows))
    if left.keys() != right.keys():
        return None
    most = 0.0
    for key, rows in left.items():
        others = right[key]
        if len(rows) != len(others):
            return None
        for row, other in zip(sorted(rows), sorted(others), strict=True):
            for one, two in zip(row, other, strict=True):
                if not (math.isfinite(one) and math.isfinite(two)):
                    if repr(one) != repr(two):
                        return None
                elif one != two:
                    most = max(most, abs(one - two) / max(abs(one), abs(two)))
    return most


def _by_rest(
    rows: tuple[Row, ...], places: list[int]
) -> dict[tuple[str | None, ...], list[list[float]]]:
    """The floating-point numbers of each row, by all its other values and by which are null."""
    found: dict[tuple[str | None, ...], list[list[float]]] = defaultdict(list)
    for row in rows:
        numbers = [math.nan if (text := row[n]) is None else float(text) for n in places]
        rest = [
            ("null" if value is None else "") if n in places else value
            for n, value in enumerate(row)
        ]
        found[tuple(rest)].append(numbers)
    return found
