"""What who asks may read: a repo that they may not read is as if it were not there."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.errors import NotFound
from trunkline.lake.core import Core
from trunkline.model.commits import RepoName
from trunkline.model.suggest import did_you_mean
from trunkline.storage.catalog import repos

Allowed = Callable[[RepoName], bool]


def everything(name: RepoName) -> bool:
    """What a lake's owner may read."""
    return True


def missing_repo(core: Core, name: RepoName, allowed: Allowed) -> NotFound:
    """That a repo is not there, in the words of the lake; only what is seen is suggested."""
    with core.database.read() as session:
        seen = {
            project.name: [
                one
                for one in repos.names(session, project.name)
                if allowed(RepoName(project.name, one))
            ]
            for project in repos.projects(session)
        }
    # Of a project in which nothing may be read not even the name is known.
    known = [project for project, names in seen.items() if names or allowed is everything]
    if name.project not in known:
        return NotFound(
            f'There is no project "{name.project}".{did_you_mean(name.project, known)}',
            hint="trunkline project list shows all projects",
        )
    return NotFound(
        f'There is no repo "{name}".{did_you_mean(name.repo, seen[name.project])}',
        hint="trunkline repo list shows all repos",
    )
