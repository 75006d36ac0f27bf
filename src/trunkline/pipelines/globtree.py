"""Read a glob into a tree. `globs` says what the parts mean; the engines walk the tree."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import NoReturn

from trunkline.errors import InvalidGlob
from trunkline.model.suggest import shown

LONGEST_PATTERN = 4096
DEEPEST_NESTING = 40

# The classes of POSIX in its own locale, as Go and Pachyderm read them.
POSIX_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class Literal:
    char: str


@dataclass(frozen=True, slots=True)
class OneOf:
    """`?` or a class: one character, never a slash. `regex` matches exactly that character."""

    regex: str


@dataclass(frozen=True, slots=True)
class Star:
    """`*`, or `**` when it crosses slashes."""

    crosses: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives, repeated as `kind` says: one of `@ ? * + !`. Index 0 does not capture."""

    kind: str
    index: int
    alternatives: tuple[Sequence, ...]


Fixed = Literal | OneOf
Node = Literal | OneOf | Star | Group
Sequence = tuple[Node, ...]

SLASH = Literal("/")
ANY_ONE = OneOf("[^/]")


@dataclass(slots=True)
class _Reader:
    """Recursive descent. `shift` turns a place in `text` into one in what the user wrote."""

    text: str
    typed: str
    shift: int
    at: int = 0
    groups: int = 0
    depth: int = 0

    def sequence(self, stops: str) -> Sequence:
        """Nodes up to one of `stops`, or to the end of the pattern at the top."""
        nodes: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in stops:
            node = self.node()
            if isinstance(node, Star) and nodes and isinstance(nodes[-1], Star):
                node = Star(node.crosses or nodes.pop() == Star(True))
            nodes.append(node)
        return tuple(nodes)

    def node(self) -> Node:
        char = self.text[self.at]
        opens = self.text.startswith("(", self.at + 1)
        if char in "@?*+!" and opens:
            return self.group(char, "|", ")", skip=2, captures=True)
        if char == "(":
            return self.group("@", "|", ")", skip=1, captures=True)
        if char == "{":
            return self.group("@", ",", "}", skip=1, captures=False)
        if char == "[":
            return self.char_class()
        if char in ")}]":
            self.refuse(f"{shown(char)} closes nothing")
        if char == "*":
            return self.star()
        self.at += 1
        if char == "?":
            return ANY_ONE
        if char == "\\":
            return Literal(self.quoted())
        return Literal(char)

    def star(self) -> Star:
        """A run of stars. The last one before a parenthesis belongs to the parenthesis."""
        start = self.at
        while self.text.startswith("*", self.at) and not self.text.startswith("*(", self.at):
            self.at += 1
        return Star(crosses=self.at - start > 1)

    def quoted(self) -> str:
        if self.at >= len(self.text):
            self.refuse("the \\ at the end quotes nothing", at=self.at - 1)
        self.at += 1
        return self.text[self.at - 1]

    def group(self, kind: str, between: str, end: str, *, skip: int, captures: bool) -> Group:
        start = self.at
        self.at += skip
        self.depth += 1
        if self.depth > DEEPEST_NESTING:
            self.refuse(f"groups are nested more than {DEEPEST_NESTING} deep")
        index = 0
        if captures:
            self.groups += 1
            index = self.groups
        alternatives = [self.sequence(between + end)]
        while self.text.startswith(between, self.at):
            self.at += 1
            alternatives.append(self.sequence(between + end))
        if self.at >= len(self.text):
            opening = self.text[start + skip - 1]
            self.refuse(f"{shown(opening)} is never closed", at=start + skip - 1)
        self.at += 1
        self.depth -= 1
        return Group(kind, index, tuple(alternatives))

    def char_class(self) -> OneOf:
        start = self.at
        self.at += 1
        negated = self.text.startswith(("!", "^"), self.at)
        self.at += negated
        members: list[str] = []
        # A bracket that comes first stands for itself, as in a shell.
        while not (members and self.text.startswith("]", self.at)):
            if self.at >= len(self.text):
                self.refuse('"[" is never closed', at=start)
            members.append(self.class_member())
        self.at += 1
        inside = "".join(members)
        return OneOf(f"[^/{inside}]" if negated else f"(?!/)[{inside}]")

    def class_member(self) -> str:
        if self.text.startswith("[:", self.at):
            end = self.text.find(":]", self.at)
            name = self.text[self.at + 2 : end]
            if end < 0 or name not in POSIX_CLASSES:
                known = ", ".join(POSIX_CLASSES)
                self.refuse("that is no class of characters", hint=f"The classes are {known}.")
            self.at = end + 2
            return POSIX_CLASSES[name]
        start = self.at
        low = self.class_char()
        after = self.text[self.at + 1 : self.at + 2]
        if not self.text.startswith("-", self.at) or after in ("", "]"):
            return re.escape(low)
        self.at += 1
        high = self.class_char()
        if high < low:
            self.refuse(f"the range {shown(f'{low}-{high}')} is empty", at=start)
        return f"{re.escape(low)}-{re.escape(high)}"

    def class_char(self) -> str:
        self.at += 1
        char = self.text[self.at - 1]
        if char == "\\":
            char = self.quoted()
        if char == "/":
            self.refuse("no character of a class is a /", at=self.at - 1)
        return char

    def refuse(self, flaw: str, *, at: int | None = None, hint: str = "") -> NoReturn:
        place = max((self.at if at is None else at) - self.shift + 1, 1)
        raise InvalidGlob(
            f"The pattern {shown(self.typed)} cannot be read at character {place}: {flaw}.",
            hint=hint or "Put \\ before a character that stands for itself.",
        )


def read(pattern: str) -> tuple[Sequence, int]:
    """The tree of a pattern, without its trailing slashes, and how many groups capture."""
    if not pattern:
        raise InvalidGlob("The pattern is empty.", hint="Write / for everything as one.")
    if len(pattern) > LONGEST_PATTERN:
        raise InvalidGlob(
            f"The pattern {shown(pattern)} has {len(pattern):,} characters.",
            hint=f"Use at most {LONGEST_PATTERN:,}.",
        )
    typed = unicodedata.normalize("NFC", pattern)
    rooted = typed.startswith("/")
    reader = _Reader(typed if rooted else "/" + typed, typed, shift=0 if rooted else 1)
    nodes = reader.sequence("")
    while len(nodes) > 1 and nodes[-1] == SLASH:
        nodes = nodes[:-1]
    return nodes, reader.groups
