"""Buckets (S3, GCS, Azure) and memory, through obstore.

Options are obstore's settings of the service (`endpoint`, `region`, `access_key_id`, …; what
they leave open comes from the environment, and for S3 from ~/.aws), and of the connection:
`timeout`, `connect_timeout`, `allow_http`, `allow_invalid_certificates`, `proxy_url`,
`max_retries`, `retry_timeout` (seconds).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

import obstore
from obstore.exceptions import NotSupportedError, PreconditionError
from obstore.store import MemoryStore, from_url

from trunkline import errors
from trunkline.storage.objects.aws_profile import profile_options
from trunkline.storage.objects.cloud_errors import translate
from trunkline.storage.objects.cloud_writer import CloudWriter
from trunkline.storage.objects.keys import check_key
from trunkline.storage.objects.port import Buffer, ObjectInfo
from trunkline.storage.objects.probe import probe

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Bucket

PIECE = 4 << 20
AHEAD = 3
_DELETE_BATCH = 1000
_EDITS = 100
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CLIENT = ("timeout", "connect_timeout", "proxy_url")
_CLIENT_FLAGS = ("allow_http", "allow_invalid_certificates")

_memories: dict[str, MemoryStore] = {}
_memories_lock = threading.Lock()

T = TypeVar("T")


def open_cloud(
    url: str,
    options: Mapping[str, str],
    *,
    check: Callable[[str], str] = check_key,
    kind: type[CloudStore] | None = None,
) -> CloudStore:
    """Open a bucket. `memory://NAME` is the same store every time in one process.

    `check` refuses names that are not ours; other people's buckets hold any name.
    `kind` is what it is opened as.
    """
    kind = kind or CloudStore
    url = url.rstrip("/")
    if url.startswith("memory:"):
        with _memories_lock:
            return kind(_memories.setdefault(url, MemoryStore()), url, None, check)
    if "@" in url:
        raise errors.Usage("An address holds no credentials.", hint="Pass them in the environment.")
    settings = dict(options)
    retries = int(settings.pop("max_retries", "6"))
    patience = timedelta(seconds=float(settings.pop("retry_timeout", "60")))
    client: dict[str, Any] = {"timeout": "60s", "connect_timeout": "5s"}
    client |= {name: settings.pop(name) for name in _CLIENT if name in settings}
    client |= {name: _flag(settings.pop(name)) for name in _CLIENT_FLAGS if name in settings}
    if url.startswith("s3://"):
        settings = profile_options() | settings
        endpoint = settings.get("endpoint") or settings.get("endpoint_url") or _endpoint()
        if endpoint.startswith("http://"):
            client.setdefault("allow_http", True)
    try:
        bucket = from_url(
            url,
            config=cast(Any, settings),
            client_options=cast(Any, client),
            retry_config={
                "max_retries": retries,
                "retry_timeout": patience,
                "backoff": {
                    "init_backoff": timedelta(milliseconds=100),
                    "max_backoff": timedelta(seconds=5),
                    "base": 2,
                },
            },
        )
    except Exception as error:
        # The text of a bad setting may hold its value: name the address only.
        what = "an unknown option" if type(error).__name__.startswith("Unknown") else "a bad option"
        raise errors.Usage(
            f"Cannot open {url}: {what} among {', '.join(sorted(settings)) or 'none'}."
        ) from None
    return kind(bucket, url, dict(options), check)


class CloudStore:
    """Objects in a bucket, below the prefix in its address."""

    def __init__(
        self,
        bucket: Bucket,
        url: str,
        options: Mapping[str, str] | None,
        check: Callable[[str], str],
    ) -> None:
        self._bucket = bucket
        self._check = check
        self._url = url
        self._options = options

    @property
    def address(self) -> tuple[str, Mapping[str, str]] | None:
        return None if self._options is None else (self._url, self._options)

    def put(self, key: str, data: Buffer) -> None:
        with self.writer(key) as writer:
            writer.write(data)

    def edit(self, key: str, change: Callable[[bytes], Buffer]) -> None:
        for _ in range(_EDITS):
            found = self._try(key, lambda: obstore.get(self._bucket, self._check(key)))
            known = {"e_tag": found.meta["e_tag"], "version": found.meta["version"]}
            version = cast(Any, {name: value for name, value in known.items() if value})
            data = bytes(change(found.bytes().to_bytes()))
            if not version:  # nothing to tell one version from the next
                self.put(key, data)
                return
            try:
                # In one request: uploads in parts know no condition.
                obstore.put(self._bucket, key, data, mode=version, use_multipart=False)
                return
            except PreconditionError:
                continue  # another was faster: change what that one wrote
            except (NotSupportedError, NotImplementedError):
                self.put(key, data)
                return
            except Exception as error:
                raise self.error(error, key) from None
        raise errors.Unavailable(f"Too many change {key} in {self._url}.", hint="Try again.")

    def writer(self, key: str, size: int | None = None) -> CloudWriter:
        return CloudWriter(self._bucket, self._check(key), size, self.error)

    def get(self, key: str) -> bytes:
        found = self._try(key, lambda: obstore.get(self._bucket, self._check(key)).bytes())
        return found.to_bytes()

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self._check(key)
        if length == 0:
            self.head(key)
            return b""
        try:
            return obstore.get_range(self._bucket, key, start=start, length=length).to_bytes()
        except Exception as error:
            translated = self.error(error, key)
            # Stores answer a range behind the end with an error, each with its own.
            past_end = type(translated) is errors.Failed or self._options is None
            if past_end and start >= self.head(key).size:
                return b""
            raise translated from None

    def stream(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        end = self.head(key).size
        if length is not None:
            end = min(end, start + length)
        pieces = ((at, min(PIECE, end - at)) for at in range(start, end, PIECE))
        if end - start <= PIECE:
            yield from (self.get_range(key, *piece) for piece in pieces)
            return
        # Each piece is a request of its own: retried alone, and never slower than its time-out.
        pool = ThreadPoolExecutor(AHEAD)
        try:
            waiting: deque[Future[bytes]] = deque()
            for piece in islice(pieces, AHEAD):
                waiting.append(pool.submit(self.get_range, key, *piece))
            while waiting:
                data = waiting.popleft().result()
                for piece in islice(pieces, 1):
                    waiting.append(pool.submit(self.get_range, key, *piece))
                yield data
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def head(self, key: str) -> ObjectInfo:
        meta = self._try(key, lambda: obstore.head(self._bucket, self._check(key)))
        return ObjectInfo(key, meta["size"], micros(meta["last_modified"]))

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        if prefix and not prefix.endswith("/"):
            raise ValueError("a prefix ends with a slash")
        batches = obstore.list(self._bucket, prefix or None, chunk_size=1000)
        while batch := self._try(prefix, lambda: next(batches, None)):
            for meta in batch:
                yield ObjectInfo(meta["path"], meta["size"], micros(meta["last_modified"]))

    def delete(self, keys: Iterable[str]) -> None:
        remaining = iter(keys)
        while batch := [self._check(key) for key in islice(remaining, _DELETE_BATCH)]:
            try:
                self._try("", partial(obstore.delete, self._bucket, batch))
            except FileNotFoundError:
                # GCS and Azure stop at a missing object and do not say which.
                for key in batch:
                    self._delete_one(key)

    def copy(self, source: str, target: str) -> None:
        """Have the store itself copy an object, in place of what was there."""
        ends = self._check(source), self._check(target)
        self._try(source, lambda: obstore.copy(self._bucket, *ends))

    @property
    def bucket(self) -> Bucket:
        """For what the port does not offer: conditions, tags of versions."""
        return self._bucket

    def any_name(self) -> CloudStore:
        """The same store, for files of other programs, which may have any name."""
        return CloudStore(self._bucket, self._url, self._options, str)

    def abandoned(self) -> Iterator[ObjectInfo]:
        return iter(())

    def uri(self, key: str) -> str:
        return f"{self._url}/{self._check(key) if key else ''}"

    def check(self) -> None:
        probe(self)

    def _delete_one(self, key: str) -> None:
        try:
            self._try(key, lambda: obstore.delete(self._bucket, key))
        except FileNotFoundError:
            return

    def _try(self, key: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except Exception as error:
            raise self.error(error, key) from None

    def error(self, error: Exception, key: str) -> Exception:
        """The error of the port for one that obstore raised."""
        return translate(error, self._url, key)


def _endpoint() -> str:
    return os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT") or ""


def _flag(text: str) -> bool:
    return str(text).lower() in ("1", "true", "yes", "on")


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
