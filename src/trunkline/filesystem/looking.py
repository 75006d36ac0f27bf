"""Looking at a lake's files: what is there, and since when."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from fsspec.spec import AbstractFileSystem

from trunkline.errors import NotFound
from trunkline.filesystem.failures import as_os_errors, is_folder
from trunkline.filesystem.paths import LakePath, parse
from trunkline.model.files import FileInfo, FileType
from trunkline.model.hidden import HIDDEN_NAMES, hidden
from trunkline.sdk import open as open_lake
from trunkline.sdk.lake import Lake
from trunkline.sdk.places import find_place

Info = dict[str, Any]

_SHOWN: ContextVar[str] = ContextVar("shown", default="")
"""Names that are shown to whoever moves whole folders, although they are hidden."""


@contextmanager
def whole_folders() -> Iterator[None]:
    """Folders are listed with what is hidden in them: a copy of a table needs its description."""
    token = _SHOWN.set("/".join(HIDDEN_NAMES))
    try:
        yield
    finally:
        _SHOWN.reset(token)


class _OfItsLake(type(AbstractFileSystem)):  # type: ignore[misc]
    """Instances are kept by their options. Which lake is the nearest one is found out first."""

    def __call__(cls, lake: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        with as_os_errors():
            place = find_place(None if lake is None else os.fspath(lake))
        folder = str(place.folder.parent) if place.folder else ""
        return super().__call__(lake=place.context or place.url or folder, **options)


class Looking(AbstractFileSystem, metaclass=_OfItsLake):  # type: ignore[misc]
    """The lake, and what is in it."""

    protocol = "tl"

    def __init__(
        self,
        lake: str = "",
        token: str | None = None,
        project: str | None = None,
        message: str = "",
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.message = message
        self._opening = (lake, project, token)

    @cached_property
    def lake(self) -> Lake:
        location, project, token = self._opening
        return open_lake(location, project, token=token)

    @property
    def fsid(self) -> str:
        return f"tl://{self._opening[0]}"

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        stripped = super()._strip_protocol(path)
        return stripped if isinstance(stripped, list) else stripped.lstrip("/")

    def info(self, path: str, **options: Any) -> Info:
        with as_os_errors():
            where = self._parse(path)
            if where is None:
                return folder_named("")
            try:
                return info_of(where, self.lake.stat(where.ref))
            except NotFound:
                if self._is_project(where):
                    return folder_named(where.prefix)
                raise

    def exists(self, path: str, **options: Any) -> bool:
        """Whether it is there. A server that does not answer has not said no."""
        try:
            self.info(path, **options)
        except (FileNotFoundError, ValueError):
            return False
        return True

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """What is in a folder; what the lake keeps beside the files, if `asked` names it."""
        with as_os_errors():
            found = self._list(self._parse(path), options.get("asked"))
        return found if detail else [one["name"] for one in found]

    def glob(self, path: str, maxdepth: int | None = None, **options: Any) -> Any:
        return super().glob(path, maxdepth, **{"asked": path, **options})

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **options: Any,
    ) -> Any:
        """Every file below a path, by one listing unless the depth is limited."""
        where = self._parse(path)
        with as_os_errors():
            walked = where is None or maxdepth is not None or self._is_project(where)
        if where is None or walked:
            return super().find(path, maxdepth, withdirs, detail, **options)
        try:
            with as_os_errors():
                files = self._below(where, options.get("asked"), recursive=True)
        except FileNotFoundError:
            files = []
        found = {one["name"]: one for one in files}
        if withdirs:
            found |= {name: folder_named(name) for name in _folders(where, found)}
        names = sorted(found)
        return {name: found[name] for name in names} if detail else names

    def ukey(self, path: str) -> str:
        """The hash of what is in a file, or below a folder."""
        return str(self.info(path).get("hash", ""))

    def checksum(self, path: str) -> int:
        return int(self.ukey(path) or "0", 16)

    def created(self, path: str) -> datetime:
        return self.modified(path)

    def modified(self, path: str) -> datetime:
        """When the commit was made that a path is looked at in."""
        with as_os_errors():
            where = self._require(path)
            self.lake.stat(where.ref)
            commit = self.lake.commit_info(where.place)
        since = timedelta(microseconds=commit.finished or commit.started)
        return datetime(1970, 1, 1, tzinfo=UTC) + since

    def _parse(self, path: str) -> LakePath | None:
        return parse(self._strip_protocol(path))

    def _require(self, path: str) -> LakePath:
        where = self._parse(path)
        if where is None:
            raise is_folder("tl://")
        return where

    def _is_project(self, where: LakePath) -> bool:
        if not where.may_be_project:
            return False
        if any(one.name.repo == where.repo for one in self.lake.repos()):
            return False
        return any(one.name == where.repo for one in self.lake.projects())

    def _below(self, where: LakePath, asked: str | None, **options: bool) -> list[Info]:
        """What a path lists. Where `asked` is given, it says which hidden names are shown."""
        asked = _SHOWN.get() or asked
        found = self.lake.ls(where.ref, hidden=asked is not None, **options)
        return [
            info_of(where, one)
            for one in found
            if asked is None or not hidden(one.path, f"{where.path}/{asked}")
        ]

    def _list(self, where: LakePath | None, asked: str | None) -> list[Info]:
        if where is None:
            return [folder_named(one.name.repo) for one in self.lake.repos()]
        try:
            return self._below(where, asked, hashes=False)
        except NotFound:
            if not self._is_project(where):
                raise
        inside = self.lake.bound(project=where.repo).repos()
        return [folder_named(f"{where.repo}/{one.name.repo}@main") for one in inside]


def folder_named(name: str) -> Info:
    return {"name": name, "size": 0, "type": "directory"}


def info_of(where: LakePath, found: FileInfo) -> Info:
    is_file = found.type is FileType.FILE
    return {
        "name": where.named(found.path),
        "size": found.size if is_file else 0,
        "type": "file" if is_file else "directory",
        "hash": found.hash,
    }


def _folders(where: LakePath, names: Iterable[str]) -> set[str]:
    """The folders between a path and the files below it, with the path itself."""
    top, found = where.named(where.path), set()
    for name in names:
        while len(name) > len(top):
            name = name.rpartition("/")[0]
            found.add(name)
    return found
