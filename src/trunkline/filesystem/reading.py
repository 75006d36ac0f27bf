"""Reading a lake's files: whole, in parts, or as open files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fsspec.callbacks import DEFAULT_CALLBACK

from trunkline.errors import NotFound, Usage
from trunkline.filesystem.failures import as_os_errors, is_folder
from trunkline.filesystem.files import LakeReader
from trunkline.filesystem.looking import Looking, info_of
from trunkline.filesystem.paths import LakePath
from trunkline.model.files import FileInfo
from trunkline.model.ids import is_id

READERS = 8


class Reading(Looking):
    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **options: Any
    ) -> bytes:
        where, first, last = self._require(path), start or 0, end
        if first < 0 or (last is not None and last < 0):
            size = self.info(path)["size"]
            first = max(0, first + size) if first < 0 else first
            last = last + size if last is not None and last < 0 else last
        length = None if last is None else max(0, last - first)
        with as_os_errors():
            try:
                return b"".join(self.lake.cat(where.ref, first, length))
            except Usage:
                raise self._better(path) from None

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Parts of files, several at a time; of one branch all are read at one commit."""
        first = starts if isinstance(starts, list) else [starts] * len(paths)
        last = ends if isinstance(ends, list) else [ends] * len(paths)
        if not len(paths) == len(first) == len(last):
            raise ValueError("There are not as many starts and ends as paths.")
        pinned: dict[str, LakePath] = {}

        def read(path: str, start: int | None, end: int | None) -> Any:
            try:
                return self.cat_file(path, start, end)
            except Exception as error:
                if on_error != "return":
                    raise
                return error

        names = [self._pinned_name(path, pinned) for path in paths]
        with ThreadPoolExecutor(min(READERS, len(paths) or 1)) as pool:
            return list(pool.map(read, names, first, last))

    def get_file(
        self,
        rpath: str,
        lpath: Any = None,
        callback: Any = DEFAULT_CALLBACK,
        outfile: Any = None,
        **options: Any,
    ) -> None:
        given = outfile if outfile is not None else lpath if hasattr(lpath, "write") else None
        info = self.info(rpath)
        if info["type"] == "directory":
            if given is not None:
                raise is_folder(rpath)
            os.makedirs(lpath, exist_ok=True)
            return
        callback.set_size(info["size"])
        if given is None:
            os.makedirs(os.path.dirname(os.path.abspath(lpath)), exist_ok=True)
        with as_os_errors():
            chunks = self.lake.cat(self._require(rpath).ref)
            if given is not None:
                _pour(chunks, given, callback)
                return
            with open(lpath, "wb") as file:
                _pour(chunks, file, callback)

    def _reader(self, path: str, **options: Any) -> LakeReader:
        where = self._require(path)
        with as_os_errors():
            pinned = self._pinned(where)
            info = info_of(where, self._stat(pinned, where))
        if info["type"] == "directory":
            raise is_folder(path)
        return LakeReader(self, path, pinned, info, **options)

    def _pinned(self, where: LakePath) -> LakePath:
        """The same path at the commit that its revision names now."""
        if is_id(where.revision):
            return where
        return where.at(self.lake.commit_info(where.place).id)

    def _stat(self, pinned: LakePath, typed: LakePath) -> FileInfo:
        try:
            return self.lake.stat(pinned.ref)
        except NotFound:
            # Said of the branch that was typed, not of a commit that nobody has named.
            self.lake.stat(typed.ref)
            raise

    def _pinned_name(self, path: str, known: dict[str, LakePath]) -> str:
        where = self._require(path)
        if where.place not in known:
            try:
                with as_os_errors():
                    known[where.place] = self._pinned(where)
            except OSError:
                known[where.place] = where
        revision = known[where.place].revision
        return f"{where.repo}@{revision}{where.path}"

    def _better(self, path: str) -> Exception:
        """Why a file could not be read, where the lake only says that it is none."""
        return is_folder(path) if self.isdir(path) else ValueError(f"{path} cannot be read.")


def _pour(chunks: Iterable[bytes], file: Any, callback: Any) -> None:
    for chunk in chunks:
        file.write(chunk)
        callback.relative_update(len(chunk))
