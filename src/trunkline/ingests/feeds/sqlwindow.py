"""How far a growing column was read, and which rows near its end are in already.

The position holds the largest value that was read. Rows with that very value may still come, and
with a lag also rows somewhat before it: so reading starts again where the lag says, and rows that
are in are known by their hashes. These are kept beside the data, in the same commit.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any
from uuid import UUID

from trunkline.connect.sqlreading import Block
from trunkline.errors import Precondition
from trunkline.ingests.feeds.base import OWN
from trunkline.lake.core import Core
from trunkline.lake.files import read
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry
from trunkline.model.streams import Position

WINDOW = f"{OWN}/sql/window"


def encoded(value: Any) -> dict[str, Any]:
    """A value of the column as JSON that knows its type."""
    match value:
        case bool():
            raise _unfit(value)
        case int():
            return {"after": value, "type": "int"}
        case float():
            return {"after": value, "type": "float"}
        case Decimal():
            return {"after": str(value), "type": "decimal"}
        case datetime():
            return {"after": value.isoformat(), "type": "timestamp"}
        case date():
            return {"after": value.isoformat(), "type": "date"}
        case UUID():
            return {"after": str(value), "type": "uuid"}
        case str():
            return {"after": value, "type": "text"}
        case bytes() | bytearray() | memoryview():
            return {"after": bytes(value).hex(), "type": "bytes"}
    raise _unfit(value)


def decoded(position: Mapping[str, Any]) -> Any:
    """The value again, as the driver gave it; None at the start."""
    value = position.get("after")
    if value is None:
        return None
    match position["type"]:
        case "decimal":
            return Decimal(value)
        case "timestamp":
            return datetime.fromisoformat(value)
        case "date":
            return date.fromisoformat(value)
        case "uuid":
            return UUID(value)
        case "bytes":
            return bytes.fromhex(value)
    return value


def _unfit(value: Any) -> Precondition:
    return Precondition(
        f"A column of {type(value).__name__} does not grow.",
        hint="Name one of numbers or times: by.",
    )


def behind(value: Any, lag: float) -> Any:
    """So far before a value: seconds before a time, else as much less of a number."""
    if not lag or value is None:
        return value
    match value:
        case datetime():
            # In a zone with summer time a day has hours that are not there, or there twice.
            aware = value.tzinfo is not None
            return (value.astimezone(UTC) if aware else value) - timedelta(seconds=lag)
        case date():
            return value - timedelta(days=-(-lag // 86400))
        case int():
            return value - int(-(-lag // 1))
        case float():
            return value - lag
        case Decimal():
            return value - Decimal(str(lag))
        case str() if (moment := _moment(value)) is not None:
            # SQLite keeps times as text, whose order is theirs. Shorter is less.
            early = moment - timedelta(seconds=lag)
            text = early.isoformat(sep="T" if "T" in value else " ", timespec="seconds")
            return text[:19]
    raise Precondition(
        "A lag is of times and numbers, and the column has neither.", hint="Leave lag out."
    )


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


@dataclass(slots=True)
class Window:
    """The rows near the end that are in: for each value its rows, by hash, in the order read.

    Rows are told apart by their `identity`: the primary key where rows are only added, else all
    that is not null in them.
    """

    identity: tuple[str, ...] = ()
    values: list[tuple[Any, list[str]]] = field(default_factory=list)

    def hashes(self) -> Counter[str]:
        return Counter(one for _, hashes in self.values for one in hashes)

    def add(self, value: Any, hashes: Sequence[str]) -> None:
        if self.values and self.values[-1][0] == value:
            self.values[-1][1].extend(hashes)
        else:
            self.values.append((value, list(hashes)))

    def data(self) -> bytes:
        rows = [[encoded(value), hashes] for value, hashes in self.values]
        return json.dumps({"identity": list(self.identity), "rows": rows}).encode()

    @classmethod
    def of(cls, core: Core, tree: Tree) -> Window | None:
        line = tree.find(WINDOW.encode())
        if line is None:
            return None
        found = json.loads(b"".join(read(core, Entry.decode(line))))
        rows = [(decoded(value), list(hashes)) for value, hashes in found["rows"]]
        return cls(tuple(found["identity"]), rows)


def row_hashes(block: Block, identity: Sequence[str]) -> list[str]:
    """A hash of each row, that a column which is null does not change."""
    names = [column.name for column in block.columns]
    chosen = [at for at, name in enumerate(names) if not identity or name in identity]
    picked = sorted((names[at], block.values[at]) for at in chosen) if chosen else []
    found = []
    for at in range(block.rows):
        digest = blake2b(digest_size=12)
        for name, values in picked:
            value = values[at]
            if value is not None:
                digest.update(repr((name, _same(value))).encode())
        found.append(digest.hexdigest())
    return found


def _same(value: Any) -> Any:
    """One spelling for what is one value."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    return value


def starting(position: Position, by: str, key: Sequence[str]) -> Any:
    """The value that was read to, None at the start; refused if another column was read by."""
    if position.get("rows") == 0:
        return None  # as a whole, when there was nothing
    before = position.get("by")
    if before in (None, by) and (before or not position or key):
        return decoded(position)
    if key:
        return None
    what = f"by {before}" if before else "as a whole"
    raise Precondition(
        f"It was read {what} so far: by {by} its rows would be there twice.",
        hint="Give it a key, or declare it under another name.",
    )
