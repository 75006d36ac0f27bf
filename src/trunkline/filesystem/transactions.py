"""Everything written in a `with fs.transaction:` as one commit for each repo, or nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fsspec.transaction import Transaction

from trunkline.errors import Usage
from trunkline.filesystem.failures import as_os_errors
from trunkline.filesystem.paths import LakePath

if TYPE_CHECKING:
    from trunkline.filesystem.lakefs import LakeFileSystem
    from trunkline.sdk.writer import CommitWriter, LakeTransaction


class RolledBack(Exception):
    """Why a transaction is left that is not to be committed."""


class FileTransaction(Transaction):  # type: ignore[misc]
    """Files are stored as they are closed; that they are there is said at the end, once."""

    def __init__(self, fs: LakeFileSystem, **options: Any) -> None:
        super().__init__(fs, **options)
        self._fs = fs
        self._lock = threading.Lock()
        self._together: LakeTransaction | None = None
        self._writers: dict[str, tuple[LakePath, CommitWriter]] = {}
        self._written: set[str] = set()

    def change(
        self, where: LakePath, act: Callable[[CommitWriter], None], writes: bool = False
    ) -> None:
        """Do something to the commit in the making of a path's repo."""
        with self._lock:
            act(self._writer(where))
            if writes:
                self._written.add(where.ref)

    def refuse_written(self, where: LakePath) -> None:
        """What was written just now is in no commit yet that it could be copied from."""
        if where.ref in self._written:
            raise Usage(f"{where.ref} was written in this transaction, and cannot be copied in it.")

    def complete(self, commit: bool = True) -> None:
        files = list(self.files)
        self.files.clear()
        try:
            for file in files:
                if commit:
                    file.commit()
                else:
                    file.discard()
            self._end(None if commit else RolledBack())
        except BaseException as error:
            for file in files:
                file.discard()
            self._end(error)
            raise
        finally:
            self._fs._intrans = False
            self._fs._transaction = None
            self.fs = None

    def _writer(self, where: LakePath) -> CommitWriter:
        found = self._writers.get(where.repo)
        if found is None:
            if self._together is None:
                self._together = self._fs.lake.transaction(self._fs.message)
                self._together.__enter__()
            found = where, self._together.commit(where.place)
            self._writers[where.repo] = found
        if found[0].revision != where.revision:
            raise Usage(
                f"This transaction writes to {found[0].place}, so not to {where.place} too."
            )
        return found[1]

    def _end(self, error: BaseException | None) -> None:
        together, self._together = self._together, None
        if together is not None:
            with as_os_errors():
                together.__exit__(type(error) if error else None, error, None)
