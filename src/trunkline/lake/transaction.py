"""The only way a branch moves: objects durable, manifests durable, one database transaction.

Three outcomes. Committed. `BranchMoved`: nothing happened and a retry is safe; it is made here,
by itself, wherever the paths do not overlap. `CommitUnknown`: the database went away in the
middle, so the id is looked up before anything else is done. Nothing is ever cleaned up by a
writer that is unsure: objects that no commit names belong to gc.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from types import TracebackType
from typing import Self

from trunkline.errors import (
    BranchMoved,
    CommitFinished,
    CommitUnknown,
    Conflict,
    NotAllowed,
    NotFound,
    Unavailable,
    Usage,
)
from trunkline.lake.branches import add_branch, add_repo, refuse_open
from trunkline.lake.changes import Changes, apply
from trunkline.lake.core import Core, expect_head, repo_key, resolve
from trunkline.lake.differences import differences
from trunkline.lake.files import read
from trunkline.lake.lease import Lease
from trunkline.lake.manifests import Tree
from trunkline.model.commits import (
    DEFAULT_BRANCH,
    Branch,
    Commit,
    Origin,
    RepoKind,
    RepoName,
)
from trunkline.model.entries import Entry, line_hash
from trunkline.model.ids import is_id_prefix, new_id
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.storage.catalog import Session, commits, events, refs, repos
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.keys import KeyMaker

ATTEMPTS = 40


@dataclass
class Draft:
    """A commit in the making: what changes, on which branch, and what must still hold.

    `base` is the head that its author saw. With `follow` there is none: the changes go on top
    of whatever the head is by then. `requires` are commits whose files are reused.
    """

    target: Ref
    message: str
    author: str
    changes: Changes = field(default_factory=Changes)
    base: Commit | None = None
    follow: bool = False
    if_head: str | None = None
    request: str | None = None
    origin: Origin = Origin.USER
    merged: tuple[str, ...] = ()
    requires: set[tuple[RepoName, str]] = field(default_factory=set)
    started: int = 0
    result: Commit | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A draft worked out against the head it was read with."""

    draft: Draft
    head: str | None
    open: str | None
    staged: str | None = None
    root: str | None = None
    root_hash: str | None = None
    tree: Tree | None = None


class Raced(Exception):
    """Another commit came first; work the drafts out again."""


class Transaction:
    """Commits, repos and branches that take effect together, under one id, or not at all."""

    def __init__(self, core: Core, author: str, message: str = "") -> None:
        self.core = core
        self.id = new_id()
        self.ended = False
        self.author = author
        self.message = message
        self.drafts: list[Draft] = []
        self._creations: list[Callable[[Session], object]] = []
        self.new_repos: set[RepoName] = set()
        self._new_branches: dict[Ref, Ref | None] = {}
        self.keys = KeyMaker(self.id)
        self.intake = self._make_intake()
        self.lease = Lease(core, self.id, author)

    # -- what goes into it ---------------------------------------------------------------

    def create_repo(self, name: RepoName, description: str, kind: RepoKind = RepoKind.USER) -> None:
        """Make a repo with its default branch when the transaction commits."""
        self.new_repos.add(name)
        self._creations.append(
            lambda session: add_repo(session, name, description, kind, self.author)
        )

    def create_branch(self, target: Ref, source: Ref | None) -> None:
        self._new_branches[target] = source
        self._creations.append(lambda session: add_branch(session, target, source, self.author))

    def draft(
        self,
        target: Ref,
        message: str = "",
        *,
        author: str | None = None,
        if_head: str | None = None,
        request: str | None = None,
        follow: bool = False,
        origin: Origin = Origin.USER,
        merged: tuple[str, ...] = (),
    ) -> Draft:
        """Start a commit on a branch (or go on with an open commit, named by its id)."""
        self.refuse_ended()
        if any(other.target.repo == target.repo for other in self.drafts):
            raise Usage(
                f"this transaction already has a commit on {target.repo}",
                hint="a repo has one commit in each transaction; put everything into that one",
            )
        draft = Draft(
            target,
            message or self.message,
            author or self.author,
            if_head=if_head,
            request=request,
            follow=follow,
            origin=origin,
            merged=merged,
        )
        if target.repo not in self.new_repos:
            with self.core.database.read() as session:
                branch = self._branch(session, target)
                head = branch.head if branch else None
                if head and not follow:
                    draft.base = commits.find(session, repo_key(session, target.repo), head)
                if if_head is not None and not _known_request(session, draft):
                    expect_head(session, target, branch, if_head)
                if branch and origin is not Origin.USER:
                    refuse_open(branch)
        self.drafts.append(draft)
        return draft

    def refuse_ended(self) -> None:
        """What comes after the end would be lost without a word."""
        if self.ended:
            raise CommitFinished(
                f"commit {self.id[:12]} has ended and takes no more changes",
                hint="start another one",
            )

    # -- how it ends ---------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.refuse_ended()
        self.lease.take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.ended = True
        if kind is not None:
            self.abort()
            return
        try:
            self.commit()
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Leave nothing behind but objects that gc will find."""
        self.intake.abort()
        self.lease.give_back()

    def commit(self) -> list[Commit]:
        """Make it all durable and visible; the commits, in the order of their drafts."""
        self.intake.close()
        for attempt in range(ATTEMPTS):
            try:
                plans = self._plan()
            except BranchMoved:
                # Perhaps by this very request, made once before or twice at the same time.
                with self.core.database.read() as session:
                    again = self._made_before(session)
                if again is None:
                    raise
                self.lease.give_back()
                return self._settle(again)
            crashpoint("commit.after_manifests")
            if any(draft.origin is Origin.MERGE for draft in self.drafts):
                crashpoint("merge.before_transaction")
            crashpoint("commit.before_transaction")
            try:
                done = self._publish(plans)
            except Raced:
                # A random pause keeps several writers from colliding in step.
                time.sleep(random.uniform(0, min(0.02 * 2**attempt, 0.5)))
                continue
            except CommitUnknown:
                if found := self._look():
                    done = found
                else:
                    raise
            crashpoint("commit.after_transaction")
            self.lease.forget()
            return self._settle(done)
        raise BranchMoved(
            f"{self.drafts[0].target} kept moving: {ATTEMPTS} attempts lost the race",
            hint="nothing was changed; try again",
        )

    def _settle(self, done: list[Commit]) -> list[Commit]:
        for draft, commit in zip(self.drafts, done, strict=True):
            draft.result = commit
        return done

    # -- working the drafts out ------------------------------------------------------------

    def _plan(self) -> list[_Plan]:
        """Build each draft's tree on its branch's present head, and store the manifests."""
        plans = []
        for draft in self.drafts:
            if draft.target.repo in self.new_repos:
                plans.append(self._plan_tree(draft, None, None))
                continue
            with self.core.database.read() as session:
                branch = self._branch(session, draft.target)
                repo = repo_key(session, draft.target.repo)
                head = commits.find(session, repo, branch.head) if branch and branch.head else None
                if draft.if_head is not None:
                    expect_head(session, draft.target, branch, draft.if_head)
            if branch and branch.open:
                plans.append(self._plan_staging(draft, branch))
            else:
                plans.append(self._plan_tree(draft, head, branch))
        return plans

    def _branch(self, session: Session, target: Ref) -> Branch | None:
        """The branch to write to, which may be one that this transaction makes."""
        if target not in self._new_branches:
            return writable_branch(session, target)
        source = self._new_branches[target]
        head = resolve(session, source).id if source else None
        return Branch(target.repo, target.ref, head, 0)

    def _plan_staging(self, draft: Draft, branch: Branch) -> _Plan:
        """An open commit only gathers changes; its tree is worked out when it is finished."""
        if draft.request is not None:
            raise Usage(
                f"{draft.target.repo}@{branch.name} has an open commit, which remembers no keys",
                hint="finish it first, or put without --key",
            )
        import zstandard

        key = self.keys.manifest()
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        self.core.objects.put(key, compressor.compress(draft.changes.encode()))
        return _Plan(draft, branch.head, branch.open, staged=key)

    def _plan_tree(self, draft: Draft, head: Commit | None, branch: Branch | None) -> _Plan:
        tree = self.core.tree(head)
        moved = not draft.follow and (draft.base.id if draft.base else None) != (
            head.id if head else None
        )
        if moved:
            self._refuse_overlap(draft, tree, branch)
        changes = self.joined(draft.changes, tree)
        root, root_hash, new_tree = self.core.manifests.write(
            apply(tree, changes), self.keys.manifest
        )
        return _Plan(
            draft,
            head.id if head else None,
            None,
            root=root,
            root_hash=root_hash,
            tree=new_tree,
        )

    def _refuse_overlap(self, draft: Draft, head: Tree, branch: Branch | None) -> None:
        """The branch moved since the draft began: fine, unless it moved under the same paths."""
        both = []
        for difference in differences(self.core.tree(draft.base), head):
            path = difference.path
            if not draft.changes.touches(path):
                continue
            mine = draft.changes.puts.get(path)
            same = (
                difference.new is None
                if mine is None
                else difference.new is not None and line_hash(mine) == line_hash(difference.new)
            )
            if not same or path in draft.changes.appends:
                both.append(path.decode())
        if both:
            more = f" and {len(both) - 1} more" if len(both) > 1 else ""
            raise BranchMoved(
                f"{draft.target.repo}@{draft.target.ref} moved while you worked: "
                f"{both[0]}{more} changed on both sides",
                hint="nothing was changed; look at the new head, then try again",
            )

    def joined(self, changes: Changes, tree: Tree) -> Changes:
        """The changes with every append joined to what it is appended to."""
        if not changes.appends:
            return changes
        result = Changes()
        result.then(changes)
        result.appends.clear()
        self.intake.flush()
        for path, parts in changes.appends.items():
            before = changes.puts.get(path)
            if before is None and not changes.removes(path):
                before = tree.find(path)
            pieces = [*([before] if before else []), *parts]
            if len(pieces) == 1:
                result.puts[path] = pieces[0]
                continue
            streams = [read(self.core, Entry.decode(piece)) for piece in pieces]
            result.puts[path] = self.intake.add_stream(path.decode(), chain.from_iterable(streams))
        self.intake.close()
        return result

    # -- the one database transaction ------------------------------------------------------

    def _publish(self, plans: list[_Plan]) -> list[Commit]:
        with self.core.database.write() as session:
            if again := self._made_before(session):
                self.lease.release_in(session)
                return again
            self.lease.check_in(session)
            for create in self._creations:
                create(session)
            done = [self._publish_one(session, plan) for plan in plans]
            crashpoint("commit.in_transaction")
        return done

    def _publish_one(self, session: Session, plan: _Plan) -> Commit:
        draft = plan.draft
        repo = repo_key(session, draft.target.repo)
        branch = writable_branch(session, draft.target)
        if branch is None:
            refs.add_branch(
                session, repo, draft.target.ref, None, refs.Move(draft.author, "commit")
            )
            branch = Branch(draft.target.repo, draft.target.ref, None, session.now())
        if branch.head != plan.head or branch.open != plan.open:
            raise Raced
        for name, commit_id in draft.requires:
            key = repos.key_of(session, name)
            reused = commits.find(session, key, commit_id) if key is not None else None
            if reused is None or reused.forgotten is not None:
                raise Conflict(f"commit {commit_id[:12]} of {name}, which this one reuses, is gone")
        if plan.staged is not None:
            assert plan.open is not None
            commits.stage(session, repo, plan.open, plan.staged)
            staged = commits.find(session, repo, plan.open)
            assert staged is not None
            return staged
        assert plan.tree is not None
        now = session.now()
        commit = Commit(
            id=self.id,
            repo=draft.target.repo,
            branch=branch.name,
            parent=plan.head,
            merged=draft.merged,
            message=draft.message,
            author=draft.author,
            started=draft.started or self.lease.started,
            finished=now,
            origin=draft.origin,
            files=plan.tree.files,
            size=plan.tree.size,
            root=plan.root,
            root_hash=plan.root_hash,
        )
        commits.add(session, repo, commit, draft.request)
        return advance(session, repo, branch, commit)

    def _made_before(self, session: Session) -> list[Commit] | None:
        """The commits that an earlier call with the same idempotency keys made, if it did."""
        found = [_known_request(session, draft) for draft in self.drafts]
        made = [commit for commit in found if commit is not None]
        if not made:
            return None
        if len(made) < len(found):
            raise Conflict(
                f"the key of {made[0].repo} belongs to {made[0].short_id}, made by another request",
                hint="nothing was changed; use a new key for each request",
            )
        return made

    def _look(self) -> list[Commit] | None:
        """After an unknown outcome: did it happen? Only a database that answers can tell."""
        try:
            with self.core.database.read() as session:
                found = []
                for draft in self.drafts:
                    repo = repos.key_of(session, draft.target.repo)
                    made = commits.find(session, repo, self.id) if repo is not None else None
                    if made is None:
                        return None
                    found.append(made)
                return found
        except Unavailable:
            return None

    def _make_intake(self) -> Intake:
        options = self.core.options
        return Intake(
            self.core.objects,
            self.keys,
            pack_limit=options.pack_limit,
            pack_size=options.pack_size,
            workers=options.workers,
        )


def _known_request(session: Session, draft: Draft) -> Commit | None:
    """The commit that an earlier call with the draft's idempotency key made."""
    repo = repos.key_of(session, draft.target.repo) if draft.request else None
    return None if repo is None else commits.find_request(session, repo, draft.request or "")


def writable_branch(session: Session, target: Ref) -> Branch | None:
    """The branch to write to, found by name or by the id of its open commit; None to make it."""
    repo = repo_key(session, target.repo)
    found = repos.find(session, target.repo)
    assert found is not None
    if found.kind is not RepoKind.USER:
        raise NotAllowed(
            f"{target.repo} is the output of a pipeline: only its jobs may write to it",
            hint="write to one of the pipeline's inputs instead",
        )
    if branch := refs.branch(session, repo, target.ref):
        return branch
    if refs.tag(session, repo, target.ref):
        raise CommitFinished(
            f'"{target.ref}" is a tag of {target.repo}, and tags never change',
            hint=f"write to a branch, such as {target.repo}@{DEFAULT_BRANCH}",
        )
    if is_id_prefix(target.ref):
        resolved = resolve(session, target)
        if resolved.commit is not None and resolved.commit.finished is None:
            return refs.branch(session, repo, resolved.commit.branch)
        raise CommitFinished(
            f"commit {target.ref[:12]} of {target.repo} is finished and never changes",
            hint=f"write to a branch, such as {target.repo}@{DEFAULT_BRANCH}",
        )
    if not target.revision.is_name:
        raise CommitFinished(
            f"{target.repo}@{target.ref} names a finished commit, which never changes",
            hint=f"write to a branch, such as {target.repo}@{DEFAULT_BRANCH}",
        )
    if target.ref == DEFAULT_BRANCH:
        return None
    known = [branch.name for branch in refs.branches(session, repo)]
    raise NotFound(
        f'{target.repo} has no branch "{target.ref}".{did_you_mean(target.ref, known)}',
        hint=f"make it first: trunkline branch create {target.repo}@{target.ref}",
    )


def advance(session: Session, repo: int, branch: Branch, commit: Commit) -> Commit:
    """Point the branch at a finished commit, and tell the world."""
    move = refs.Move(commit.author, commit.origin)
    if not refs.swap_head(session, repo, branch.name, branch.head, commit.id, move):
        raise Raced
    if branch.open:
        refs.set_open(session, repo, branch.name, None)
    events.emit(session, "commit", commit.repo, {"id": commit.id, "branch": branch.name})
    stored = commits.find(session, repo, commit.id)
    assert stored is not None
    return stored


def copied(tree: Tree, source: str, target: str) -> Iterator[bytes]:
    """The lines of a file or folder of `tree`, as they are listed at another path."""
    old, new = source.encode(), target.encode()
    line = tree.find(old)
    if line is not None:
        yield new + line[len(old) :]
        return
    folder, into = old.rstrip(b"/") + b"/", new.rstrip(b"/") + b"/"
    found = False
    for line in tree.scan(folder):
        found = True
        yield into + line[len(folder) :]
    if not found:
        raise NotFound(f'there is no file or folder "{source}"')
