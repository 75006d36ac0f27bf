"""How far a stream has read an input: up to a commit, or into the middle of one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """All of `commit` was read; or if `taken`, that many of the files it has more than `base`.

    The base is part of the place: should history be squashed in between, what the commit adds
    to its parent is more than before, and counting on would read rows twice.
    """

    commit: str
    taken: int = 0
    base: str | None = None

    @classmethod
    def parse(cls, text: str) -> Place:
        commit, plus, rest = text.partition("+")
        taken, _, base = rest.partition("~")
        return cls(commit, int(taken) if plus else 0, base or None)

    def __str__(self) -> str:
        return f"{self.commit}+{self.taken}~{self.base or ''}" if self.taken else self.commit


def commit_of(position: str) -> str:
    """The commit that a position is at or in."""
    return Place.parse(position).commit
