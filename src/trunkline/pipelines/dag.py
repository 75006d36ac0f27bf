"""A graph over names: who reads whom, in which order, and where it goes in a circle."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

from trunkline.errors import InvalidSpec

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Dag(Generic[Name]):
    """For each name those it reads. Names that are only read are in it too."""

    reads: Mapping[Name, tuple[Name, ...]]

    @classmethod
    def of(cls, edges: Mapping[Name, Iterable[Name]]) -> Dag[Name]:
        # A set has no order of its own: the same graph must always come out the same.
        reads = {
            name: tuple(sorted(read, key=str) if isinstance(read, Set) else dict.fromkeys(read))
            for name, read in edges.items()
        }
        for read in list(reads.values()):
            for name in read:
                reads.setdefault(name, ())
        return cls(reads)

    def __iter__(self) -> Iterator[Name]:
        return iter(self.order())

    def order(self) -> list[Name]:
        """Every name after those it reads, otherwise as given. A cycle is an `InvalidSpec`."""
        done: dict[Name, None] = {}
        for start in self.reads:
            # Each open name with what it still has to look at: chains may be longer than the stack.
            path: dict[Name, Iterator[Name]] = {}
            if start not in done:
                path[start] = iter(self.reads[start])
            while path:
                name, rest = next(reversed(path.items()))
                below = next((read for read in rest if read not in done), None)
                if below is None:
                    done[name] = None
                    path.popitem()
                elif below in path:
                    raise _circle([*path][[*path].index(below) :])
                else:
                    path[below] = iter(self.reads[below])
        return list(done)

    def upstream(self, *names: Name) -> list[Name]:
        """All that the names read, directly or not, in order. The names are not in it."""
        return self._reached(self.reads, names)

    def downstream(self, *names: Name) -> list[Name]:
        """All that read the names, directly or not, in order. The names are not in it."""
        return self._reached(self.readers(), names)

    def readers(self) -> dict[Name, tuple[Name, ...]]:
        """For each name those that read it: the same edges the other way."""
        found: dict[Name, list[Name]] = {name: [] for name in self.reads}
        for name, read in self.reads.items():
            for other in read:
                found[other].append(name)
        return {name: tuple(by) for name, by in found.items()}

    def layers(self) -> list[list[Name]]:
        """Names by their distance from the sources: what can run at the same time."""
        depth: dict[Name, int] = {}
        for name in self.order():
            depth[name] = 1 + max((depth[read] for read in self.reads[name]), default=-1)
        found: list[list[Name]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for name, level in depth.items():
            found[level].append(name)
        return found

    def _reached(
        self, edges: Mapping[Name, tuple[Name, ...]], names: tuple[Name, ...]
    ) -> list[Name]:
        seen = set(names)
        todo = list(names)
        while todo:
            for other in edges.get(todo.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return [name for name in self.order() if name in seen and name not in names]


def order(edges: Mapping[Name, Iterable[Name]]) -> list[Name]:
    """Every name after those it reads. A cycle is an `InvalidSpec` that shows its path."""
    return Dag.of(edges).order()


def _circle(path: list[Name]) -> InvalidSpec:
    # The path goes from reader to what is read; data flows the other way.
    names = [str(name) for name in reversed(path)]
    start = names.index(min(names))
    names = names[start:] + names[:start]
    if len(names) == 1:
        return InvalidSpec(f"The pipeline {names[0]} reads its own output.")
    return InvalidSpec(
        f"These pipelines read each other in a circle: {' → '.join([*names, names[0]])}.",
        hint="Let one of them read something else.",
    )
