"""Draws history as text: which commit came from which.

Takes commits newest first, children before their parents, and yields for each the lines
to print: the first may carry text about the commit, the others only connect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple


class Node(NamedTuple):
    id: str
    parents: tuple[str, ...]


class Drawn(NamedTuple):
    """`before` joins lanes above the commit, `at` has its star, `after` opens or shifts lanes."""

    before: list[str]
    at: str
    after: list[str]


class Pen:
    """Each lane is the id of the commit it waits for. Lanes that wait for one commit join there."""

    def __init__(self) -> None:
        self.lanes: list[str] = []

    def draw(self, node: Node) -> Drawn:
        if node.id not in self.lanes:
            self.lanes.append(node.id)
        lane = self.lanes.index(node.id)
        before = list(_join(self.lanes, lane))
        at = _row(len(self.lanes), star=lane)
        return Drawn(before, at, list(_continue(self.lanes, lane, node.parents)))


def draw(nodes: Iterable[Node]) -> Iterator[Drawn]:
    pen = Pen()
    return (pen.draw(node) for node in nodes)


def _join(lanes: list[str], into: int) -> Iterator[str]:
    """Close every later lane that waits for the same commit, the rightmost first."""
    for lane in range(len(lanes) - 1, into, -1):
        if lanes[lane] != lanes[into]:
            continue
        cells = _cells(len(lanes))
        for gap in range(into, lane - 1):
            cells[2 * gap + 1] = "_"
        cells[2 * lane] = " "
        cells[2 * lane - 1] = "/"
        _shift_left(cells, lane + 1, len(lanes))
        del lanes[lane]
        yield _text(cells)


def _continue(lanes: list[str], lane: int, parents: Sequence[str]) -> Iterator[str]:
    if not parents:
        cells = _cells(len(lanes))
        cells[2 * lane] = " "
        _shift_left(cells, lane + 1, len(lanes))
        del lanes[lane]
        if lane < len(lanes):
            yield _text(cells)
        return
    lanes[lane] = parents[0]
    for position, parent in enumerate(parents[1:], start=lane + 1):
        cells = _cells(len(lanes))
        for moved in range(position, len(lanes)):
            cells[2 * moved] = " "
            cells[2 * moved + 1] = "\\"
        cells[2 * position - 1] = "\\"
        lanes.insert(position, parent)
        yield _text(cells)


def _cells(width: int) -> list[str]:
    return ["|", " "] * width


def _shift_left(cells: list[str], start: int, end: int) -> None:
    for lane in range(start, end):
        cells[2 * lane] = " "
        cells[2 * lane - 1] = "/"


def _row(width: int, star: int | None = None) -> str:
    return " ".join("*" if lane == star else "|" for lane in range(width))


def _text(cells: list[str]) -> str:
    return "".join(cells).rstrip()
