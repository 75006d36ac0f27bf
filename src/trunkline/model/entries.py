"""One line per file: how a commit lists what it holds.

A line is its fields joined by tabs. No path contains a control character, so lines sort
as their paths do, two listings differ exactly where their lines do, and the set
operations of the interpreter do the work that a table library would.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

TAB = b"\t"
WHOLE_OBJECT = b"-"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: what it is (`hash`, `size`) and where its bytes are (`key`, `offset`).

    `offset` is None when the object `key` is the file, else the file's place in a pack.
    `hash` is BLAKE3 of the bytes. For table files it may be the fingerprint of the rows;
    then `byte_hash` is that of the bytes; for a file by reference, whose `key` leads outside the
    lake, it stands for address, size and version. `owner` is the datum that wrote the file.
    `stats` is JSON: {"column": [least, greatest, nulls]}; empty if unknown.
    """

    path: str
    hash: str
    size: int
    key: str
    offset: int | None = None
    owner: str = ""
    rows: int | None = None
    byte_hash: str = ""
    stats: str = ""

    def encode(self) -> bytes:
        line = "\t".join(
            (
                self.path,
                self.hash,
                str(self.size),
                self.key,
                "-" if self.offset is None else str(self.offset),
                self.owner,
                "" if self.rows is None else str(self.rows),
                self.byte_hash,
                self.stats,
            )
        )
        return line.rstrip("\t").encode()

    @classmethod
    def decode(cls, line: bytes) -> Entry:
        path, hash_, size, key, offset, *rest = line.decode().split("\t")
        owner, rows, byte_hash, stats = (*rest, "", "", "", "")[:4]
        return cls(
            path,
            hash_,
            int(size),
            key,
            None if offset == "-" else int(offset),
            owner,
            int(rows) if rows else None,
            byte_hash,
            stats,
        )

    @property
    def checksum(self) -> str:
        """BLAKE3 of the bytes, whatever `hash` stands for."""
        return self.byte_hash or self.hash

    def without_bounds(self) -> Entry:
        """With the names of its columns, but none of the values that were in them."""
        if not self.stats:
            return self
        columns = json.loads(self.stats).items()
        plain = {name: [None, None, *rest] for name, (_, _, *rest) in columns}
        return replace(self, stats=json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def line_path(line: bytes) -> bytes:
    return line[: line.index(TAB)]


def line_hash(line: bytes) -> bytes:
    return line.split(TAB, 2)[1]


def line_size(line: bytes) -> int:
    return int(line.split(TAB, 3)[2])
