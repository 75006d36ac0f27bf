"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 180.0
"""What has not come about by then never will, however busy the machine is."""


def until(is_so: Callable[[], Any], what: str = "it", seconds: float = PATIENCE) -> Any:
    """Ask again and again until the answer is yes, and give it."""
    end = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.02)
    return found
