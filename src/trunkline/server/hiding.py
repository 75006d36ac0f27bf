"""Lineage as one caller may see it: of what they may not read, only that it is there.

A place is told in full once in a tree and only named again after that. Where the first time lies
below something hidden, the next one is told in full instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from trunkline.model.columns import ColumnNode
from trunkline.model.commits import RepoName
from trunkline.model.lineage import LineageNode

Sees = Callable[[RepoName], bool]
Place = tuple[RepoName | None, str | None, str | None]


def visible_lineage(nodes: Iterable[LineageNode], sees: Sees) -> tuple[LineageNode, ...]:
    return _Places(tuple(nodes), sees).shown()


def visible_columns(nodes: Iterable[ColumnNode], sees: Sees) -> tuple[ColumnNode, ...]:
    return _Columns(tuple(nodes), sees).shown()


class _Places:
    def __init__(self, nodes: tuple[LineageNode, ...], sees: Sees) -> None:
        self._nodes = nodes
        self._sees = sees
        self._full = {_place(one): one for one in _every(nodes) if not one.seen}
        self._told: set[Place] = set()

    def shown(self) -> tuple[LineageNode, ...]:
        return tuple(self._one(node) for node in self._nodes)

    def _one(self, node: LineageNode) -> LineageNode:
        # The code of a pipeline is kept in a repo of its own; who sees the one sees the other.
        repo = node.pipeline if node.kind == "code" else node.repo
        if repo is None:
            return node
        if not self._sees(repo):
            return LineageNode.hidden()
        place = _place(node)
        full = self._full.get(place, node)
        if place in self._told:
            detail = "shown above" if full.below else full.detail
            return replace(full, detail=detail, below=(), seen=True)
        self._told.add(place)
        return replace(full, below=tuple(self._one(one) for one in full.below))


class _Columns:
    def __init__(self, nodes: tuple[ColumnNode, ...], sees: Sees) -> None:
        self._nodes = nodes
        self._sees = sees
        self._full: dict[str, ColumnNode] = {}
        for one in _every_column(nodes):
            if one.below or one.text not in self._full:
                self._full[one.text] = one
        self._told: set[str] = set()

    def shown(self) -> tuple[ColumnNode, ...]:
        return tuple(self._one(node) for node in self._nodes)

    def _one(self, node: ColumnNode) -> ColumnNode:
        if not self._sees(node.repo):
            return ColumnNode(RepoName("", ""), "", "", "", hidden=True)
        if node.text in self._told:
            return replace(node, below=(), seen=node.seen or bool(node.below))
        self._told.add(node.text)
        full = self._full[node.text]
        return replace(full, below=tuple(self._one(one) for one in full.below))


def _place(node: LineageNode) -> Place:
    return node.repo, node.commit, f"{node.kind}:{node.path}"


def _every(nodes: Iterable[LineageNode]) -> Iterator[LineageNode]:
    for node in nodes:
        yield node
        yield from _every(node.below)


def _every_column(nodes: Iterable[ColumnNode]) -> Iterator[ColumnNode]:
    for node in nodes:
        yield node
        yield from _every_column(node.below)
