"""Many files in one body: a bundle, or a tar archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from trunkline.errors import SourceUnreadable, Usage
from trunkline.model.paths import join, normalize_path
from trunkline.sdk.wire.bundles import Header, read_end, read_files, read_header
from trunkline.sdk.wire.values import BUNDLE
from trunkline.sdk.writer import CommitWriter
from trunkline.storage.objects.intake import Intake

TAR = ("application/x-tar", "application/tar", "application/gzip", "application/zstd")


def store_bundle(intake: Intake, stream: BinaryIO) -> tuple[Header, list[bytes]]:
    """Store the files of a bundle; their lines in its order. Durable after `intake.close`."""
    header = read_header(stream)
    add_bytes, add_stream = intake.add_bytes, intake.add_stream
    lines = []
    for path, pieces in read_files(stream, header):
        first = next(pieces, b"")
        second = next(pieces, None)
        if second is None:
            lines.append(add_bytes(path, first))
        else:
            lines.append(add_stream(path, _chained(first, second, pieces)))
    read_end(stream)
    return header, lines


def write_body(
    writer: CommitWriter,
    kind: str,
    stream: BinaryIO,
    folder: str,
    may_read: Callable[[str], None],
) -> None:
    """Put what a body of one of the known kinds holds; that of an archive below a folder.

    `may_read` refuses refs that a bundle may not copy from.
    """
    kind = kind.partition(";")[0].strip().lower()
    if kind == BUNDLE:
        _write_bundle(writer, stream, may_read)
    elif kind in TAR:
        from trunkline.ingests.archives import iter_tar

        try:
            for member, chunks, _ in iter_tar(stream, name="the archive"):
                writer.put(join(normalize_path(folder), member), chunks)
        except SourceUnreadable as error:
            raise Usage(error.message, hint=error.hint) from None
    else:
        raise Usage(
            f"A commit is sent as {BUNDLE} or application/x-tar, not {kind or 'nothing'}.",
            hint="curl -T- -H 'Content-Type: application/x-tar' -X POST …",
        )


def _write_bundle(writer: CommitWriter, stream: BinaryIO, may_read: Callable[[str], None]) -> None:
    """Deletes first, then copies, then files."""
    header, lines = store_bundle(writer._transaction.intake, stream)
    for path in _texts(header, "deletes"):
        writer.delete(path)
    copies = header.more.get("copies", [])
    for pair in copies if isinstance(copies, list) else [copies]:
        match pair:
            case [str(source), str(path)]:
                may_read(source)
                writer.copy(source, path)
            case _:
                raise Usage("Copies of a bundle are pairs of a source and a path.")
    writer._draft.changes.put_all(lines)


def _texts(header: Header, name: str) -> list[str]:
    found = header.more.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise Usage(f'"{name}" of a bundle is a list of paths.')
    return found


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest
