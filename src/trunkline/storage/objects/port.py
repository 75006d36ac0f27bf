"""The object store: immutable bytes under names. A backend is written from this file alone.

What always holds, for every backend:

- A key is one to 512 characters: parts joined by "/", each of ASCII letters, digits and
  `_ . = -`, none beginning with a dot or a hyphen. Anything else raises CorruptObject,
  because keys are read from manifests and a bad one is a damaged manifest.
- Writes are atomic and durable. A reader sees the whole object or none; once `put`,
  `ObjectWriter.publish` or a clean exit returned, the object survives a power cut.
- Reads see every write that returned before they began, and so do listings.
- Everything may be called from several threads at once; a writer belongs to one thread.
- A missing object raises FileNotFoundError(key). Everything else that can go wrong is a
  TrunklineError of one line, without credentials in it:
  DiskFull (no space, quota), ReadOnly (writing is not permitted), NotAllowed (credentials
  refused), NotFound (no such bucket), Unavailable (network, 5xx, time-outs, after retries).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple, Protocol, Self

Buffer = bytes | bytearray | memoryview


class ObjectInfo(NamedTuple):
    """An object as listed. `modified` is in microseconds since 1970, by the store's clock."""

    key: str
    size: int
    modified: int


class ObjectWriter(Protocol):
    """An object being written. Nothing is visible under its key until `publish`.

    As a context manager it publishes on a clean exit and discards on an exception.
    """

    key: str

    def write(self, buffer: Buffer, /) -> None:
        """Append all of `buffer`. The caller may reuse it as soon as this returns."""

    def publish(self) -> None:
        """Make the object durable and visible. On an error nothing is left behind."""

    def discard(self) -> None:
        """Leave nothing behind. Harmless when called again, and after `publish`."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class ObjectStore(Protocol):
    """A folder or bucket of objects."""

    @property
    def address(self) -> tuple[str, Mapping[str, str]] | None:
        """The arguments for `open_store` that open this store in another process.

        None if no other process can reach it. The options may hold credentials.
        """

    def put(self, key: str, data: Buffer) -> None:
        """Store `data` under `key`, in place of what was there."""

    def writer(self, key: str, size: int | None = None) -> ObjectWriter:
        """Write an object piece by piece in bounded memory, in place of what was there.

        `size` is the expected size if known. It need not be right.
        """

    def get(self, key: str) -> bytes:
        """The whole object."""

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """`length` bytes from `start`; fewer, or none, where the object ends before."""

    def stream(self, key: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The bytes of `get_range` (to the end without `length`), in pieces of 1 to 4 MiB.

        Memory is bounded whatever the size. Errors may come with the first piece or later.
        """

    def head(self, key: str) -> ObjectInfo:
        """Size and time of an object."""

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object whose key begins with `prefix`, in any order, unfinished ones left out.

        `prefix` is empty or ends with "/": stores differ on what a half name matches.
        """

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, in batches where the store can. A missing one is no error."""

    def edit(self, key: str, change: Callable[[bytes], Buffer]) -> None:
        """Exchange an object's bytes for what `change` makes of them. Only `erase` has a reason to.

        Readers see the old bytes or the new ones. Of several who edit at once, in any process,
        however long one of them was paused, none undoes what another did; so `change` may be
        called more than once. Where a store knows no conditions (some that speak S3 do not) this
        last promise does not hold.
        """

    def abandoned(self) -> Iterator[ObjectInfo]:
        """Unfinished writes of processes that may be dead, as keys that `delete` accepts.

        One that is still being written is among them: the caller judges by `modified`, or by
        the transaction in the key (`keys.txn_of`). Empty where the store cannot tell (S3 keeps
        unfinished uploads until a lifecycle rule of the bucket removes them).
        """

    def uri(self, key: str) -> str:
        """Where other programs find the object: file:///… or s3://bucket/…"""

    def check(self) -> None:
        """Try what the lake relies on: write, read back, overwrite, list, delete.

        Raises a TrunklineError that says what does not hold.
        """
