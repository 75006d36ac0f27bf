"""Bodies of requests: streams and ingests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rewind:
    """`to` is one of the stream's own revisions."""

    to: str


@dataclass(frozen=True, slots=True)
class Restart:
    """From the "start" of the inputs, from "now", or from a ref of theirs."""

    start: str = "start"
    keep_output: bool = False
