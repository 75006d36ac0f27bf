"""Bundles: many files in one body, with nothing between them.

    8 bytes     the length of the header, big-endian
    header      JSON: {"files": [[path, size], …], …}
    bytes       of one file after the other, in the header's order

What else the header may hold is the business of who sends it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from trunkline.errors import TooLarge, Usage
from trunkline.model.paths import ROOT, normalize_path

LARGEST_HEADER = 64 << 20
MOST_FILES = 1_000_000
PIECE = 1 << 20
_PREFIX = 8


@dataclass(frozen=True, slots=True)
class Header:
    """What a bundle holds. `files` are (path, size) with a hash where the sender knows it."""

    files: list[tuple[str, int, str]]
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(size for _, size, _ in self.files)


def encode_header(files: list[Any], **more: Any) -> bytes:
    """The beginning of a bundle; the bytes of the files follow."""
    text = json.dumps({"files": files, **more}, separators=(",", ":")).encode()
    return len(text).to_bytes(_PREFIX, "big") + text


def read_header(stream: BinaryIO) -> Header:
    """The header, checked; the stream stands at the bytes of the first file then."""
    length = int.from_bytes(_exactly(stream, _PREFIX), "big")
    if length > LARGEST_HEADER:
        raise TooLarge(f"The header of a bundle is at most {LARGEST_HEADER:,} bytes long.")
    try:
        told = json.loads(_exactly(stream, length))
        listed = told.pop("files")
        files = [(row[0], row[1], row[2] if len(row) > 2 else "") for row in listed]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise Usage("The header of the bundle cannot be read.", hint=_HINT) from None
    if len(files) > MOST_FILES:
        raise TooLarge(f"A bundle holds at most {MOST_FILES:,} files.")
    return Header([(_path(path), _size(path, size), str(h)) for path, size, h in files], told)


def read_files(stream: BinaryIO, header: Header) -> Iterator[tuple[str, Iterator[bytes]]]:
    """(path, pieces) of each file in turn. All pieces are read before the next is asked for."""
    for path, size, _ in header.files:
        if size <= PIECE:
            yield path, iter((_exactly(stream, size),)) if size else iter(())
            continue
        pieces = _pieces(stream, size)
        yield path, pieces
        for _ in pieces:
            pass


def read_end(stream: BinaryIO) -> None:
    """Nothing may follow the last file."""
    if stream.read(1):
        raise Usage("The bundle is longer than its header says.", hint=_HINT)


_HINT = "See docs: a bundle is a length, a header and the bytes of its files."


def _pieces(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while size:
        piece = _exactly(stream, min(size, PIECE))
        size -= len(piece)
        yield piece


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    while len(data) < size:
        more = stream.read(size - len(data))
        if not more:
            raise Usage("The bundle is shorter than it says.", hint=_HINT)
        data += more
    return data


def _path(path: object) -> str:
    if not isinstance(path, str):
        raise Usage("The header of the bundle names a path that is no text.", hint=_HINT)
    name = normalize_path(path)
    if name == ROOT:
        raise Usage("A file cannot be put at /.", hint="Name a path, as in /day=1/a.csv.")
    return name


def _size(path: object, size: object) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Usage(f"The size of {path} in the bundle is none.", hint=_HINT)
    return size
