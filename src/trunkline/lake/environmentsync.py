"""An environment follows its base: data, code and what was computed there, in one transaction.

Its branches share the base's commits where it has none of its own.
"""

from __future__ import annotations

from functools import partial

from trunkline.lake.branches import refuse_open, require_branch
from trunkline.lake.core import Core, repo_key
from trunkline.lake.environmentedges import ensure_branch
from trunkline.lake.environmentpipelines import code_branch
from trunkline.lake.environments import branched
from trunkline.lake.environmentsides import (
    Seen,
    Work,
    both_changed,
    both_refs,
    done,
    enter_both,
    head_of,
    look,
    moved_forward,
    not_done,
    prepare_merge,
    refuse_moved,
)
from trunkline.lake.handover import made_at
from trunkline.lake.propagation import node_of
from trunkline.lake.publish import move
from trunkline.lake.threeway import OURS, THEIRS, Resolver
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import RepoName
from trunkline.model.environments import CodeState, DataState, EnvironmentReport, Step
from trunkline.model.told import Kind, Told
from trunkline.storage.catalog import Session, environments, refs


def sync(
    core: Core,
    project: str,
    name: str,
    author: str,
    *,
    strategy: str | None = None,
    dry_run: bool = False,
) -> EnvironmentReport:
    """Bring an environment what its base got since: data, code and what was computed there.

    `strategy` decides where both have changed: `ours` keeps what the environment has.
    """
    seen = look(core, project, name)
    environment, work, resolver = seen.environment, Work(), Resolver(strategy, {})
    for one in seen.in_state(CodeState.BEHIND):
        work.versions.append(one)
        detail = f"to version {one.base_version}"
        work.steps.append(Step("pipeline", one.name, "updated", detail))
    for one in seen.in_state(CodeState.CONFLICT):
        if strategy == THEIRS:
            work.versions.append(one)
            work.steps.append(Step("pipeline", one.name, "updated", f"to {environment.base}'s"))
        elif strategy == OURS:
            work.kept.append(one)
            work.steps.append(Step("pipeline", one.name, "kept", f"{name}'s, not the newer one"))
        else:
            work.conflicts.append(both_changed(environment, one))
    for branch in seen.inputs(DataState.BEHIND, DataState.DIVERGED):
        source, target = both_refs(environment, branch)
        if branch.state is DataState.BEHIND or branch.kind != "user":
            work.forward.append(branch)
            work.steps.append(moved_forward(branch, branch.behind))
        else:
            prepare_merge(core, work, target, source, resolver)
    stale = _stale(core, seen)
    work.steps += [Step("output", one, "updated", "as its base has it") for one in stale]
    with core.database.read() as session:
        new = [
            repo.name
            for repo in branched(session, project)
            if refs.branch(session, repo.key, name) is None
        ]
    work.steps += [Step("repo", one, "branched") for one in new]
    if work.conflicts or dry_run or not work.steps:
        return not_done(environment, "sync", work, dry_run)
    transaction = Transaction(core, author)
    with transaction:
        transaction.cause = Told(Kind.SYNCED, what=name)
        transaction.environment = name
        for prepared in work.merges:
            prepared.put_into(transaction, f"Merge {environment.base} into {name}")
        transaction.afterwards(partial(_follow, transaction, seen, work, tuple(stale)))
    return done(core, transaction, environment, "sync", work)


def _stale(core: Core, seen: Seen) -> list[RepoName]:
    """Outputs that nothing was done to in the environment, and that are newer in the base.

    Their jobs may not have been over when the environment was made.
    """
    same = {one.name for one in seen.in_state(CodeState.SAME)}
    outputs = [one for one in seen.branches if one.kind == "output" and one.repo in same]
    return [one.repo for one in outputs if one.state is DataState.BEHIND]


def _follow(
    transaction: Transaction,
    seen: Seen,
    work: Work,
    stale: tuple[RepoName, ...],
    session: Session,
) -> list[int]:
    """As `_publish`, from the base to the environment. Its branches share the base's commits."""
    environment, author = seen.environment, transaction.author
    refuse_moved(session, seen, transaction)
    for found in branched(session, environment.project):
        ensure_branch(session, environment, found.key, environment.name, author)
    for branch in work.forward:
        own, base = both_refs(environment, branch)
        repo, at = require_branch(session, own)
        refuse_open(at)
        head = head_of(session, base)
        move(session, repo, at, head, author, "sync")
        if head is not None:
            transaction.moved[repo, at.name] = head
    forced = [repo_key(session, name) for name in stale]
    for one in work.versions:
        repo = repo_key(session, one.name)
        code_branch(session, environment, one.name, author)
        enter_both(session, environment, repo, one.base_version, author)
        forced.append(repo)
    for one in work.kept:
        repo = repo_key(session, one.name)
        environments.set_base(session, repo, environment.name, one.base_version)
    for repo in environments.present(session, environment.project, environment.name):
        node, other = node_of(session, repo, environment.name), node_of(session, repo, "")
        if node is not None and other is not None:
            at_base = refs.branch(session, repo, other.branch)
            if made := made_at(session, repo, at_base.head if at_base else None):
                transaction.made[node.key] = made
    return forced
