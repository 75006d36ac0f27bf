"""Moments are integers inside (microseconds since 1970, UTC) and RFC 3339 text outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now_micros() -> int:
    return time.time_ns() // 1000


def to_rfc3339(micros: int) -> str:
    moment = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
