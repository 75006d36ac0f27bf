"""A commit's tree on the object store: sorted lines, cut into ranges, and a root above them.

A range is a few thousand lines (see `model.entries`), named by the hash of their bytes. The
root lists the ranges with first and last path, count and bytes. Ranges end where a hash of
the line says so, so equal trees have equal ranges, however they came about, and a commit
writes only the ranges it touched. All other ranges are shared with its parent.

    root   trunkline-tree 1                                        \\  zstd
           <range id> <key> <files> <bytes> <first path> <last path> /
    range  <line> <line> …                                            zstd

A tree of one small range keeps it inside its root, under the key "-".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import zstandard
from blake3 import blake3

from trunkline.errors import CorruptObject, WrongFormat
from trunkline.model.entries import line_path, line_size, total_size
from trunkline.model.recent import Recent
from trunkline.storage.objects.port import ObjectStore

Lines = list[bytes]
T = TypeVar("T")

HEADER = b"trunkline-tree 1"
INLINE_KEY = "-"
INLINE_BYTES = 16 * 1024
CACHED_RANGES = 48
PREFETCH = 4


@dataclass(frozen=True, slots=True)
class Range:
    """A run of neighbouring lines: where it is kept and what it spans."""

    id: str
    key: str
    files: int
    size: int
    first: bytes
    last: bytes

    def encode(self) -> bytes:
        text = f"{self.id}\t{self.key}\t{self.files}\t{self.size}\t".encode()
        return text + self.first + b"\t" + self.last

    @classmethod
    def decode(cls, line: bytes) -> Range:
        range_id, key, files, size, first, last = line.split(b"\t")
        return cls(range_id.decode(), key.decode(), int(files), int(size), first, last)


class Tree:
    """The files of one commit, read range by range and only where someone looks."""

    def __init__(
        self,
        ranges: Sequence[Range],
        load: Callable[[Range], Lines],
        load_text: Callable[[Range], bytes] | None = None,
    ) -> None:
        self.ranges = tuple(ranges)
        self._load = load
        self._load_text = load_text or (lambda held: b"\n".join(load(held)))
        self._firsts = [r.first for r in self.ranges]
        self.files = sum(r.files for r in self.ranges)
        self.size = sum(r.size for r in self.ranges)

    def lines(self, held: Range) -> Lines:
        """The lines of one range. Shared with a cache: do not change the list."""
        return self._load(held)

    def find(self, path: bytes) -> bytes | None:
        """The line of a file, or None."""
        place = bisect_right(self._firsts, path) - 1
        if place < 0 or self.ranges[place].last < path:
            return None
        lines = self._load(self.ranges[place])
        index = bisect_left(lines, path + b"\t")
        if index < len(lines) and lines[index].startswith(path + b"\t"):
            return lines[index]
        return None

    def overlapping(self, low: bytes, high: bytes | None) -> Sequence[Range]:
        """The ranges that may hold paths in [low, high)."""
        start = max(bisect_right(self._firsts, low) - 1, 0)
        if start < len(self.ranges) and self.ranges[start].last < low:
            start += 1
        stop = len(self.ranges) if high is None else bisect_left(self._firsts, high)
        return self.ranges[start:stop]

    def has_below(self, folder: bytes) -> bool:
        """Whether any file lies below `folder` (given without its trailing slash)."""
        prefix = folder + b"/"
        for held in self.overlapping(prefix, prefix_end(prefix)):
            lines = self._load(held)
            index = bisect_left(lines, prefix)
            if index < len(lines) and lines[index].startswith(prefix):
                return True
        return False

    def chunks(self, prefix: bytes = b"/", start_at: bytes = b"") -> Iterator[Lines]:
        """The lines whose paths start with `prefix`, in order, in non-empty lists.

        With `start_at`, only those that do not sort before it; no range before it is read.
        """
        high = prefix_end(prefix)
        low = max(prefix, start_at)
        for lines in _ahead(self._load, self.overlapping(low, high)):
            start = bisect_left(lines, low)
            stop = bisect_left(lines, high) if high is not None else len(lines)
            if start < stop:
                yield lines if stop - start == len(lines) else lines[start:stop]

    def scan(self, prefix: bytes = b"/", start_at: bytes = b"") -> Iterator[bytes]:
        for lines in self.chunks(prefix, start_at):
            yield from lines

    def totals(self, prefix: bytes) -> tuple[int, int]:
        """Files and bytes below `prefix`. Ranges that lie inside it whole are not read."""
        high = prefix_end(prefix)
        files = size = 0
        for held in self.overlapping(prefix, high):
            if held.first >= prefix and held.last.startswith(prefix):
                files, size = files + held.files, size + held.size
                continue
            lines = self._load(held)
            start = bisect_left(lines, prefix)
            stop = bisect_left(lines, high) if high is not None else len(lines)
            files += max(stop - start, 0)
            size += sum(line_size(line) for line in lines[start:stop])
        return files, size

    def texts(self, ranges: Sequence[Range]) -> Iterator[bytes]:
        """The lines of ranges in order, each range as one text: for those who skip most of it."""
        return _ahead(self._load_text, ranges)


def _ahead(read: Callable[[Range], T], ranges: Sequence[Range]) -> Iterator[T]:
    """Read ranges in order, a few in advance when there are many."""
    if len(ranges) <= 2:
        for held in ranges:
            yield read(held)
        return
    with ThreadPoolExecutor(PREFETCH) as pool:
        pending = [pool.submit(read, held) for held in ranges[:PREFETCH]]
        for index in range(len(ranges)):
            found = pending.pop(0).result()
            following = index + PREFETCH
            if following < len(ranges):
                pending.append(pool.submit(read, ranges[following]))
            yield found


EMPTY = Tree((), lambda held: [])


def in_memory(pieces: Iterable[Range | Lines], kept: Tree) -> Tree:
    """A tree to look at that is stored nowhere. Ranges among the pieces are those of `kept`."""
    fresh: dict[str, Lines] = {}
    ranges = []
    for piece in pieces:
        if isinstance(piece, Range):
            ranges.append(piece)
            continue
        held = _describe(piece, b"\n".join(piece), "")
        fresh[held.id] = piece
        ranges.append(held)
    return Tree(ranges, lambda held: fresh.get(held.id) or kept.lines(held))


def prefix_end(prefix: bytes) -> bytes | None:
    """The least path greater than all that start with `prefix`. Paths hold no 0xFF byte."""
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None


class ManifestStore:
    """Reads and writes trees. What it reads is checked against its hash, then remembered."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._ranges: Recent[str, Lines] = Recent(CACHED_RANGES)

    def read(self, key: str | None, expected: str | None) -> Tree:
        if key is None or expected is None:
            return EMPTY
        raw = self._fetch(key, expected)
        head, _, inline = raw.partition(b"\n\n")
        header, *rows = head.split(b"\n")
        if header != HEADER:
            raise WrongFormat(f"Manifest {key} has an unknown format: {header[:40]!r}.")
        ranges = [Range.decode(row) for row in rows]
        if ranges and ranges[0].key == INLINE_KEY:
            lines = inline.split(b"\n")
            return Tree(ranges, lambda held: lines)
        return Tree(ranges, self._load, self._text)

    def write(
        self, pieces: Iterable[Range | Lines], new_key: Callable[[], str]
    ) -> tuple[str, str, Tree]:
        """Store the new ranges and a root above all pieces: its key, its hash, and the tree."""
        pieces = list(pieces)
        ranges: list[Range] = []
        body = b""
        if len(pieces) == 1 and (small := self._inline(pieces[0])):
            held, body = small
            ranges.append(held)
        else:
            ranges.extend(self._store_all(pieces, new_key))
        root = b"\n".join((HEADER, *(held.encode() for held in ranges)))
        raw = root + b"\n\n" + body if body else root
        key = new_key()
        self._objects.put(key, _compress(raw))
        lines = body.split(b"\n")
        tree = Tree(ranges, lambda held: lines) if body else Tree(ranges, self._load, self._text)
        return key, blake3(raw).hexdigest(), tree

    def _inline(self, piece: Range | Lines) -> tuple[Range, bytes] | None:
        if isinstance(piece, Range):
            # A range that lives inside another root cannot be pointed at: copy it.
            return None
        raw = b"\n".join(piece)
        return (_describe(piece, raw, INLINE_KEY), raw) if len(raw) <= INLINE_BYTES else None

    def _store_all(
        self, pieces: Sequence[Range | Lines], new_key: Callable[[], str]
    ) -> Iterator[Range]:
        """Store what is new, several at once if there are many: each waits for the disk."""
        fresh = [(piece, new_key()) for piece in pieces if not isinstance(piece, Range)]
        if len(fresh) <= 2:
            stored = [self._store(lines, key) for lines, key in fresh]
        else:
            with ThreadPoolExecutor(PREFETCH) as pool:
                stored = list(pool.map(lambda one: self._store(*one), fresh))
        following = iter(stored)
        for piece in pieces:
            yield piece if isinstance(piece, Range) else next(following)

    def _store(self, lines: Lines, key: str) -> Range:
        raw = b"\n".join(lines)
        held = _describe(lines, raw, key)
        self._objects.put(key, _compress(raw))
        self._ranges.put(held.id, lines)
        return held

    def _load(self, held: Range) -> Lines:
        return self._ranges.get(held.id, lambda: self._fetch(held.key, held.id).split(b"\n"))

    def _text(self, held: Range) -> bytes:
        lines = self._ranges.find(held.id)
        return self._fetch(held.key, held.id) if lines is None else b"\n".join(lines)

    def _fetch(self, key: str, expected: str) -> bytes:
        try:
            raw = decompress(self._objects.get(key))
        except FileNotFoundError:
            raise CorruptObject(
                f"Manifest {key} is missing: expected hash {expected}.", hint="Run: trunkline fsck"
            ) from None
        except zstandard.ZstdError:
            raw = b""
        if blake3(raw).hexdigest() != expected:
            raise CorruptObject(
                f"Manifest {key} is damaged: expected hash {expected}.", hint="Run: trunkline fsck"
            )
        return raw


def _describe(lines: Lines, raw: bytes, key: str) -> Range:
    first, last = line_path(lines[0]), line_path(lines[-1])
    return Range(blake3(raw).hexdigest(), key, len(lines), total_size(lines), first, last)


def range_id(lines: Lines) -> str:
    """What a range of these lines is called."""
    return blake3(b"\n".join(lines)).hexdigest()


def decompress(data: bytes) -> bytes:
    """All of one frame, whatever length a damaged one claims to have."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    raw = stream.decompress(data)
    if not stream.eof:
        raise zstandard.ZstdError("the frame is cut")
    return raw


def _compress(raw: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(raw)
