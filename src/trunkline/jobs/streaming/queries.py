"""The query of a stream pipeline: with state or without, as Spark is given it."""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.engine.streaming.task import StreamSource, StreamTask
from trunkline.engine.transform import TableTask
from trunkline.jobs.context import Context
from trunkline.model.streams import StreamOutput

WORDS = {
    "Aggregate": "it aggregates",
    "Distinct": "it removes duplicates",
    "Deduplicate": "it removes duplicates",
    "DeduplicateWithinWatermark": "it removes duplicates",
    "Join": "it joins two streams",
    "GlobalLimit": "it has a limit",
    "LocalLimit": "it has a limit",
}


def explained(operators: tuple[str, ...]) -> str:
    """Why a stream runs as it does, for people."""
    if not operators:
        return "no state: each batch stands alone, and runs as a plain job"
    return f"state: {why_state(operators)}, so it runs as a Structured Streaming query"


def why_state(operators: tuple[str, ...]) -> str:
    words = dict.fromkeys(WORDS.get(one, "it keeps state of its own") for one in operators)
    return ", ".join(words)


def task(context: Context, call: TableTask, sources: Mapping[str, StreamSource]) -> StreamTask:
    streaming = context.spec.transform.streaming
    assert streaming is not None
    output = StreamOutput.UPSERT if streaming.key else StreamOutput.APPEND
    return StreamTask(call, sources, output, streaming.retain)
