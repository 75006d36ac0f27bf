"""The filesystem: what fsspec asks for, said in refs of a lake. Here is how it is written to."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec.callbacks import DEFAULT_CALLBACK

from trunkline.errors import BranchMoved
from trunkline.filesystem.failures import as_os_errors, is_folder, numbered
from trunkline.filesystem.files import LakeWriter
from trunkline.filesystem.looking import whole_folders
from trunkline.filesystem.paths import LakePath
from trunkline.filesystem.reading import Reading
from trunkline.filesystem.transactions import FileTransaction

if TYPE_CHECKING:
    from trunkline.sdk.writer import CommitWriter

# A branch that moves under a file is written to again on its new head.
TRIES = 5


class LakeFileSystem(Reading):
    """Files of a lake as `tl://[project/]repo@revision/path`; without a revision `tl://repo/path`.

    lake: its folder, its server's address or a context; else as `trunkline.open` finds it
    token: who you are to the server; else TRUNKLINE_TOKEN
    project: where repos are looked for that name none
    message: of the commits that are made
    """

    transaction_type = FileTransaction

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        where = self._require(path)
        if mode == "rb":
            return self._reader(path, block_size=block_size, cache_options=cache_options, **options)
        if mode not in ("wb", "ab", "xb"):
            raise NotImplementedError(f"A file cannot be opened as {mode}: only rb, wb, ab, xb.")
        if where.path == "/":
            raise is_folder(path)
        if mode == "xb" and self.exists(path):
            raise _exists(path)
        with as_os_errors():
            # Refuses what cannot be written before all of it has been gathered.
            self.lake.commit(where.place)
        start = self.info(path)["size"] if mode == "ab" and self.exists(path) else 0

        def put(spool: Any) -> None:
            def act(writer: CommitWriter) -> None:
                spool.seek(0)
                writer.put(where.path, spool, append=mode == "ab")

            self._change(where, act, writes=True)

        return LakeWriter(path, mode, put, autocommit=autocommit or self._intrans, start=start)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        if mode == "create" and self.exists(path):
            raise _exists(path)
        where = self._require(path)
        self._change(where, lambda writer: writer.put(where.path, bytes(value)), writes=True)

    def put_file(
        self,
        lpath: Any,
        rpath: str,
        callback: Any = DEFAULT_CALLBACK,
        mode: str = "overwrite",
        **options: Any,
    ) -> None:
        if mode == "create" and self.exists(rpath):
            raise _exists(rpath)
        if os.path.isdir(lpath):
            return
        where, size = self._require(rpath), os.path.getsize(lpath)
        callback.set_size(size)
        self._change(where, lambda writer: writer.put(where.path, Path(lpath)), writes=True)
        callback.relative_update(size)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy by reference: no bytes move."""
        source, target = self._require(path1), self._require(path2)
        if self.isdir(path1):
            return
        self._change(target, lambda writer: self._copy(writer, source, target), writes=True)

    def rm_file(self, path: str) -> None:
        info = self.info(path)
        if info["type"] == "directory":
            raise is_folder(path)
        where = self._require(path)
        self._change(where, lambda writer: writer.delete(where.path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, and folders if `recursive`, as one commit."""
        with self._together():
            if not recursive or maxdepth is not None:
                super().rm(path, recursive, maxdepth)
                return
            for name in self.expand_path(path):
                self.info(name)
                self._delete(self._require(name))

    def pipe(self, path: Any, value: Any = None, **options: Any) -> None:
        with self._together():
            super().pipe(path, value, **options)

    def put(self, *args: Any, **options: Any) -> None:
        with self._together():
            super().put(*args, **options)

    def copy(self, *args: Any, **options: Any) -> None:
        with self._together(), whole_folders():
            super().copy(*args, **options)

    def mv(self, *args: Any, **options: Any) -> None:
        with self._together(), whole_folders():
            super().mv(*args, **options)

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Nothing: a folder is there as soon as a file is in it."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Nothing: a folder is there as soon as a file is in it."""

    def rmdir(self, path: str) -> None:
        """Nothing: a folder goes with its last file."""

    def _change(
        self, where: LakePath, act: Callable[[CommitWriter], None], writes: bool = False
    ) -> None:
        """Do something as a commit of its own, or as part of the transaction there is."""
        if where.path == "/":
            raise is_folder(where.prefix)
        with as_os_errors():
            if self._intrans:
                self.transaction.change(where, act, writes)
                return
            for attempt in range(TRIES):
                try:
                    with self.lake.commit(where.place, self.message) as writer:
                        act(writer)
                    return
                except BranchMoved:
                    if attempt == TRIES - 1:
                        raise

    def _delete(self, where: LakePath) -> None:
        with as_os_errors():
            self.transaction.change(where, lambda writer: writer.delete(where.path))

    def _copy(self, writer: CommitWriter, source: LakePath, target: LakePath) -> None:
        if self._intrans:
            self.transaction.refuse_written(source)
        writer.copy(source.ref, target.path)

    @contextmanager
    def _together(self) -> Iterator[None]:
        """What is done inside as one commit, or as part of the transaction there is."""
        if self._intrans:
            yield
            return
        with self.transaction:
            yield


def _exists(path: str) -> OSError:
    return numbered(FileExistsError, errno.EEXIST, f"{path} exists already.")
