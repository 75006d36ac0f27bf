"""Columns in Iceberg's words: fields with numbers, and the names that files have for them.

Our files have no numbers in them: a column is found by its name. So a field's number is made
from its name, and is the same in every version of a table without anything being kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from trunkline.model.tables import Schema
from trunkline.model.types import DataType, parse_type

_SCALARS = {
    "boolean": "boolean",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "void": "string",
}
_HIGHEST = 1 << 30
"""Higher numbers are partly Iceberg's own."""


def field_id(*path: str) -> int:
    """The number of a field: of a column by its name, of one inside it by all names above."""
    text = "\0".join(one.casefold() for one in path)
    return 1 + int.from_bytes(sha256(text.encode()).digest()[:8]) % (_HIGHEST - 1)


def fields_of(schema: Schema) -> list[dict[str, Any]]:
    """The columns as the fields of a struct. All may be null: older files may lack them."""
    return [_field((one.name,), parse_type(one.type)) for one in schema]


def highest_id(fields: Iterable[dict[str, Any]]) -> int:
    return max((number for one in fields for number in _ids(one)), default=0)


def name_mapping(schemas: Iterable[Schema]) -> list[dict[str, Any]]:
    """What files call the fields of any of the schemas. Letters may be small or capital."""
    found: dict[int, dict[str, Any]] = {}
    for schema in schemas:
        for column in schema:
            _map(found, (column.name,), parse_type(column.type))
    return _listed(found)


def _field(path: tuple[str, ...], type_: DataType) -> dict[str, Any]:
    return {
        "id": field_id(*path),
        "name": path[-1],
        "required": False,
        "type": _type(path, type_),
    }


def _type(path: tuple[str, ...], type_: DataType) -> Any:
    match type_.name:
        case "decimal":
            return f"decimal({type_.precision}, {type_.scale})"
        case "struct":
            fields = [_field((*path, name), inner) for name, inner in type_.fields]
            return {"type": "struct", "fields": fields}
        case "array":
            inside = (*path, "element")
            return {
                "type": "list",
                "element-id": field_id(*inside),
                "element": _type(inside, type_.fields[0][1]),
                "element-required": False,
            }
        case "map":
            key, value = (*path, "key"), (*path, "value")
            return {
                "type": "map",
                "key-id": field_id(*key),
                "key": _type(key, type_.fields[0][1]),
                "value-id": field_id(*value),
                "value": _type(value, type_.fields[1][1]),
                "value-required": False,
            }
    return _SCALARS[type_.name]


def _map(found: dict[int, dict[str, Any]], path: tuple[str, ...], type_: DataType) -> None:
    number, name = field_id(*path), path[-1]
    held = found.setdefault(number, {"names": {}, "fields": {}})
    held["names"] |= dict.fromkeys((name, name.lower(), name.upper()))
    labels = {"array": ("element",), "map": ("key", "value")}.get(type_.name)
    inner = zip(labels, (one for _, one in type_.fields), strict=True) if labels else type_.fields
    for label, one in inner:
        _map(held["fields"], (*path, label), one)


def _listed(found: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "field-id": number,
            "names": list(held["names"]),
            **({"fields": _listed(held["fields"])} if held["fields"] else {}),
        }
        for number, held in found.items()
    ]


def _ids(field: dict[str, Any]) -> Iterable[int]:
    yield field["id"]
    yield from _inner_ids(field["type"])


def _inner_ids(type_: Any) -> Iterable[int]:
    if not isinstance(type_, dict):
        return
    for one in type_.get("fields", ()):
        yield from _ids(one)
    for part in ("element", "key", "value"):
        if part in type_:
            yield type_[f"{part}-id"]
            yield from _inner_ids(type_[part])
