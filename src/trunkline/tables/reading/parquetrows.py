"""The rows of a Parquet file, in batches that stay small whatever its few bytes stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from trunkline.tables.reading.opening import open_parquet
from trunkline.tables.unpacking import MOST_BYTES, pieces

if TYPE_CHECKING:
    import pyarrow as pa

_LEAST_ROWS = 256
_guarded = Event()


def guard() -> None:
    """From now on files may have been made to harm this process, as those that a server reads.

    Text that hardly repeats is read more slowly then.
    """
    _guarded.set()


def parquet_rows(
    source: Any, parquet: Any, names: Sequence[str], rows: int
) -> Iterator[pa.RecordBatch]:
    """These columns of an opened file, so many rows at once. Text may come as dictionary."""
    texts, rows = _repeating(parquet, names, rows) if _guarded.is_set() else ([], rows)
    if not texts:
        yield from parquet.iter_batches(rows, columns=list(names), use_threads=True)
        return
    with open_parquet(source, texts) as file:
        for batch in file.iter_batches(rows, columns=list(names), use_threads=True):
            yield from pieces(batch)


def _repeating(parquet: Any, names: Sequence[str], rows: int) -> tuple[list[str], int]:
    """Columns of text that a few bytes of the file may repeat beyond all measure, which are read
    as dictionaries; and how many rows at once are safe to read.
    """
    from pyarrow import types

    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    plain = {one.name for one in parquet.schema_arrow if any(kind(one.type) for kind in kinds)}
    plain &= set(names)
    texts, most, metadata = set[str](), rows, parquet.metadata
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(metadata.num_columns)):
            # No value is longer than all of the chunk.
            size = max(chunk.total_uncompressed_size, 1)
            if chunk.path_in_schema not in plain or size * min(group.num_rows, rows) <= MOST_BYTES:
                continue
            if "DELTA_BYTE_ARRAY" in chunk.encodings:
                most = min(most, max(_LEAST_ROWS, MOST_BYTES // size))
            if chunk.has_dictionary_page:
                texts.add(chunk.path_in_schema)
    return sorted(texts), most
