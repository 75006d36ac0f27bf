"""Bodies of requests about what was deleted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undelete:
    """`ref` is the branch or tag, if it is one. With `as_name` it is had back under another name;
    `id` is that of an earlier deletion.
    """

    ref: str = ""
    as_name: str | None = None
    id: int | None = None
