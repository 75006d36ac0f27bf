"""Small charts of text: bars, and points on a grid of braille dots."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from typing import Any

from trunkline.cli.sqltext import as_float, plain
from trunkline.cli.text import printable
from trunkline.errors import Precondition, Usage

KINDS = ("auto", "bar", "line", "scatter", "hist")
HEIGHT = 15
MOST_BARS = 60
FEW = 12
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def draw(kind: str, names: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[str]:
    """The lines of a chart. Without a kind, one that suits the columns is chosen."""
    if kind not in KINDS:
        raise Usage(f'There is no chart "{kind}".', hint=f"Use {', '.join(KINDS[1:])}.")
    if not rows:
        raise Precondition("There are no rows to draw.")
    numeric = [i for i in range(len(names)) if _is_numeric(rows, i)]
    kind = _chosen(rows, numeric) if kind == "auto" else kind
    values = [i for i in numeric if not _is_time(rows, i)]
    if not values:
        raise Precondition("There is no column of numbers to draw.")
    if kind == "hist":
        return list(_histogram(names[values[0]], _column(rows, values[0]), width))
    if kind == "bar":
        label = 0 if len(names) > 1 else None
        value = next((i for i in values if i != label), values[0])
        return list(_bars(rows, label, value, names[value], width))
    if len(numeric) < 2:
        points = [(float(n), one) for n, one in enumerate(_column(rows, values[0]), start=1)]
        titles = ("row", names[values[0]])
    else:
        x = numeric[0]
        y = next((i for i in values if i != x), values[0])
        pairs = ((as_float(row[x]), as_float(row[y])) for row in rows)
        points = [(a, b) for a, b in pairs if a is not None and b is not None]
        titles = (names[x], names[y])
    if not points:
        raise Precondition("There are no numbers to draw.")
    ends = _ends(rows, numeric[0]) if len(numeric) > 1 else None
    return list(_grid(points, titles, width, joined=kind == "line", ends=ends))


def _chosen(rows: Sequence[Sequence[Any]], numeric: Sequence[int]) -> str:
    if len(rows[0]) == 1:
        return "hist"
    if len(rows) <= FEW and _is_labelled(rows, numeric):
        return "bar"
    return "line" if len(numeric) > 1 and 0 in numeric else "bar"


def _is_labelled(rows: Sequence[Sequence[Any]], numeric: Sequence[int]) -> bool:
    """A text or a time, then a number: few of them say more as bars than as a line."""
    if len(rows[0]) != 2 or 1 not in numeric or _is_time(rows, 1):
        return False
    return 0 not in numeric or _is_time(rows, 0)


def _is_numeric(rows: Sequence[Sequence[Any]], index: int) -> bool:
    found = [row[index] for row in rows if row[index] is not None]
    return bool(found) and all(as_float(one) is not None or isinstance(one, float) for one in found)


def _is_time(rows: Sequence[Sequence[Any]], index: int) -> bool:
    return any(isinstance(row[index], datetime.date) for row in rows)


def _column(rows: Sequence[Sequence[Any]], index: int) -> list[float]:
    return [found for row in rows if (found := as_float(row[index])) is not None]


def _ends(rows: Sequence[Sequence[Any]], index: int) -> tuple[str, str]:
    found = sorted((row[index] for row in rows if row[index] is not None), key=as_float)  # type: ignore[arg-type]
    return plain(found[0]), plain(found[-1])


def _bars(
    rows: Sequence[Sequence[Any]], label: int | None, value: int, title: str, width: int
) -> Iterator[str]:
    shown = rows[:MOST_BARS]
    labels = [
        "" if label is None or row[label] is None else printable(plain(row[label]))[: width // 3]
        for row in shown
    ]
    numbers = [as_float(row[value]) or 0.0 for row in shown]
    texts = ["null" if row[value] is None else plain(row[value]) for row in shown]
    yield from _bar_lines(labels, numbers, texts, width)
    if len(rows) > len(shown):
        yield f"… {len(rows) - len(shown):,} more"


def _bar_lines(
    labels: Sequence[str], numbers: Sequence[float], texts: Sequence[str], width: int
) -> Iterator[str]:
    wide = max(map(len, labels))
    room = max(width - wide - max(map(len, texts)) - 3, 8)
    most = max(map(abs, numbers)) or 1.0
    for label, number, text in zip(labels, numbers, texts, strict=True):
        eighths = round(abs(number) / most * room * 8)
        bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        yield f"{label.rjust(wide)} {bar}{' ' if bar else ''}{text}".rstrip()


def _histogram(title: str, values: Sequence[float], width: int) -> Iterator[str]:
    if not values:
        raise Precondition("There are no numbers to draw.")
    low, high = min(values), max(values)
    bins = 1 if low == high else min(HEIGHT, max(5, math.ceil(math.sqrt(len(values)))))
    step = (high - low) / bins or 1.0
    counts = [0] * bins
    for value in values:
        counts[min(int((value - low) / step), bins - 1)] += 1
    labels = [_short(low + number * step) for number in range(bins)]
    yield printable(title)
    yield from _bar_lines(labels, list(map(float, counts)), [f"{one:,}" for one in counts], width)


def _grid(
    points: Sequence[tuple[float, float]],
    titles: tuple[str, str],
    width: int,
    *,
    joined: bool,
    ends: tuple[str, str] | None,
) -> Iterator[str]:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high, left, right = min(ys), max(ys), min(xs), max(xs)
    margin = max(len(_short(low)), len(_short(high)))
    columns, rows = max(width - margin - 2, 10), HEIGHT
    cells = [[0] * columns for _ in range(rows)]

    def place(x: float, y: float) -> tuple[int, int]:
        across = (x - left) / (right - left or 1.0) * (columns * 2 - 1)
        up = (y - low) / (high - low or 1.0) * (rows * 4 - 1)
        return round(across), rows * 4 - 1 - round(up)

    def dot(x: int, y: int) -> None:
        cells[y // 4][x // 2] |= _DOTS[y % 4][x % 2]

    before: tuple[int, int] | None = None
    for point in sorted(points) if joined else points:
        here = place(*point)
        steps = max(abs(here[0] - before[0]), abs(here[1] - before[1]), 1) if before else 1
        for step in range(steps + 1 if joined and before else 0):
            assert before is not None
            dot(
                before[0] + round((here[0] - before[0]) * step / steps),
                before[1] + round((here[1] - before[1]) * step / steps),
            )
        dot(*here)
        before = here
    yield f"{' ' * margin}  {printable(titles[1])}"
    for number, line in enumerate(cells):
        edge = _short(high) if number == 0 else _short(low) if number == rows - 1 else ""
        text = "".join(chr(0x2800 + one) if one else " " for one in line)
        yield f"{edge.rjust(margin)} │{text}".rstrip()
    first, last = ends or (_short(left), _short(right))
    middle = printable(titles[0])
    gap = max(columns - len(first) - len(last) - len(middle), 2)
    yield f"{' ' * margin}  {first}{' ' * (gap // 2)}{middle}{' ' * (gap - gap // 2)}{last}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e15 else f"{value:.4g}"
