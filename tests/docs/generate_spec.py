"""Write docs/spec.md from the schema of specs: `python -m tests.docs.generate_spec`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.docs.console import ROOT
from trunkline.pipelines.spec.schema import json_schema

PAGE = ROOT / "docs" / "spec.md"
HEAD = """# Every field of a spec

Made from the schema by `python -m tests.docs.generate_spec`. Do not edit it by hand.

A spec is a [pipeline](pipelines.md), or an [ingest](ingest.md) that brings data in. It is YAML,
JSON or jsonnet, or a [decorated function](python.md#pipelines). `trunkline pipeline schema` prints
the schema itself, which editors use to complete and to check.

**Bold** fields must be given. A field that nobody knows is an error, with a suggestion.
"""
IGNORED = "Accepted and ignored: "
_ROOTS = (("SpecField", "A pipeline"), ("IngestSpecField", "An ingest"))
_DEFS = "#/$defs/"


class _Page:
    def __init__(self) -> None:
        self.schema = json_schema()
        self.defs: Mapping[str, Any] = self.schema["$defs"]
        self.titles: dict[str, str] = {}
        self._collect()

    def _collect(self) -> None:
        """Each kind of map gets the title of the first place where it stands."""
        waiting = list(_ROOTS)
        while waiting:
            name, title = waiting.pop(0)
            if name in self.titles:
                continue
            self.titles[name] = title
            start = "" if (name, title) in _ROOTS else f"{title}."
            for field, part in self.defs[name]["properties"].items():
                waiting += [(below, f"{start}{field}") for below in _refs(part)]

    def text(self) -> str:
        return HEAD + "".join(self._section(name) for name in self.titles)

    def _section(self, name: str) -> str:
        kind = self.defs[name]
        needed, without = set(kind.get("required", ())), []
        lines = [
            "",
            f"## {self.titles[name]}",
            "",
            "| field | is | without it | |",
            "|---|---|---|---|",
        ]
        for field, part in kind["properties"].items():
            told = part.get("description", "")
            if told.startswith(IGNORED):
                without.append((field, told.removeprefix(IGNORED)))
                continue
            shown = f"**`{field}`**" if field in needed else f"`{field}`"
            cells = (shown, self._type(part), _default(part, field in needed), _cell(told))
            lines.append(f"| {' | '.join(cells)} |")
        if without:
            listed = "; ".join(f"`{field}` ({why.rstrip('.')})" for field, why in without)
            lines += ["", f"Accepted and ignored, so that specs of Pachyderm load: {listed}."]
        return "\n".join(lines) + "\n"

    def _type(self, part: Mapping[str, Any]) -> str:
        return " or ".join(dict.fromkeys(self._types(part))) or "anything"

    def _types(self, part: Mapping[str, Any]) -> Iterator[str]:
        if "$ref" in part:
            title = self.titles[part["$ref"].removeprefix(_DEFS)]
            yield f"[map](#{_anchor(title)})"
        elif "anyOf" in part or "oneOf" in part:
            for member in part.get("anyOf") or part["oneOf"]:
                yield from self._types(member)
        elif "allOf" in part:
            for member in part["allOf"]:
                yield from self._types(member)
        elif "enum" in part:
            yield " or ".join(f"`{_word(value)}`" for value in part["enum"] if value != "")
        elif "const" in part:
            yield f"`{_word(part['const'])}`"
        elif part.get("type") == "array":
            inner = self._type(part.get("items", {}))
            yield "list" if inner == "anything" else f"list of {inner}"
        elif part.get("type") == "object":
            extra = part.get("additionalProperties")
            inner = self._type(extra) if isinstance(extra, dict) else ""
            yield f"map of {inner}" if inner and inner != "anything" else "map"
        elif isinstance(part.get("type"), list):
            yield from (_PLAIN[one] for one in part["type"] if one != "null")
        elif part.get("type") not in (None, "null"):
            yield _PLAIN[part["type"]]


_PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "yes or no"}


def _refs(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"].removeprefix(_DEFS)
        for value in part.values():
            yield from _refs(value)
    elif isinstance(part, list):
        for value in part:
            yield from _refs(value)


def _default(part: Mapping[str, Any], needed: bool) -> str:
    value = part.get("default")
    return "–" if needed or value in (None, "", [], {}) else f"`{_word(value)}`"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _anchor(title: str) -> str:
    return title.lower().replace(".", "")


def page() -> str:
    return _Page().text()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
