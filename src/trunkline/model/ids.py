"""Commit ids: 32 hex digits that sort by the time they were made (the layout of a UUIDv7)."""

from __future__ import annotations

import os
import threading
import time

ID_LENGTH = 32
SHORTEST_PREFIX = 8
_HEX = frozenset("0123456789abcdef")

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """A new id, greater than every id this process made before."""
    global _last
    with _lock:
        # 48 bits of milliseconds and 12 of the fraction: ids made in one process never tie.
        tick = time.time_ns() * 4096 // 1_000_000
        if tick <= _last:
            # After a clock was set back each has a millisecond of its own: short ids stay distinct.
            tick = _last + (1 if tick // 4096 == _last // 4096 else 4096)
        _last = tick
    millis, fraction = divmod(tick, 4096)
    tail = int.from_bytes(os.urandom(8), "big") & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return f"{millis:012x}7{fraction:03x}{tail:016x}"


def id_millis(commit_id: str) -> int:
    """When the id was made, in milliseconds since 1970 (UTC)."""
    return int(commit_id[:12], 16)


def is_id(text: str) -> bool:
    return len(text) == ID_LENGTH and _HEX.issuperset(text)


def is_id_like(text: str) -> bool:
    """Whether it looks like an id, cut too short perhaps, rather than a name."""
    return text[:1].isdigit() and _HEX.issuperset(text)


def is_id_prefix(text: str) -> bool:
    return SHORTEST_PREFIX <= len(text) <= ID_LENGTH and _HEX.issuperset(text)
