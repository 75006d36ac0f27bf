"""Draws a graph as boxes and lines of text: sources first, what is made from them after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from trunkline.cli.daglayout import Edges, Item, Net, lay_out, parts


class Way(StrEnum):
    RIGHT = "right"
    DOWN = "down"


class Box(NamedTuple):
    """A node: its text, a style for it, and whether its corners are round."""

    name: str
    text: str
    style: str = ""
    round: bool = False


class Piece(NamedTuple):
    """Part of a line of the drawing, in one style."""

    text: str
    style: str = ""


Lines = list[list[Piece]]

# Which neighbours a cell is joined to: backwards and on along the main axis, and across it.
BACK, ON, LESS, MORE = 1, 2, 4, 8
CROSSED = LESS | MORE
SIGNS = {
    Way.RIGHT: {
        BACK: "─", ON: "─", BACK | ON: "─", LESS: "│", MORE: "│", LESS | MORE: "│",
        BACK | LESS: "╯", BACK | MORE: "╮", ON | LESS: "╰", ON | MORE: "╭",
        BACK | LESS | MORE: "┤", ON | LESS | MORE: "├",
        BACK | ON | LESS: "┴", BACK | ON | MORE: "┬", BACK | ON | LESS | MORE: "┼",
    },
    Way.DOWN: {
        BACK: "│", ON: "│", BACK | ON: "│", LESS: "─", MORE: "─", LESS | MORE: "─",
        BACK | LESS: "╯", BACK | MORE: "╰", ON | LESS: "╮", ON | MORE: "╭",
        BACK | LESS | MORE: "┴", ON | LESS | MORE: "┬",
        BACK | ON | LESS: "┤", BACK | ON | MORE: "├", BACK | ON | LESS | MORE: "┼",
    },
}  # fmt: skip
ARROWS = {Way.RIGHT: "▶", Way.DOWN: "▼"}


def draw(boxes: Sequence[Box], edges: Edges, way: Way = Way.RIGHT) -> Lines:
    """The drawing, line by line. Parts that nothing connects are drawn apart, one below another."""
    lines: Lines = []
    for part in parts([box.name for box in boxes], edges):
        inside = [box for box in boxes if box.name in part]
        here = [(a, b) for a, b in dict.fromkeys(edges) if a in part and a != b]
        lines += _Drawing(inside, here, way).lines()
    return lines


def fitting(boxes: Sequence[Box], edges: Edges, columns: int) -> Lines | None:
    """The drawing to the right, or else downwards, or None if neither fits into the columns."""
    for way in Way:
        lines = draw(boxes, edges, way)
        if width(lines) <= columns:
            return lines
    return None


def listing(boxes: Sequence[Box], edges: Edges) -> Lines:
    """The graph without lines: each node, and what is made from it."""
    texts = {box.name: box for box in boxes}
    lines: Lines = []
    for box in boxes:
        line = [Piece(box.text, box.style)]
        for number, target in enumerate(b for a, b in dict.fromkeys(edges) if a == box.name):
            line += [Piece(", " if number else " → "), Piece(target, texts[target].style)]
        lines.append(line)
    return lines


def width(lines: Lines) -> int:
    return max((sum(len(piece.text) for piece in line) for line in lines), default=0)


def plain(lines: Lines) -> list[str]:
    return ["".join(piece.text for piece in line).rstrip() for line in lines]


class _Drawing:
    """One connected graph on a sheet of cells."""

    def __init__(self, boxes: Sequence[Box], edges: Edges, way: Way) -> None:
        self.way = way
        self.boxes = {box.name: box for box in boxes}
        self.layout = lay_out(list(self.boxes), edges, self._size, 0 if way is Way.RIGHT else 2)
        self.strokes: dict[tuple[int, int], dict[int, int]] = {}
        self.text: dict[tuple[int, int], Piece] = {}

    def lines(self) -> Lines:
        main = 0
        for layer, nets in zip(self.layout.layers, self.layout.nets, strict=True):
            depth = self._depth(layer)
            for item in layer:
                self._draw_item(item, main, depth)
            main += depth
            turning = [track for net, track in nets if not net.straight]
            length = max(turning, default=-1) + (4 if self.way is Way.RIGHT else 3)
            for net, track in nets:
                self._draw_net(net, main, main + track + 1, main + length)
            main += length
        return self._rows()

    def _size(self, name: str | None, ports: int) -> int:
        if name is None:
            return 1
        if self.way is Way.RIGHT:
            return max(ports, 1) + 2
        return max(len(self.boxes[name].text) + 4, 2 * ports + 1)

    def _depth(self, layer: Iterable[Item]) -> int:
        if self.way is Way.DOWN:
            return 3
        return max((len(self.boxes[item.name].text) + 4 for item in layer if item.name), default=0)

    def _draw_item(self, item: Item, main: int, depth: int) -> None:
        if item.name is None:
            for step in range(depth):
                self._stroke(main + step, item.out, item, BACK | ON)
            return
        box = self.boxes[item.name]
        if self.way is Way.RIGHT:
            left, top, wide, high, row = main, item.at, depth, item.size, item.out - item.at
        else:
            left, top, wide, high, row = item.at, main, item.size, depth, 1
        corners = "╭╮╰╯" if box.round else "┌┐└┘"
        bar = "─" * (wide - 2)
        self._write(left, top, Piece(corners[0] + bar + corners[1]))
        for inside in range(1, high - 1):
            self._write(left, top + inside, Piece(f"│{' ' * (wide - 2)}│"))
        spare = (wide - 4 - len(box.text)) // 2 if self.way is Way.DOWN else 0
        self._write(left + 2 + spare, top + row, Piece(box.text, box.style))
        self._write(left, top + high - 1, Piece(corners[2] + bar + corners[3]))

    def _draw_net(self, net: Net, start: int, turn: int, end: int) -> None:
        first, last = net.span
        for cross in range(first, last):
            self._stroke(turn, cross, net, MORE)
            self._stroke(turn, cross + 1, net, LESS)
        for cross in net.starts:
            self._stroke(turn, cross, net, BACK)
            for step in range(start, turn):
                self._stroke(step, cross, net, BACK | ON)
        for target in net.targets:
            cross = target.into(net)
            self._stroke(turn, cross, net, ON)
            for step in range(turn + 1, end):
                self._stroke(step, cross, net, BACK | ON)
            if target.name is not None:
                self._write(*self._point(end - 1, cross), Piece(ARROWS[self.way]))

    def _stroke(self, main: int, cross: int, owner: object, mask: int) -> None:
        cell = self.strokes.setdefault(self._point(main, cross), {})
        cell[id(owner)] = cell.get(id(owner), 0) | mask

    def _write(self, x: int, y: int, piece: Piece) -> None:
        for step, char in enumerate(piece.text):
            self.text[(x + step, y)] = Piece(char, piece.style)

    def _point(self, main: int, cross: int) -> tuple[int, int]:
        return (main, cross) if self.way is Way.RIGHT else (cross, main)

    def _rows(self) -> Lines:
        drawn = {point: Piece(self._sign(cell)) for point, cell in self.strokes.items()} | self.text
        rows = []
        for y in range(max(y for _, y in drawn) + 1):
            last = max((x for x, row in drawn if row == y), default=-1)
            rows.append(_joined(drawn.get((x, y), Piece(" ")) for x in range(last + 1)))
        return rows

    def _sign(self, cell: Mapping[int, int]) -> str:
        # Lines that only cross do not touch: the one that goes on passes over the other.
        masks = [mask for mask in cell.values() if len(cell) == 1 or mask != CROSSED]
        union = 0
        for mask in masks:
            union |= mask
        return SIGNS[self.way][union]


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Neighbours of one style as one piece."""
    joined: list[Piece] = []
    for piece in pieces:
        if joined and joined[-1].style == piece.style:
            joined[-1] = Piece(joined[-1].text + piece.text, piece.style)
        else:
            joined.append(piece)
    return joined
