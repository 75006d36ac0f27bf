"""Putting whatever a user names: local files, URLs, archives, standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from trunkline.errors import Usage
from trunkline.ingests.sources import local_files
from trunkline.model.paths import join, normalize_path
from trunkline.sdk.chunks import open_chunks
from trunkline.sdk.writer import CommitWriter, Progress
from trunkline.storage.objects.open import open_foreign
from trunkline.storage.objects.port import ObjectStore
from trunkline.storage.objects.source import changed, open_source, same, unreadable

# What reads URLs and archives loads much of the standard library: only when one is put.
if TYPE_CHECKING:
    from trunkline.ingests.urls import UrlPolicy

STDIN = "-"


class Putter:
    """Puts everything that a user may name into one commit."""

    def __init__(
        self,
        writer: CommitWriter,
        policy: Callable[[], UrlPolicy],
        store_options: dict[str, str],
        *,
        append: bool,
        untar: bool,
        recursive: bool,
        reference: bool,
        progress: Progress | None,
    ) -> None:
        self._writer = writer
        self._policy = policy
        self._store_options = store_options
        self._append = append
        self._untar = untar
        self._recursive = recursive
        self._reference = reference
        self._progress = progress

    def put(self, sources: Sequence[str], target: str | None) -> None:
        """`target` is the path as it was typed: a trailing slash means a folder."""
        if not sources:
            raise Usage("There is nothing to put.", hint="Name a file, a folder or a URL.")
        if self._reference:
            self._refer(sources, target)
            return
        local = [source for source in sources if source != STDIN and "://" not in source]
        remote = [source for source in sources if source not in local]
        into = target is None or target.endswith("/") or len(sources) > 1 or self._untar
        # Two or more sources go below the target, whatever kinds they are of.
        folder = f"{target.rstrip('/')}/" if target and len(sources) > 1 else target
        pairs = local_files(local, folder, recursive=self._recursive) if local else []
        if pairs and not (self._append or self._untar):
            self._writer._put_placed(pairs, self._progress)
            pairs = []
        for path, source in pairs:
            with _open(source) as stream:
                place = (target or "/") if self._untar else path
                self._stream(place, stream, os.path.basename(source))
        for source in remote:
            self._remote(source, target or "/", into)

    def _refer(self, sources: Sequence[str], target: str | None) -> None:
        """List what is named by its address, and leave it where it is."""
        if self._append or self._untar:
            what = "--append" if self._append else "--untar"
            raise Usage(f"{what} needs the bytes, which --reference leaves where they are.")
        into = target is None or target.endswith("/") or len(sources) > 1
        for source in sources:
            url = source if "://" in source else _file_url(source)
            done = self._writer._refer(url, target or "/", recursive=self._recursive, into=into)
            self._report(done, 0)

    def _remote(self, source: str, target: str, into: bool) -> None:
        if source == STDIN:
            if into and not self._untar:
                raise Usage(
                    "Standard input has no name of its own.", hint="Name one: REPO@BRANCH:/path."
                )
            self._stream(target, sys.stdin.buffer, "standard input")
            return
        if source.startswith(("http://", "https://")):
            from trunkline.ingests.urls import open_url

            remote = open_url(source, self._policy())
            place = join(normalize_path(target), remote.name) if into else target
            with open_chunks(remote.chunks) as stream:
                self._stream(target if self._untar else place, stream, source)
            return
        from trunkline.ingests.object_urls import open_object_url

        for found in open_object_url(source, self._open_bucket, recursive=self._recursive):
            below = into or self._recursive
            place = join(normalize_path(target), found.relative) if below else target
            with open_chunks(found.open()) as stream:
                self._stream(target if self._untar else place, stream, source)

    def _open_bucket(self, url: str) -> ObjectStore:
        return open_foreign(url, self._store_options if url.startswith("s3://") else {})

    def _stream(self, path: str, stream: BinaryIO, name: str) -> None:
        if self._untar:
            from trunkline.ingests.archives import iter_tar

            for member, chunks, _ in iter_tar(stream, name=name):
                counted = self._counted(chunks)
                self._writer.put(join(normalize_path(path), member), counted, append=self._append)
                self._report(1, 0)
            return
        self._writer.put(path, self._counted(_chunks(stream)), append=self._append)
        self._report(1, 0)

    def _counted(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            self._report(0, len(chunk))

    def _report(self, done: int, size: int) -> None:
        if self._progress is not None:
            self._progress(done, size)


def _file_url(source: str) -> str:
    """A file or folder of this computer as a URL."""
    from urllib.parse import quote

    if source == STDIN:
        raise Usage("Standard input has no address.", hint="Leave --reference out.")
    path = os.path.abspath(source)
    return f"file://{quote(os.fsencode(path))}{'/' if os.path.isdir(path) else ''}"


@contextmanager
def _open(source: str) -> Iterator[BinaryIO]:
    """A local file to read from, that must be the same at the end."""
    local = os.fsencode(source)
    fd, before = open_source(local)
    with open(fd, "rb") as stream:
        try:
            yield stream
        except OSError as error:
            raise unreadable(local, error) from None
        if not same(before, os.fstat(fd)):
            raise changed(local)


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(1 << 20):
        yield chunk
