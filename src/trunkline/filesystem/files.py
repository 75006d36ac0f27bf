"""Open files: one is read in ranges from a commit that does not move, one is written to be put."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractBufferedFile

from trunkline.filesystem.failures import as_os_errors
from trunkline.filesystem.paths import LakePath

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from trunkline.filesystem.looking import Looking

# What is smaller than this waits for its commit in memory, what is larger on disk.
SPOOL_BYTES = 16 << 20


class LakeReader(AbstractBufferedFile):  # type: ignore[misc]
    """A file at one commit, whatever becomes of the branch meanwhile."""

    def __init__(
        self, fs: Looking, path: str, where: LakePath, info: dict[str, Any], **options: Any
    ) -> None:
        self._where = where
        super().__init__(fs, path, "rb", size=info["size"], **options)
        self.details = info

    def _fetch_range(self, start: int, end: int) -> bytes:
        with as_os_errors():
            return b"".join(self.fs.lake.cat(self._where.ref, start, max(0, end - start)))


Put = Callable[[Any], None]


class LakeWriter(io.RawIOBase):
    """Gathers what is written and gives it away whole when it is closed.

    Leaving its `with` block by an exception writes nothing. Without `autocommit` nothing is
    given away before `commit`.
    """

    def __init__(
        self, path: str, mode: str, put: Put, *, autocommit: bool = True, start: int = 0
    ) -> None:
        self.path = path
        self.mode = mode
        self._start = start
        self.autocommit = autocommit
        self._put = put
        self._spool: Any = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115
        self._done = False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._start + int(self._spool.tell())

    def write(self, data: ReadableBuffer) -> int:
        view = memoryview(data).cast("B")
        self._spool.write(view)
        return view.nbytes

    def close(self) -> None:
        if self.closed:
            return
        try:
            if self.autocommit:
                self.commit()
        finally:
            super().close()
            if self.autocommit:
                self.discard()

    def commit(self) -> None:
        """Put what was written. A second time does nothing."""
        if self._done:
            return
        self._done = True
        self._spool.seek(0)
        try:
            self._put(self._spool)
        finally:
            self._spool.close()

    def discard(self) -> None:
        self._done = True
        self._spool.close()

    def __del__(self) -> None:
        if not self.closed:
            if not self._done:
                said = f"{self.path} was never closed, so it was not written."
                warnings.warn(said, RuntimeWarning, source=self, stacklevel=2)
            self.discard()
            self.close()

    def __exit__(self, *raised: Any) -> None:
        if raised[0] is not None:
            self.discard()
        self.close()
