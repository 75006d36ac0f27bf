"""Globs: which files and folders a pattern means.

    *            any run of characters but /            **           any run, / too
    ?            one character but /                    \\x           x itself
    [a-z] [!a-z] [[:alpha:]]                            one character of a class, never /
    {a,b}        one of them                            (a|b) @(a|b) one of them, captured
    ?(a|b)       none or one       *(a|b)  any number   +(a|b)       one or more
    !(a|b)       any run without / that is none of them

A pattern matches whole paths. A leading `/` is added, a trailing one ignored. Every
parenthesis captures, in order of opening; one that took no part captured ''. The root is
matched by `/` alone. A star before a parenthesis belongs to it: write `*@(a|b)` for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from trunkline.errors import InvalidGlob
from trunkline.model.paths import ROOT
from trunkline.model.suggest import shown
from trunkline.pipelines.globmachine import Machine
from trunkline.pipelines.globregex import AFFORDABLE, Writer, flat
from trunkline.pipelines.globtree import SLASH, Literal, Sequence, read

_reference = re.compile(r"\$(?:([0-9]+)|\{([0-9]+)\})")


@dataclass(frozen=True)
class Glob:
    """A pattern, compiled. `prefix` is the longest folder that holds every possible match."""

    pattern: str
    prefix: str = field(init=False, compare=False, repr=False)
    is_literal: bool = field(init=False, compare=False, repr=False)
    _matches: Callable[[str], object] = field(init=False, compare=False, repr=False)
    _captures: Callable[[str], tuple[str, ...] | None] = field(
        init=False, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        nodes, groups = read(self.pattern)
        simple = flat(nodes)
        literal = _leading_text(simple)
        object.__setattr__(self, "is_literal", len(literal) == len(simple))
        folder = literal if self.is_literal else literal[: literal.rindex("/")]
        object.__setattr__(self, "prefix", folder or ROOT)
        object.__setattr__(self, "_matches", _matcher(nodes))
        object.__setattr__(self, "_captures", _capturer(nodes, groups))

    def __str__(self) -> str:
        return self.pattern

    def matches(self, path: str) -> bool:
        return bool(self._matches(path))

    def captures(self, path: str) -> tuple[str, ...] | None:
        """What each parenthesis matched, or None if the path does not match."""
        return self._captures(path) if self._matches(path) else None

    def select(self, paths: Iterable[str]) -> list[str]:
        """The paths that match, in the order given."""
        return list(filter(self._matches, paths))


def substitute(template: str, captures: tuple[str, ...]) -> str:
    """`$1-$2` or `${1}0` with the captures put in."""

    def capture(found: re.Match[str]) -> str:
        number = int((found[1] or found[2])[:9])
        if not 1 <= number <= len(captures):
            raise InvalidGlob(
                f"{shown(template)} asks for {found[0]}, but the pattern has "
                f"{len(captures)} parentheses.",
                hint="The first parenthesis of the glob is $1.",
            )
        return captures[number - 1]

    return _reference.sub(capture, template)


def _matcher(nodes: Sequence) -> Callable[[str], object]:
    if nodes == (SLASH,):
        return ROOT.__eq__
    writer = Writer(captures=False)
    text = writer.whole(nodes)
    if writer.cost <= AFFORDABLE:
        return re.compile(rf"(?!/\Z){text}", re.DOTALL).fullmatch
    machine = Machine.of(flat(nodes), 0)
    return lambda path: path != ROOT and len(path) in machine.ends(path, 0)


def _capturer(nodes: Sequence, groups: int) -> Callable[[str], tuple[str, ...] | None]:
    if not groups:
        return lambda path: ()
    writer = Writer(captures=True)
    text = writer.whole(nodes)
    if writer.cost > AFFORDABLE:
        return Machine.of(nodes, groups).match
    compiled = re.compile(text, re.DOTALL).fullmatch

    def captured(path: str) -> tuple[str, ...] | None:
        found = compiled(path)
        return found.groups("") if found else None

    return captured


def _leading_text(nodes: Sequence) -> str:
    text = ""
    for node in nodes:
        if not isinstance(node, Literal):
            break
        text += node.char
    return text
