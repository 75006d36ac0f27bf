"""Writes that come at the same time, gathered into commits.

The first write to a branch commits at once; what one person sends to it meanwhile waits, and is
the next commit. So a single writer waits for nobody, and sixteen at a time make a commit for
sixteen files. Each is answered when its commit is durable, and refused on its own: what is
wrong with one write does not touch the others.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from trunkline.errors import LeaseLost, TrunklineError, Unavailable
from trunkline.lake.branches import writable_branch
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core
from trunkline.lake.lease import Lease
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, RepoName
from trunkline.model.refs import Ref
from trunkline.server.s3.conditions import ALWAYS, WriteCondition
from trunkline.server.s3.failures import S3Error

MOST = 1000
"""Writes in one commit."""


@dataclass(slots=True)
class Act:
    """A file put, as bytes or as the line of a stored one; removed, if it is neither."""

    path: bytes
    data: bytes | None = None
    line: bytes | None = None
    lease: Lease | None = None
    """Of a file that is stored already: without it the bytes may be gone."""

    @property
    def removes(self) -> bool:
        return self.data is None and self.line is None


@dataclass(slots=True)
class Write:
    """What one request does. `requires` are commits whose files it reuses."""

    verb: str
    acts: Sequence[Act]
    condition: WriteCondition = ALWAYS
    requires: frozenset[tuple[RepoName, str]] = frozenset()
    error: BaseException | None = None
    commit: Commit | None = None
    ended: bool = False
    woken: threading.Event = field(default_factory=threading.Event)


_Place = tuple[str, Ref]


class Nothing(Exception):
    """There is nothing to commit."""


class Gathering:
    """Commits the writes of all requests."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._waiting: dict[_Place, list[Write]] = {}

    def write(self, author: str, ref: Ref, write: Write) -> None:
        """Make a write durable and visible; None of it if this raises."""
        place = (author, ref)
        with self._lock:
            leads = place not in self._waiting
            self._waiting.setdefault(place, []).append(write)
        if not leads:
            write.woken.wait()
        if not write.ended:
            self._lead(place)
        if write.error is not None:
            raise write.error

    def _lead(self, place: _Place) -> None:
        """Commit what waits, then leave the next commit to the first that has come meanwhile."""
        with self._lock:
            batch = self._waiting[place][:MOST]
        try:
            self._commit(place, batch)
        finally:
            with self._lock:
                left = self._waiting[place] = self._waiting[place][len(batch) :]
                if not left:
                    del self._waiting[place]
            for write in batch:
                write.ended = True
                write.woken.set()
            if left:
                left[0].woken.set()

    def _commit(self, place: _Place, batch: list[Write]) -> None:
        try:
            self._together(place, batch)
        except (TrunklineError, S3Error) as error:
            shared = isinstance(error, Unavailable) and not isinstance(error, LeaseLost)
            if len(batch) == 1 or shared:
                _fail(batch, error)
                return
            for write in batch:
                self._commit(place, [write])
        except BaseException as bug:
            # Nobody may take a write for done that is not.
            _fail(batch, bug)
            if not isinstance(bug, Exception):
                raise

    def _together(self, place: _Place, batch: list[Write]) -> None:
        author, ref = place
        with self._core.database.read() as session:
            branch = writable_branch(session, ref)
        staged = branch is not None and branch.open is not None
        transaction = Transaction(self._core, author)
        draft = transaction.draft(ref, _message(batch))
        try:
            with transaction:
                for act in (act for write in batch for act in write.acts):
                    if act.data is not None:
                        act.line = transaction.intake.add_bytes(act.path.decode(), act.data)
                    if act.lease is not None:
                        transaction.create(act.lease.check_kept)
                draft.rework = partial(_changes, batch, staged)
                draft.changes = draft.rework(self._core.tree(draft.base))
                for write in batch:
                    draft.requires |= write.requires
        except Nothing:
            return
        for write in batch:
            write.commit = draft.result


def _changes(batch: list[Write], staged: bool, tree: Tree) -> Changes:
    """What the writes do to a tree, one after the other; each learns what is wrong with it."""
    changes = Changes()
    for write in batch:
        write.error = None
        try:
            if write.condition:
                _check(write, changes, staged, tree)
        except S3Error as error:
            write.error = error
            continue
        for act in write.acts:
            if not act.removes:
                changes.put_all([act.line or b""])
            elif staged or _present(act.path, changes, tree) is not None:
                changes.remove_file(act.path)
    if not changes:
        raise Nothing
    return changes


def _check(write: Write, changes: Changes, staged: bool, tree: Tree) -> None:
    if staged:
        raise S3Error(
            "InvalidRequest",
            "A branch with an open commit takes no conditional writes: what it will hold is not "
            "known before `trunkline commit finish`.",
        )
    write.condition.check(_present(write.acts[0].path, changes, tree))


def _present(path: bytes, changes: Changes, tree: Tree) -> bytes | None:
    """The line at a path after the changes so far."""
    if path in changes.puts:
        return changes.puts[path]
    return None if changes.removes(path) else tree.find(path)


def _message(batch: list[Write]) -> str:
    first = batch[0]
    more = sum(len(write.acts) for write in batch) - 1
    name = first.acts[0].path.decode()
    return f"s3: {first.verb} {name}" + (f" and {more} more" if more else "")


def _fail(batch: list[Write], error: BaseException) -> None:
    for write in batch:
        write.error = error
