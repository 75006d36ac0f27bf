"""Where a field stands: its path in the spec, and its line in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trunkline.errors import InvalidSpec
from trunkline.model.pipelines import PipelineSpec

Loc = tuple[str | int, ...]

# The JSON schema of specs, for editors.
SCHEMA_FILE = Path(__file__).with_name("pipeline.schema.json")


@dataclass(frozen=True, slots=True)
class SourcedSpec:
    """A spec and where it was read. `code` is its path as written, from the file's folder."""

    spec: PipelineSpec
    where: str
    code: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Specs:
    """What a file declares. `ignored` names the fields that have no meaning here, each once."""

    specs: tuple[SourcedSpec, ...]
    ignored: tuple[str, ...] = ()


class Flaw(Exception):
    """A problem at a place in a spec, before it is known which file and line that is."""

    def __init__(self, loc: Loc, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.loc = loc
        self.text = text
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Document:
    """One spec as plain data. `lines` has the line of each key and list member, if known."""

    name: str
    value: object
    lines: Mapping[Loc, int] = field(default_factory=dict)

    def where(self, loc: Loc = ()) -> str:
        """`file.yaml:7`, or `file.jsonnet` where lines are not known."""
        line = self.line(loc)
        return f"{self.name}:{line}" if line else self.name

    def line(self, loc: Loc) -> int:
        """The line of the field, or of the nearest one around it."""
        known = (self.lines.get(loc[:end]) for end in range(len(loc), -1, -1))
        return next((line for line in known if line), 0)

    def refusal(self, flaw: Flaw) -> InvalidSpec:
        return InvalidSpec(f"{self.where(flaw.loc)}: {flaw.text}", hint=flaw.hint)


def path_text(loc: Loc) -> str:
    """`input.cross[1].pfs.glob`."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")
