"""What DuckDB says when something goes wrong, taken apart."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.model.tables import ScanFile
from trunkline.tables.reading.opening import unreadable

if TYPE_CHECKING:
    from trunkline.tables.describe import Table

# Where a file is gone DuckDB looks for a folder, which it may not if it is locked.
_BELOW = "/**/*.parquet"
_ABOUT_FILES = ("IO", "Invalid Input", "Serialization", "Permission")


class Said(NamedTuple):
    """`location` is the first byte in the query and how many, if it is there that it went wrong."""

    kind: str
    message: str
    location: tuple[int, int] | None


def said(error: Exception) -> Said:
    """From an error of a connection that was told to say them in JSON."""
    text = str(error)
    head, _, rest = text.partition(" Error: ")
    try:
        found = json.loads(rest)
        kind, message = str(found["exception_type"]), str(found["exception_message"])
    except (ValueError, KeyError, TypeError):
        return Said(head, (rest or text).split("\n\nLINE ")[0], None)
    try:
        start, length = json.loads(found["location"])
        return Said(kind, message, (int(start), int(length)))
    except (ValueError, KeyError, TypeError):
        return Said(kind, message, None)


def is_invalidated(error: Exception) -> bool:
    """Whether an internal error of another query has ended the whole DuckDB."""
    return "database has been invalidated" in str(error)


def is_internal(error: Exception) -> bool:
    """Whether it ends the whole DuckDB, for every query."""
    return said(error).kind.casefold() in ("internal", "fatal")


def broken_file(
    core: Core, files: Mapping[str, tuple[Table, ScanFile]], error: Exception
) -> TrunklineError | None:
    """The error in the words of the lake, if it is about one of these files."""
    kind, message, _ = said(error)
    if kind not in _ABOUT_FILES:
        return None
    for named in re.findall(r"[\"']([^\"']+)[\"']", message):
        path = named.removesuffix(_BELOW)
        if path in files:
            table, file = files[path]
            entry = next(one for one in table.entries if one.path == file.path)
            gone = not os.path.exists(path)
            plain = ValueError("it is gone" if gone else message.replace(named, file.path))
            return unreadable(core, entry, table.name, "Parquet", plain)
    return None
