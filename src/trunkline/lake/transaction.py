"""How commits reach a branch: objects durable, manifests durable, one database transaction.

In that one they end as every commit does, by `publish`, the only way a branch moves.

Three outcomes. Committed. `BranchMoved`: nothing happened and a retry is safe; it is made here,
by itself, wherever the paths do not overlap. `CommitUnknown`: the database went away in the
middle, so the id is looked up before anything else is done. Nothing is ever cleaned up by a
writer that is unsure: objects that no commit names belong to gc.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from trunkline.errors import (
    BranchMoved,
    CommitFinished,
    CommitUnknown,
    Conflict,
    Unavailable,
    Usage,
)
from trunkline.lake.branches import add_branch, add_repo, refuse_open, writable_branch
from trunkline.lake.core import Core, expect_head, repo_key, resolve
from trunkline.lake.drafts import Draft, Plan, Planner
from trunkline.lake.handover import Made
from trunkline.lake.lease import Lease
from trunkline.lake.propagation import NodeKey, Place
from trunkline.lake.publish import Change, Ending, caused_by, publish, spread
from trunkline.lake.turns import in_turn
from trunkline.model.backoff import Backoff
from trunkline.model.commits import Branch, Commit, Origin, RepoKind, RepoName
from trunkline.model.ids import new_id
from trunkline.model.refs import Ref
from trunkline.model.told import NOTHING
from trunkline.storage.catalog import Session, commits, refs, repos
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.keys import KeyMaker

ATTEMPTS = 40
BACKOFF = Backoff(0.02, 0.5)


class Raced(Exception):
    """Another commit came first; work the drafts out again."""


class Transaction:
    """Commits, repos and branches that take effect together, under one id, or not at all."""

    def __init__(
        self, core: Core, author: str, message: str = "", keys: KeyMaker | None = None
    ) -> None:
        """With `keys` its objects are another's, such as a job's, whose lease keeps them."""
        self.core = core
        self.id = keys.txn if keys is not None else new_id()
        self.ended = False
        self.author = author
        self.message = message
        self.drafts: list[Draft] = []
        self.cause = NOTHING
        self.environment = ""
        """Where the pipelines run that are to be run afterwards."""
        self.moved: dict[Place, str] = {}
        """Branches that got a commit otherwise than by a draft."""
        self.made: dict[NodeKey, Made] = {}
        self._creations: list[Callable[[Session], object]] = []
        self._afterwards: list[Callable[[Session], Iterable[int]]] = []
        self.new_repos: set[RepoName] = set()
        self._new_branches: dict[Ref, Ref | None] = {}
        self.keys, options = keys or KeyMaker(self.id), core.options
        self.intake = Intake(
            core.objects,
            self.keys,
            pack_limit=options.pack_limit,
            pack_size=options.pack_size,
            workers=options.workers,
        )
        self.planner = Planner(core, self.keys, self.intake)
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

    def create(self, make: Callable[[Session], object]) -> None:
        """Have something else made in the database when the transaction commits."""
        self._creations.append(make)

    def afterwards(self, act: Callable[[Session], Iterable[int]]) -> None:
        """Call when all commits are made, in the same transaction; the pipelines to be run."""
        self._afterwards.append(act)

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
        kind: RepoKind = RepoKind.USER,
        merged: tuple[str, ...] = (),
    ) -> Draft:
        """Start a commit on a branch (or go on with an open commit, named by its id)."""
        self.refuse_ended()
        if any(other.target.repo == target.repo for other in self.drafts):
            raise second_commit(target.repo)
        draft = Draft(
            target,
            message or self.message,
            author or self.author,
            if_head=if_head,
            request=request,
            follow=follow,
            origin=origin,
            kind=kind,
            merged=merged,
        )
        if target.repo not in self.new_repos:
            with self.core.database.read() as session:
                branch = self._branch(session, draft)
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
            raise has_ended(self.id)

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
        with in_turn(self.core.database.url, (draft.target for draft in self.drafts)):
            return self._commit()

    def _commit(self) -> list[Commit]:
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
                time.sleep(random.uniform(0, BACKOFF.pause(attempt + 1)))
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
            f"{self.drafts[0].target} kept moving: {ATTEMPTS} attempts lost the race.",
            hint="Nothing was changed; try again.",
        )

    def _settle(self, done: list[Commit]) -> list[Commit]:
        for draft, commit in zip(self.drafts, done, strict=True):
            draft.result = commit
        return done

    # -- working the drafts out ------------------------------------------------------------

    def _plan(self) -> list[Plan]:
        """Build each draft's tree on its branch's present head, and store the manifests."""
        plans = []
        for draft in self.drafts:
            if draft.target.repo in self.new_repos:
                plans.append(self.planner.tree(draft, None))
                continue
            with self.core.database.read() as session:
                branch = self._branch(session, draft)
                repo = repo_key(session, draft.target.repo)
                head = commits.find(session, repo, branch.head) if branch and branch.head else None
                if draft.if_head is not None:
                    expect_head(session, draft.target, branch, draft.if_head)
            if branch and branch.open:
                plans.append(self.planner.staging(draft, branch))
            else:
                plans.append(self.planner.tree(draft, head))
        return plans

    def _branch(self, session: Session, draft: Draft) -> Branch | None:
        """The branch to write to, which may be one that this transaction makes."""
        target = draft.target
        if target not in self._new_branches:
            return writable_branch(session, target, draft.kind)
        source = self._new_branches[target]
        head = resolve(session, source).id if source else None
        return Branch(target.repo, target.ref, head, 0)

    # -- the one database transaction ------------------------------------------------------

    def _publish(self, plans: list[Plan]) -> list[Commit]:
        with self.core.database.write() as session:
            if again := self._made_before(session):
                self.lease.release_in(session)
                return again
            self.lease.check_in(session)
            for create in self._creations:
                create(session)
            done = [self._publish_one(session, plan) for plan in plans]
            forced = [repo for act in self._afterwards for repo in act(session)]
            loud = [
                commit for commit, plan in zip(done, plans, strict=True) if not plan.draft.quiet
            ]
            spread(session, self.id, self._change(session, loud, forced))
            crashpoint("commit.in_transaction")
        return done

    def _change(self, session: Session, done: list[Commit], forced: list[int]) -> Change:
        moved = {
            (repo_key(session, commit.repo), commit.branch): commit.id
            for commit in done
            if commit.finished is not None
        } | self.moved
        made = {
            (repo_key(session, target.repo), target.ref): branch.head
            for target in self._new_branches
            if (branch := refs.branch(session, repo_key(session, target.repo), target.ref))
        }
        cause = self.cause or next((caused_by(commit) for commit in done), NOTHING)
        causes = {
            (repo_key(session, commit.repo), commit.branch): caused_by(commit)
            for commit in done
            if not self.cause
        }
        return Change(
            cause,
            self.author,
            {**made, **moved},
            frozenset(moved),
            tuple(forced),
            causes=causes,
            environment=self.environment,
            made=self.made,
        )

    def _publish_one(self, session: Session, plan: Plan) -> Commit:
        draft = plan.draft
        repo = repo_key(session, draft.target.repo)
        branch = writable_branch(session, draft.target, draft.kind)
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
                raise source_gone(name, commit_id)
        if plan.staged is not None:
            assert plan.open is not None
            commits.stage(session, repo, plan.open, plan.staged)
            staged = commits.find(session, repo, plan.open)
            assert staged is not None
            return staged
        assert plan.built is not None
        commit = Commit(
            id=self.id,
            repo=draft.target.repo,
            branch=branch.name,
            parent=plan.head,
            merged=draft.merged,
            message=draft.message,
            author=draft.author,
            started=draft.started or self.lease.started,
            finished=None,
            origin=draft.origin,
        )
        ending = Ending(commit=commit, content=plan.built, is_new=True, request=draft.request)
        return publish(session, repo, branch, ending)

    def _made_before(self, session: Session) -> list[Commit] | None:
        """The commits that an earlier call with the same idempotency keys made, if it did."""
        found = [_known_request(session, draft) for draft in self.drafts]
        made = [commit for commit in found if commit is not None]
        if not made:
            return None
        if len(made) < len(found):
            raise Conflict(
                f"The key of {made[0].repo} belongs to {made[0].short_id}, of another request.",
                hint="Nothing was changed; use a new key for each request.",
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


def second_commit(repo: RepoName) -> Usage:
    return Usage(
        f"This transaction already has a commit on {repo}.",
        hint="A repo has one commit in each transaction; put everything into that one.",
    )


def has_ended(txn: str) -> CommitFinished:
    return CommitFinished(
        f"Commit {txn[:12]} has ended and takes no more changes.", hint="Start another one."
    )


def source_gone(repo: RepoName, commit_id: str) -> Conflict:
    return Conflict(f"Commit {commit_id[:12]} of {repo}, reused by this one, is gone.")


def _known_request(session: Session, draft: Draft) -> Commit | None:
    """The commit that an earlier call with the draft's idempotency key made."""
    repo = repos.key_of(session, draft.target.repo) if draft.request else None
    return None if repo is None else commits.find_request(session, repo, draft.request or "")
