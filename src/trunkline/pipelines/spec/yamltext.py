"""YAML to plain data with lines. YAML 1.2's plain words: `on`, `no` and dates are text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import yaml

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import shown
from trunkline.pipelines.spec.places import Document, Loc

# Aliases may repeat parts, but not until the memory is full.
_MOST_NODES = 100_000
_DEEPEST = 60
_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(_TAG + _kind, re.compile(rf"(?:{_pattern})\Z"), list(_first))


def yaml_documents(text: str, name: str) -> Iterator[Document]:
    """The documents of a YAML text. Empty ones are left out."""
    try:
        for node in yaml.compose_all(text, _Loader):
            reader = _Reader(name)
            value = reader.value(node, ())
            if value is not None:
                yield Document(name, value, reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        said = error.problem or error.context or "this is not YAML"
        hint = ""
        if "\\t" in said:
            said, hint = "a tab stands where only spaces may.", "Indent by spaces."
        raise InvalidSpec(f"{place}: {said.rstrip('.')}.", hint=hint) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidSpec(
            f"{name}:{line}: the character U+{int(error.character):04X} may not be in YAML.",
            hint="Take it out, or write it as an escape in a quoted text.",
        ) from None
    except RecursionError:
        raise InvalidSpec(f"{name}: this is nested too deeply.") from None


class _Reader:
    """Builds one document, counting as it goes: an alias costs what it stands for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Loc, int] = {}
        self.count = 0
        self.open: list[yaml.Node] = []

    def value(self, node: yaml.Node, loc: Loc) -> object:
        self.lines.setdefault(loc, node.start_mark.line + 1)
        self.count += 1
        if self.count > _MOST_NODES:
            self.refuse(node, f"with its aliases this has more than {_MOST_NODES:,} values.")
        if any(node is other for other in self.open):
            self.refuse(node, "this alias refers to itself.")
        if len(self.open) > _DEEPEST:
            self.refuse(node, "this is nested too deeply.")
        self.open.append(node)
        try:
            if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
                return self.mapping(node, loc)
            if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
                return [self.value(member, (*loc, i)) for i, member in enumerate(node.value)]
            return self.scalar(node)
        finally:
            self.open.pop()

    def mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, object]:
        found: dict[str, object] = {}
        merged: list[yaml.Node] = []
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                merged += self.merged(value_node)
                continue
            key = self.key(key_node)
            if key in found:
                self.refuse(key_node, f"{shown(key)} is here twice.", "Keep one of them.")
            self.lines[(*loc, key)] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, (*loc, key))
        for other in merged:
            if not isinstance(other, yaml.MappingNode):
                self.refuse(other, "<< can only take in a map, or a list of maps.")
            for key, value in self.mapping_of(other, loc).items():
                found.setdefault(key, value)
        return found

    def mapping_of(self, node: yaml.Node, loc: Loc) -> dict[str, object]:
        """What `<<` takes in. Its lines count only where the map has no such key itself."""
        outer, self.lines = self.lines, {}
        value = self.value(node, loc)
        # Only what is new is gone through: many merges must not cost their number squared.
        for place, line in self.lines.items():
            outer.setdefault(place, line)
        self.lines = outer
        assert isinstance(value, dict)
        return value

    def merged(self, node: yaml.Node) -> list[yaml.Node]:
        return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]

    def key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag != _TAG + "str":
            what = shown(node.value) if isinstance(node, yaml.ScalarNode) else "a list or map"
            self.refuse(node, f"{what} is the name of a field, but not text.", "Put it in quotes.")
        return str(node.value)

    def scalar(self, node: yaml.Node) -> object:
        kind = node.tag.removeprefix(_TAG)
        read = _SCALARS.get(kind)
        if read is None or not isinstance(node, yaml.ScalarNode):
            tag = shown(node.tag.replace(_TAG, "!!"))
            self.refuse(node, f"the tag {tag} has no meaning here.")
        try:
            return read(node.value)
        except (ValueError, KeyError):
            self.refuse(node, f"{shown(node.value)} is not of the kind {kind}.")

    def refuse(self, node: yaml.Node, text: str, hint: str = "") -> NoReturn:
        raise InvalidSpec(f"{self.name}:{node.start_mark.line + 1}: {text}", hint=hint)


def _integer(text: str) -> int:
    if len(text) > 40:
        raise ValueError(text)
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


_SCALARS: dict[str, Callable[[str], Any]] = {
    "str": str,
    "merge": str,
    "null": lambda _: None,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": _integer,
    "float": float,
}
