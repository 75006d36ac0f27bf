"""Objects of JSON as Spark's parser reads them, for files that DuckDB would read differently.

What is text in the table stays as it is written: 1.50, [1, 2]. Decimals keep all their digits.
A value that is not of its column's type is refused with its line.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Schema
from trunkline.model.types import DataType, parse_type
from trunkline.tables.reading.opening import text_stream
from trunkline.tables.types import to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 8 << 10
_space = re.compile(r"[ \t\n\r]*").match
_number = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII).match
_text = json.decoder.scanstring  # type: ignore[attr-defined]
_skip = json.JSONDecoder().raw_decode
_day = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII).fullmatch
_moment = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
).fullmatch
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def batches(
    core: Core, entry: Entry, wanted: Schema, options: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    fields = {one.name: parse_type(one.type) for one in wanted}
    found = _objects(core, entry, fields, options)
    while some := list(islice(found, _ROWS)):
        if not wanted.names:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * len(some), pa.struct([])))
            continue
        arrays = [
            pa.array([row[one.name] for row in some], to_arrow_type(one.type)) for one in wanted
        ]
        yield pa.RecordBatch.from_arrays(arrays, names=list(wanted.names))


def _objects(
    core: Core, entry: Entry, fields: Mapping[str, DataType], options: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    if options.get("multiLine", "").lower() == "true":
        with text_stream(core, entry) as stream:
            text = bytes(stream.read()).decode().removeprefix("\ufeff")
        yield from _whole(text, fields)
        return
    whole = DataType("row", fields=tuple(fields.items()))
    with text_stream(core, entry) as stream:
        for number, line in enumerate(_lines(stream), 1):
            text = line.decode().removeprefix("\ufeff") if number == 1 else line.decode()
            if not text.strip():
                continue
            try:
                row, end = _value(text, _after(text, 0), whole, "it")
                if text[end:].strip():
                    raise ValueError("more follows the object")
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
            yield row


def _lines(stream: Any) -> Iterator[bytes]:
    rest = b""
    while piece := stream.read(1 << 20):
        *whole, rest = re.split(rb"\r\n|\n|\r(?=[^\n])", rest + bytes(piece))
        yield from whole
    if rest:
        yield rest


def _whole(text: str, fields: Mapping[str, DataType]) -> Iterator[dict[str, Any]]:
    row = DataType("row", fields=tuple(fields.items()))
    place = _after(text, 0)
    if text[place : place + 1] != "[":
        found, end = _value(text, place, row, "it")
        if text[end:].strip():
            raise ValueError("more follows the object: one object, or an array of them")
        yield found
        return
    place = _after(text, place + 1)
    while text[place : place + 1] != "]":
        found, place = _value(text, place, row, "it")
        yield found
        place = _after(text, place)
        if text[place : place + 1] == ",":
            place = _after(text, place + 1)


def _after(text: str, place: int) -> int:
    found = _space(text, place)
    assert found is not None
    return found.end()


def _value(text: str, place: int, type_: DataType, name: str) -> tuple[Any, int]:
    """A value of a type, and where it ends."""
    first = text[place : place + 1]
    if text.startswith("null", place) and type_.name != "row":
        return None, place + 4
    if type_.name in ("struct", "row", "map"):
        if first != "{":
            raise _wrong(text, place, type_, name)
        return _object(text, place, type_, name)
    if type_.name == "array":
        if first != "[":
            raise _wrong(text, place, type_, name)
        return _items(text, place, type_, name)
    if first == '"':
        value, end = _text(text, place + 1, True)
        if not _encodes(value):
            raise ValueError(f"{name} holds half a surrogate pair")
        return _from_text(value, type_, name), end
    if type_.name in ("string", "void"):
        _, end = _skip(text, place)
        return text[place:end], end
    if type_.name == "boolean":
        for word, truth in (("true", True), ("false", False)):
            if text.startswith(word, place):
                return truth, place + len(word)
    found = _number(text, place)
    if found is None:
        raise _wrong(text, place, type_, name)
    return _from_number(found[0], bool(found[1] or found[2]), type_, name), found.end()


def _object(text: str, place: int, type_: DataType, name: str) -> tuple[Any, int]:
    fields = dict(type_.fields)
    inner = type_.fields[1][1] if type_.name == "map" else None
    found: dict[str, Any] = {} if inner else dict.fromkeys(fields)
    seen: set[str] = set()
    place = _after(text, place + 1)
    while text[place : place + 1] != "}":
        if text[place : place + 1] != '"':
            raise ValueError(f"{name} is no object that JSON knows")
        key, place = _text(text, place + 1, True)
        if key in seen:
            raise ValueError(f'{name} has "{key}" twice')
        seen.add(key)
        place = _after(text, place)
        if text[place : place + 1] != ":":
            raise ValueError(f'{name} has no value for "{key}"')
        place = _after(text, place + 1)
        wanted = inner or fields.get(key)
        if wanted is not None:
            found[key], place = _value(text, place, wanted, key)
        else:
            _, place = _skip(text, place)
        place = _after(text, place)
        if text[place : place + 1] == ",":
            place = _after(text, place + 1)
            if text[place : place + 1] == "}":
                raise ValueError(f"{name} ends with a comma")
        elif text[place : place + 1] != "}":
            raise ValueError(f"{name} is no object that JSON knows")
    return (list(found.items()) if inner else found), place + 1


def _items(text: str, place: int, type_: DataType, name: str) -> tuple[list[Any], int]:
    found = []
    place = _after(text, place + 1)
    while text[place : place + 1] != "]":
        value, place = _value(text, place, type_.fields[0][1], name)
        found.append(value)
        place = _after(text, place)
        if text[place : place + 1] == ",":
            place = _after(text, place + 1)
            if text[place : place + 1] == "]":
                raise ValueError(f"{name} ends with a comma")
        elif text[place : place + 1] != "]":
            raise ValueError(f"{name} is no array that JSON knows")
    return found, place + 1


def _from_text(value: str, type_: DataType, name: str) -> Any:
    if type_.name in ("string", "void"):
        return value
    with contextlib.suppress(ValueError):
        if type_.name == "date" and _day(value):
            return date.fromisoformat(value)
        if type_.name.startswith("timestamp") and (found := _moment(value)):
            if found[1] and type_.name == "timestamp":
                return datetime.fromisoformat(value)
            if not found[1]:
                moment = datetime.fromisoformat(value)
                return moment.replace(tzinfo=UTC) if type_.name == "timestamp" else moment
    raise ValueError(f"{name} is not {type_}: {json.dumps(value, ensure_ascii=False)[:60]}")


def _from_number(text: str, broken: bool, type_: DataType, name: str) -> Any:
    if type_.name in _BITS and not broken:
        half = 1 << (_BITS[type_.name] - 1)
        if -half <= int(text) < half:
            return int(text)
    elif type_.name == "double":
        return float(text)
    elif type_.name == "decimal":
        exact = Decimal(text).quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP)
        if len(exact.as_tuple().digits) <= type_.precision:
            return exact
    raise ValueError(f"{name} is not {type_}: {text[:60]}")


def _wrong(text: str, place: int, type_: DataType, name: str) -> ValueError:
    return ValueError(f"{name} is not {type_}: {text[place : place + 40]}")


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
