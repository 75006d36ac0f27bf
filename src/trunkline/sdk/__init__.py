"""The Python interface: `open` a lake, then say what you want in refs and get values back.

The command line is written on this package alone. It parses strings, finds settings and calls
the layers below; it decides nothing about versions itself.
"""

from trunkline.sdk.lake import Lake, adopt, init, migrate, open
from trunkline.sdk.results import Diff, DiffStat, GetReport, Status

__all__ = [
    "Diff",
    "DiffStat",
    "GetReport",
    "Lake",
    "Status",
    "adopt",
    "init",
    "migrate",
    "open",
]
