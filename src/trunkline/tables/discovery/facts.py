"""What was found in files, kept on this computer by the hash of their bytes, for all lakes.

Files of a table mostly look alike, so their columns and options are kept once, as a shape.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trunkline.model.tables import Column, Schema
from trunkline.storage.remembered import Memory, Record

VERSION = 5
"""Part of every key: to be raised when files are looked at in another way."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns in a file and the options that read it. Equal shapes are read alike.

    `classes` tell of text what was seen in each column, as bits (`textclasses`).
    """

    schema: Schema
    options: tuple[tuple[str, str], ...] = ()
    classes: tuple[int, ...] = ()

    def encode(self) -> str:
        columns = [[one.name, one.type] for one in self.schema.columns]
        whole = [columns, self.options, self.classes]
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> Shape:
        columns, options, classes = json.loads(text)
        schema = Schema(tuple(Column(name, type_) for name, type_ in columns))
        return cls(schema, tuple((name, value) for name, value in options), tuple(classes))


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a file: its shape, how many rows, and the bounds of its columns (JSON)."""

    shape: Shape
    rows: int | None = None
    stats: str = ""


def cache_file(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "~", ".cache")
    return Path(base).expanduser() / "trunkline" / "tables" / "facts.sqlite"


class FactCache:
    """Facts by key. It may be lost at any time."""

    def __init__(self, path: Path | None = None) -> None:
        self._memory = Memory(path or cache_file())

    def find(self, keys: Sequence[str]) -> dict[str, Fact]:
        """The facts that are known of these keys."""
        records = self._memory.find(keys)
        try:
            shapes = {form: Shape.decode(form) for form in {one.form for one in records.values()}}
        except (ValueError, TypeError):
            self._memory.forget()
            return {}
        return {key: Fact(shapes[one.form], one.number, one.text) for key, one in records.items()}

    def keep(self, facts: Sequence[tuple[str, Fact]]) -> None:
        forms: dict[int, str] = {}
        records = []
        for key, fact in facts:
            form = forms.get(id(fact.shape))
            if form is None:
                form = forms[id(fact.shape)] = fact.shape.encode()
            records.append((key, Record(form, fact.rows, fact.stats)))
        self._memory.keep(records)

    def forget(self) -> None:
        """All facts; they are found again where they are asked for."""
        self._memory.forget()
