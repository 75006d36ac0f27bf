"""Projects, repos, branches and tags."""

from __future__ import annotations

from dataclasses import replace

from trunkline.model.access import Permission
from trunkline.model.commits import Branch, Project, Repo, RepoName, Tag
from trunkline.sdk.wire.repos import BranchMove, Follows, NewBranch, NewProject, NewRepo, NewTag
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import (
    ANYBODY,
    MAINTAIN_PROJECT,
    MAINTAIN_REPO,
    READ_REPO,
    WRITE_REPO,
    Call,
    Caller,
    Needs,
    On,
    Routes,
)
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["repos"])


@routes.GET("/projects", ANYBODY)
def list_projects(call: Caller, limit: Limit = 100, cursor: Cursor = None) -> Page[Project]:
    """The projects that the caller may see anything of."""
    seen = [one for one in call.lake.projects() if call.who.may_see(one.name)]
    seen = [_counted(call, one) for one in seen]
    return page(seen, lambda one: one.name, limit, cursor)


@routes.POST("/projects", Needs(On.LAKE, Permission.MAINTAIN), status_code=201)
def create_project(call: Caller, body: NewProject) -> Project:
    return call.lake.create_project(body.name, body.description)


@routes.DELETE("/projects/{project}", Needs(On.PROJECT, Permission.ADMIN), status_code=204)
def delete_project(call: Caller, project: str) -> None:
    call.lake.delete_project(project)


@routes.GET("/repos", ANYBODY)
def list_repos(
    call: Caller,
    project: str | None = None,
    system: bool = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Repo]:
    """The repos of a project, or of all, that the caller may read."""
    if project is not None:
        call.require_project_seen(project)
    lake = call.lake.bound(project=project) if project is not None else call.lake
    found = lake.repos(all_projects=project is None, system=system)
    return page(
        call.visible(found, lambda one: one.name), lambda one: _key(one.name), limit, cursor
    )


@routes.POST("/projects/{project}/repos", MAINTAIN_PROJECT, status_code=201)
def create_repo(call: Caller, project: str, body: NewRepo) -> Repo:
    return call.lake.create_repo(f"{project}/{body.name}", body.description)


@routes.GET("/repos/{project}/{repo}", READ_REPO, quick=True)
def get_repo(call: Caller, project: str, repo: str) -> Repo:
    return call.lake.repo(f"{project}/{repo}")


@routes.DELETE("/repos/{project}/{repo}", MAINTAIN_REPO, status_code=204)
def delete_repo(call: Caller, project: str, repo: str, force: bool = False) -> None:
    call.lake.delete_repo(f"{project}/{repo}", force)


@routes.GET("/repos/{project}/{repo}/branches", READ_REPO, quick=True)
def list_branches(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Branch]:
    found = call.lake.branches(f"{project}/{repo}")
    return page(found, lambda one: one.name, limit, cursor)


@routes.POST("/repos/{project}/{repo}/branches", WRITE_REPO, status_code=201)
def create_branch(call: Caller, project: str, repo: str, body: NewBranch) -> Branch:
    if body.start is not None and "@" in body.start:
        call.require_ref(Permission.READ, body.start)
    return call.lake.create_branch(f"{project}/{repo}@{body.name}", body.start, body.trigger)


@routes.PATCH("/repos/{project}/{repo}/branches/{branch}", MAINTAIN_REPO)
def move_branch(call: Caller, project: str, repo: str, branch: str, body: BranchMove) -> Branch:
    """Point a branch at another commit."""
    if "@" in body.to:
        call.require_ref(Permission.READ, body.to)
    return call.lake.move_branch(f"{project}/{repo}@{branch}", body.to, body.if_head)


@routes.PUT("/repos/{project}/{repo}/branches/{branch}/trigger", MAINTAIN_REPO)
def follow_branch(call: Caller, project: str, repo: str, branch: str, body: Follows) -> Branch:
    """Let a branch follow another; with null as the trigger, no longer."""
    return call.lake.follow_branch(f"{project}/{repo}@{branch}", body.trigger)


@routes.DELETE("/repos/{project}/{repo}/branches/{branch}", MAINTAIN_REPO, status_code=204)
def delete_branch(call: Caller, project: str, repo: str, branch: str, force: bool = False) -> None:
    call.lake.delete_branch(f"{project}/{repo}@{branch}", force)


@routes.GET("/repos/{project}/{repo}/triggers", READ_REPO)
def list_triggers(call: Caller, project: str, repo: str) -> Page[dict[str, object]]:
    """The branches of a repo that follow others."""
    return Page(call.lake.triggers(f"{project}/{repo}"))


@routes.GET("/repos/{project}/{repo}/tags", READ_REPO, quick=True)
def list_tags(
    call: Caller, project: str, repo: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Tag]:
    return page(call.lake.tags(f"{project}/{repo}"), lambda one: one.name, limit, cursor)


@routes.POST("/repos/{project}/{repo}/tags", WRITE_REPO, status_code=201)
def create_tag(call: Caller, project: str, repo: str, body: NewTag) -> Tag:
    if "@" in body.start:
        call.require_ref(Permission.READ, body.start)
    return call.lake.create_tag(f"{project}/{repo}@{body.name}", body.start, body.message)


@routes.DELETE("/repos/{project}/{repo}/tags/{tag}", MAINTAIN_REPO, status_code=204)
def delete_tag(call: Caller, project: str, repo: str, tag: str) -> None:
    call.lake.delete_tag(f"{project}/{repo}@{tag}")


def _counted(call: Call, project: Project) -> Project:
    """With the number of those repos that the caller may read."""
    if call.who.may(Permission.READ, project.name):
        return project
    found = call.visible(call.lake.bound(project=project.name).repos(), lambda one: one.name)
    return replace(project, repos=len(found))


def _key(name: RepoName) -> str:
    return f"{name.project}/{name.repo}"
