"""Draws a graph as an SVG: the layout of the terminal's drawing, as shapes.

Its colours are seen on white and on black, so that one picture serves light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from trunkline.cli.daglayout import Edges, Item, Net, lay_out, parts

CELL = 10  # of the cross axis, and between lines that turn
LETTER = 8.0  # the width of one, at 13 pixels
PADDING = 14
GAP = 2
MARGIN = 12
ARROW = 6
LINE, TEXT, FILL = "#8b949e", "#768390", "#8b949e"
FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', sans-serif"


@dataclass(frozen=True, slots=True)
class Node:
    """A box: its name, a word below it, its colour; `round` are repos that nothing computes."""

    name: str
    kind: str = ""
    colour: str = LINE
    round: bool = False


def draw_svg(nodes: Sequence[Node], edges: Edges, title: str) -> str:
    """A whole SVG. Parts that nothing connects are drawn one below another."""
    shapes: list[str] = []
    top, widest = 0, 0.0
    for part in parts([node.name for node in nodes], edges):
        inside = [node for node in nodes if node.name in part]
        here = [(a, b) for a, b in dict.fromkeys(edges) if a in part and a != b]
        drawing = _Drawing(inside, here, top)
        shapes += drawing.shapes()
        top = drawing.bottom + GAP
        widest = max(widest, drawing.width)
    width, height = round(widest + 2 * MARGIN), (top - GAP) * CELL + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="{FONT}" font-size="13">'
    )
    body = "\n".join(f"  {shape}" for shape in shapes)
    inset = f'<g transform="translate({MARGIN} {MARGIN})">'
    return f"{head}\n<title>{escape(title)}</title>\n{inset}\n{body}\n</g>\n</svg>\n"


class _Drawing:
    """One connected graph. The main axis is in pixels, the cross axis in cells."""

    def __init__(self, nodes: Sequence[Node], edges: Edges, top: int) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.layout = lay_out(list(self.nodes), edges, _size, GAP)
        self.top = top
        items = [item for layer in self.layout.layers for item in layer]
        self.bottom = top + max(item.at + item.size for item in items)
        self.width = 0.0

    def shapes(self) -> Iterator[str]:
        main = 0.0
        for layer, nets in zip(self.layout.layers, self.layout.nets, strict=True):
            depth = max((self._wide(item) for item in layer if item.name), default=0.0)
            for item in layer:
                yield self._item(item, main, depth)
            main += depth
            self.width = max(self.width, main)
            turning = [track for net, track in nets if not net.straight]
            length = (max(turning, default=-1) + 4.0) * CELL
            for net, track in nets:
                yield from self._net(net, main, main + (track + 1) * CELL, main + length)
            main += length

    def _wide(self, item: Item) -> float:
        node = self.nodes[item.name or ""]
        return max(len(node.name) * LETTER, len(node.kind) * LETTER * 0.8) + 2 * PADDING

    def _y(self, cross: float) -> float:
        return (self.top + cross + 0.5) * CELL

    def _item(self, item: Item, main: float, depth: float) -> str:
        if item.name is None:
            return _path([f"M{main:g} {self._y(item.out):g}H{main + depth:g}"])
        node = self.nodes[item.name]
        high = (item.size - 1) * CELL
        top, centre = self._y(item.at), main + depth / 2
        middle = top + high / 2
        radius = high / 2 if node.round else 6
        box = (
            f'<rect x="{main:g}" y="{top:g}" width="{depth:g}" height="{high:g}" rx="{radius:g}" '
            f'fill="{FILL}" fill-opacity="0.1" stroke="{node.colour}" stroke-width="1.5"/>'
        )
        lift = 1 if node.kind else -4.5
        said = (
            f'<text x="{centre:g}" y="{middle - lift:g}" text-anchor="middle" '
            f'fill="{TEXT}" font-weight="600">{escape(node.name)}</text>'
        )
        if node.kind:
            said += (
                f'<text x="{centre:g}" y="{middle + 12:g}" text-anchor="middle" '
                f'fill="{TEXT}" font-size="10">{escape(node.kind)}</text>'
            )
        return box + said

    def _net(self, net: Net, start: float, turn: float, end: float) -> Iterator[str]:
        first, last = net.span
        lines = [] if net.straight else [f"M{turn:g} {self._y(first):g}V{self._y(last):g}"]
        lines += [f"M{start:g} {self._y(cross):g}H{turn:g}" for cross in sorted(net.starts)]
        for target in net.targets:
            y = self._y(target.into(net))
            arrives = end if target.name is None else end - ARROW
            lines.append(f"M{turn:g} {y:g}H{arrives:g}")
            if target.name is not None:
                tip = f"M{end:g} {y:g}l-{ARROW + 2} -4v8z"
                yield f'<path d="{tip}" fill="{LINE}"/>'
        yield _path(lines)


def _size(name: str | None, ports: int) -> int:
    """Odd, so that a line leaves in the middle."""
    return 1 if name is None else max(ports // 2 * 2, 2) + 3


def _path(lines: Sequence[str]) -> str:
    return f'<path d="{"".join(lines)}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'
