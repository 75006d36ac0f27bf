"""One line per file: how a commit lists what it holds.

A line is its fields joined by tabs. No path contains a control character, so lines sort
as their paths do, two listings differ exactly where their lines do, and the set
operations of the interpreter do the work that a table library would.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import AnyStr, NamedTuple

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

    def copied(self, path: str) -> Entry:
        """The same file at another path.

        What is known of the rows of a table's file counts the names of its folders in. In other
        folders it has other rows, and no more is known of it than of any file.
        """
        if is_in_folders(self.stats) and _folders(path) != _folders(self.path):
            return replace(self, path=path, hash=self.checksum, byte_hash="", stats="")
        return replace(self, path=path)

    def without_bounds(self) -> Entry:
        """With the names of its columns, but none of the values that were in them."""
        if not self.stats:
            return self
        columns = json.loads(self.stats).items()
        plain = {name: [None, None, *rest] for name, (_, _, *rest) in columns}
        return replace(self, stats=json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


IN_FOLDERS = '"/":[null,null,-1]'
"""The first of the statistics of a table's file that lacks the columns of its folders."""


def is_in_folders(stats: str) -> bool:
    """Whether a file is known to have its partition's values in the names of folders alone."""
    return stats.startswith("{" + IN_FOLDERS)


def _folders(path: str) -> list[str]:
    return [one for one in path.split("/")[:-1] if "=" in one]


class FileBytes(NamedTuple):
    """What reading a file needs; `offset` is -1 for a whole object."""

    path: str
    digest: str
    size: int
    key: str
    offset: int

    @classmethod
    def decode(cls, line: str) -> FileBytes:
        return cls(*_read(line.split("\t"), "-"))


LineBytes = tuple[bytes, bytes, int, bytes, int]


def line_bytes(line: bytes) -> LineBytes:
    """As `FileBytes`, for whoever writes so many files that decoding their names would count."""
    return _read(line.split(TAB), WHOLE_OBJECT)


def _read(fields: list[AnyStr], whole: AnyStr) -> tuple[AnyStr, AnyStr, int, AnyStr, int]:
    path, hash_, size, key, offset = fields[:5]
    digest = fields[7] if len(fields) > 7 and fields[7] else hash_
    return path, digest, int(size), key, -1 if offset == whole else int(offset)


def undecoded(lines: Iterable[bytes], most: int = -1) -> list[list[bytes]]:
    """The fields of lines as they are, for whoever needs few of many; the last holds the rest."""
    return [line.split(TAB, most) for line in lines]


def join_fields(fields: Iterable[bytes]) -> bytes:
    return TAB.join(fields)


def line_path(line: bytes) -> bytes:
    return line[: line.index(TAB)]


def text_path(line: str) -> str:
    """As `line_path`, of a line that came as text."""
    return line[: line.index("\t")]


def by_path(lines: Iterable[bytes]) -> dict[bytes, bytes]:
    # As `line_path`, without a call for each of very many.
    return {line[: line.index(TAB)]: line for line in lines}


def line_hash(line: bytes) -> bytes:
    return line.split(TAB, 2)[1]


def line_size(line: bytes) -> int:
    return int(line.split(TAB, 3)[2])


def line_object(line: bytes) -> bytes:
    return line.split(TAB, 4)[3]


def line_owner(line: bytes) -> bytes:
    fields = line.split(TAB, 6)
    return fields[5] if len(fields) > 5 else b""


def total_size(lines: Iterable[bytes]) -> int:
    # As `line_size`, without a call for each of thousands.
    return sum([int(line.split(TAB, 3)[2]) for line in lines])


def objects_of(lines: Iterable[bytes]) -> set[str]:
    """The objects that hold the files of some lines."""
    return {key.decode() for key in {line.split(TAB, 4)[3] for line in lines}}
