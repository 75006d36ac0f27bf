"""How a row diff and a profile look on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.cli.output import Style
from trunkline.cli.text import aligned, count, printable

if TYPE_CHECKING:
    from trunkline.tables.comparing.rowdiff import ChangedRow, RowDiff
    from trunkline.tables.profiles.profiling import ColumnProfile, Profile

MARKS = {"added": "+", "removed": "-", "changed": "~"}
MOST_COLUMNS = 12
MOST_SCHEMA = 20
_LONGEST = 30


def diff_lines(found: RowDiff, limit: int, style: Style, every: bool = False) -> Iterator[str]:
    """The schema, the rows with a mark and changed cells as old → new, and all in numbers."""
    yield found.summary()
    for change in found.schema[:MOST_SCHEMA]:
        yield style(change.mark, printable(f"{change.mark} column {str(change)[2:]}"))
    if len(found.schema) > MOST_SCHEMA:
        yield f"… {count(len(found.schema) - MOST_SCHEMA, 'column')} more differ"
    for side, keys in zip(("old", "new"), found.duplicates, strict=True):
        if keys:
            yield style(
                "~",
                f"{count(keys, 'key')} of more than one row in the {side} table: "
                f"{', '.join(map(printable, found.key))} does not tell all rows apart",
            )
    rows = found.samples(limit)
    if not rows:
        return
    names = _columns(found, every)
    yield ""
    lines = aligned(
        [["", *map(printable, names)], *([MARKS[row.change], *_cells(row, names)] for row in rows)],
        [False] * (len(names) + 1),
    )
    yield style("head", lines[0])
    for row, line in zip(rows, lines[1:], strict=True):
        yield _coloured(row, line, style)
    left = found.added + found.removed + found.changed - len(rows)
    if left:
        yield f"… {count(left, 'row')} more: --limit shows them"
    if len(names) < len(found.columns):
        more = count(len(found.columns) - len(names), "column")
        yield f"… {more} more: --columns chooses which are shown"


def _columns(found: RowDiff, every: bool) -> list[str]:
    """The key, then what changed most, then the rest, as many as fit; in the table's order."""
    if every or len(found.columns) <= MOST_COLUMNS:
        return list(found.columns)
    changed = sorted(found.columns, key=lambda name: -found.columns[name])
    wanted = dict.fromkeys([*found.key, *changed])
    chosen = set(list(wanted)[:MOST_COLUMNS])
    return [name for name in found.columns if name in chosen]


def _cells(row: ChangedRow, names: Sequence[str]) -> Iterator[str]:
    from trunkline.tables.comparing.rowdiff import cell_text

    for name in names:
        yield printable(cell_text(row, name))


def _coloured(row: ChangedRow, line: str, style: Style) -> str:
    if row.change != "changed":
        return style(MARKS[row.change], line)
    return style("~", line[:1]) + line[1:].replace(" → ", style("~", " → "))


def profile_lines(found: Profile, style: Style) -> Iterator[str]:
    """A line for each column, then what is frequent."""
    yield f"{found.name}: {count(found.rows, 'row')}, {count(len(found.columns), 'column')}"
    if not found.columns:
        return
    yield ""
    titles = ["COLUMN", "TYPE", "NULLS", "DISTINCT", "MIN", "MEDIAN", "MAX", "MEAN", "VALUES"]
    right = [False, False, True, True, True, True, True, True, False]
    lines = aligned([titles, *(_profile_row(one) for one in found.columns)], right)
    yield style("head", lines[0])
    yield from lines[1:]


def _profile_row(one: ColumnProfile) -> list[str]:
    nulls = "-" if not one.nulls else f"{one.nulls:,} ({one.nulls / one.rows:.0%})"
    return [
        printable(one.name),
        one.type,
        nulls,
        ("" if one.distinct_exact else "≈") + f"{one.distinct:,}",
        _value(one.min),
        _value((one.quantiles or {}).get("0.5")),
        _value(one.max),
        "" if one.mean is None else f"{one.mean:.6g}",
        one.bars() if one.histogram else _frequent(one),
    ]


def _value(value: Any) -> str:
    from trunkline.tables.reading.cells import shown

    return "" if value is None else printable(shown(value, _LONGEST))


def _frequent(one: ColumnProfile) -> str:
    if one.distinct >= one.rows - one.nulls:
        return ""  # every value once: none is frequent
    return ", ".join(f"{_value(value)} ({times:,})" for value, times in one.top[:3])
