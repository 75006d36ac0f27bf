"""Results: what was measured, against whom, and whether it is within its budget."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure import Cost


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. Without a budget it is only reported."""

    claim: str
    what: str
    ours: str
    peer: str
    theirs: str
    value: float
    unit: str = "x"
    budget: str = ""
    met: bool | None = None

    @property
    def verdict(self) -> str:
        return {True: "met", False: "NOT MET", None: "report"}[self.met]

    @property
    def shown_value(self) -> str:
        digits = 0 if self.value >= 100 else 2 if self.value >= 0.1 else 3
        space = "" if self.unit == "x" else " "
        return f"{self.value:,.{digits}f}{space}{self.unit}"


def times_faster(
    claim: str, what: str, ours: Cost, peer: str, theirs: Cost, budget: float | None = None
) -> Result:
    """How many times longer the peer takes: at least the budget."""
    ratio = theirs.wall / ours.wall
    return Result(
        claim,
        what,
        shown(ours),
        peer,
        shown(theirs),
        ratio,
        budget=f"≥ {budget:g}x" if budget else "",
        met=ratio >= budget if budget else None,
    )


def times_as_long(
    claim: str, what: str, ours: Cost, peer: str, theirs: Cost, budget: float | None = None
) -> Result:
    """How many times as long as the peer ours takes: at most the budget."""
    ratio = ours.wall / theirs.wall
    return Result(
        claim,
        what,
        shown(ours),
        peer,
        shown(theirs),
        ratio,
        budget=f"≤ {budget:g}x" if budget else "",
        met=ratio <= budget if budget else None,
    )


def shown(cost: Cost) -> str:
    """By the clock and, in brackets, of processor."""
    return f"{_seconds(cost.wall)} ({_seconds(cost.cpu)})"


def _seconds(value: float) -> str:
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1000:.3g} ms" if value < 0.1 else f"{value * 1000:.0f} ms"


COLUMNS = ("claim", "what", "trunkline (cpu)", "peer", "peer's (cpu)", "value", "budget", "")


def row(result: Result) -> tuple[str, ...]:
    return (
        result.claim,
        result.what,
        result.ours,
        result.peer,
        result.theirs,
        result.shown_value,
        result.budget or "-",
        result.verdict,
    )


def table(results: Iterable[Result]) -> str:
    """In Markdown, so that it can be pasted into the README."""
    rows = [row(result) for result in results]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    lines = [COLUMNS, tuple("-" * width for width in widths), *rows]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def as_json(results: Iterable[Result]) -> list[dict[str, object]]:
    return [asdict(result) for result in results]


def machine(folder: Path) -> dict[str, str]:
    """What the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory / 2**30:.0f} GiB",
        "file system": _file_system(folder),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": sys.version.split()[0],
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def _file_system(folder: Path) -> str:
    """The type of what is mounted nearest above the folder, where the system tells."""
    try:
        mounts = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return "unknown"
    kinds = {place: kind for _, place, kind, *_ in (line.split() for line in mounts)}
    return next(
        kinds[str(above)]
        for above in (folder.resolve(), *folder.resolve().parents)
        if str(above) in kinds
    )
