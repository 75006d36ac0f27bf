"""Batches whose few bytes stand for many, in pieces that stay small."""

from __future__ import annotations

import io
from threading import Event
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.tables.reading import table_of
from trunkline import Lake
from trunkline.tables import unpacking
from trunkline.tables.reading import parquetrows
from trunkline.tables.reading.arrowread import record_batches
from trunkline.tables.unpacking import MOST_BYTES, MOST_ROWS, pieces, unpacked_size

WIDE = "x" * 8192
ROWS = 65_536


def dictionary(rows: int, value: str = WIDE) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int8()), pa.array([value]))


def views(rows: int) -> pa.Array:
    """All of one text; it begins with its first four bytes."""
    text = WIDE.encode()
    view = len(text).to_bytes(4, "little") + text[:4] + bytes(8)
    buffers = [None, pa.py_buffer(view * rows), pa.py_buffer(text)]
    made = pa.Array.from_buffers(pa.string_view(), rows, buffers)
    made.validate(full=True)
    return made


COLUMNS = {
    "dictionary": dictionary(ROWS),
    "views": views(ROWS),
    "runs": pa.RunEndEncodedArray.from_arrays([ROWS], [WIDE]),
    "struct": pa.StructArray.from_arrays([dictionary(ROWS)], ["a"]),
    "list": pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), dictionary(ROWS)),
    "map": pa.MapArray.from_arrays(
        pa.array(range(ROWS + 1), pa.int32()), pa.array(range(ROWS)), dictionary(ROWS)
    ),
    "of lists": pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int8()), pa.array([[WIDE]])),
}


@pytest.mark.parametrize("values", COLUMNS.values(), ids=COLUMNS)
def test_what_points_at_one_value_is_counted_for_each_row(values: pa.Array):
    assert unpacked_size(values) >= ROWS * len(WIDE)
    assert unpacked_size(values.slice(7, 100)) >= 100 * len(WIDE)
    assert unpacked_size(values.slice(7, 100)) < 200 * len(WIDE)
    batch = pa.record_batch([values], ["a"])
    found = list(pieces(batch))
    assert sum(one.num_rows for one in found) == ROWS
    assert max(unpacked_size(one.column(0)) for one in found) <= MOST_BYTES


def test_nulls_are_cut_by_their_number():
    batch = pa.record_batch([pa.nulls(1_000_000)], ["a"])
    found = list(pieces(batch))
    assert sum(one.num_rows for one in found) == 1_000_000
    assert max(one.num_rows for one in found) <= MOST_ROWS


def test_rows_stay_in_their_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unpacking, "MOST_ROWS", 7)
    batch = pa.record_batch([pa.array(range(100))], ["a"])
    found = list(pieces(batch))
    assert pa.Table.from_batches(found).column("a").to_pylist() == list(range(100))
    assert max(one.num_rows for one in found) <= 7


def test_what_is_small_is_left_whole():
    batch = pa.record_batch([pa.array(range(1000)), pa.array(["a"] * 1000)], ["a", "b"])
    assert list(pieces(batch)) == [batch]
    empty = batch.slice(0, 0)
    assert list(pieces(empty)) == [empty]


@pytest.mark.parametrize("encoding", ["dictionary", "DELTA_BYTE_ARRAY"])
def test_a_small_file_of_wide_values_is_read_in_pieces(
    lake: Lake, encoding: str, monkeypatch: pytest.MonkeyPatch
):
    """A file of some hundred bytes, whose text is that of 512 MiB, where a server reads it."""
    monkeypatch.setattr(parquetrows, "_guarded", Event())
    parquetrows.guard()
    sink = io.BytesIO()
    options: dict[str, Any]
    if encoding == "dictionary":
        rows, options = pa.table({"n": pa.repeat(1, ROWS), "a": dictionary(ROWS)}), {}
    else:
        rows = pa.table({"n": pa.repeat(1, 16_384), "a": pa.repeat(WIDE, 16_384)})
        options = {"use_dictionary": False, "column_encoding": {"a": encoding}}
    pq.write_table(rows, sink, store_schema=False, compression="zstd", **options)
    del rows
    assert len(sink.getvalue()) < 100_000
    table = table_of(lake, {"/a.parquet": sink.getvalue()})
    before = pa.total_allocated_bytes()
    seen = most = 0
    for batch in record_batches(lake._core, table):
        assert batch.schema.field("a").type == pa.string()
        assert batch.column("a")[0].as_py() == WIDE
        seen += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
        if seen > 20_000:
            break
    assert seen > 4000
    assert most < 4 * MOST_BYTES
