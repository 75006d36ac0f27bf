"""The command line: parse, call the SDK, hand the result to `output`.

One file per noun. An `if` about the domain belongs below. Nothing here imports rich, the
SDK or anything below it until a command needs it: `trunkline ls` must answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        # Imported here, so that an interrupt in the first moments ends like any other.
        from trunkline.cli import entry

        return entry.main(args)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
