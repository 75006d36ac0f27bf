"""How much work something is, without a clock: the calls that are made on the way."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """How many calls this thread makes from Python, of functions in Python and in C.

    What C calls from within C is not seen: `list(filter(compiled.match, lines))` is two calls,
    however many lines there are.
    """
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # whenever it comes, it calls those who asked for it
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count


def assert_linear(work: Callable[[int], object], size: int = 1_000, times: int = 10) -> None:
    """`work(n)` for ten times as many takes ten times the calls at most."""
    few, many = calls(lambda: work(size)), calls(lambda: work(size * times))
    assert many <= times * few, f"{few:,} calls for {size:,}, {many:,} for {size * times:,}"
