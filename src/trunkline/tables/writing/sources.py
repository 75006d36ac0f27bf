"""Rows as people have them: pandas, polars, Arrow, DuckDB, lists of dicts. All become a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage

if TYPE_CHECKING:
    import pyarrow as pa

ACCEPTED = (
    "a DataFrame of Spark, pandas or polars, an Arrow table or reader, a DuckDB relation, "
    "or a list of dicts"
)


def is_spark(data: object) -> bool:
    """Whether Spark has to write it. Says so of a remote one, which it cannot."""
    module = type(data).__module__
    if module.startswith("pyspark.sql.connect"):
        raise Usage(
            "A DataFrame of Spark Connect cannot be written to a lake.",
            hint="Give df.toArrow(), or run Spark in this process.",
        )
    return module.startswith("pyspark.")


def batches_of(data: Any) -> pa.RecordBatchReader:
    """The rows as a stream of batches, which can be read once."""
    import pyarrow as pa

    module = type(data).__module__.partition(".")[0]
    try:
        if isinstance(data, pa.RecordBatchReader):
            return data
        if isinstance(data, pa.RecordBatch):
            return pa.RecordBatchReader.from_batches(data.schema, [data])
        if module == "pandas":
            return _from_pandas(data)
        if module == "polars" and hasattr(data, "collect_schema") and hasattr(data, "collect"):
            return _from_lazy(data)
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data)
        if isinstance(data, Mapping):
            return pa.table(dict(data)).to_reader()
        if isinstance(data, Sequence) and not isinstance(data, str | bytes):
            return _from_dicts(data)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise Usage(
            f"The rows do not make a table: {str(error).splitlines()[0]}",
            hint="Each column holds values of one type.",
        ) from None
    raise Usage(f"{type(data).__name__} cannot be written as a table.", hint=f"Give {ACCEPTED}.")


def _from_pandas(frame: Any) -> pa.RecordBatchReader:
    """An index that has a name is a column; the numbers of rows are not."""
    import pyarrow as pa

    if not hasattr(frame, "columns"):
        frame = frame.to_frame()
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return pa.Table.from_pandas(frame, preserve_index=False).to_reader()


def _from_lazy(frame: Any) -> pa.RecordBatchReader:
    """Collected piece by piece, so that it may be larger than memory."""
    import pyarrow as pa

    if not hasattr(frame, "collect_batches"):
        return pa.RecordBatchReader.from_stream(frame.collect())
    schema = pa.table(frame.collect_schema().to_frame()).schema
    pieces = (pa.table(piece) for piece in frame.collect_batches(maintain_order=True))
    batches = (batch for piece in pieces for batch in piece.cast(schema).to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


def _from_dicts(rows: Sequence[Any]) -> pa.RecordBatchReader:
    import pyarrow as pa

    if not rows:
        raise Usage("A list without rows has no columns.", hint="Give an Arrow table instead.")
    for row in rows:
        if not isinstance(row, Mapping):
            raise Usage(
                f"{type(row).__name__} is no row.", hint='Rows are dicts such as {"id": 1, "n": 2}.'
            )
    # Arrow would take the columns from the first row alone.
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {str(name): [row.get(name) for row in rows] for name in names}
    return pa.table({name: pa.array(values) for name, values in columns.items()}).to_reader()
