"""The lake as a whole: status, gc, fsck, erasure, secrets."""

from __future__ import annotations

from dataclasses import replace

from trunkline.lake.erase import ErasureReport
from trunkline.lake.fsck import FsckReport
from trunkline.lake.gc import GcReport
from trunkline.model.access import LAKE, Permission
from trunkline.model.commits import Commit
from trunkline.model.refs import parse_repo
from trunkline.sdk.results import Status
from trunkline.sdk.wire.upkeep import Collect, Erase, Examine, Forget, SecretValue
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ADMIN_LAKE, READ_SOMETHING, Caller, Needs, On, Routes
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["upkeep"])


@routes.GET("/status", READ_SOMETHING)
def status(call: Caller) -> Status:
    """The lake at a glance. Numbers are of all of it; names are those that the caller may see."""
    found = call.lake.status()
    if not call.who.may(Permission.ADMIN, LAKE):
        held = found.held and "it is a copy of another lake"
        found = replace(found, location="", catalog="", store="", held=held)

    def seen(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(call.visible(names, parse_repo))

    return replace(
        found,
        open_commits=tuple(call.visible(found.open_commits, lambda one: parse_repo(one.repo))),
        flows_failed=seen(found.flows_failed),
        flows_behind=seen(found.flows_behind),
        undelivered=seen(found.undelivered),
    )


@routes.POST("/check", ADMIN_LAKE, status_code=204)
def check(call: Caller) -> None:
    """Try the object store: write, read back, list, delete."""
    call.lake.check()


@routes.POST("/gc", ADMIN_LAKE)
def gc(call: Caller, body: Collect) -> GcReport:
    """Remove what nothing needs. Safe while others work."""
    return call.lake.gc(body.dry_run, body.grace)


@routes.POST("/fsck", ADMIN_LAKE)
def fsck(call: Caller, body: Examine) -> FsckReport:
    """Check every promise the lake makes."""
    return call.lake.fsck(body.deep)


@routes.POST("/forget", Needs(On.BODY, Permission.ADMIN))
def forget(call: Caller, body: Forget) -> Commit:
    """Throw away an old commit's data; keep its record and lineage."""
    call.require_ref(Permission.ADMIN, body.ref)
    return call.lake.forget(body.ref)


@routes.POST("/erase", ADMIN_LAKE)
def erase(call: Caller, body: Erase) -> ErasureReport:
    """Destroy a path's bytes in every commit of a repo, and wherever else they are held."""
    return call.lake.erase(body.ref, body.reason)


@routes.GET("/secrets", ADMIN_LAKE)
def list_secrets(call: Caller, limit: Limit = 100, cursor: Cursor = None) -> Page[str]:
    """The names of the secrets that are set. What they are is never told."""
    return page(call.lake.secrets(), str, limit, cursor)


@routes.PUT("/secrets/{name:path}", ADMIN_LAKE, status_code=204)
def set_secret(call: Caller, name: str, body: SecretValue) -> None:
    """Set a secret, in place of what it was."""
    call.lake.set_secret(name, body.value)


@routes.DELETE("/secrets/{name:path}", ADMIN_LAKE, status_code=204)
def delete_secret(call: Caller, name: str) -> None:
    call.lake.delete_secret(name)
