"""Object names. Each carries the id of the transaction that wrote it: gc depends on that."""

from __future__ import annotations

import re
import time
from itertools import count

from trunkline import errors
from trunkline.model.ids import id_millis

DATA = "data/"
PACKS = "packs/"
MANIFESTS = "manifests/"
JOBS = "jobs/"
STREAMS = "streams/"
"""Checkpoints, by the key of the repo and an id. Spark writes them: see `loose`."""
KNOWN = "known/"
"""What was found out about objects outside of the lake. See `known`."""
TEMPORARY = "tmp/"
OUTSIDE = "outside/"
"""What the lake lists and does not hold: no object of the store is named so. See `outside`."""
LONGEST_KEY = 512

_PART = r"[A-Za-z0-9_][A-Za-z0-9_.=-]*"
_key = re.compile(rf"(?=.{{1,{LONGEST_KEY}}}\Z){_PART}(?:/{_PART})*\Z")
_txn = re.compile(r"([0-9a-f]{32})-[^/]*\Z")
_extensions = re.compile(r"\.*[^.].*?((?:\.[A-Za-z0-9_]{1,12}){1,2})\Z", re.DOTALL)


class KeyMaker:
    """Names for the objects of one transaction, no name twice. Safe in threads.

    Two makers with the same id and prefix give the same names: in one process share one
    maker, give another process a maker of its own with `branch`.
    """

    def __init__(self, txn: str, prefix: str = "") -> None:
        self.txn = txn
        self.prefix = prefix
        day = time.strftime("%Y%m%d", time.gmtime(id_millis(txn) / 1000))
        self._stem = f"{day}/{txn}-{prefix}"
        self._next = count().__next__

    def data(self, path: str) -> str:
        """For a whole file. Its extensions are kept: readers choose codecs by them."""
        return f"{DATA}{self._stem}{self._next():x}{extensions(path)}"

    def pack(self) -> str:
        return f"{PACKS}{self._stem}{self._next():x}.pack"

    def manifest(self) -> str:
        return f"{MANIFESTS}{self._stem}{self._next():x}.tlm"

    def branch(self) -> KeyMaker:
        """A maker whose names no other maker of this transaction gives."""
        # No hexadecimal number contains an "x".
        return KeyMaker(self.txn, f"{self.prefix}{self._next():x}x")


def txn_of(key: str) -> str | None:
    """The transaction that wrote the object, also for keys of `ObjectStore.abandoned`."""
    found = _txn.search(key)
    return found[1] if found and (found.start() == 0 or key[found.start() - 1] == "/") else None


def extensions(path: str) -> str:
    """At most two suffixes of the file's name: ".csv.gz" of "/a/b.csv.gz"."""
    found = _extensions.match(path.rpartition("/")[2])
    return found[1] if found else ""


def check_key(key: str) -> str:
    if _key.match(key) is None:
        raise errors.CorruptObject(
            f"{key[:80]!r} is not the name of an object.",
            hint="A manifest may be damaged: run `trunkline fsck`",
        )
    return key
