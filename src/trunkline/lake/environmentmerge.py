"""Code and data of an environment are published together, in one transaction.

What was computed there is taken over wherever inputs and code are the same in its base. Only
where both sides have moved is anything computed, by ordinary jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from trunkline.errors import Precondition
from trunkline.lake.branches import add_branch, refuse_open, require_branch
from trunkline.lake.core import Core, repo_key
from trunkline.lake.declarations import check
from trunkline.lake.environments import holds_same
from trunkline.lake.environmentsides import (
    Seen,
    Work,
    both_changed,
    both_refs,
    done,
    enter_both,
    look,
    moved_forward,
    not_done,
    prepare_merge,
    refuse_moved,
)
from trunkline.lake.handover import made_at
from trunkline.lake.pipelines import declare, delete_in
from trunkline.lake.propagation import node_of
from trunkline.lake.publish import Ending, publish
from trunkline.lake.threeway import Resolver
from trunkline.lake.transaction import Transaction
from trunkline.lake.versions import Declared, Reprocess
from trunkline.model.commits import Commit, Origin, RepoName
from trunkline.model.environments import (
    CodeState,
    DataState,
    EnvironmentReport,
    PipelineState,
    Step,
)
from trunkline.model.ids import new_id
from trunkline.model.jobs import BAD
from trunkline.model.refs import Ref
from trunkline.model.told import Kind, Told
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import Session, commits, environments, jobs, pipelines, refs


def merge(
    core: Core,
    project: str,
    name: str,
    author: str,
    *,
    dry_run: bool = False,
    force: bool = False,
    delete: bool = False,
) -> EnvironmentReport:
    """Publish what an environment has: its code, its data and what was computed there."""
    seen = look(core, project, name)
    environment = seen.environment
    _refuse_unready(core, seen, force)
    work = Work()
    for one in seen.in_state(CodeState.NEW, CodeState.CHANGED):
        work.versions.append(one)
        action = "created" if one.state is CodeState.NEW else "updated"
        work.steps.append(Step("pipeline", one.name, action, f"from version {one.version}"))
    for one in seen.in_state(CodeState.CONFLICT):
        work.conflicts.append(both_changed(environment, one))
    for one in seen.in_state(CodeState.DELETED):
        if delete:
            work.deleted.append(one.name)
        action = "deleted" if delete else "kept"
        detail = "" if delete else f"deleted in {name} only; --delete deletes it here too"
        work.steps.append(Step("pipeline", one.name, action, detail))
    mergeable = [b for b in seen.inputs(DataState.AHEAD, DataState.DIVERGED) if b.kind == "user"]
    for branch in mergeable:
        source, target = both_refs(environment, branch)
        if branch.state is DataState.AHEAD:
            work.forward.append(branch)
            work.steps.append(moved_forward(branch, branch.ahead))
        else:
            prepare_merge(core, work, source, target, Resolver(None, {}))
    if work.conflicts or dry_run or not work.steps:
        return not_done(environment, "merge", work, dry_run)
    transaction = Transaction(core, author)
    with transaction:
        declared = _declared(core, work.versions)
        with core.database.read() as session:
            sequence = check(session, declared)
        declare(core, transaction, sequence, Reprocess.CHANGED)
        transaction.cause = Told(Kind.MERGED, what=name)
        for prepared in work.merges:
            prepared.put_into(transaction, f"Merge {name} into {prepared.target.ref}")
        transaction.afterwards(partial(_publish, transaction, seen, work))
    return done(core, transaction, environment, "merge", work)


def _refuse_unready(core: Core, seen: Seen, force: bool) -> None:
    """What is published has been computed, and well."""
    environment = seen.environment
    with core.database.read() as session:
        going = jobs.listed(
            session, project=environment.project, unfinished=True, environment=environment.name
        )
    if going:
        named = ", ".join(sorted({str(job.pipeline) for job in going}))
        raise Precondition(
            f"Jobs of {environment.name} are not over: {named}.",
            hint="Let them end first: trunkline run",
        )
    failed = [one for one in seen.pipelines if one.version and one.last_state in BAD]
    if failed and not force:
        named = ", ".join(f"{one.name} ({one.last_state})" for one in failed)
        raise Precondition(
            f"The last jobs in {environment.name} did not end well: {named}.",
            hint="Mend them first, or merge all the same with --force.",
        )


def _declared(core: Core, changed: Iterable[PipelineState]) -> list[Declared]:
    found = []
    with core.database.read() as session:
        for one in changed:
            version = pipelines.version(session, repo_key(session, one.name), one.version)
            assert version is not None
            found.append(Declared(from_json(version.spec), restored=version))
    return found


def _publish(transaction: Transaction, seen: Seen, work: Work, session: Session) -> list[int]:
    """All that is not a draft: data moved forward, and outputs that are known already."""
    environment = seen.environment
    refuse_moved(session, seen, transaction)
    for branch in work.forward:
        source, target = both_refs(environment, branch)
        _copy_forward(session, transaction, source, target)
    forced = []
    here = environments.present(session, environment.project, environment.name)
    for repo in here:
        own, base = node_of(session, repo, environment.name), node_of(session, repo, "")
        if own is None or base is None:
            continue
        head = refs.branch(session, repo, own.branch)
        made = made_at(session, repo, head.head if head else None)
        if made is None:
            continue
        transaction.made[base.key] = made
        at = refs.branch(session, repo, base.branch)
        differs = not holds_same(session, repo, made.commit.id, at.head if at else None)
        is_own = made.job.environment == environment.name
        if differs and is_own and not any(edge.propagation for edge in own.edges):
            forced.append(repo)  # nothing that it reads starts it, so nothing else would
    for one in work.versions:
        repo = repo_key(session, one.name)
        row = pipelines.find(session, repo)
        assert row is not None
        enter_both(session, environment, repo, row.version, transaction.author)
    _delete_all(session, work.deleted, transaction.author)
    return forced


def _copy_forward(session: Session, transaction: Transaction, source: Ref, target: Ref) -> None:
    """One commit on the target that holds what the source does. No bytes move."""
    repo, theirs = require_branch(session, source)
    if refs.branch(session, repo, target.ref) is None:
        add_branch(session, target, None, transaction.author)  # it was made here only
    repo, ours = require_branch(session, target)
    refuse_open(theirs)
    refuse_open(ours)
    found = commits.find(session, repo, theirs.head) if theirs.head else None
    if found is None:
        return
    # A repo has one commit in a set: of several branches the others get ids of their own.
    taken = commits.find(session, repo, transaction.id) is not None
    commit = Commit(
        id=new_id() if taken else transaction.id,
        repo=target.repo,
        branch=target.ref,
        parent=ours.head,
        merged=(found.id,),
        message=f"Merge {source.ref} into {target.ref}",
        author=transaction.author,
        started=session.now(),
        finished=None,
        origin=Origin.MERGE,
    )
    publish(session, repo, ours, Ending(commit=commit, content=found, is_new=True))
    transaction.moved[repo, target.ref] = commit.id


def _delete_all(session: Session, names: list[RepoName], author: str) -> None:
    """Delete pipelines, those first that read others of them."""
    left = {repo_key(session, name): name for name in names}
    while left:
        read = {edge.source for repo in left for edge in pipelines.reads(session, repo)}
        for repo in [repo for repo in left if repo not in read] or list(left):
            delete_in(session, left.pop(repo), force=False, keep_repo=False, author=author)
