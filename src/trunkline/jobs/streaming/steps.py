"""What is new at an input of a stream, commit by commit, for the price of what changed.

A commit is compared with the one before it along first parents. Those that ended in error are
passed by, and so are those whose data was forgotten: what they added is in the next one. If the
branch was moved, what was read last and what is there now are compared as a whole.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from trunkline.errors import NotFound, Precondition
from trunkline.jobs.streaming.neutral import settled
from trunkline.jobs.streaming.policy import Policy
from trunkline.jobs.streaming.positions import Place
from trunkline.jobs.streaming.step import Step, counted
from trunkline.jobs.streaming.tablestate import TableStates, folder_of, name_of
from trunkline.lake.core import Core, repo_key
from trunkline.lake.differences import Difference, differences
from trunkline.lake.manifests import Tree
from trunkline.model.commits import Commit
from trunkline.model.entries import line_path, line_size
from trunkline.model.inputs import Pfs
from trunkline.storage.catalog import commits
from trunkline.tables.layout import is_data

_PAGE = 256
_AHEAD = 64
_AHEAD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Compared:
    """A commit, the one before it, and the files of rows that differ."""

    before: Commit | None
    old: Tree
    commit: Commit
    new: Tree
    found: Sequence[Difference]

    @property
    def added(self) -> list[bytes]:
        return [one.new for one in self.found if one.new is not None]

    @property
    def size(self) -> int:
        return sum(map(line_size, self.added))


def steps(
    core: Core,
    leaf: Pfs,
    since: str | None,
    until: str | None,
    stream: str = "NAME",
    *,
    snapshot: bool = False,
) -> Iterator[Step]:
    """From a position, or from the beginning, up to a commit. The oldest first.

    With `snapshot` the beginning is what is there now: how it came to be is not gone through.

    What the policy refuses is raised when its commit is reached: all before it was given by then.
    """
    if until is not None:
        place = Place.parse(since) if since else None
        yield from _Steps(core, leaf, stream).between(place, until, snapshot)


class _Steps:
    def __init__(self, core: Core, leaf: Pfs, stream: str) -> None:
        self._core = core
        self._leaf = leaf
        self._stream = stream
        self._policy = Policy(core, leaf, stream)
        with core.database.read() as session:
            self._repo = repo_key(session, leaf.repo)

    def between(self, since: Place | None, until: str, snapshot: bool) -> Iterator[Step]:
        end = self._good(until)
        start = self._commit(since.commit) if since else None
        if end is None:
            return
        self._open(self._tree(end))
        if since is None or start is None:
            if snapshot:
                yield self._step(None, self._tree(None), end, self._tree(end))
            else:
                yield from self._along(None, end)
            return
        if not self._is_behind(start, end):
            yield self._moved(since, start, end)
            return
        if since.taken:
            whole = self._inside(since, start)
            yield whole.part(since.taken, len(whole.added))
        yield from self._along(start, end)

    def _open(self, newest: Tree) -> None:
        leaf = self._leaf
        self._folder = folder_of(newest, leaf)
        self._prefix = self._folder.rstrip("/").encode() + b"/"
        self._states = TableStates(self._core, self._folder, name_of(leaf, self._folder), newest)

    # -- which commits -----------------------------------------------------------------------

    def _along(self, start: Commit | None, end: Commit) -> Iterator[Step]:
        """Commit by commit; a few are looked at ahead, as files are examined faster together."""
        waiting: list[_Compared] = []
        before, tree, size, ahead = start, self._tree(start), 0, 1
        for commit in self._following(start.depth if start else 0, end):
            if commit.error is not None or (commit.forgotten is not None and commit.id != end.id):
                continue
            now = self._tree(commit)
            waiting.append(_Compared(before, tree, commit, now, self._compared(tree, now)))
            size += waiting[-1].size
            if len(waiting) >= ahead or size >= _AHEAD_BYTES:
                known = yield from self._judged_together(waiting)
                # Who asks for the first alone should not wait for many.
                waiting, size, ahead = [], 0, 1 if known else min(2 * ahead, _AHEAD)
            before, tree = commit, now
        yield from self._judged_together(waiting)

    def _judged_together(self, waiting: Sequence[_Compared]) -> Generator[Step, None, bool]:
        """The steps, and whether nothing had to be looked at for them."""
        known = False
        if waiting:
            lines = [line for one in waiting for line in one.added]
            known = not self._states.look_at(waiting[-1].new, lines)
        for one in waiting:
            yield self._judged(one)
        return known

    def _following(self, depth: int, end: Commit) -> Iterator[Commit]:
        """The commits after a depth up to the end, a page at a time."""
        last = ""
        while depth < end.depth:
            upto = min(depth + _PAGE, end.depth)
            with self._core.database.read() as session:
                head = commits.at_depth(session, self._repo, end.id, upto)
                page = commits.chain(session, self._repo, head, upto - depth) if head else []
            for commit in reversed(page):
                last = commit.id
                yield commit
            depth = upto
        if depth and last != end.id and last:
            yield end  # some were squashed while we looked, and the rest moved down

    def _is_behind(self, start: Commit, end: Commit) -> bool:
        with self._core.database.read() as session:
            return commits.at_depth(session, self._repo, end.id, start.depth) == start.id

    def _commit(self, commit_id: str) -> Commit:
        with self._core.database.read() as session:
            found = commits.find(session, self._repo, commit_id)
        if found is None:
            raise Precondition(
                f"Commit {commit_id[:12]} of {self._leaf.repo}, up to which {self._stream} has "
                "read, is gone.",
                hint=self._anew(),
            )
        return found

    def _good(self, commit_id: str) -> Commit | None:
        """The commit, or the last before it that did not end in error."""
        found: Commit | None = self._commit(commit_id)
        while found is not None and found.error is not None:
            found = self._commit(found.parent) if found.parent else None
        return found

    def _tree(self, commit: Commit | None) -> Tree:
        try:
            return self._core.tree(commit)
        except NotFound as error:
            raise Precondition(error.message, hint=self._anew()) from None

    def _anew(self) -> str:
        return f"Say where to go on: trunkline stream restart {self._stream} --from REF."

    # -- what they changed -------------------------------------------------------------------

    def _step(self, before: Commit | None, old: Tree, commit: Commit, new: Tree) -> Step:
        return self._judged(_Compared(before, old, commit, new, self._compared(old, new)))

    def _compared(self, old: Tree, new: Tree) -> list[Difference]:
        """The files of rows that differ."""
        start = len(self._prefix)
        return [
            one for one in differences(old, new, self._prefix) if is_data(one.path[start:].decode())
        ]

    def _inside(self, since: Place, start: Commit) -> Step:
        """The whole of the commit that a position is in the middle of."""
        base = self._commit(since.base) if since.base else None
        return self._step(base, self._tree(base), start, self._tree(start))

    def _moved(self, since: Place, start: Commit, end: Commit) -> Step:
        """From what was read to what is there, where no commits lead from one to the other."""
        new = self._tree(end)
        if not since.taken:
            return self._step(start, self._tree(start), end, new)
        whole = self._inside(since, start)
        base = self._commit(since.base) if since.base else None
        old = self._tree(base)
        read = {line_path(line): line for line in whole.added[: since.taken]}
        found = [
            Difference(one.path, read.pop(one.path, one.old), one.new)
            for one in self._compared(old, new)
        ]
        found += [Difference(path, line, None) for path, line in read.items()]
        found = sorted((one for one in found if not one.same_content), key=lambda one: one.path)
        # Where it began is written down nowhere, so nothing could go on in its middle.
        return replace(self._judged(_Compared(base, old, end, new, found)), whole=True)

    def _judged(self, given: _Compared) -> Step:
        before, commit, found = given.before, given.commit, given.found
        gone, come = settled(found)
        lines = [entry.encode() for entry in come]
        only_more = all(one.old is None for one in found)
        table = self._states.at(
            given.new,
            commit.root_hash,
            (before.root_hash if before else None, lines) if only_more else None,
        )
        step = Step(
            commit.id,
            before.id if before else None,
            self._folder,
            table,
            added=tuple(lines),
            marked=self._policy.marks,
        )
        if not gone:
            return counted(step)
        was = self._states.at(given.old, before.root_hash if before else None)
        step = replace(step, table=table or was, table_before=was)
        return counted(self._policy.applied(step, gone, come))
