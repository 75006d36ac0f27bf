"""Match a glob's tree in time that grows with the pattern and the path, never with their powers.

A backtracking machine that visits each pair of instruction and place once. It tries what `re`
would try, in the same order, so captures agree. Only it can say `!(…)` in full: the runs that
start here and are not one of the alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

from trunkline.pipelines.globtree import Group, Literal, OneOf, Sequence, Star


class _Op(IntEnum):
    CHAR = 0
    TEST = 1
    SPLIT = 2
    SAVE = 3
    BUT = 4
    DONE = 5


@dataclass(frozen=True, slots=True)
class _Step:
    op: _Op
    next: int = 0
    other: int = 0
    char: str = ""
    test: Callable[[str], object] = bool
    inner: Machine | None = None


@dataclass(slots=True)
class Machine:
    """A program for one sequence. Instructions are laid down from the last to the first."""

    slots: int
    _steps: list[_Step] = field(default_factory=list)
    _start: int = 0

    @classmethod
    def of(cls, nodes: Sequence, groups: int) -> Machine:
        machine = cls(2 * groups)
        machine._start = machine._sequence(nodes, machine._add(_Step(_Op.DONE)))
        return machine

    def _add(self, step: _Step) -> int:
        self._steps.append(step)
        return len(self._steps) - 1

    def _sequence(self, nodes: Sequence, then: int) -> int:
        for node in reversed(nodes):
            if isinstance(node, Literal):
                then = self._add(_Step(_Op.CHAR, then, char=node.char))
            elif isinstance(node, OneOf):
                then = self._add(_Step(_Op.TEST, then, test=re.compile(node.regex).match))
            elif isinstance(node, Star):
                then = self._star(bool if node.crosses else _is_not_slash, then)
            else:
                then = self._group(node, then)
        return then

    def _star(self, test: Callable[[str], object], then: int) -> int:
        return self._loop(then, lambda back: self._add(_Step(_Op.TEST, back, test=test)))

    def _group(self, group: Group, then: int) -> int:
        if group.index:
            then = self._add(_Step(_Op.SAVE, then, 2 * group.index - 1))
        first = self._repeated(group, then)
        if group.index:
            first = self._add(_Step(_Op.SAVE, first, 2 * group.index - 2))
        return first

    def _repeated(self, group: Group, then: int) -> int:
        if group.kind == "!":
            one_of_them = (Group("@", 0, group.alternatives),)
            return self._add(_Step(_Op.BUT, then, inner=Machine.of(one_of_them, self.slots // 2)))
        if group.kind == "*":
            return self._loop(then, lambda back: self._either(group, back))
        if group.kind == "+":
            return self._either(group, self._loop(then, lambda back: self._either(group, back)))
        first = self._either(group, then)
        return self._add(_Step(_Op.SPLIT, first, then)) if group.kind == "?" else first

    def _loop(self, then: int, body: Callable[[int], int]) -> int:
        head = self._add(_Step(_Op.DONE))
        self._steps[head] = _Step(_Op.SPLIT, body(head), then)
        return head

    def _either(self, group: Group, then: int) -> int:
        first, *rest = [self._sequence(nodes, then) for nodes in reversed(group.alternatives)]
        for other in rest:
            first = self._add(_Step(_Op.SPLIT, other, first))
        return first

    def ends(self, text: str, start: int) -> set[int]:
        """Every place where a match that starts at `start` can end."""
        found: set[int] = set()
        self._run(text, start, found)
        return found

    def match(self, text: str) -> tuple[str, ...] | None:
        """The captures of the first match of the whole text."""
        saved = self._run(text, 0, None)
        if saved is None:
            return None
        pairs = zip(saved[::2], saved[1::2], strict=True)
        return tuple(text[a:b] if 0 <= a <= b else "" for a, b in pairs)

    def _run(self, text: str, start: int, found: set[int] | None) -> list[int] | None:
        size = len(text)
        saved = [-1] * self.slots
        seen: set[int] = set()
        # A negative instruction undoes a capture on the way back.
        stack: list[tuple[int, int]] = [(self._start, start)]
        while stack:
            at, place = stack.pop()
            if at < 0:
                saved[-at - 1] = place
                continue
            while True:
                key = at * (size + 1) + place
                if key in seen:
                    break
                seen.add(key)
                step = self._steps[at]
                if step.op is _Op.CHAR:
                    if place >= size or text[place] != step.char:
                        break
                    place += 1
                elif step.op is _Op.TEST:
                    if place >= size or not step.test(text[place]):
                        break
                    place += 1
                elif step.op is _Op.SPLIT:
                    stack.append((step.other, place))
                elif step.op is _Op.SAVE:
                    stack.append((-step.other - 1, saved[step.other]))
                    saved[step.other] = place
                elif step.op is _Op.BUT:
                    stack.extend((step.next, end) for end in _other_runs(step, text, place))
                    break
                elif found is not None:
                    found.add(place)
                    break
                elif place == size:
                    return saved
                else:
                    break
                at = step.next
        return None


def _other_runs(step: _Step, text: str, start: int) -> list[int]:
    """Where runs without a slash end that no alternative matches, the shortest first."""
    assert step.inner is not None
    refused = step.inner.ends(text, start)
    slash = text.find("/", start)
    longest = len(text) if slash < 0 else slash
    return [end for end in range(start, longest + 1) if end not in refused]


def _is_not_slash(char: str) -> bool:
    return char != "/"
