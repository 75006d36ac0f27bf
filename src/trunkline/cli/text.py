"""How numbers, moments and tables read to a person."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from trunkline.model.words import count as count


def printable(text: str) -> str:
    """The text with nothing in it that could move the cursor or fail to print."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in text
    )


def human_size(size: float) -> str:
    """`1.2 MiB`; exact below 1024 bytes."""
    if size < 1024:
        return f"{size:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1023.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} PiB"


def duration(seconds: float) -> str:
    """`1d`, `90s`, `0.5s`: in the largest unit that says it exactly."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def local_time(micros: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(micros / 1_000_000))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Rows as lines of columns two spaces apart; `right` says which columns stand right."""
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def fields(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """`Name:   value`, the values under each other."""
    width = max((len(name) for name, _ in pairs), default=0) + 1
    return [f"{name + ':' if name else '':<{width}} {value}".rstrip() for name, value in pairs]


def sides(conflict: Mapping[str, Any]) -> str:
    """What either side of a conflict made of the path."""
    return ", ".join(f"{side} {_outcome(conflict[side])}" for side in ("ours", "theirs"))


def _outcome(side: Mapping[str, Any]) -> str:
    return "removed it" if side["size"] is None else human_size(side["size"])
