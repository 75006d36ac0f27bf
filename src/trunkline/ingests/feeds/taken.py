"""Which files of a folder were taken, remembered in the tree of the commit that holds them.

For each there is a tiny file `/_ingest/taken/<its path>:` with its size and time. The tree is a
sorted map that commits share, so this grows as any repo does: no row of the catalog and no list
that is written anew each time. It is durable in the very transaction that makes the data
visible, and goes back with the branch when the ingest is rewound. Whether a file is the one that
was taken is told by the hash of that tiny file, without reading it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from enum import Enum, auto
from urllib.parse import quote

from blake3 import blake3

from trunkline.ingests.feeds.base import OWN
from trunkline.lake.core import Core
from trunkline.lake.files import read
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry, line_hash
from trunkline.model.paths import LONGEST_PATH

Stat = tuple[int, int]
"""Size, and time of the last change in nanoseconds."""
Version = tuple[int, int | str]
"""The same, or what else a store tells versions apart by."""


class Known(Enum):
    """What the tree says of a file."""

    NEW = auto()
    TAKEN = auto()
    CHANGED = auto()
    UNREADABLE = auto()


def mark(stat: Version, *, readable: bool = True) -> bytes:
    return f"{'' if readable else 'unreadable '}{stat[0]} {stat[1]}\n".encode()


def taken_path(relative: str) -> str:
    return _path("taken", relative)


def parts_path(relative: str) -> str:
    """Where it is kept which files of the table hold the rows of a file."""
    return _path("parts", relative)


def known(tree: Tree, relative: str, stat: Version) -> Known:
    line = tree.find(taken_path(relative).encode())
    if line is None:
        return Known.NEW
    digest = line_hash(line)
    if digest == _hash(mark(stat)):
        return Known.TAKEN
    return Known.UNREADABLE if digest == _hash(mark(stat, readable=False)) else Known.CHANGED


def parts(core: Core, tree: Tree, relative: str) -> list[str] | None:
    """The files of the table with the rows of a file; None if they are no longer apart."""
    line = tree.find(parts_path(relative).encode())
    if line is None:
        return None
    found: list[str] = json.loads(b"".join(read(core, Entry.decode(line))))
    return found if all(tree.find(path.encode()) for path in found) else None


def parts_data(paths: Sequence[str]) -> bytes:
    return json.dumps(list(paths)).encode()


def _path(folder: str, relative: str) -> str:
    # No folder's name ends so, as a colon is always quoted: a name may be a file, later a folder.
    path = f"{OWN}/{folder}/{quote(os.fsencode(relative), safe='/ ')}:"
    if len(path) > LONGEST_PATH:
        path = f"{OWN}/{folder}/{blake3(os.fsencode(relative)).hexdigest()}:"
    return path


def _hash(data: bytes) -> bytes:
    return blake3(data).hexdigest().encode()
