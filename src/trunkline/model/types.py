"""Types of columns as values: read from the text that Spark SQL writes, and written as it.

`timestamp` is a moment in UTC, `timestamp_ntz` a wall clock without a zone. `void`, the type of a
column that is null throughout, is kept only while schemas are being found: tables have `string`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

INTEGERS = ("tinyint", "smallint", "int", "bigint")
VOID = "void"

_SCALARS = {
    *(*INTEGERS, "boolean", "float", "double", "string", "binary"),
    *("date", "timestamp", "timestamp_ntz", VOID),
}
_SYNONYMS = {
    "bool": "boolean",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "varchar": "string",
    "char": "string",
    "timestamp_ltz": "timestamp",
    "null": VOID,
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[^\s<>(),:`]+|[<>(),:])")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class DataType:
    """A type as a value. `fields` are those of a struct; of an array or map they have no names."""

    name: str
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, DataType], ...] = ()

    def __str__(self) -> str:
        inner = [type_ for _, type_ in self.fields]
        match self.name:
            case "decimal":
                return f"decimal({self.precision},{self.scale})"
            case "array" | "map":
                return f"{self.name}<{','.join(map(str, inner))}>"
            case "struct":
                return f"struct<{','.join(f'{_label(n)}:{t}' for n, t in self.fields)}>"
        return self.name


REFUSED: Mapping[str, tuple[str, str]] = {
    "void": ("it has nothing but nulls", "CAST({column} AS string)"),
    "variant": ("readers do not agree on it", "to_json({column})"),
    "time": ("Parquet of Spark has no such values", "CAST({column} AS string)"),
    "interval": ("other readers take it for a number", "CAST({column} AS string)"),
    "string collate": ("a table keeps no collation", "CAST({column} AS string)"),
    "timestamp_ntz(": ("times have microseconds", "CAST({column} AS timestamp_ntz)"),
    "timestamp_ltz(": ("times have microseconds", "CAST({column} AS timestamp)"),
    "geometry": ("readers do not agree on it", "ST_AsBinary({column})"),
    "geography": ("readers do not agree on it", "ST_AsBinary({column})"),
}
"""Types of Spark that no table holds, by how they begin: why, and what to write instead."""


class Refusal(NamedTuple):
    """Why a type is not taken, as the end of a sentence, and what to do."""

    why: str
    hint: str


def refused(type_: DataType, column: str) -> Refusal | None:
    """Why no table holds values of that type; None if tables do, and all readers agree on it.

    Other types than those of tables have Spark's name as theirs.
    """
    if type_.name == "struct":
        if not type_.fields:
            return Refusal("a struct without fields, which no file can hold", "Give it a field.")
        seen: dict[str, str] = {}
        for name, _ in type_.fields:
            if not name:
                return Refusal("a field without a name", "Give each field one.")
            if other := seen.get(name.casefold()):
                why = f"the fields {other} and {name}, which are the same to Spark"
                return Refusal(why, "Give one of them another name.")
            seen[name.casefold()] = name
    for _, inner in type_.fields:
        if found := refused(inner, column):
            return found
    if type_.name in _SCALARS - {VOID} or type_.name in ("decimal", "array", "map", "struct"):
        return None
    for beginning, (why, instead) in REFUSED.items():
        if type_.name.startswith(beginning):
            write = instead.format(column=quoted(column))
            return Refusal(f"{type_.name}, which tables do not hold: {why}", f"Write {write}.")
    return Refusal(f"{type_.name}, which tables do not hold", "Make it another type.")


@lru_cache(maxsize=4096)
def parse_type(text: str) -> DataType:
    """A type from its text. Raises ValueError."""
    tokens = _TOKEN.findall(text)
    if _TOKEN.sub("", text).strip() or not tokens:
        raise ValueError(f"cannot read the type {text!r}")
    try:
        found, rest = _read(tokens)
    except IndexError:
        raise ValueError(f"the type {text!r} breaks off") from None
    if rest:
        raise ValueError(f"the type {text!r} cannot be read from {rest[0]!r} on")
    return found


def without_void(given: DataType) -> DataType:
    """The type with text where it has nothing but nulls."""
    if given.name == VOID:
        return DataType("string")
    fields = tuple((name, without_void(type_)) for name, type_ in given.fields)
    return DataType(given.name, given.precision, given.scale, fields)


def normalize(text: str) -> str:
    """The one spelling of a type: int for INTEGER, decimal(10,0) for dec. Raises ValueError."""
    return str(parse_type(text))


def _read(tokens: list[str]) -> tuple[DataType, list[str]]:
    """One type from the front of the tokens, and what follows it."""
    name = tokens[0].lower()
    name, rest = _SYNONYMS.get(name, name), tokens[1:]
    if name == "decimal":
        return _decimal(rest)
    if name in ("array", "map", "struct"):
        return _nested(name, rest)
    if name not in _SCALARS:
        raise ValueError(f"there is no type {tokens[0]!r}")
    if name == "string" and rest and rest[0] == "(":  # varchar(20)
        rest = rest[rest.index(")") + 1 :]
    return DataType(name), rest


def _decimal(rest: list[str]) -> tuple[DataType, list[str]]:
    if not rest or rest[0] != "(":
        return DataType("decimal", 10, 0), rest
    numbers = [int(token) for token in rest[1 : rest.index(")")] if token != ","]
    precision, scale = (*numbers, 0)[:2]
    if not (len(numbers) in (1, 2) and 0 < precision <= 38 and 0 <= scale <= precision):
        raise ValueError("a decimal has up to 38 digits, not all of them behind the point")
    return DataType("decimal", precision, scale), rest[rest.index(")") + 1 :]


def _nested(name: str, rest: list[str]) -> tuple[DataType, list[str]]:
    _expect(rest[0], "<")
    fields: list[tuple[str, DataType]] = []
    while rest[0] != ">":
        rest, label = rest[1:], ""
        if name == "struct":
            if rest[0] == ">":
                break
            label = rest[0]
            if label.startswith("`"):
                label = label[1:-1].replace("``", "`")
            rest = rest[2:] if rest[1] == ":" else rest[1:]
        type_, rest = _read(rest)
        fields.append((label, type_))
        if [token.lower() for token in rest[:2]] == ["not", "null"]:
            rest = rest[2:]
        _expect(rest[0], ",", ">")
    if name != "struct" and len(fields) != (1 if name == "array" else 2):
        raise ValueError(f"{name} has the wrong number of types in it")
    return DataType(name, fields=tuple(fields)), rest[1:]


def _expect(token: str, *wanted: str) -> None:
    if token not in wanted:
        raise ValueError(f"{token!r} stands where {' or '.join(wanted)} should")


def quoted(name: str) -> str:
    """A name as Spark's SQL has it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def text_literal(value: str) -> str:
    """Text as Spark's SQL has it. Whether a backslash means something there is a setting."""
    if "'" in value or "\\" in value:
        return f"CAST(X'{value.encode().hex()}' AS string)"
    return f"'{value}'"


def _label(name: str) -> str:
    return name if _PLAIN.match(name) else quoted(name)
