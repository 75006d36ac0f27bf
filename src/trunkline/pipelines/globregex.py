"""Write a glob's tree as a regular expression of Python, with an estimate of its worst case.

`re` backtracks, so a pattern with many ways to match one text can take forever on it. What
need not be tried twice is made atomic, what remains is counted, and `globs` hands a pattern
that costs too much to `globmachine`, which is slower on the average and never slow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from trunkline.pipelines.globtree import SLASH, Group, Literal, Node, OneOf, Sequence, Star

# Costs are powers of ten of the ways to match. A star has up to a path's length of them.
STAR_COST = 3.0
AFFORDABLE = 10.0
IMPOSSIBLE = math.inf


@dataclass(slots=True)
class Writer:
    """`captures=False` writes the cheapest expression that matches the same paths."""

    captures: bool
    cost: float = field(default=0.0)

    def whole(self, nodes: Sequence) -> str:
        return self.sequence(nodes if self.captures else flat(nodes), top=True)

    def sequence(self, nodes: Sequence, *, top: bool = False) -> str:
        written: list[str] = []
        at = 0
        while at < len(nodes):
            node = nodes[at]
            at += 1
            if isinstance(node, Star):
                end = at
                while end < len(nodes) and isinstance(nodes[end], Literal | OneOf):
                    end += 1
                after = nodes[end] if end < len(nodes) else None
                written.append(self.star(node, nodes[at:end], after, top))
                at = end
            elif isinstance(node, Group):
                written.append(self.group(node, nodes[at] if at < len(nodes) else None, top))
            else:
                written.append(_one(node))
        return "".join(written)

    def star(self, star: Star, chunk: Sequence, after: Node | None, top: bool) -> str:
        """A star and the fixed characters after it."""
        any_run = ".*" if star.crosses else "[^/]*"
        text = "".join(_one(node) for node in chunk)
        pinned = not star.crosses and SLASH in chunk
        if pinned or (top and not chunk and after is None):
            return any_run + text
        # The first place where the chunk fits is as good as any later one, if the next star
        # can run over all that this one could have.
        absorbs = isinstance(after, Star) and (after.crosses or not star.crosses)
        if chunk and absorbs and not self.captures:
            return f"(?>{any_run}?{text})"
        self.cost += STAR_COST
        return any_run + text

    def group(self, group: Group, after: Node | None, top: bool) -> str:
        if group.kind in "*+" and _is_single(group):
            self.cost += STAR_COST
            choice = "|".join(_one(nodes[0]) for nodes in group.alternatives)
            return self.wrap(group, f"(?>{choice}){group.kind}")
        self.cost += math.log10(len(group.alternatives) + (group.kind == "?"))
        body = "|".join(self.sequence(nodes) for nodes in group.alternatives)
        if group.kind == "@":
            return self.wrap(group, body, bare=f"(?:{body})")
        if group.kind == "?":
            return self.wrap(group, f"(?:{body})?")
        if group.kind == "!" and top and after in (None, SLASH) and not _may_cross(group):
            # Here the run can only end where the part of the path does, so looking ahead to
            # that end decides. Elsewhere `re` cannot say it.
            return self.wrap(group, rf"(?!(?:{body})(?:/|\Z))[^/]*")
        self.cost = IMPOSSIBLE
        return ""

    def wrap(self, group: Group, text: str, bare: str | None = None) -> str:
        if self.captures and group.index:
            return f"({text})"
        return text if bare is None else bare


def flat(nodes: Sequence) -> Sequence:
    """The same language with fewer groups: those of one alternative melt into the sequence."""
    melted: list[Node] = []
    for node in nodes:
        inner: Sequence = (node,)
        if isinstance(node, Group):
            alternatives = tuple(dict.fromkeys(flat(each) for each in node.alternatives))
            inner = (Group(node.kind, 0, alternatives),)
            if node.kind == "@" and len(alternatives) == 1:
                inner = alternatives[0]
        for each in inner:
            last = melted[-1] if melted else None
            if isinstance(each, Star) and isinstance(last, Star):
                melted[-1] = Star(each.crosses or last.crosses)
            else:
                melted.append(each)
    return tuple(melted)


def _one(node: Node) -> str:
    if isinstance(node, Literal):
        return _escape(node.char)
    assert isinstance(node, OneOf)
    return node.regex


def _escape(char: str) -> str:
    return char if char.isalnum() or char in "/_- =" else f"\\{char}" if char.isascii() else char


def _is_single(group: Group) -> bool:
    """Whether each alternative is one character, so that a repetition has one way to match."""
    return all(
        len(nodes) == 1 and isinstance(nodes[0], Literal | OneOf) for nodes in group.alternatives
    )


def _may_cross(group: Group) -> bool:
    """Whether an alternative could match a slash."""
    return any(
        node == SLASH or node == Star(True) or (isinstance(node, Group) and _may_cross(node))
        for nodes in group.alternatives
        for node in nodes
    )
