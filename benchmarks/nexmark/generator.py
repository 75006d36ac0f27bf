"""The events of Nexmark: persons, auctions and bids, each a pure function of its number.

Any range can be made on its own, in any order, and is the same as within a larger one. `digest`
is of the values alone, whatever made and holds them, and `FIRST_MILLION` must never change.

Of each 50 events one is a person, three are auctions, 46 are bids. Sizes of rows are about 200,
500 and 100 bytes. With a `group` the events come out of order, within blocks of so many: the
same events, and after each block all that came before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from blake3 import blake3

from benchmarks.nexmark.draws import BLOCK, DIGITS, Draw, Numbers

BASE = 1_436_918_400_000
"""When event 0 happens, in milliseconds: 2015-07-15 in UTC."""
FIRST_ID = 1000
FIRST_CATEGORY = 10
FIRST_MILLION = "eb1d4f600a400d894be4a9924c999600f63cf72793caf3bf57db4e59a622daaa"
"""The digest of the first million events as they are unless told otherwise."""

TIME = pa.timestamp("us", tz="UTC")
PERSON = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("email", pa.string()),
        ("credit_card", pa.string()),
        ("city", pa.string()),
        ("state", pa.string()),
        ("ts", TIME),
        ("extra", pa.string()),
    ]
)
AUCTION = pa.schema(
    [
        ("id", pa.int64()),
        ("item", pa.string()),
        ("description", pa.string()),
        ("initial_bid", pa.int64()),
        ("reserve", pa.int64()),
        ("ts", TIME),
        ("expires", TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("extra", pa.string()),
    ]
)
BID = pa.schema(
    [
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("channel", pa.string()),
        ("url", pa.string()),
        ("ts", TIME),
        ("extra", pa.string()),
    ]
)
SCHEMAS = {"person": PERSON, "auction": AUCTION, "bid": BID}

_SHUFFLE = 953
_HOT, _RECENT, _AHEAD = 100, 1000, 10
_FIRST = [
    "Peter",
    "Paul",
    "Luke",
    "John",
    "Saul",
    "Vicky",
    "Kate",
    "Julie",
    "Sarah",
    "Deiter",
    "Walter",
]
_LAST = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
_CITIES = [
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
]
_STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
_CHANNELS = ["Google", "Facebook", "Baidu", "Apple", *(f"channel-{n}" for n in range(1000))]


@dataclass(frozen=True)
class Views:
    """The rows of a range of events by kind, each in the order of the events."""

    person: pa.Table
    auction: pa.Table
    bid: pa.Table

    def tables(self) -> dict[str, pa.Table]:
        return {"person": self.person, "auction": self.auction, "bid": self.bid}


@dataclass(frozen=True)
class Generator:
    """`rate` events happen in a second. Without a `group` they come in order."""

    seed: int = 0
    rate: int = 10_000
    group: int = 1

    def __post_init__(self) -> None:
        if self.rate < 1 or self.group < 1 or gcd(self.group, _SHUFFLE) != 1:
            raise ValueError(
                f"rate and group are at least 1, and group is no multiple of {_SHUFFLE}."
            )

    def numbers(self, start: int, stop: int) -> Numbers:
        """The numbers of the events that come at the places from `start` up to `stop`."""
        place = np.arange(start, stop, dtype=np.int64)
        return place // self.group * self.group + place * _SHUFFLE % self.group

    def views(self, start: int, stop: int) -> Views:
        numbers = self.numbers(start, stop)
        place = numbers % 50
        return Views(
            self._persons(numbers[place == 0]),
            self._auctions(numbers[(place > 0) & (place < 4)]),
            self._bids(numbers[place > 3]),
        )

    def events(self, start: int, stop: int) -> pa.Table:
        """All in one table: `n`, `kind`, `ts`, and of three columns the one of its kind."""
        numbers = self.numbers(start, stop)
        kind = np.select([numbers % 50 == 0, numbers % 50 < 4], [0, 1], 2)
        kinds = pa.array(list(SCHEMAS)).take(pa.array(kind))
        columns = {"n": pa.array(numbers), "kind": kinds, "ts": self._time(numbers)}
        for code, (name, table) in enumerate(self.views(start, stop).tables().items()):
            mine = kind == code
            rows = pa.array(np.cumsum(mine) - 1, pa.int64(), mask=~mine)
            columns[name] = table.to_struct_array().combine_chunks().take(rows)
        return pa.table(columns)

    def blocks(self, stop: int, size: int = BLOCK) -> Iterator[Views]:
        for start in range(0, stop, size):
            yield self.views(start, min(start + size, stop))

    @property
    def longest_life(self) -> int:
        """No auction is open for more milliseconds: twice the time in which 100 are opened."""
        return max(2 * 100 * 50 * 1000 // (3 * self.rate), 1)

    def _persons(self, n: Numbers) -> pa.Table:
        draw = Draw(self.seed, n)
        first, last = draw.below(0, len(_FIRST)), draw.below(1, len(_LAST))
        digits = [draw.text(field, 4, DIGITS) for field in range(2, 6)]
        columns = [
            pa.array(FIRST_ID + n // 50),
            _join(" ", _pick(_FIRST, first), _pick(_LAST, last)),
            _join("", draw.text(6, 7), "@", draw.text(7, 5), ".com"),
            _join(" ", *digits),
            _pick(_CITIES, draw.below(8, len(_CITIES))),
            _pick(_STATES, draw.below(9, len(_STATES))),
            self._time(n),
            draw.text(10, 98, more=49),
        ]
        return pa.table(columns, schema=PERSON)

    def _auctions(self, n: Numbers) -> pa.Table:
        draw = Draw(self.seed, n)
        initial = draw.price(0)
        last = n // 50
        hot = draw.below(1, 4) < 3
        seller = np.where(hot, last // _HOT * _HOT, _recent_person(draw, 2, last))
        opened = self._millis(n)
        columns = [
            pa.array(FIRST_ID + _last_auction(n)),
            draw.text(3, 10, more=21),
            draw.text(4, 30, more=41),
            pa.array(initial),
            pa.array(initial + draw.price(5)),
            _times(opened),
            _times(opened + 1 + draw.below(6, self.longest_life)),
            pa.array(FIRST_ID + seller),
            pa.array(FIRST_CATEGORY + draw.below(7, 5)),
            draw.text(8, 299, more=150),
        ]
        return pa.table(columns, schema=AUCTION)

    def _bids(self, n: Numbers) -> pa.Table:
        draw = Draw(self.seed, n)
        last, person = _last_auction(n), n // 50
        oldest = np.maximum(last - _HOT, 0)
        other = oldest + draw.below(1, last + _AHEAD + 1 - oldest)
        auction = np.where(draw.below(0, 2) == 0, last // _HOT * _HOT, other)
        bidder = np.where(
            draw.below(2, 4) < 3, person // _HOT * _HOT + 1, _recent_person(draw, 3, person)
        )
        known = draw.below(5, 4)
        rare = 4 + draw.below(6, len(_CHANNELS) - 4)
        channel = np.where(draw.below(4, 2) == 0, known, rare)
        columns = [
            pa.array(FIRST_ID + auction),
            pa.array(FIRST_ID + bidder),
            pa.array(draw.price(7)),
            _pick(_CHANNELS, channel),
            _join("", "https://nexmark.com/", draw.text(8, 5)),
            self._time(n),
            draw.text(9, 28, more=15),
        ]
        return pa.table(columns, schema=BID)

    def _millis(self, n: Numbers) -> Numbers:
        return BASE + n * 1000 // self.rate

    def _time(self, n: Numbers) -> pa.Array:
        return _times(self._millis(n))


def digest(views: Iterator[Views]) -> str:
    """BLAKE3 of the values, block by block: numbers and microseconds as 64 bits, little end
    first; texts as their lengths, then their UTF-8.
    """
    found = blake3()
    for block in views:
        for name, table in block.tables().items():
            found.update(struct.pack("<q", table.num_rows) + name.encode())
            for column in table.columns:
                _digest_column(found, column.combine_chunks())
    return found.hexdigest()


def _digest_column(found: blake3, column: Any) -> None:
    if pa.types.is_string(column.type):
        found.update(_bytes(pc.binary_length(column)))
        found.update("".join(column.to_pylist()).encode())
    else:
        found.update(_bytes(column))


def _bytes(column: pa.Array) -> bytes:
    return column.cast(pa.int64()).to_numpy().astype("<i8").tobytes()  # type: ignore[no-any-return]


def _last_auction(n: Numbers) -> Numbers:
    """The index of the newest auction when an auction or a bid comes."""
    return n // 50 * 3 + np.minimum(n % 50, 3) - 1


def _recent_person(draw: Draw, field: int, last: Numbers) -> Numbers:
    """One of the newest thousand, or of the ten to come."""
    active = np.minimum(last + 1, _RECENT)
    return last + 1 - active + draw.below(field, active + _AHEAD)


def _pick(values: list[str], which: Numbers) -> pa.Array:
    return pa.array(values).take(pa.array(which))


def _join(separator: str, *parts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*parts, separator)


def _times(millis: Numbers) -> pa.Array:
    return pa.array(millis * 1000).cast(TIME)
