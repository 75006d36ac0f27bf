"""Open commits: started, written to by many calls, then finished as one."""

from __future__ import annotations

from dataclasses import replace

from trunkline.errors import BranchMoved, CommitFinished, Precondition
from trunkline.lake.branches import writable_branch
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core, repo_key
from trunkline.lake.publish import Ending, Readers, publish
from trunkline.lake.reach import read_staged
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, Origin
from trunkline.model.ids import new_id
from trunkline.model.refs import Ref
from trunkline.storage.catalog import commits, refs
from trunkline.storage.crashpoints import crashpoint


def start_commit(core: Core, target: Ref, message: str, author: str) -> Commit:
    """Open a commit that gathers many calls until it is finished."""
    with core.database.write() as session:
        repo = repo_key(session, target.repo)
        branch = writable_branch(session, target)
        if branch is None:
            refs.add_branch(session, repo, target.ref, None, refs.Move(author, "start"))
            branch = refs.branch(session, repo, target.ref)
            assert branch is not None
        if branch.open:
            raise Precondition(
                f"{target.repo}@{branch.name} has the unfinished commit {branch.open[:12]}.",
                hint=f"Finish it first: trunkline commit finish {target.repo}@{branch.name}",
            )
        commit = Commit(
            id=new_id(),
            repo=target.repo,
            branch=branch.name,
            parent=branch.head,
            message=message,
            author=author,
            started=session.now(),
            finished=None,
            origin=Origin.USER,
        )
        commits.add(session, repo, commit)
        refs.set_open(session, repo, branch.name, commit.id)
        return commit


def finish_commit(core: Core, target: Ref, message: str | None, author: str) -> Commit:
    """Work out the tree of an open commit, check it, and move the branch to it."""
    with core.database.read() as session:
        repo = repo_key(session, target.repo)
        branch = writable_branch(session, target)
        opened = commits.find(session, repo, branch.open) if branch and branch.open else None
        if branch is None or opened is None:
            raise CommitFinished(
                f"{target.repo}@{target.ref} has no unfinished commit.",
                hint=f"Start one: trunkline commit start {target.repo}@{target.ref}",
            )
        head = commits.find(session, repo, branch.head) if branch.head else None
        staged = commits.staged(session, repo, opened.id)
    transaction = Transaction(core, author)
    transaction.lease.take()
    try:
        changes = Changes()
        for key in staged:
            changes.then(read_staged(core, key))
        crashpoint("finish.after_staging")
        built = transaction.planner.build(head, changes)
        with core.database.write() as session:
            now = refs.branch(session, repo, branch.name)
            if now is None or now.head != branch.head or now.open != opened.id:
                raise BranchMoved(
                    f"{target.repo}@{branch.name} moved while its commit was being finished.",
                    hint="Nothing was changed; finish it again.",
                )
            if commits.staged(session, repo, opened.id) != staged:
                raise BranchMoved(
                    f"More was written to {target.repo}@{branch.name} while it was being finished.",
                    hint="Nothing was changed; finish it again.",
                )
            transaction.lease.check_in(session)
            if message is not None:
                opened = replace(opened, message=message)
            ending = Ending(commit=opened, content=built, readers=Readers.START, author=author)
            done = publish(session, repo, branch, ending)
        transaction.lease.forget()
        return done
    except BaseException:
        transaction.abort()
        raise
