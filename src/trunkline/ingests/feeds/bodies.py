"""What is sent to an ingest, by its type: lines of JSON, a list of it, or Arrow."""

from __future__ import annotations

from typing import Any

from trunkline.ingests.feeds.base import Columns, JsonLines, Records
from trunkline.ingests.feeds.endpoints import Refusal

Body = JsonLines | Records | Columns


def read_body(kind: str, body: bytes, label: str) -> tuple[Body, int]:
    """A body as rows, and how many there are. Raises Refusal."""
    if kind in ("application/x-ndjson", "application/jsonl", "application/json-lines"):
        lines = [line for line in body.split(b"\n") if line.strip()]
        piece: Body = JsonLines(lines, [label] * len(lines))
        rows = len(lines)
    elif kind == "application/json":
        found = _document(body)
        piece, rows = Records(found, label), len(found)
    elif kind == "application/vnd.apache.arrow.stream":
        piece = Columns(_arrow(body), label)
        rows = piece.table.num_rows
    else:
        raise Refusal(
            415,
            f'The type "{kind}" is not understood.',
            "Send application/x-ndjson, application/json or application/vnd.apache.arrow.stream.",
        )
    if not rows:
        raise Refusal(400, "There is no row in the body.")
    return piece, rows


def _document(body: bytes) -> list[Any]:
    from pydantic_core import from_json

    try:
        found = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        hint = "Lines of JSON are application/x-ndjson."
        raise Refusal(400, f"The body is not JSON: {error}.", hint) from None
    return found if isinstance(found, list) else [found]


def _arrow(body: bytes) -> Any:
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(pa.BufferReader(body)).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise Refusal(400, f"The body is no stream of Arrow: {reason}.") from None
    return table
