"""The command line: parse, call the SDK, hand the result to `output`.

One file per noun. An `if` about the domain belongs below. Nothing here imports rich, the
SDK or anything below it until a command needs it: `trunkline ls` must answer at once.
"""

from trunkline.cli.entry import main

__all__ = ["main"]
