"""Runs groups of cases, and makes small what differs from the model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from tests.oracle.worlds import World
from trunkline.errors import TrunklineError

ATTEMPTS = 60
ERROR = re.compile(r"refused|\w*(?:Error|Exception)\b")
VALUES = re.compile(r"""'[^']*'|"[^"]*"|[\d./]+""")


@dataclass(frozen=True)
class Wrong:
    """The place of a case in what was tried, through which door it differs, and how."""

    place: int
    door: str
    said: str


class Group(Protocol):
    """Cases of one kind. Many are tried at once; `smaller` gives what may differ as well."""

    name: str
    share: float

    def cases(self, chance: Random, count: int) -> list[Any]: ...

    def check(self, world: World, cases: Sequence[Any]) -> list[Wrong]: ...

    def smaller(self, case: Any) -> Iterator[Any]: ...

    def sort(self, case: Any) -> str:
        """What differences of one cause have in common, as far as one can tell."""
        ...


@dataclass(frozen=True)
class Difference:
    group: str
    door: str
    said: str
    case: Any
    seed: str

    def __str__(self) -> str:
        return (
            f"{self.group} through {self.door} (seed {self.seed}): {self.said}\n    {self.case!r}"
        )


@dataclass
class Report:
    examples: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(self.examples.values())


def run(
    world: World,
    groups: Sequence[Group],
    examples: int,
    seed: int,
    *,
    batch: int = 240,
    most: int = 20,
    progress: Callable[[str], None] = lambda said: None,
) -> Report:
    """Try about that many cases, shared out over the groups. The same seed tries the same."""
    report = Report()
    for group in groups:
        left, number = max(1, round(examples * group.share)), 0
        seen: set[tuple[str, str]] = set()
        while left > 0 and len(report.differences) < most:
            started = time.monotonic()
            key = f"{seed}/{group.name}/{number}"
            cases = group.cases(Random(key), min(batch, left))
            for wrong in group.check(world, cases):
                # One of each sort is enough to look at, and one of each error.
                sorts = {(wrong.door, group.sort(cases[wrong.place])), (wrong.door, gist(wrong))}
                if sorts & seen or len(report.differences) >= most:
                    continue
                seen |= sorts
                case, said = minimised(world, group, cases[wrong.place], wrong)
                last = (wrong.door, group.sort(case))
                if last in seen - sorts:
                    continue
                seen.add(last)
                difference = Difference(group.name, wrong.door, said, case, key)
                report.differences.append(difference)
                progress(f"\n{difference}\n")
            left, number = left - len(cases), number + 1
            report.examples[group.name] = report.examples.get(group.name, 0) + len(cases)
            seconds = time.monotonic() - started
            progress(f"{group.name}: {report.examples[group.name]} examples, {seconds:.1f} s")
    return report


def gist(wrong: Wrong) -> str:
    """An error without the names and numbers in it, which differ from case to case; else all."""
    if not ERROR.match(wrong.said):
        return wrong.said
    return VALUES.sub("", wrong.said.partition(", not [")[0])


def minimised(world: World, group: Group, case: Any, wrong: Wrong) -> tuple[Any, str]:
    """The smallest case found that still differs through that door."""
    said, left = wrong.said, ATTEMPTS
    while left > 0:
        for candidate in group.smaller(case):
            left -= 1
            found = [one for one in group.check(world, [candidate]) if one.door == wrong.door]
            if found:
                case, said = candidate, found[0].said
                break
            if left <= 0:
                break
        else:
            break
    return case, said


def each_or_why(
    ask: Callable[[World, Sequence[Any]], Sequence[Any]], world: World, asked: Sequence[Any]
) -> list[Any]:
    """The answers; for a question that raises, what it said. One does not spoil the others."""
    if not asked:
        return []
    try:
        return list(ask(world, asked))
    except Exception as error:
        if len(asked) > 1:
            half = len(asked) // 2
            parts = (asked[:half], asked[half:])
            return [found for part in parts for found in each_or_why(ask, world, part)]
        ours = isinstance(error, TrunklineError)
        return [f"{'refused' if ours else type(error).__name__}: {str(error)[:400]}"]
