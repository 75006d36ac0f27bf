"""Batches in pieces that stay small when they are unpacked.

A few bytes may stand for very many: nulls, rows that point at one value of a dictionary, views of
one text. Who reads what others send or store unpacks no more than a piece at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 64 << 10
MOST_BYTES = 64 << 20
_NULL_BYTES = 16
"""What a null takes in a column of the widest plain type."""


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The same rows in order: each piece takes little once unpacked, or is a single row."""
    left = [batch]
    while left:
        some = left.pop()
        rows = some.num_rows
        if rows <= 1 or (rows <= MOST_ROWS and _batch_size(some) <= MOST_BYTES):
            yield some
        else:
            left += [some.slice(rows // 2), some.slice(0, rows // 2)]


def _batch_size(batch: pa.RecordBatch) -> int:
    return sum(map(unpacked_size, batch.columns))


def unpacked_size(values: pa.Array) -> int:
    """About how many bytes the values take when each stands for itself."""
    from pyarrow import types

    kind, rows = values.type, len(values)
    if types.is_null(kind):
        return rows * _NULL_BYTES
    if types.is_dictionary(kind):
        used = values.indices.drop_null().to_numpy(zero_copy_only=False)
        return rows * 4 + int(_widths(values.dictionary)[used].sum())
    if types.is_run_end_encoded(kind):
        return rows * int(_widths(values.values).max(initial=0))
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return int(_widths(values).sum())
    if types.is_struct(kind):
        return rows + sum(map(unpacked_size, values.flatten()))
    if types.is_map(kind):
        start, stop = values.offsets[0].as_py(), values.offsets[-1].as_py()
        inside = (one.slice(start, stop - start) for one in (values.keys, values.items))
        return rows * 4 + sum(map(unpacked_size, inside))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return rows * 8 + unpacked_size(values.flatten())
    return int(values.nbytes)


def _widths(values: Any) -> Any:
    """What each value takes; of what is nested no more is known than all of it together."""
    import numpy
    from pyarrow import compute, types

    kind, rows = values.type, len(values)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        # A view is sixteen bytes, the first four of which say how long the text is.
        lengths = numpy.frombuffer(values.buffers()[1], dtype="<i4")[::4]
        lengths = lengths[values.offset : values.offset + rows]
        return numpy.maximum(lengths, 0).astype("int64") + _NULL_BYTES
    if types.is_primitive(kind) or types.is_decimal(kind):
        return numpy.full(rows, max(kind.bit_width // 8, 1), dtype="int64")
    try:
        lengths = compute.fill_null(compute.binary_length(values), 0)
    except NotImplementedError:  # it is nested
        return numpy.full(rows, unpacked_size(values), dtype="int64")
    return lengths.to_numpy(zero_copy_only=False).astype("int64") + 8
