"""Uploads: several at a time, small files many to a request, large ones in parts.

What is lost on the way is sent again; a large file goes on where the server has it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from blake3 import blake3

from trunkline.errors import (
    CommitUnknown,
    Conflict,
    CorruptObject,
    DiskFull,
    LeaseLost,
    NotFound,
    Unavailable,
)
from trunkline.sdk.remote.client import BACKOFF, LONG, Client
from trunkline.sdk.remote.sources import PIECE, Source
from trunkline.sdk.wire.bundles import encode_header
from trunkline.sdk.wire.files import OFFSET, Receipt, Receipts, Upload
from trunkline.sdk.wire.values import BUNDLE, decode

T = TypeVar("T")
Wrote = Callable[[int], None]

THREADS = 4
TRIES = 8
SMALL = 1 << 20
BUNDLE_BYTES = 8 << 20
BUNDLE_FILES = 2_000
LARGE = 64 << 20
PART = 16 << 20
_RESTARTS = 3


class Sent:
    """A file on its way; its receipt when it has arrived."""

    __slots__ = ("receipt",)

    def __init__(self) -> None:
        self.receipt = ""


class Uploader:
    """Sends the files of one transaction. Used by one thread, sends with several."""

    def __init__(self, client: Client, txn: str, begin: Callable[[], None]) -> None:
        self._client = client
        self._place = f"/transactions/{txn}"
        self._begin = begin
        self._pool: ThreadPoolExecutor | None = None
        self._room = threading.Semaphore(THREADS + 1)
        self._flying: list[Future[None]] = []
        self._small: list[tuple[str, bytes, Sent]] = []
        self._small_bytes = 0

    def add(self, path: str, data: bytes) -> Sent:
        """Send a small file with others; it may still be here when this returns."""
        sent = Sent()
        self._small.append((path, data, sent))
        self._small_bytes += len(data)
        if self._small_bytes >= BUNDLE_BYTES or len(self._small) >= BUNDLE_FILES:
            self.flush()
        return sent

    def send(self, path: str, source: Source, wrote: Wrote | None = None) -> Sent:
        """Send one file, whatever its size; it has arrived when this returns."""
        self._begin()
        sent = Sent()
        sent.receipt = self.deliver(path, source, wrote or _nothing)
        return sent

    def flush(self) -> None:
        """Begin to send what is left of small files."""
        if not self._small:
            return
        files, self._small, self._small_bytes = self._small, [], 0
        self.spawn(lambda: self.deliver_many(files))

    def wait(self) -> None:
        """Until everything has arrived."""
        self.flush()
        flying, self._flying = self._flying, []
        for one in flying:
            one.result()

    def close(self) -> None:
        """Send nothing more."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def spawn(self, work: Callable[[], None]) -> None:
        """Do something beside; waits while too much is under way. Errors come here or in `wait`."""
        self._begin()
        done = [one for one in self._flying if one.done()]
        self._flying = [one for one in self._flying if not one.done()]
        for one in done:
            one.result()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(THREADS, "trunkline-upload")
        self._room.acquire()
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._room.release())
        self._flying.append(future)

    # -- in any thread -----------------------------------------------------------------------

    def deliver_many(self, files: Sequence[tuple[str, bytes, Sent]]) -> None:
        header = encode_header([(path, len(data)) for path, data, _ in files])
        body = b"".join((header, *(data for _, data, _ in files)))

        def ask() -> Receipts:
            headers = {"Content-Type": BUNDLE}
            answer = self._client.upload("POST", f"{self._place}/bundle", body, headers=headers)
            found: Receipts = decode(Receipts, answer.content)
            return found

        for (_, _, sent), receipt in zip(files, again(ask).receipts, strict=True):
            sent.receipt = receipt

    def deliver(self, path: str, source: Source, wrote: Wrote) -> str:
        """Send one file; its receipt, which speaks of the bytes that were read here."""
        if source.size <= LARGE:
            receipt, digest = again(lambda: self._in_one(path, source))
            wrote(source.size)
        else:
            receipt, digest = self._in_parts(path, source, wrote)
        if receipt.hash != digest:
            raise CorruptObject(f"{path} arrived as other bytes than were sent.", hint="Try again.")
        return receipt.receipt

    def _in_one(self, path: str, source: Source) -> tuple[Receipt, str]:
        hasher = blake3()

        def pieces() -> Iterator[bytes]:
            for start in range(0, source.size, PIECE):
                piece = source.read(start, min(PIECE, source.size - start))
                hasher.update(piece)
                yield piece
            source.check()

        answer = self._client.upload(
            "PUT",
            f"{self._place}/objects",
            pieces(),
            headers={"Content-Length": str(source.size)},
            path=path,
        )
        return decode(Receipt, answer.content), hasher.hexdigest()

    def _in_parts(self, path: str, source: Source, wrote: Wrote) -> tuple[Receipt, str]:
        for attempt in range(_RESTARTS):
            try:
                return self._parts_once(path, source, wrote)
            except NotFound:
                # The server has lost it, as one without its old disk would have.
                if attempt == _RESTARTS - 1:
                    raise
        raise AssertionError("unreachable")

    def _parts_once(self, path: str, source: Source, wrote: Wrote) -> tuple[Receipt, str]:
        begun: Upload = self._client.send(
            "POST", f"{self._place}/uploads", kind=Upload, path=path, size=source.size
        )
        place = f"{self._place}/uploads/{begun.id}"
        ready = _Ready(source, wrote)
        offset = failures = 0
        with ThreadPoolExecutor(1) as reader:
            ahead = reader.submit(ready.part, offset)
            while offset < source.size:
                part = ahead.result()
                # The next part is read and hashed while this one is on its way.
                ahead = reader.submit(ready.part, offset + len(part))
                try:
                    self._client.upload("PATCH", place, part, headers={OFFSET: str(offset)})
                    offset += len(part)
                    failures = 0
                except (Unavailable, Conflict) as error:
                    failures += 1
                    if failures == TRIES or not _passes(error):
                        raise
                    time.sleep(BACKOFF.jittered(failures + 1))
                    offset = again(lambda: self._offset(place))
                    ahead = reader.submit(ready.part, offset)
        source.check()
        # The server may have to copy all of it to where its objects are.
        receipt: Receipt = again(
            lambda: self._client.send("POST", f"{place}/finish", kind=Receipt, patience=LONG)
        )
        return receipt, ready.hexdigest()

    def _offset(self, place: str) -> int:
        found: Upload = self._client.get(Upload, place)
        return found.offset


class _Ready:
    """Parts of a source, each hashed when it is read for the first time."""

    def __init__(self, source: Source, wrote: Wrote) -> None:
        self._source = source
        self._wrote = wrote
        self._hasher = blake3()
        self._hashed = 0

    def part(self, offset: int) -> bytes:
        part = self._source.read(offset, min(PART, self._source.size - offset))
        end = offset + len(part)
        if end > self._hashed:
            self._hasher.update(memoryview(part)[self._hashed - offset :])
            self._wrote(end - self._hashed)
            self._hashed = end
        return part

    def hexdigest(self) -> str:
        return str(self._hasher.hexdigest())


def again(ask: Callable[[], T]) -> T:
    """Ask until there is an answer, a few times."""
    for attempt in range(1, TRIES):
        try:
            return ask()
        except Unavailable as error:
            if not _passes(error):
                raise
            time.sleep(BACKOFF.jittered(attempt + 1))
    return ask()


def _passes(error: Exception) -> bool:
    return not isinstance(error, DiskFull | LeaseLost | CommitUnknown)


def _nothing(size: int) -> None:
    return
