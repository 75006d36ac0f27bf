"""An object written to a bucket piece by piece."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

import obstore

from trunkline.storage.objects.port import Buffer

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Bucket

PART = 8 << 20
CONCURRENT = 4
# S3 takes at most 10,000 parts.
_PARTS = 9000
_WAITING = 2


class _Discarded(Exception):
    pass


class CloudWriter:
    """Small objects go in one request, larger ones in parts, a few of them at a time.

    obstore's own writer cannot be aborted; its `put` aborts the upload when its input fails.
    So the parts pass through a queue to a thread that puts them.
    """

    def __init__(
        self,
        bucket: Bucket,
        key: str,
        size: int | None,
        translate: Callable[[Exception, str], Exception],
    ) -> None:
        self.key = key
        self._bucket = bucket
        self._part = max(PART, (size or 0) // _PARTS + 1)
        self._translate = translate
        self._buffer = bytearray()
        self._parts: queue.Queue[bytes | _Discarded | None] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._done = False

    def write(self, buffer: Buffer, /) -> None:
        self._buffer += buffer
        if len(self._buffer) >= self._part:
            if self._thread is None:
                self._thread = threading.Thread(target=self._upload, daemon=True)
                self._thread.start()
            part = bytes(self._buffer)
            self._buffer.clear()
            self._send(part)

    def publish(self) -> None:
        self._done = True
        if self._thread is None:
            try:
                obstore.put(self._bucket, self.key, bytes(self._buffer), use_multipart=False)
            except Exception as error:
                raise self._translate(error, self.key) from None
            return
        if self._buffer:
            self._send(bytes(self._buffer))
        self._send(None)
        self._thread.join()
        self._raise_failure()

    def discard(self) -> None:
        if self._done:
            return
        self._done = True
        self._buffer.clear()
        if self._thread is None:
            return
        while self._thread.is_alive():
            try:
                self._parts.put(_Discarded(), timeout=0.1)
            except queue.Full:
                continue
            break
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.publish()
        else:
            self.discard()

    def _send(self, part: bytes | None) -> None:
        assert self._thread is not None
        while True:
            if not self._thread.is_alive():
                self._raise_failure()
            try:
                self._parts.put(part, timeout=0.1)
            except queue.Full:
                continue
            return

    def _raise_failure(self) -> None:
        if self._error is not None:
            self._done = True
            raise self._translate(self._error, self.key) from None

    def _upload(self) -> None:
        try:
            obstore.put(
                self._bucket,
                self.key,
                self._received(),
                use_multipart=True,
                chunk_size=self._part,
                max_concurrency=CONCURRENT,
            )
        except _Discarded:
            return
        except Exception as error:
            self._error = error

    def _received(self) -> Iterator[bytes]:
        while (part := self._parts.get()) is not None:
            if isinstance(part, _Discarded):
                raise part
            yield part
