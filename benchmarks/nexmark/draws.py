"""What is random of an event: numbers and texts that follow from the event's number alone.

They come from SplitMix64 over (seed, block, place in the block, field), and prices from products
of tables that are exact: neither a library's generator nor a processor's `pow` has a say in them.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Words = NDArray[np.uint64]

BLOCK = 50_000
"""How many events share a key of their numbers, and are digested together."""
_GOLDEN = 0x9E3779B97F4A7C15
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)[np.arange(256) * 26 >> 8]
DIGITS = np.frombuffer(b"0123456789", np.uint8)[np.arange(256) * 10 >> 8]


class Draw:
    """What is random of some events. A `field` has one draw for each of them."""

    def __init__(self, seed: int, n: Numbers) -> None:
        block = (n // BLOCK).astype(np.uint64)
        place = (n % BLOCK).astype(np.uint64)
        key = _mix(_mix(_word(seed) + np.zeros(1, np.uint64)) ^ _mix(block))
        self._start = key + place * _word(_GOLDEN * 64)

    def word(self, field: int) -> Words:
        return _mix(self._start + _word(_GOLDEN * (field + 1)))

    def below(self, field: int, most: int | Numbers) -> Numbers:
        """Uniform from 0 up to `most`, which is less than 2**32."""
        high = self.word(field) >> np.uint64(32)
        return (high * np.asarray(most).astype(np.uint64) >> np.uint64(32)).astype(np.int64)

    def price(self, field: int) -> Numbers:
        """round(100 · 10^(6u)), u uniform in [0, 1) of 30 bits."""
        bits = (self.word(field) >> np.uint64(34)).astype(np.int64)
        coarse, middle, fine = _powers()
        found = coarse[bits >> 20] * middle[bits >> 10 & 1023] * fine[bits & 1023]
        whole: Numbers = np.rint(found).astype(np.int64)
        return whole

    def text(
        self, field: int, least: int, alphabet: NDArray[np.uint8] = LETTERS, more: int = 1
    ) -> pa.Array:
        """Letters, from `least` of them up to `least + more`."""
        start = self.word(field)
        length = least + (start % _word(more)).astype(np.int64)
        width = -(-(least + more - 1) // 8)
        steps = np.arange(1, width + 1, dtype=np.uint64) * _word(_GOLDEN)
        words = _mix(start[:, None] + steps[None, :])
        letters = alphabet[words.astype("<u8").view(np.uint8)]
        letters = letters[np.arange(width * 8)[None, :] < length[:, None]]
        ends = np.zeros(len(length) + 1, np.int32)
        np.cumsum(length, out=ends[1:])
        return pa.StringArray.from_buffers(len(length), pa.py_buffer(ends), pa.py_buffer(letters))


def _word(number: int) -> np.uint64:
    return np.uint64(number & (2**64 - 1))


def _mix(words: Words) -> Words:
    """The finisher of SplitMix64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@cache
def _powers() -> tuple[NDArray[np.float64], ...]:
    """100 · 10^(6u) as a product of three, each for ten bits of u, rounded to the nearest."""
    with localcontext() as context:
        context.prec = 40
        tables = [
            [factor * Decimal(10) ** (Decimal(6 * step) / 1024**level) for step in range(1024)]
            for level, factor in ((1, 100), (2, 1), (3, 1))
        ]
    return tuple(np.array([float(value) for value in table]) for table in tables)
