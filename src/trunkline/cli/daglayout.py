"""Where the boxes and lines of a drawn graph go.

Everything is worked out along two axes, whichever way the drawing goes: `main`, from sources
to sinks, and `cross`, across a layer. To the right, `main` is the column; downwards, the row.

    layers     each node one further than the furthest of what it reads
    order      fewest crossings, by moving nodes to the mean of their neighbours
    places     as near to the neighbours as order and sizes allow
    nets       items of a layer that are read by the same others share one line
    tracks     where each net turns, so that no two lie over each other
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

SWEEPS = 12

Edges = Sequence[tuple[str, str]]


@dataclass(eq=False, slots=True)
class Item:
    """A node, or a place where a longer line passes through a layer (then `name` is None).

    `ports` are the nets that end here, each in a row of its own.
    """

    layer: int
    name: str | None = None
    size: int = 1
    at: int = 0
    below: list[Item] = field(default_factory=list)
    above: list[Item] = field(default_factory=list)
    ports: list[Net] = field(default_factory=list)

    @property
    def out(self) -> int:
        """The row where its line leaves: the middle one."""
        return self.at + (self.size - 1) // 2

    def into(self, net: Net) -> int:
        """The row where a net ends: the middle one too if it is the only net."""
        return self.at + (self.ports.index(net) + 1) * (self.size - 1) // (len(self.ports) + 1)


@dataclass(eq=False, slots=True)
class Net:
    """One line from all of its sources to all of its targets in the next layer."""

    sources: list[Item]
    targets: list[Item]

    @property
    def starts(self) -> set[int]:
        return {source.out for source in self.sources}

    @property
    def ends(self) -> set[int]:
        return {target.into(self) for target in self.targets}

    @property
    def span(self) -> tuple[int, int]:
        rows = self.starts | self.ends
        return min(rows), max(rows)

    @property
    def straight(self) -> bool:
        return len(self.starts | self.ends) == 1


@dataclass(frozen=True, slots=True)
class Layout:
    """`nets[n]` lead from layer n to the next, each with its track."""

    layers: list[list[Item]]
    nets: list[list[tuple[Net, int]]]


def lay_out(
    names: Sequence[str], edges: Edges, size: Callable[[str | None, int], int], gap: int
) -> Layout:
    """`size` says how much of the cross axis a node with so many ports takes up."""
    layers = _ordered(_layered(names, edges))
    nets = [_nets(layer) for layer in layers]
    for layer in layers:
        for item in layer:
            item.size = size(item.name, len(item.ports))
    _place(layers, gap)
    tracks = [_route(inside, below, gap) for inside, below in zip(nets, layers[1:], strict=False)]
    return Layout(layers, [*tracks, []])


def parts(names: Sequence[str], edges: Edges) -> list[set[str]]:
    """The names, split into sets between which there is no edge."""
    part = {name: {name} for name in names}
    for a, b in edges:
        if part[a] is not part[b]:
            joined = part[a] | part[b]
            part.update(dict.fromkeys(joined, joined))
    return list({id(one): one for one in part.values()}.values())


# Layers -----------------------------------------------------------------------------------


def _layered(names: Sequence[str], edges: Edges) -> list[list[Item]]:
    numbers = _layer_numbers(names, edges)
    items = {name: Item(numbers[name], name) for name in names}
    layers: list[list[Item]] = [[] for _ in range(max(numbers.values()) + 1)]
    passing = list(_connected(items, edges))
    for item in [*items.values(), *passing]:
        layers[item.layer].append(item)
    return layers


def _layer_numbers(names: Sequence[str], edges: Edges) -> dict[str, int]:
    found = dict.fromkeys(names, 0)
    for _ in names:
        before = dict(found)
        for a, b in edges:
            found[b] = max(found[b], found[a] + 1)
        if found == before:
            break
    # A source stands beside the first that reads it, not at the far end.
    for name in names:
        readers = [found[b] for a, b in edges if a == name]
        if readers and not any(b == name for _, b in edges):
            found[name] = min(readers) - 1
    return found


def _connected(items: Mapping[str, Item], edges: Edges) -> Iterator[Item]:
    """Connect the items; yields those added where lines pass through, one line per source."""
    for name, item in items.items():
        targets = sorted((items[b] for a, b in edges if a == name), key=lambda t: t.layer)
        trail = [item]
        for target in targets:
            while trail[-1].layer < target.layer - 1:
                further = Item(trail[-1].layer + 1)
                _connect(trail[-1], further)
                trail.append(further)
                yield further
            _connect(trail[target.layer - 1 - item.layer], target)


def _connect(a: Item, b: Item) -> None:
    a.below.append(b)
    b.above.append(a)


# Order ------------------------------------------------------------------------------------


def _ordered(layers: list[list[Item]]) -> list[list[Item]]:
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            _sort_by_neighbours(layer, layers, down)
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    return best


def _sort_by_neighbours(layer: list[Item], layers: Sequence[Sequence[Item]], down: bool) -> None:
    rank = {id(item): n for one in layers for n, item in enumerate(one)}

    def mean(item: Item) -> float:
        near = item.above if down else item.below
        return sum(rank[id(n)] for n in near) / len(near) if near else rank[id(item)]

    layer.sort(key=mean)


def _crossings(layers: Sequence[Sequence[Item]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        rank = {id(item): n for n, item in enumerate(lower)}
        ends = [(n, rank[id(t)]) for n, item in enumerate(upper) for t in item.below]
        total += sum(a < c and b > d for a, b in ends for c, d in ends)
    return total


# Places -----------------------------------------------------------------------------------


def _place(layers: Sequence[Sequence[Item]], gap: int) -> None:
    for layer in layers:
        _settle(layer, [0.0] * len(layer), gap)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else layers[::-1]:
            _settle(layer, [_wanted(item, down) for item in layer], gap)
    first = min(item.at for layer in layers for item in layer)
    for layer in layers:
        for item in layer:
            item.at -= first


def _wanted(item: Item, down: bool) -> float:
    """Where an item must stand for its lines to be straight, on average."""
    before = [
        source.out - (item.into(net) - item.at) for net in item.ports for source in net.sources
    ]
    after = [
        target.into(net) - (item.out - item.at)
        for target in item.below
        for net in target.ports
        if item in net.sources
    ]
    wishes = (before if down else after) or before or after
    return sum(wishes) / len(wishes) if wishes else item.at


def _settle(layer: Sequence[Item], wanted: Sequence[float], gap: int) -> None:
    """Each item as near to where it wants to be as its neighbours in the layer allow."""
    offsets, offset = [], 0
    for item in layer:
        offsets.append(offset)
        offset += item.size + gap
    # Regression to a rising sequence: neighbours out of order are pooled at their mean.
    pools: list[tuple[float, int]] = []
    for want, start in zip(wanted, offsets, strict=True):
        pools.append((want - start, 1))
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            (a, n), (b, m) = pools[-2:]
            pools[-2:] = [((a * n + b * m) / (n + m), n + m)]
    places = [mean for mean, number in pools for _ in range(number)]
    for item, place, start in zip(layer, places, offsets, strict=True):
        item.at = round(place) + start


# Lines ------------------------------------------------------------------------------------


def _nets(layer: Sequence[Item]) -> list[Net]:
    """The lines out of a layer; each is put among the ports of its targets."""
    found: dict[frozenset[int], Net] = {}
    for item in layer:
        if item.below:
            key = frozenset(id(target) for target in item.below)
            found.setdefault(key, Net([], item.below)).sources.append(item)
    for net in found.values():
        for target in net.targets:
            target.ports.append(net)
    return list(found.values())


def _route(nets: Sequence[Net], below: Sequence[Item], gap: int) -> list[tuple[Net, int]]:
    """A track for each net, moving items of the layer below where lines would change places."""
    tracks = _tracks(nets)
    if len(tracks) < len(nets):
        _step_aside(below, [net for net in nets if net not in tracks], nets, gap)
        tracks = _tracks(nets)
    if len(tracks) < len(nets):
        _step_aside(below, nets, nets, gap)
        tracks = _tracks(nets)
    return list(tracks.items())


def _tracks(nets: Sequence[Net]) -> dict[Net, int]:
    """A track for each net, so that no two lie over each other; without those in a circle.

    A net that starts in the row where another ends must turn off before that one turns in.
    """
    earlier = {
        net: [other for other in nets if other is not net and other.starts & net.ends]
        for net in nets
    }
    tracks: dict[Net, int] = {}
    while free := [n for n in nets if n not in tracks and all(e in tracks for e in earlier[n])]:
        net = min(free, key=lambda n: n.span)
        track = max((tracks[other] + 1 for other in earlier[net]), default=0)
        while any(tracks[other] == track and _overlap(other, net) for other in tracks):
            track += 1
        tracks[net] = 0 if net.straight else track
    return tracks


def _step_aside(layer: Sequence[Item], moved: Sequence[Net], nets: Sequence[Net], gap: int) -> None:
    """Move items on until none of these nets ends in a row where another one starts."""
    free = 0
    for item in layer:
        item.at = max(item.at, free)
        while any(
            item.into(net) in other.starts
            for net in item.ports
            if net in moved
            for other in nets
            if other is not net
        ):
            item.at += 1
        free = item.at + item.size + gap


def _overlap(a: Net, b: Net) -> bool:
    either = a.straight or b.straight
    return not either and a.span[0] <= b.span[1] and b.span[0] <= a.span[1]
