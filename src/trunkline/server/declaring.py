"""What applying a pipeline needs, wherever it is asked for: by itself or in a transaction.

Who may apply runs code on the workers. A pipeline copies what it reads into a repo of others'
readers, so its author must be able to read all of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trunkline.errors import NotFound
from trunkline.lake.declarations import cron_repos, missing_input
from trunkline.lake.versions import Declared
from trunkline.model.access import Permission
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.inputs import Leaf, leaves
from trunkline.pipelines.spec.codec import from_json
from trunkline.server.calls import Call


def require_apply(
    call: Call, declared: Sequence[Declared], coming: Collection[RepoName] = ()
) -> None:
    """That the caller may apply these pipelines. `coming` are repos made together with them."""
    for one in declared:
        call.require_project_seen(one.spec.name.project)
        call.require(Permission.MAINTAIN, one.spec.name)
        _require_ticks(call, one)
    for leaf in _inputs(call, declared, coming):
        if leaf.trigger is not None or not _has_branch(call, leaf):
            # The branch is made, and moved, in the repo that is read.
            call.require(Permission.WRITE, leaf.repo)


def require_branches(call: Call, declared: Sequence[Declared], environment: str) -> None:
    """That the caller may make the branches that an environment still lacks in what is read."""
    new = {one.spec.name for one in declared}
    for one in declared:
        for leaf in leaves(one.spec.input):
            if leaf.repo.project != one.spec.name.project or leaf.repo in new:
                continue
            try:
                there = {branch.name for branch in call.lake.branches(_text(leaf.repo))}
            except NotFound:
                continue  # said better where it is applied
            if environment not in there:
                call.require(Permission.WRITE, leaf.repo)


def require_plan(call: Call, declared: Sequence[Declared]) -> None:
    """That the caller may know what applying these pipelines would do."""
    for one in declared:
        call.require_project_seen(one.spec.name.project)
        call.require(Permission.READ, one.spec.name)
    _inputs(call, declared, ())


def _inputs(call: Call, declared: Sequence[Declared], coming: Collection[RepoName]) -> list[Leaf]:
    """What is read of repos that are there. One that the caller may not read is not there."""
    new = {*coming, *(one.spec.name for one in declared)}
    found = []
    for one in declared:
        ticks = {repo for repo, _ in cron_repos(one.spec)}
        for leaf in leaves(one.spec.input):
            if leaf.repo in new or leaf.repo in ticks:
                continue
            if not call.may(Permission.READ, leaf.repo):
                known = [*_names(call, leaf.repo.project), *(name.repo for name in new)]
                raise missing_input(one, leaf.repo, known)
            found.append(leaf)
    return found


def _names(call: Call, project: str) -> list[str]:
    try:
        repos = call.lake.bound(project=project).repos()
    except NotFound:
        return []
    return [one.name.repo for one in call.visible(repos, lambda one: one.name)]


def _require_ticks(call: Call, one: Declared) -> None:
    """Repos of ticks are made beside the pipeline; those of other pipelines are not its own."""
    wanted = {repo for repo, _ in cron_repos(one.spec)}
    if not wanted or all(call.may(Permission.MAINTAIN, repo) for repo in wanted):
        return
    try:
        present = from_json(call.lake.pipeline(_text(one.spec.name)).spec)
        wanted -= {repo for repo, _ in cron_repos(present)}
    except NotFound:
        pass
    for repo in wanted:
        try:
            call.lake.repo(_text(repo))
        except NotFound:
            continue
        call.require(Permission.MAINTAIN, repo)


def _has_branch(call: Call, leaf: Leaf) -> bool:
    if leaf.branch == DEFAULT_BRANCH:
        return True
    try:
        return any(one.name == leaf.branch for one in call.lake.branches(_text(leaf.repo)))
    except NotFound:
        return True  # said better where it is applied


def _text(name: RepoName) -> str:
    return f"{name.project}/{name.repo}"
