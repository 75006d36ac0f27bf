"""JSON to plain data with lines. Objects may follow each other, as Pachyderm's tools write them."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NoReturn

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import shown
from trunkline.pipelines.spec.places import Document, Loc

_DEEPEST = 60
_space = re.compile(r"[ \t\r\n]*").match


def json_documents(text: str, name: str) -> Iterator[Document]:
    """The values of a JSON text, one after the other."""
    reader = _Reader(text, name)
    reader.skip()
    while reader.at < len(text):
        reader.lines = {}
        value = reader.value(())
        if value is not None:
            yield Document(name, value, reader.lines)
        reader.skip()


class _Reader:
    """Recursive descent over objects and lists; strings, numbers and words are `json`'s."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.at = 0
        self.lines: dict[Loc, int] = {}
        self.depth = 0
        self.ends = [found.start() for found in re.finditer("\n", text)]
        self.scalars = json.JSONDecoder(parse_constant=self.refuse_constant)

    def skip(self) -> str:
        """The next character that is not space, or '' at the end."""
        found = _space(self.text, self.at)
        assert found
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def line(self) -> int:
        return bisect_left(self.ends, self.at) + 1

    def value(self, loc: Loc) -> object:
        self.lines.setdefault(loc, self.line())
        opening = self.text[self.at : self.at + 1]
        if opening not in ("{", "["):
            return self.scalar()
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse("this is nested too deeply.")
        self.at += 1
        value = self.fields(loc) if opening == "{" else self.members(loc)
        self.depth -= 1
        return value

    def fields(self, loc: Loc) -> dict[str, object]:
        found: dict[str, object] = {}
        while self.more("}", found):
            if self.text[self.at : self.at + 1] != '"':
                self.refuse('expected a name in "double quotes".')
            start = self.at
            key = str(self.scalar())
            if key in found:
                self.at = start
                self.refuse(f"{shown(key)} is here twice.", "Keep one of them.")
            self.lines[(*loc, key)] = self.line()
            if self.skip() != ":":
                self.refuse(f'a ":" is wanted after {shown(key)}.')
            self.at += 1
            self.skip()
            found[key] = self.value((*loc, key))
        return found

    def members(self, loc: Loc) -> list[object]:
        found: list[object] = []
        while self.more("]", found):
            found.append(self.value((*loc, len(found))))
        return found

    def more(self, closing: str, found: object) -> bool:
        """Whether another member follows: steps over the comma, or over the end."""
        char = self.skip()
        if char == closing:
            self.at += 1
            return False
        if found:
            if char != ",":
                self.refuse(f'expected "," or "{closing}".')
            self.at += 1
            if self.skip() == closing:
                self.refuse(f'there is a "," too many before "{closing}".')
        return True

    def scalar(self) -> object:
        try:
            value: object
            value, self.at = self.scalars.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            what = "the text ends here" if error.pos >= len(self.text.rstrip()) else error.msg
            self.refuse(f"{what[:1].lower()}{what[1:].rstrip('.')}.")
        except ValueError:
            self.refuse("this is not a number we can read.")
        return value

    def refuse_constant(self, word: str) -> NoReturn:
        self.refuse(f"{word} is not JSON.")

    def refuse(self, text: str, hint: str = "") -> NoReturn:
        raise InvalidSpec(f"{self.name}:{self.line()}: {text}", hint=hint)
