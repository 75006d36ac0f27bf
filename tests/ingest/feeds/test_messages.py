"""What the process of a generator tells its ingest arrives as it was, and runs nothing."""

from __future__ import annotations

import io
import json
import pickle
import struct
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from trunkline.ingests.feeds.messages import Ended, Idle, Item, Message, receive, send


class Colour(StrEnum):
    RED = "red"


def passed(message: Message) -> Any:
    pipe = io.BytesIO()
    send(pipe, message)
    pipe.seek(0)
    return receive(pipe)


def value(given: Any) -> Any:
    return passed(Item([{"v": given}], {})).rows[0]["v"]


@pytest.mark.parametrize(
    "given",
    [
        *(None, True, 0, -(2**70), 1.5, float("inf"), "", "ü\ud800\0", [], {}, [[1], None]),
        *(b"\0\xff", Decimal("1.10"), Decimal("Infinity")),
        *(date(1, 1, 1), datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 2, tzinfo=UTC)),
        *(time(1, 2, 3), timedelta(days=-1, microseconds=5)),
        {"": 1},
        {"": ["date", "2026-01-01"]},
        {"a": {"": {"": []}}},
        {1: "a", "1": "b", None: "c", 2: {3: date(2026, 1, 1)}},
        *(np.float32(0.1), np.int16(-5), np.uint64(2**64 - 1), np.bool_(False)),
        *(np.datetime64("2026-01-01T00:00:00.000000001"), np.timedelta64(5, "s")),
    ],
    ids=repr,
)
def test_values_are_what_they_were(given: Any) -> None:
    found = value(given)
    assert found == given
    assert type(found) is type(given)


def test_values_of_others(recwarn: pytest.WarningsRecorder) -> None:
    assert np.isnan(value(float("nan")))
    assert value((1, {2})) == [1, [2]]
    assert value(Colour.RED) == "red"
    assert value(UUID(int=5)) == "00000000-0000-0000-0000-000000000005"
    assert value(pd.NaT) is None and value(pd.NA) is None
    assert value(pd.Timestamp("2026-01-02 03:04:05.000006", tz="Europe/Berlin")) == datetime(
        2026, 1, 2, 2, 4, 5, 6, tzinfo=UTC
    )
    array = value(np.array([1, 2], "int32"))
    assert array.dtype == np.int32 and array.tolist() == [1, 2]
    assert value(np.array(["a", None], object)) == ["a", None]
    assert not recwarn.list


def test_everything_else_arrives_too() -> None:
    table = pa.table({"n": pa.array([1, None], pa.int8()), "s": [["a"], []]})
    found = passed(Item(table, {"position": {"next": [1, "x"]}}))
    assert found.rows.equals(table) and found.position == {"position": {"next": [1, "x"]}}
    assert passed(Item([7, "x", {"a": 1}], {"items": 1})) == Item([7, "x", {"a": 1}], {"items": 1})
    assert passed(Idle()) == Idle()
    assert passed(Ended("why", "what")) == Ended("why", "what")


def framed(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<cQ", kind, len(body)) + body


def rows(told: Any) -> bytes:
    return struct.pack("<I", 2) + b"{}" + json.dumps(told).encode()


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Ended("x")),
        framed(b"P", pickle.dumps(5)),
        framed(b"R", b""),
        framed(b"R", b"\xff" * 20),
        framed(b"R", struct.pack("<I", 1) + b"5[]"),
        framed(b"R", rows({"a": 1})),
        framed(b"R", rows([{"": ["exec", "1"]}])),
        framed(b"R", rows([{"": 5}])),
        framed(b"R", rows([{"": ["map", [[[], 1]]]}])),
        framed(b"R", rows([{"": ["numpy", ["O", [1]]]}])),
        framed(b"R", rows([{"": ["numpy", ["V999999999", 1]]}])),
        framed(b"R", rows([{"": ["decimal", "x"]}])),
        framed(b"R", struct.pack("<I", 2) + b"{}" + b"[" * 200_000),
        framed(b"T", rows([])),
        framed(b"E", b"[1]"),
        struct.pack("<cQ", b"R", 1 << 60) + b"x",
        b"",
    ],
    ids=range(17),
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, EOFError)):
        receive(io.BytesIO(data))


def test_a_table_whose_offsets_lead_elsewhere_is_refused() -> None:
    table = pa.table({"s": ["aaaa", "bbbb"]})
    pipe = io.BytesIO()
    send(pipe, Item(table, {}))
    data = pipe.getvalue()
    offsets = struct.pack("<iii", 0, 4, 8)
    assert data.count(offsets) == 1
    with pytest.raises(ValueError):
        receive(io.BytesIO(data.replace(offsets, struct.pack("<iii", 0, 4, 1 << 30))))
