"""Commits: listed, shown, merged, reverted, pruned."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from trunkline.errors import InUse
from trunkline.lake.history import CommitSet
from trunkline.lake.historypages import CommitPage
from trunkline.lake.merge import MergeReport
from trunkline.model.access import Permission
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit
from trunkline.model.refs import parse_repo
from trunkline.sdk import historypages
from trunkline.sdk.wire.history import (
    CherryPickRequest,
    MergeRequest,
    PruneRequest,
    RevertRequest,
)
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, READ_REPO, Call, Caller, Needs, On, Routes
from trunkline.server.hidden_inputs import shown_batches, shown_commits
from trunkline.server.paging import Cursor, Limit, decoded, encoded

routes = Routes(tags=["history"])

At = Annotated[str, Query(description="A branch, a tag, an id, or `main~2`.")]

BODY_WRITE = Needs(On.BODY, Permission.WRITE)
BODY_MAINTAIN = Needs(On.BODY, Permission.MAINTAIN)


@routes.GET("/repos/{project}/{repo}/log", READ_REPO, quick=True)
def log(
    call: Caller,
    project: str,
    repo: str,
    at: At = DEFAULT_BRANCH,
    path: str | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Commit]:
    """All commits that led to a revision, newest first; with a path, those that changed it.

    With a path a page may be short or empty: `next` alone tells whether there are more.
    """
    ref = _ref(project, repo, at) + (f":{path}" if path else "")
    return _page(call, historypages.log_page(call.lake, ref, limit, decoded(cursor)))


@routes.GET("/repos/{project}/{repo}/commits", READ_REPO, quick=True)
def list_commits(
    call: Caller,
    project: str,
    repo: str,
    at: At = DEFAULT_BRANCH,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Commit]:
    """A branch's own commits, along first parents, newest first, an unfinished one too."""
    ref = _ref(project, repo, at)
    return _page(call, historypages.commits_page(call.lake, ref, limit, decoded(cursor)))


@routes.GET("/repos/{project}/{repo}/history", READ_REPO)
def repo_history(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Commit]:
    """The commits of all branches and tags of a repo, newest first."""
    return _page(
        call, historypages.history_page(call.lake, f"{project}/{repo}", limit, decoded(cursor))
    )


@routes.GET("/repos/{project}/{repo}/commits/{at}", READ_REPO, quick=True)
def get_commit(call: Caller, project: str, repo: str, at: str) -> Commit:
    """The commit that a branch, a tag, an id or `main~2` stands for."""
    return shown_commits(call, [call.lake.commit_info(_ref(project, repo, at))])[0]


@routes.GET("/sets/{commit_id}", ANYBODY)
def show_commit_set(call: Caller, commit_id: str) -> CommitSet:
    """Every commit that shares an id, with what each was made from: what the caller may read."""
    found = call.lake._shown(commit_id, call.sees)
    seen = call.visible(found.commits, lambda one: one.repo)
    names = {str(one.repo) for one in seen}
    sources = {
        name: tuple(call.visible(edges, lambda edge: edge.repo))
        for name, edges in found.sources.items()
        if name in names
    }
    batches = {
        name: shown_batches(call, parse_repo(name), [batch])[0]
        for name, batch in found.batches.items()
        if name in names
    }
    return replace(
        found, commits=tuple(shown_commits(call, seen)), sources=sources, batches=batches
    )


@routes.POST("/merge", Needs(On.BODY, Permission.READ))
def merge(call: Caller, body: MergeRequest) -> MergeReport:
    """Bring a branch's changes into another. Conflicts answer 409 with a list of them.

    Unless it is a dry run it needs write on the target.
    """
    call.require_ref(Permission.READ, body.source)
    call.require_ref(Permission.READ if body.dry_run else Permission.WRITE, body.target)
    return call.lake.merge(
        body.source,
        body.target,
        strategy=body.strategy,
        choose=body.choose,
        dry_run=body.dry_run,
        message=body.message,
    )


@routes.POST("/revert", BODY_WRITE, status_code=201)
def revert(call: Caller, body: RevertRequest) -> Commit:
    """Undo one commit with a new one."""
    call.require_ref(Permission.READ, body.ref)
    call.require_ref(Permission.WRITE, body.branch or body.ref)
    return call.lake.revert(
        body.ref,
        body.branch,
        strategy=body.strategy,
        choose=body.choose,
        message=body.message,
    )


@routes.POST("/cherry-pick", BODY_WRITE, status_code=201)
def cherry_pick(call: Caller, body: CherryPickRequest) -> Commit:
    """Repeat on a branch what one commit did elsewhere."""
    call.require_ref(Permission.READ, body.ref)
    call.require_ref(Permission.WRITE, body.target)
    return call.lake.cherry_pick(
        body.ref,
        body.target,
        strategy=body.strategy,
        choose=body.choose,
        message=body.message,
    )


@routes.POST("/squash", BODY_MAINTAIN, status_code=204)
def squash(call: Caller, body: PruneRequest) -> None:
    """Remove a commit whose child keeps the data."""
    _require_prune(call, body)
    call.lake.squash(body.ref, body.recursive)


@routes.POST("/drop", BODY_MAINTAIN)
def drop(call: Caller, body: PruneRequest) -> Page[Branch]:
    """Remove a head with its data; the answer is its branches, fallen back to the parent."""
    _require_prune(call, body)
    return Page(call.lake.drop(body.ref, body.recursive))


def _require_prune(call: Call, body: PruneRequest) -> None:
    """What is removed together is maintained together; what may not be seen is not named."""
    call.require_ref(Permission.MAINTAIN, body.ref)
    derived = historypages.derived_repos(call.lake, body.ref)
    if any(not call.may(Permission.READ, repo) for repo in derived):
        raise InUse(
            f"{body.ref} has commits derived from it in repos that you may not see.",
            hint="Ask an admin to remove it.",
        )
    if body.recursive:
        for repo in sorted(derived):
            call.require(Permission.MAINTAIN, repo)


def _ref(project: str, repo: str, at: str) -> str:
    return f"{project}/{repo}@{at}"


def _page(call: Call, found: CommitPage) -> Page[Commit]:
    return Page(
        shown_commits(call, found.commits), encoded(str(found.rest)) if found.rest else None
    )
