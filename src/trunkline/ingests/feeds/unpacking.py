"""What is in an archive, each member as a file below the archive's name.

An archive is read twice: once to see that all of it is sound, and only then to take it in. So one
that is cut short, or made to do harm, brings nothing.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from typing import IO, BinaryIO, cast

from trunkline.errors import SourceUnreadable, UnsafeArchive
from trunkline.ingests.archives import DEFAULT_LIMITS, ArchiveLimits, Member, iter_tar
from trunkline.ingests.feeds import reading
from trunkline.ingests.feeds.base import Piece, Refused, StoredEntry
from trunkline.ingests.zips import iter_zip
from trunkline.storage.objects.intake import Intake

_TARS = (".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
_IN_MEMORY = 16 << 20
HIDDEN = ("_", ".")


def is_archive(name: str) -> bool:
    return name.lower().endswith((".zip", *_TARS))


def is_hidden(relative: str) -> bool:
    return any(part.startswith(HIDDEN) for part in relative.split("/"))


def archive_pieces(
    file: IO[bytes],
    label: str,
    path: str,
    kind: str,
    most: int,
    limits: ArchiveLimits = DEFAULT_LIMITS,
) -> Iterator[tuple[str, Piece]]:
    """The pieces of an archive, each with the label of the member it is from.

    `path` is the archive's own in the repo. What cannot be unpacked is one refused row.
    """
    try:
        for _, chunks, _ in _members(file, label, limits):
            for _ in chunks:
                pass
    except (UnsafeArchive, SourceUnreadable) as error:
        yield label, Refused("", error.message, label)
        return
    for member, chunks, _ in _members(file, label, limits):
        if is_hidden(member[1:]):
            continue
        name = label + member
        for piece in stream_pieces(chunks, name, path + member, kind, most):
            yield name, piece


def stream_pieces(
    chunks: Iterable[bytes], label: str, path: str, kind: str, most: int
) -> Iterator[Piece]:
    """The pieces of a file that comes in chunks, each of which is read once."""
    kind = kind if kind != "auto" else reading.kind_of(label)
    if kind == "files":
        yield StoredEntry(path, partial(_store, chunks))
    elif kind == "parquet":
        # It is read from its end: keep it somewhere meanwhile.
        with spooled(chunks) as whole:
            yield from reading.pieces(whole, label, kind, most)
    else:
        yield from reading.pieces(ChunkReader(chunks), label, kind, most)


def spooled(chunks: Iterable[bytes]) -> IO[bytes]:
    """A file of what comes in chunks, on disk if it is large."""
    file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="trunkline-")  # noqa: SIM115
    try:
        shutil.copyfileobj(ChunkReader(chunks), file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return cast("IO[bytes]", file)


class ChunkReader:
    """Chunks as something to read from."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = memoryview(b"")

    def read(self, size: int = -1, /) -> bytes:
        found = io.BytesIO()
        while size < 0 or found.tell() < size:
            if not self._held:
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._held = memoryview(chunk)
            count = len(self._held) if size < 0 else size - found.tell()
            found.write(self._held[:count])
            self._held = self._held[count:]
        return found.getvalue()


def _members(file: IO[bytes], label: str, limits: ArchiveLimits) -> Iterator[Member]:
    file.seek(0)
    name = f"the archive {label}"
    if label.lower().endswith(".zip"):
        return iter_zip(file, limits, name=name)
    return iter_tar(cast("BinaryIO", file), limits, name=name)


def _store(chunks: Iterable[bytes], intake: Intake, path: str) -> bytes:
    return intake.add_stream(path, chunks)
