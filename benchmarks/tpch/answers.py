"""What TPC-H publishes for scale 1, and how answers are compared.

Of each query: how many rows, and the first row, without addresses and comments. The rest of the
rows is not kept here; the benchmark compares all of them between engines instead. Copies of the
answers do not all agree on Q13 and Q17: the README says which were followed.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]

LEAVE = object()
"""A column that is not checked."""

PUBLISHED: dict[int, tuple[int, Row]] = {
    1: (
        4,
        ("A", "F", 37734107.00, 56586554400.73, 53758257134.87, 55909065222.83, 25.52, 38273.13),
    ),
    2: (100, (9938.53, "Supplier#000005359", "UNITED KINGDOM", 185358, "Manufacturer#4")),
    3: (10, (2456423, 406181.01, datetime.date(1995, 3, 5), 0)),
    4: (5, ("1-URGENT", 10594)),
    5: (5, ("INDONESIA", 55502041.17)),
    6: (1, (123141078.23,)),
    7: (4, ("FRANCE", "GERMANY", 1995, 54639732.73)),
    8: (2, (1995, 0.03)),
    9: (175, ("ALGERIA", 1998, 27136900.18)),
    10: (20, (57040, "Customer#000057040", 734235.25, 632.87, "JAPAN", LEAVE, "22-895-641-3466")),
    11: (1048, (129760, 17538456.86)),
    12: (2, ("MAIL", 6202, 9324)),
    13: (42, (0, 50005)),
    14: (1, (16.38,)),
    15: (1, (8449, "Supplier#000008449", LEAVE, "20-469-856-8873", 1772627.21)),
    16: (18314, ("Brand#41", "MEDIUM BRUSHED TIN", 3, 28)),
    17: (1, (348406.05,)),
    18: (
        57,
        ("Customer#000128120", 128120, 4722021, datetime.date(1994, 4, 7), 544089.09, 323.00),
    ),
    19: (1, (3083843.06,)),
    20: (186, ("Supplier#000000020",)),
    21: (100, ("Supplier#000002829", 20)),
    22: (7, ("13", 888, 6737713.99)),
}


def check_published(number: int, rows: Sequence[Row]) -> None:
    """Numbers are published with two decimals, and must be those."""
    count, first = PUBLISHED[number]
    assert len(rows) == count, f"Q{number}: {len(rows)} rows, published are {count}"
    for found, wanted in zip(rows[0], first, strict=False):
        same = wanted is LEAVE or _same(found, wanted, 0.0, 0.00501)
        assert same, f"Q{number}: {found!r}, published is {wanted!r}"


def check_equal(name: str, rows: Sequence[Row], others: Sequence[Row]) -> None:
    """Engines round ratios and averages at other places: a millionth is let pass."""
    assert len(rows) == len(others), f"{name}: {len(rows)} rows and {len(others)}"
    pairs = zip(sorted(rows, key=_order), sorted(others, key=_order), strict=True)
    for one, other in pairs:
        same = all(_same(a, b, 1e-6, 1e-5) for a, b in zip(one, other, strict=True))
        assert same, f"{name}: {one} and {other}"


def _order(row: Row) -> tuple[list[str], list[float]]:
    """By what is exact, and only then by what may be rounded."""
    rounded = [float(value) for value in row if isinstance(value, float | Decimal)]
    return [str(value) for value in row if not isinstance(value, float | Decimal)], rounded


def _same(one: Any, other: Any, relative: float, absolute: float) -> bool:
    if isinstance(one, float | Decimal) or isinstance(other, float | Decimal):
        return math.isclose(float(one), float(other), rel_tol=relative, abs_tol=absolute)
    return bool(one == other)
