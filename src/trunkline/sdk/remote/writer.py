"""Writing through a server: commits in the making, whose files are uploaded as they are put."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from trunkline.errors import CommitUnknown, NotAllowed, TrunklineError, Unavailable, Usage
from trunkline.lake.transaction import has_ended, second_commit
from trunkline.model.commits import DEFAULT_BRANCH, Commit, RepoName
from trunkline.model.ids import new_id
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Need, Ref, parse_branch, parse_ref, parse_repo
from trunkline.sdk.remote.client import BACKOFF, Client
from trunkline.sdk.remote.filesets import FileSet
from trunkline.sdk.remote.sources import IN_MEMORY, Held, opened, spooled
from trunkline.sdk.remote.uploading import SMALL, TRIES, Sent, Uploader
from trunkline.sdk.wire.files import (
    Append,
    Apply,
    Copy,
    Delete,
    Ending,
    Found,
    MakeBranch,
    MakeCommit,
    MakeRepo,
    NewTransaction,
    OpenTransaction,
    Put,
)
from trunkline.sdk.wire.values import Page
from trunkline.sdk.writer import CommitWriter, Data, LakeTransaction, Progress, file_path
from trunkline.storage.catalog.leases import RENEW_SECONDS
from trunkline.storage.objects.intake import Files

if TYPE_CHECKING:
    from trunkline.sdk.specs import Thing

_CHUNK = 1 << 20


class RemoteTransaction:
    """A transaction on a server: its id, what it is to do, and the uploads under way."""

    def __init__(self, client: Client, author: str, message: str = "") -> None:
        self.client = client
        self.id = new_id()
        self.author = author
        self.message = message
        self.ended = False
        self.operations: list[Callable[[], Any]] = []
        self.writers: list[RemoteCommitWriter] = []
        self.new_repos: set[RepoName] = set()
        self.new_branches: dict[Ref, str] = {}
        self.uploader = Uploader(client, self.id, self.begin)
        self._begun = False
        self._over = threading.Event()

    def begin(self) -> None:
        """Have the server open it, once, and keep it open."""
        if not self._begun:
            self._renew()
            self._begun = True
            threading.Thread(target=self._stay, name="trunkline-lease", daemon=True).start()

    def refuse_ended(self) -> None:
        if self.ended:
            raise has_ended(self.id)

    def __enter__(self) -> Self:
        self.refuse_ended()
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended = True
        try:
            if kind is not None:
                self._drop()
                return
            try:
                self._commit()
            except BaseException:
                self._drop()
                raise
        finally:
            self._over.set()
            self.uploader.close()

    def _commit(self) -> None:
        self.begin()
        self.uploader.wait()
        body = Ending([make() for make in self.operations], self.message, self.author)
        place = f"/transactions/{self.id}/commit"

        def ask() -> list[Commit]:
            made: Page[Commit] = self.client.send("POST", place, body, kind=Page[Commit])
            return made.items

        try:
            done = ask()
        except CommitUnknown:
            # Its id is known, so that it can be asked what became of it by asking for it again.
            time.sleep(BACKOFF.jittered(TRIES))
            done = ask()
        for writer, commit in zip(self.writers, done, strict=True):
            writer.done = commit

    def _drop(self) -> None:
        """What was uploaded is of no use; if the server does not hear it, the lease runs out."""
        if self._begun:
            try:
                self.client.send("DELETE", f"/transactions/{self.id}")
            except TrunklineError:
                return

    def _renew(self) -> None:
        body = NewTransaction(self.id, self.author)
        self.client.send("POST", "/transactions", body, kind=OpenTransaction)

    def _stay(self) -> None:
        while not self._over.wait(RENEW_SECONDS):
            try:
                self._renew()
            except Unavailable:
                continue
            except TrunklineError:
                return


class RemoteCommitWriter(CommitWriter):
    """The changes of one commit, sent to the server as they are made."""

    def __init__(
        self,
        transaction: RemoteTransaction,
        target: Ref,
        project: str,
        *,
        owned: bool,
        message: str = "",
        if_head: str | None = None,
        key: str | None = None,
        follow: bool = False,
    ) -> None:
        self._session = transaction
        self._target = target
        self._project = project
        self._owned = owned
        self._steps: list[Any] = []
        self.done: Commit | None = None
        transaction.refuse_ended()
        if any(other._target.repo == target.repo for other in transaction.writers):
            raise second_commit(target.repo)
        base = self._base(if_head, key)
        self._files = FileSet(
            transaction, target, "" if self._is_new else target.ref if follow else base
        )
        transaction.writers.append(self)
        transaction.operations.append(
            lambda: MakeCommit(_whole(target), self._told(), message, if_head, key, follow, base)
        )

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def result(self) -> Commit:
        if self.done is None:
            raise Usage("This commit is not finished yet.", hint="Leave its with block first.")
        return self.done

    def put(self, path: str, data: Data, *, append: bool = False) -> None:
        self._session.refuse_ended()
        name = file_path(path)
        if isinstance(data, bytes | bytearray | memoryview):
            sent = self._send_bytes(name, bytes(data))
        elif isinstance(data, str | os.PathLike):
            with opened(data) as source:
                if source.size <= SMALL:
                    small = source.read(0, source.size)
                    source.check()
                    sent = self._session.uploader.add(name, small)
                else:
                    sent = self._session.uploader.send(name, source)
        else:
            read = getattr(data, "read", None)
            chunks: Iterable[bytes] = iter(partial(read, _CHUNK), b"") if read else data
            with spooled(chunks) as given:
                if given.size <= IN_MEMORY:
                    sent = self._send_bytes(name, given.read(0, given.size))
                else:
                    sent = self._session.uploader.send(name, given)
        self._steps.append((Append if append else Put, sent))

    def reference(self, path: str, url: str) -> int:
        return self._refer(url, path, recursive=True, into=False)

    def _refer(self, url: str, target: str, *, recursive: bool, into: bool) -> int:
        # A server must not be made to look at any file of its own for whoever asks.
        raise NotAllowed(
            "A server takes no references.",
            hint="Make them where the lake is, or let an ingest do it: source: objects.",
        )

    def put_files(
        self, files: Iterable[tuple[str, str | os.PathLike[str]]], progress: Progress | None = None
    ) -> None:
        self._put_placed([(file_path(path), local) for path, local in files], progress)

    def _put_placed(self, pairs: Files, progress: Progress | None = None) -> None:
        self._session.refuse_ended()
        kept, sent = self._files.send(pairs, progress)
        if kept.paths:
            self._steps.append(kept)
        self._steps.extend((Put, one) for one in sent)

    def delete(self, path: str) -> None:
        self._remove(path)

    def _remove(self, path: str, recursive: bool = True) -> None:
        self._session.refuse_ended()
        self._steps.append(Delete(normalize_path(path), recursive))

    def copy(self, source: str, path: str) -> None:
        self._session.refuse_ended()
        ref = parse_ref(source, project=self._project, path=Need.REQUIRED)
        name = normalize_path(path)
        place = f"/repos/{ref.repo.project}/{ref.repo.repo}/resolve"
        found: Found = self._session.client.get(Found, place, at=ref.ref, path=ref.path)
        assert found.commit is not None
        self._steps.append(Copy(_whole(Ref(ref.repo, found.commit, ref.path)), name))

    def __enter__(self) -> Self:
        if self._owned:
            self._session.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._owned:
            self._session.__exit__(kind, error, trace)

    def _send_bytes(self, name: str, data: bytes) -> Sent:
        uploader = self._session.uploader
        return uploader.add(name, data) if len(data) <= SMALL else uploader.send(name, Held(data))

    @property
    def _is_new(self) -> bool:
        return self._target.repo in self._session.new_repos

    def _base(self, if_head: str | None, key: str | None) -> str:
        """The head that the author sees, "" if there is none; the branch may be written to."""
        if self._is_new:
            return ""
        target, client = self._target, self._session.client
        place = f"/repos/{target.repo.project}/{target.repo.repo}"
        start = self._session.new_branches.get(target)
        found: Found
        if start is not None:
            ref = parse_ref(start)
            place = f"/repos/{ref.repo.project}/{ref.repo.repo}/resolve"
            found = client.get(Found, place, at=ref.ref)
        else:
            found = client.get(Found, f"{place}/base", branch=target.ref, if_head=if_head, key=key)
        return found.commit or ""

    def _told(self) -> list[Any]:
        """The steps as the server reads them: files one after the other are one operation."""
        told: list[Any] = []
        for step in self._steps:
            if not isinstance(step, tuple):
                told.append(step)
                continue
            kind, sent = step
            if not (told and type(told[-1]) is kind):
                told.append(kind([]))
            told[-1].receipts.append(sent.receipt)
        return told


class RemoteLakeTransaction(LakeTransaction):
    """Repos, branches and commits in several repos, on a server."""

    def __init__(self, transaction: RemoteTransaction, project: str) -> None:
        self._session = transaction
        self._project = project

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def commits(self) -> list[Commit]:
        return [writer.result for writer in self._session.writers]

    def create_repo(self, name: str, description: str = "") -> None:
        repo = parse_repo(name, project=self._project)
        self._session.new_repos.add(repo)
        made = MakeRepo(f"{repo.project}/{repo.repo}", description)
        self._session.operations.append(lambda: made)

    def create_branch(self, ref: str, from_: str | None = None) -> None:
        target = parse_branch(ref, project=self._project)
        start = from_ or DEFAULT_BRANCH
        source = Ref(target.repo, start)
        if "@" in start:
            source = parse_ref(start, project=self._project, path=Need.FORBIDDEN)
        made = MakeBranch(_whole(target), _whole(source))
        self._session.new_branches[target] = made.start
        self._session.operations.append(lambda: made)

    def apply(self, *things: Thing, args: Mapping[str, str] | None = None) -> None:
        from trunkline.sdk.specs import gather
        from trunkline.sdk.wire.pipelines import bodies_of

        made = Apply(bodies_of(gather(things, self._project, args or {}).declared))
        self._session.operations.append(lambda: made)

    def commit(
        self, ref: str, message: str = "", *, if_head: str | None = None, key: str | None = None
    ) -> RemoteCommitWriter:
        target = parse_ref(ref, project=self._project, path=Need.FORBIDDEN)
        return RemoteCommitWriter(
            self._session,
            target,
            self._project,
            owned=False,
            message=message,
            if_head=if_head,
            key=key,
        )

    def __enter__(self) -> Self:
        self._session.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.__exit__(kind, error, trace)


def _whole(ref: Ref) -> str:
    path = f":{ref.path}" if ref.path is not None else ""
    return f"{ref.repo.project}/{ref.repo.repo}@{ref.ref}{path}"
