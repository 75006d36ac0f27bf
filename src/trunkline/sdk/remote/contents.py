"""Files, through a server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from trunkline.errors import Usage
from trunkline.model.commits import Commit
from trunkline.model.files import Change, FileInfo
from trunkline.model.refs import Need, Ref
from trunkline.sdk.base import Location
from trunkline.sdk.contents import Contents
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.reading import Body
from trunkline.sdk.results import Diff, GetReport
from trunkline.sdk.wire.files import Opening
from trunkline.sdk.wire.values import Page

if TYPE_CHECKING:
    import httpx2

    from trunkline.sdk.remote.writer import RemoteCommitWriter, RemoteLakeTransaction
    from trunkline.sdk.writer import Progress


class RemoteContents(RemoteBase, Contents):
    def commit(
        self,
        ref: str,
        message: str = "",
        *,
        author: str | None = None,
        if_head: str | None = None,
        key: str | None = None,
    ) -> RemoteCommitWriter:
        target = self._ref(ref, path=Need.FORBIDDEN)
        return self._writer(target, message, if_head, key, author=author)

    def transaction(self, message: str = "", *, author: str | None = None) -> RemoteLakeTransaction:
        from trunkline.sdk.remote.writer import RemoteLakeTransaction, RemoteTransaction

        whole = RemoteTransaction(self._client, author or self.author, message)
        return RemoteLakeTransaction(whole, self.project)

    # What users name is found and read here, and written by the writer of `_following`: also
    # URLs, so that the server asks nobody for anything.
    put = Contents.put
    cp = Contents.cp

    def rm(
        self, ref: str, *, recursive: bool = False, message: str = "", if_head: str | None = None
    ) -> Commit:
        target = self._ref(ref, path=Need.REQUIRED)
        with self._following(target, message, if_head, None) as writer:
            writer._remove(target.path or "/", recursive)
        return writer.result

    def start_commit(self, ref: str, message: str = "") -> Commit:
        return self._opening(ref, "start", message)

    def finish_commit(self, ref: str, message: str | None = None) -> Commit:
        return self._opening(ref, "finish", message)

    def ls(
        self, ref: str, *, recursive: bool = False, hashes: bool = True, hidden: bool = False
    ) -> Iterator[FileInfo]:
        parsed = self._ref(ref)
        return self._items(
            FileInfo,
            f"{self._repo_path(parsed.repo)}/files",
            at=parsed.ref,
            path=parsed.path or "/",
            recursive=recursive,
            hashes=hashes,
            hidden=hidden,
        )

    def stat(self, ref: str) -> FileInfo:
        parsed = self._ref(ref)
        found: FileInfo = self._client.get(
            FileInfo,
            f"{self._repo_path(parsed.repo)}/files/stat",
            at=parsed.ref,
            path=parsed.path or "/",
        )
        return found

    def glob(self, ref: str) -> Iterator[FileInfo]:
        parsed = self._ref(ref, path=Need.REQUIRED, pattern=True)
        place = f"{self._repo_path(parsed.repo)}/glob"
        return self._items(FileInfo, place, at=parsed.ref, pattern=parsed.path or "/")

    def cat(self, ref: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        if start < 0 or (length is not None and length < 0):
            raise Usage("A part of a file starts at 0 or later and is not shorter than nothing.")
        parsed = self._ref(ref, path=Need.REQUIRED)
        asked: dict[str, Any] = {"at": parsed.ref, "path": parsed.path or "/"}
        whole = start == 0 and length is None
        place = f"{self._repo_path(parsed.repo)}/content"

        def ask(at: int) -> AbstractContextManager[httpx2.Response]:
            left = None if length is None else length - (at - start)
            part: dict[str, Any] = {"start": at, "length": left}
            if at == 0 and left is None:
                part = {}
            return self._client.stream("GET", place, **asked, **part)

        return Body(ask, start, parsed.path or "/", whole)

    def read(self, ref: str) -> bytes:
        return b"".join(self.cat(ref))

    def get(
        self,
        ref: str,
        dest: Location | BinaryIO,
        *,
        tar: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> GetReport:
        from trunkline.sdk.remote.getting import RemoteGetter

        parsed = self._ref(ref, pattern=True)
        place = self._repo_path(parsed.repo)
        getter = RemoteGetter(self._client, place, parsed.ref, parsed.path or "/", progress)
        if tar:
            return getter.tar(dest, f"{parsed.repo.repo}.tar", force)
        if not isinstance(dest, str | os.PathLike):
            raise Usage("Only an archive can be written to a stream.", hint="Use tar=True.")
        return getter.get(dest, force)

    def diff(self, old: str, new: str) -> Diff:
        asked: dict[str, Any] = {"old": self._whole(old), "new": self._whole(new)}
        # What cannot be compared is said now, not when the first change is looked at.
        self._client.get(Page[Change], "/diff", limit=1, **asked)
        return Diff(old, new, lambda: self._client.pages(Change, "/diff", **asked))

    def changes(self, commit: Commit) -> Iterator[Change]:
        place = f"{self._repo_path(commit.repo)}/commits/{commit.id}/changes"
        return self._items(Change, place)

    def _following(
        self, target: Ref, message: str, if_head: str | None, key: str | None
    ) -> RemoteCommitWriter:
        return self._writer(Ref(target.repo, target.ref), message, if_head, key, follow=True)

    def _writer(
        self,
        target: Ref,
        message: str,
        if_head: str | None,
        key: str | None,
        *,
        author: str | None = None,
        follow: bool = False,
    ) -> RemoteCommitWriter:
        from trunkline.sdk.remote.writer import RemoteCommitWriter, RemoteTransaction

        return RemoteCommitWriter(
            RemoteTransaction(self._client, author or self.author),
            target,
            self.project,
            owned=True,
            message=message,
            if_head=if_head,
            key=key,
            follow=follow,
        )

    def _opening(self, ref: str, act: str, message: str | None) -> Commit:
        target = self._ref(ref, path=Need.FORBIDDEN)
        place = f"{self._repo_path(target.repo)}/branches/{target.ref}/{act}"
        made: Commit = self._client.send("POST", place, Opening(message, self.author), kind=Commit)
        return made

    def _items(self, kind: Any, place: str, **asked: Any) -> Iterator[Any]:
        """The items of a list, of which the first page is asked for at once."""
        found = self._client.pages(kind, place, **asked)
        return chain([first for first in [next(found, None)] if first is not None], found)
