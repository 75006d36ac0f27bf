"""A row of every type that a table has."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa

EVERY_TYPE = pa.Table.from_pylist(
    [
        {
            "price": Decimal("12.50"),
            "at": datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC),
            "wall": datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
            "day": datetime.date(2026, 1, 2),
            "raw": b"\x00\xff",
            "whole": {"a": 1, "list": ["x", None]},
            "pairs": [("k", 1)],
            "small": 7,
            "float": 0.5,
            "yes": True,
            "nothing": None,
        },
    ],
    schema=pa.schema(
        [
            ("price", pa.decimal128(10, 2)),
            ("at", pa.timestamp("us", "UTC")),
            ("wall", pa.timestamp("us")),
            ("day", pa.date32()),
            ("raw", pa.binary()),
            ("whole", pa.struct([("a", pa.int32()), ("list", pa.list_(pa.string()))])),
            ("pairs", pa.map_(pa.string(), pa.int64())),
            ("small", pa.int16()),
            ("float", pa.float32()),
            ("yes", pa.bool_()),
            ("nothing", pa.string()),
        ]
    ),
)
