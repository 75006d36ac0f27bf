"""The hash of a row is exact: equal where what a reader sees is equal, and only there."""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from py4j.java_gateway import get_field  # type: ignore[import-untyped]

from tests.spark import shared_session
from trunkline.engine import tables
from trunkline.engine.session import Session

# Neighbours, which differ in the last place or in nothing but how they are spelled.
LEAVES: dict[pa.DataType, list[Any]] = {
    pa.bool_(): [True, False],
    pa.int8(): [0, 1, -1, 127, -128],
    pa.int16(): [0, 256, -(2**15)],
    pa.int32(): [0, 1, -1, 2**31 - 1],
    pa.int64(): [0, 1, 2**32, 2**63 - 1, -(2**63)],
    pa.float32(): [0.0, -0.0, math.nan, math.inf, -math.inf, 1.0, 1.0000001192092896],
    pa.float64(): [
        *(0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308),
        *(0.3, 0.1 + 0.2, 123456789012345.0, 123456789012346.0, 2.0**53, 2.0**53 + 2),
    ],
    pa.string(): ["", "a", "A", "ä", "a\u0308", "\0", "\0\0", "abcdefg", "abcdefgh", "abcdefgh\0"],
    pa.binary(): [b"", b"\0", b"\0\0", b"\xff" * 8, b"\xff" * 9, b"abcdefgh12345678"],
    pa.date32(): [date(1, 1, 1), date(1582, 10, 4), date(9999, 12, 31)],
    pa.timestamp("us", "UTC"): [
        datetime(2026, 1, 1, 0, 0, 0, 123456, UTC),
        datetime(2026, 1, 1, 0, 0, 0, 123999, UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999, UTC),
    ],
    pa.timestamp("us"): [datetime(2026, 1, 1, 0, 0, 0, 1), datetime(2026, 1, 1, 0, 0, 0, 2)],
    pa.decimal128(9, 2): [Decimal("0.00"), Decimal("1.00"), Decimal("-1.00"), Decimal("0.01")],
    pa.decimal128(38, 10): [
        Decimal(10) ** 27,
        Decimal("12345678901234567.89"),
        Decimal("12345678901234567.8900000001"),
        Decimal(0),
    ],
}


def values(kind: pa.DataType, empty: float = 0.25) -> st.SearchStrategy[Any]:
    if pa.types.is_struct(kind):
        inner: st.SearchStrategy[Any] = st.fixed_dictionaries(
            {field.name: values(field.type) for field in kind}
        )
    elif pa.types.is_map(kind):
        pairs = st.tuples(values(kind.key_type, empty=0), values(kind.item_type))
        inner = st.lists(pairs, max_size=2, unique_by=lambda pair: seen(pair[0]))
    elif pa.types.is_list(kind):
        inner = st.lists(values(kind.value_type), max_size=2)
    else:
        inner = st.sampled_from(LEAVES[kind])
    return inner if not empty else st.one_of(st.none(), inner, inner, inner)


def seen(value: Any) -> Any:
    """What a reader sees of a value, so that equal things are equal: zeros have signs, NaN not."""
    match value:
        case float():
            return "nan" if math.isnan(value) else struct.pack(">d", value)
        case dict():
            return tuple((name, seen(value[name])) for name in sorted(value))
        case list() | tuple():
            return tuple(map(seen, value))
    return value


NESTED = [
    pa.struct([("a", leaf), ("b", leaf)]) if place % 3 else pa.list_(leaf)
    for place, leaf in enumerate(LEAVES)
] + [
    pa.map_(pa.string(), pa.float64()),
    pa.map_(pa.int32(), pa.struct([("x", pa.string()), ("y", pa.string())])),
    pa.list_(pa.list_(pa.int32())),
    pa.list_(pa.struct([("t", pa.timestamp("us", "UTC")), ("n", pa.list_(pa.string()))])),
    pa.struct([("s", pa.struct([("m", pa.map_(pa.string(), pa.int64()))])), ("d", pa.float64())]),
]
ROWS = 40


def hashes(session: Session, column: pa.Array) -> list[tuple[int, int]]:
    frame = session.spark.createDataFrame(pa.table({"c": column}))
    hasher = tables.classes(session).RowHash(frame._jdf.schema())
    found = []
    for row in frame._jdf.queryExecution().executedPlan().executeCollect():
        hasher.of(row)
        found.append((get_field(hasher, "first"), get_field(hasher, "second")))
    return found


@pytest.fixture(scope="module")
def session() -> Session:
    return shared_session()


@given(
    st.fixed_dictionaries(
        {place: st.lists(values(kind), min_size=ROWS, max_size=ROWS)
         for place, kind in enumerate([*LEAVES, *NESTED])}
    )
)  # fmt: skip
@settings(
    max_examples=2,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_rows_differ_exactly_if_their_hashes_do(session: Session, columns: dict[int, list[Any]]):
    for place, kind in enumerate([*LEAVES, *NESTED]):
        column = columns[place]
        by_value: defaultdict[Any, set[tuple[int, int]]] = defaultdict(set)
        given = column + LEAVES.get(kind, [])
        for value, hashed in zip(given, hashes(session, pa.array(given, kind)), strict=True):
            by_value[seen(value)].add(hashed)
        assert all(len(found) == 1 for found in by_value.values()), kind
        for lane in (0, 1):  # each number alone tells the rows apart, too
            told = {next(iter(found))[lane] for found in by_value.values()}
            assert len(told) == len(by_value), kind


def test_values_do_not_change_places_unseen(session: Session):
    pairs = pa.struct([("a", pa.int64()), ("b", pa.int64())])
    found = hashes(session, pa.array([(1, 2), (3, 4), (1, 4), (3, 2), (2, 1)], pairs))
    for lane in (0, 1):
        one, two, three, four, five = (each[lane] for each in found)
        assert (one + two) % 2**64 != (three + four) % 2**64
        assert one != five


def test_a_value_of_a_type_that_no_table_holds_is_not_hashed(session: Session):
    schema = session.spark.sql("SELECT parse_json('1') AS v")._jdf.schema()
    with pytest.raises(Exception, match="tables hold no values of the type variant"):
        tables.classes(session).RowHash(schema)
