"""Files: putting, reading, listing, comparing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from trunkline.errors import Usage
from trunkline.lake import files
from trunkline.lake.core import Core, resolve
from trunkline.lake.differences import differences
from trunkline.model.commits import Commit
from trunkline.model.files import Change, FileInfo
from trunkline.model.refs import Need, Ref
from trunkline.sdk.base import LakeBase, Location, store_options
from trunkline.sdk.results import Diff, GetReport

if TYPE_CHECKING:
    from trunkline.ingests.urls import UrlPolicy
    from trunkline.sdk.writer import CommitWriter, LakeTransaction, Progress


class Contents(LakeBase):
    """What commits hold, and how it gets there."""

    def commit(
        self,
        ref: str,
        message: str = "",
        *,
        author: str | None = None,
        if_head: str | None = None,
        key: str | None = None,
    ) -> CommitWriter:
        """A commit on a branch, as a context manager: visible on a clean exit, else nothing.

        If the branch moves meanwhile the commit goes on top, unless both changed the same path:
        then `BranchMoved`. With `if_head` any move is refused. A second commit with the same
        `key` changes nothing and answers with the first.
        """
        from trunkline.lake.transaction import Transaction
        from trunkline.sdk.writer import CommitWriter

        transaction = Transaction(self._core, author or self.author)
        target = self._ref(ref, path=Need.FORBIDDEN)
        draft = transaction.draft(target, message, if_head=if_head, request=key)
        return CommitWriter(transaction, draft, self.project, owned=True)

    def transaction(self, message: str = "", *, author: str | None = None) -> LakeTransaction:
        """Commits in several repos that share one id and take effect together."""
        from trunkline.lake.transaction import Transaction
        from trunkline.sdk.writer import LakeTransaction

        transaction = Transaction(self._core, author or self.author, message)
        return LakeTransaction(transaction, self.project)

    def put(
        self,
        ref: str,
        sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        recursive: bool = False,
        append: bool = False,
        untar: bool = False,
        reference: bool = False,
        message: str = "",
        if_head: str | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> Commit:
        """Put files, folders, URLs or standard input ("-") into a branch, as one commit.

        With `reference` nothing is copied: the commit lists where the files are, and whoever
        keeps them promises never to change them.
        """
        several = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
        target = self._ref(ref)
        typed = ref.partition(":")[2] or None
        with self._following(target, message, if_head, key) as writer:
            self._put_into(
                writer,
                [os.fspath(source) for source in several],
                typed,
                append=append,
                untar=untar,
                recursive=recursive,
                reference=reference,
                progress=progress,
            )
        return writer.result

    def _put_into(
        self,
        writer: CommitWriter,
        sources: Sequence[str],
        target: str | None,
        *,
        append: bool = False,
        untar: bool = False,
        recursive: bool = False,
        reference: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Put what a user names into a commit; `target` is the path as it was typed."""
        from trunkline.sdk.putting import Putter

        Putter(
            writer,
            self._url_policy,
            store_options(self._settings),
            append=append,
            untar=untar,
            recursive=recursive,
            reference=reference,
            progress=progress,
        ).put(sources, target)

    def rm(
        self, ref: str, *, recursive: bool = False, message: str = "", if_head: str | None = None
    ) -> Commit:
        """Remove a file, or a folder if `recursive`. What is not there is no error."""
        target = self._ref(ref, path=Need.REQUIRED)
        path = target.path or "/"
        if not recursive:
            refuse_folder(self._core, target, path)
        with self._following(target, message, if_head, None) as writer:
            writer.delete(path)
        return writer.result

    def cp(self, source: str, target: str, *, message: str = "") -> Commit:
        """Copy a file or folder by reference, across repos too: no bytes move."""
        to = self._ref(target, path=Need.REQUIRED)
        path = to.path or "/"
        if target.endswith("/"):
            name = (self._ref(source, path=Need.REQUIRED).path or "/").rpartition("/")[2]
            path = f"{path.rstrip('/')}/{name}"
        with self._following(to, message, None, None) as writer:
            writer.copy(source, path)
        return writer.result

    def start_commit(self, ref: str, message: str = "") -> Commit:
        """Open a commit that gathers many calls until `finish_commit`."""
        from trunkline.lake import opened

        target = self._ref(ref, path=Need.FORBIDDEN)
        return opened.start_commit(self._core, target, message, self.author)

    def finish_commit(self, ref: str, message: str | None = None) -> Commit:
        from trunkline.lake import opened

        target = self._ref(ref, path=Need.FORBIDDEN)
        return opened.finish_commit(self._core, target, message, self.author)

    def ls(
        self, ref: str, *, recursive: bool = False, hashes: bool = True, hidden: bool = False
    ) -> Iterator[FileInfo]:
        """What is in a folder, or every file below it. Folders' hashes cost a look at all files.

        `hidden`: also what the lake keeps beside the files: `_table.json`, `_quarantine/` …
        """
        parsed = self._ref(ref)
        tree, where, path = (
            self._core.tree_of(parsed),
            str(Ref(parsed.repo, parsed.ref)),
            parsed.path,
        )
        if recursive:
            return files.everything(tree, path or "/", where, hidden_too=hidden)
        return files.children(tree, path or "/", where, hashes, hidden_too=hidden)

    def stat(self, ref: str) -> FileInfo:
        parsed = self._ref(ref)
        where = str(Ref(parsed.repo, parsed.ref))
        return files.stat(self._core.tree_of(parsed), parsed.path or "/", where)

    def glob(self, ref: str) -> Iterator[FileInfo]:
        """Files and folders whose whole path matches the pattern in the ref's path."""
        parsed = self._ref(ref, path=Need.REQUIRED, pattern=True)
        return files.matching(self._core.tree_of(parsed), parsed.path or "/")

    def cat(self, ref: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The bytes of a file, or a part of them, in pieces."""
        if start < 0 or (length is not None and length < 0):
            raise Usage("A part of a file starts at 0 or later and is not shorter than nothing.")
        parsed = self._ref(ref, path=Need.REQUIRED)
        where = str(Ref(parsed.repo, parsed.ref))
        entry = files.find(self._core.tree_of(parsed), parsed.path or "/", where)
        return files.read(self._core, entry, start, length)

    def read(self, ref: str) -> bytes:
        """A whole file at once."""
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
        """Write a file, a folder or what a pattern matches to this computer."""
        from trunkline.lake.lease import pinned
        from trunkline.sdk.getting import Getter

        parsed = self._ref(ref, pattern=True)
        with self._core.database.read() as session:
            found = resolve(session, parsed)
        with pinned(self._core, found):
            getter = Getter(self._core, found, parsed, progress)
            if tar:
                return getter.tar(dest, force)
            if not isinstance(dest, str | os.PathLike):
                raise Usage("Only an archive can be written to a stream.", hint="Use tar=True.")
            return getter.get(dest, force)

    def diff(self, old: str, new: str) -> Diff:
        """What differs between two commits, below the path of the refs if they have one."""
        before, after = self._ref(old), self._ref(new)
        if (before.path or "/") != (after.path or "/"):
            raise Usage(
                "The two refs name different paths.", hint="Diff compares one path at two commits."
            )
        trees = self._core.tree_of(before), self._core.tree_of(after)
        path = (before.path or "/").encode()

        def compute() -> Iterator[Change]:
            # Neighbours such as /a.csv start with /a too, but lie outside of it.
            for difference in differences(*trees, path):
                if difference.path == path or difference.path.startswith(path.rstrip(b"/") + b"/"):
                    yield difference.to_change()

        return Diff(old, new, compute)

    def changes(self, commit: Commit) -> Iterator[Change]:
        """What a commit changed, compared with its first parent."""
        here = f"{commit.repo.project}/{commit.repo.repo}@{commit.id}"
        if commit.parent is None:
            return (
                d.to_change() for d in differences(self._core.tree(None), self._core.tree(commit))
            )
        return self.diff(f"{here}^", here).changes

    def _following(
        self, target: Ref, message: str, if_head: str | None, key: str | None
    ) -> CommitWriter:
        """A one-call commit: it goes on top of whatever the head is when it is ready."""
        from trunkline.lake.transaction import Transaction
        from trunkline.sdk.writer import CommitWriter

        transaction = Transaction(self._core, self.author)
        draft = transaction.draft(
            Ref(target.repo, target.ref), message, if_head=if_head, request=key, follow=True
        )
        return CommitWriter(transaction, draft, self.project, owned=True)

    def _url_policy(self) -> UrlPolicy:
        from trunkline.ingests.urls import UrlPolicy

        found = self._settings
        return UrlPolicy(
            allow_private=found.flag("url.allow_private"),
            allow_http=found.flag("url.allow_http"),
            max_bytes=found.number("url.max_bytes"),
            timeout=found.seconds("url.timeout"),
        )


def refuse_folder(core: Core, target: Ref, path: str) -> None:
    """Only a file is to be removed."""
    with core.database.read() as session:
        found = resolve(session, Ref(target.repo, target.ref))
        if found.commit and found.commit.finished is None:
            found = resolve(session, Ref(target.repo, found.commit.branch))
    tree = core.tree(found.commit)
    if tree.find(path.encode()) is None and (path == "/" or tree.has_below(path.encode())):
        raise Usage(f'"{path}" is a folder.', hint="Add -r to remove all of it.")
