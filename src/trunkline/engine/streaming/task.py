"""What a streaming query is made from, and what one of its batches came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trunkline.engine.transform import Source, TableResult, TableTask
from trunkline.model.streams import StreamOutput, Watermark
from trunkline.model.tables import Schema


@dataclass(frozen=True, slots=True)
class StreamSource:
    """An input of a query: a stream of rows in these columns, or with `static` a plain table."""

    schema: Schema
    watermark: Watermark | None = None
    static: Source | None = None


@dataclass(frozen=True, slots=True)
class StreamTask:
    """A streaming query. `call` is the transform as a batch pipeline has it, without inputs."""

    call: TableTask
    sources: Mapping[str, StreamSource]
    output: StreamOutput = StreamOutput.APPEND
    retain: int = 100

    @property
    def identity(self) -> object:
        """Equal for queries that a running one can stand in for."""
        return (
            self.call.version,
            self.output,
            self.retain,
            tuple(
                (name, one.schema, one.watermark, one.static)
                for name, one in sorted(self.sources.items())
            ),
        )


@dataclass(frozen=True, slots=True)
class BatchResult:
    """One micro-batch, written but not yet anybody's. Times in microseconds.

    `late` is by input. `batch` and `generation` are where the checkpoint stands after it.
    """

    table: TableResult
    late: Mapping[str, TableResult] = field(default_factory=dict)
    late_rows: int = 0
    watermark: int | None = None
    moved: bool = False
    """Whether the watermark moved, so that another batch would act on it, even an empty one."""
    batch: int = -1
    generation: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    seconds: float = 0.0
