"""What deleting would take, what was deleted, and having it back."""

from __future__ import annotations

from dataclasses import replace

from trunkline.errors import Usage
from trunkline.model.access import Permission
from trunkline.model.deletions import KINDS, Deleted, Deletion, Undeleted
from trunkline.model.refs import parse_ref, parse_repo
from trunkline.sdk.wire.deletions import Undelete
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, MAINTAIN_REPO, Caller, Needs, On, Routes
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["deletions"])


@routes.GET("/deletion", Needs(On.BODY, Permission.MAINTAIN))
def deletion(
    call: Caller,
    kind: str,
    name: str,
    project: str = "default",
    force: bool = False,
    keep_repo: bool = False,
) -> Deletion:
    """What deleting something would take, who reads it and whether it would be refused.

    It needs what deleting it does. Of those who read it the caller sees whom they may see.
    """
    if kind in ("repo", "pipeline"):
        call.require(Permission.MAINTAIN, parse_repo(name, project=project))
    elif kind in ("branch", "tag"):
        call.require(Permission.MAINTAIN, parse_ref(name, project=project).repo)
    elif kind == "commit":
        call.require(Permission.ADMIN, parse_ref(name, project=project).repo)
    elif kind == "env":
        call.require_project(Permission.MAINTAIN, project)
    elif kind == "project":
        call.require_project(Permission.ADMIN, name)
    else:
        raise Usage(f'"{kind}" is nothing that is deleted.', hint=f"One of {', '.join(KINDS)}.")
    found = call.lake.bound(project=project).deletion(kind, name, force, keep_repo)
    readers = tuple(call.visible(found.readers, lambda one: one.repo))
    if readers != found.readers and found.refused:
        # The refusal names them.
        found = replace(found, refused="It is used by what you may not see. Ask an admin.")
    return replace(found, readers=readers)


@routes.GET("/deleted", ANYBODY)
def list_deleted(
    call: Caller, project: str | None = None, limit: Limit = 100, cursor: Cursor = None
) -> Page[Deleted]:
    """What was deleted and can be had back, of what the caller may read; the newest first."""
    if project is not None:
        call.require_project_seen(project)
    lake = call.lake.bound(project=project) if project is not None else call.lake
    found = [
        replace(one, takes=tuple(call.visible(one.takes, lambda name: parse_ref(name).repo)))
        for one in call.visible(lake.deleted(all_projects=project is None), lambda one: one.repo)
    ]
    return page(found, lambda one: f"{(1 << 62) - one.id:020d}", limit, cursor)


@routes.POST("/repos/{project}/{repo}/undelete", MAINTAIN_REPO)
def undelete(call: Caller, project: str, repo: str, body: Undelete) -> Undeleted:
    """Have back a repo, a pipeline, or one of a repo's branches and tags."""
    name = f"{project}/{repo}@{body.ref}" if body.ref else f"{project}/{repo}"
    done = call.lake.undelete(name, body.as_name, body.id)
    return replace(done, readers=tuple(call.visible(done.readers, lambda one: one.repo)))
