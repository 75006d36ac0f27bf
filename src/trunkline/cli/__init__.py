"""The command line: parse, call the SDK, hand the result to `output`.

One file per noun. An `if` about the domain belongs below. Nothing here imports rich, the
SDK or anything below it until a command needs it: `trunkline ls` must answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        from trunkline.cli import entry
    except KeyboardInterrupt:  # before there is anything to interrupt
        return 130
    return entry.main(args)


__all__ = ["main"]
