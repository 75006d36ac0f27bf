"""A folder in one answer: as a tar archive, or as a bundle in the order of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from trunkline.lake import files
from trunkline.lake.core import Core
from trunkline.model.entries import Entry, LineBytes, line_bytes, line_path
from trunkline.sdk.getting import Selection
from trunkline.sdk.wire.bundles import encode_header
from trunkline.storage.objects.exporter import spans
from trunkline.storage.objects.failures import corrupt, missing

PAGE = 100_000
"""So many files are in one bundle; the next one goes on after the last path."""
_BLOCK = 512
_GATHERED = 1 << 20


@dataclass(frozen=True, slots=True)
class Listed:
    """Some files of a selection, in the order in which their bytes follow."""

    header: bytes
    fields: Sequence[LineBytes]


def listed(chosen: Selection, commit: str | None, after: str | None, limit: int) -> Listed:
    """The beginning of a bundle of the files after a path."""
    lines = sorted(chosen.lines)
    if after is not None:
        past = after.encode() + b"\t\xff"
        lines = [line for line in lines if line >= past]
    more = lines[limit:]
    lines = lines[:limit]
    # The order of the packs, so that each is read once from start to end.
    fields = sorted(map(line_bytes, lines), key=lambda one: (one[3], one[4]))
    rows: list[Any] = [[one[0].decode(), one[2], one[1].decode()] for one in fields]
    header = encode_header(
        rows,
        base=chosen.base,
        single=chosen.single,
        erased=chosen.erased,
        commit=commit,
        next=line_path(lines[-1]).decode() if more else None,
    )
    return Listed(header, fields)


def bundle(core: Core, found: Listed) -> Iterator[bytes]:
    """The bundle. Hashes are left to its reader, who has them in the header."""
    gathered, size = [found.header], len(found.header)
    for block in _contents(core, found.fields):
        gathered.append(block)
        size += len(block)
        if size >= _GATHERED:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)


def _contents(core: Core, fields: Sequence[LineBytes]) -> Iterator[bytes]:
    for span in spans(fields):
        path, digest, _, key, start = span[0]
        try:
            if start < 0:
                for one in span:
                    yield from _object(core, one)
                continue
            length = max(one[4] + one[2] for one in span) - start
            data = core.objects.get_range(key.decode(), start, length) if length else b""
        except FileNotFoundError:
            raise missing(path.decode(), digest.decode(), key.decode()) from None
        if len(data) != length:
            raise corrupt(path.decode(), digest.decode(), key.decode())
        if sum(one[2] for one in span) == length and _is_in_order(span):
            yield data
            continue
        for one in span:
            yield data[one[4] - start : one[4] - start + one[2]]


def _object(core: Core, one: LineBytes) -> Iterator[bytes]:
    path, digest, size, key, _ = one
    done = 0
    for piece in core.objects.stream(key.decode(), 0, size):
        done += len(piece)
        yield piece
    if done != size:
        raise corrupt(path.decode(), digest.decode(), key.decode())


def _is_in_order(span: Sequence[LineBytes]) -> bool:
    """Whether files lie one after the other, without gaps and without any twice."""
    place = span[0][4]
    for one in span:
        if one[4] != place:
            return False
        place += one[2]
    return True


def tar(core: Core, chosen: Selection) -> Iterator[bytes]:
    """An archive of everything, in path order, each file checked against its hash."""
    import tarfile  # with every compression there is, for archives only

    start = len(chosen.base.rstrip("/")) + 1
    gathered: list[bytes] = []
    size = 0
    for line in chosen.lines:
        entry = Entry.decode(line)
        info = tarfile.TarInfo(entry.path[start:] or entry.path.rpartition("/")[2])
        info.size, info.mode = entry.size, 0o644
        head = info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
        padding = b"\0" * (-entry.size % _BLOCK)
        for block in chain((head,), files.read(core, entry), (padding,)):
            gathered.append(block)
            size += len(block)
            if size >= _GATHERED:
                yield b"".join(gathered)
                gathered, size = [], 0
    yield b"".join((*gathered, b"\0" * (2 * _BLOCK)))
