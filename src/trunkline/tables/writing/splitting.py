"""Cutting a stream of rows: into units by their size, and into partitions by their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from trunkline.tables.pathvalues import Values, texts_of

if TYPE_CHECKING:
    import pyarrow as pa

_FIRST_UNIT = 1_024
_UNIT_ROWS = 64 << 10
_UNIT_BYTES = 8 << 20


def units(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows, cut at places that follow from the rows and not from the batches."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows, wanted = 0, _FIRST_UNIT
    for batch in batches:
        while batch.num_rows:
            taken = batch.slice(0, wanted - rows)
            batch = batch.slice(taken.num_rows)
            waiting.append(taken)
            rows += taken.num_rows
            if rows == wanted:
                unit = pa.Table.from_batches(waiting)
                yield unit
                # As many rows as their size allows, judged by those before.
                wanted = max(16, min(_UNIT_ROWS, _UNIT_BYTES * rows // (logical_size(unit) + 1)))
                waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def split(rows: pa.Table, columns: Mapping[str, str]) -> Iterator[tuple[Values, pa.Table]]:
    """Rows by the values of the partition columns, given with their types; within one they keep
    their order."""
    if not columns:
        yield (), rows
        return
    import numpy
    import pyarrow as pa

    codes = numpy.zeros(rows.num_rows, dtype=numpy.int64)
    texts: list[list[str | None]] = []
    for name, type_ in columns.items():
        values = rows.column(name).combine_chunks()
        if pa.types.is_floating(values.type):
            # To a dictionary -0.0 is 0.0, and folders tell them apart.
            values = pa.array(texts_of(values, type_), pa.string())
            type_ = "string"
        found = values.dictionary_encode(null_encoding="encode")
        texts.append(texts_of(found.dictionary, type_))
        codes = codes * len(texts[-1]) + found.indices.to_numpy(zero_copy_only=False)
    order = numpy.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = [0, *(numpy.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(ordered)]
    if len(starts) > 2:
        rows = rows.take(order)
    for start, stop in pairwise(starts):
        if start < stop:
            yield _values(int(ordered[start]), texts), rows.slice(start, stop - start)


def _values(code: int, texts: list[list[str | None]]) -> Values:
    values = []
    for choices in reversed(texts):
        code, place = divmod(code, len(choices))
        values.append(choices[place])
    return tuple(reversed(values))


def logical_size(rows: pa.Table) -> int:
    """Bytes that the values take, however they are held: buffers may be shared, masks absent."""
    return sum(_column_size(column) for column in rows.columns)


def _column_size(column: pa.ChunkedArray) -> int:
    from pyarrow import compute, types

    kind = column.type
    if types.is_string(kind) or types.is_binary(kind):
        return 4 * len(column) + int(compute.sum(compute.binary_length(column)).as_py() or 0)
    if types.is_primitive(kind) or types.is_decimal(kind):
        return len(column) * max(int(kind.bit_width) // 8, 1)
    # As if it stood alone: the sizes of its flat parts, which know their slices.
    flat = compute.list_flatten(column) if types.is_list(kind) else None
    if flat is not None:
        return 4 * len(column) + _column_size(_chunked(flat))
    if types.is_struct(kind):
        return sum(_column_size(part) for part in column.flatten())
    return int(column.nbytes)


def _chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa

    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
