"""Changes to a text that remember where everything stood: errors point to what was typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Edit(NamedTuple):
    """Characters from `start` to before `end`, and what takes their place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A text after some changes, and each change by its place in the new text."""

    text: str
    places: tuple[tuple[int, Edit], ...] = ()
    before: Edited | None = None

    def apply(self, edits: Sequence[Edit]) -> Edited:
        parts: list[str] = []
        places: list[tuple[int, Edit]] = []
        done = length = 0
        for edit in sorted(edits):
            kept = self.text[done : edit.start]
            places.append((length + len(kept), edit))
            parts += (kept, edit.text)
            length += len(kept) + len(edit.text)
            done = edit.end
        return Edited("".join((*parts, self.text[done:])), tuple(places), self)

    def original(self, offset: int) -> int:
        """Where in the text as it was typed the character stands, or what it was made of."""
        if self.before is None:
            return offset
        shift = 0
        for place, edit in self.places:
            if offset < place:
                break
            if offset < place + len(edit.text):
                return self.before.original(edit.start)
            shift += (edit.end - edit.start) - len(edit.text)
        return self.before.original(offset + shift)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Both counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def excerpt(text: str, offset: int, length: int = 1, width: int = 100) -> str:
    """The line where the offset is, and carets below it."""
    line, column = line_and_column(text, offset)
    shown = (text.split("\n")[line - 1]).rstrip("\r").replace("\t", " ")
    start = max(0, min(column - 1 - width // 2, len(shown) - width))
    cut = shown[start : start + width]
    place = column - 1 - start
    marks = max(1, min(length, len(cut) - place))
    return f"{cut.rstrip()}\n{' ' * place}{'^' * marks}"
