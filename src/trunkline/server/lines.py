"""Long answers, a value to a line (NDJSON): sent as they are made, in one go through the lake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from fastapi.responses import StreamingResponse

from trunkline.sdk.wire.values import adapter

NDJSON = "application/x-ndjson"
_AT_ONCE = 500


class Lines(StreamingResponse):
    media_type = NDJSON


def lines(kind: Any, items: Iterable[Any]) -> Lines:
    """An answer of many values. What is wrong with the first of them is still told as an error."""
    chunks = _chunks(kind, iter(items))
    first = next(chunks, b"")
    return Lines(chain([first], chunks), headers={"Cache-Control": "no-store"})


def _chunks(kind: Any, items: Iterator[Any]) -> Iterator[bytes]:
    writer = adapter(kind)
    while some := list(islice(items, _AT_ONCE)):
        yield b"".join(writer.dump_json(one) + b"\n" for one in some)
