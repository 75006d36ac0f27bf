"""Users, roles, tokens, the audit log. Logins have a file of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from trunkline.errors import NotAllowed, Usage
from trunkline.lake import access, users
from trunkline.model.access import (
    LAKE,
    AuditEntry,
    NewToken,
    Permission,
    Principal,
    TokenInfo,
    User,
    parse_scope,
    scope_text,
)
from trunkline.model.time import Moment
from trunkline.sdk.wire.access import NewGrant, NewPassword, NewUser, TokenOrder, UserChange
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ADMIN_LAKE, ANYBODY, Call, Caller, Needs, On, Routes
from trunkline.server.paging import MOST_DIGITS, Cursor, Limit, decoded, page, page_in_order

routes = Routes(tags=["access"])

ADMIN_BODY = Needs(On.BODY, Permission.ADMIN)


@routes.GET("/whoami", ANYBODY, quick=True)
def whoami(call: Caller) -> Principal:
    """Who asks, and what they may. With limits, `grants` are what those leave of the owner's."""
    return replace(call.who, grants=call.who.within())


@routes.GET("/users", ADMIN_LAKE)
def list_users(call: Caller, limit: Limit = 100, cursor: Cursor = None) -> Page[User]:
    return page(call.lake.users(), lambda one: one.name, limit, cursor)


@routes.POST("/users", ADMIN_LAKE, status_code=201)
async def create_user(call: Caller, body: NewUser) -> User:
    lake = call.lake
    return await call.service.passwords.run(
        lambda: lake.create_user(body.name, body.password, body.email, body.roles)
    )


@routes.GET("/users/{name}", ANYBODY)
def get_user(call: Caller, name: str) -> User:
    """Oneself, with limits as far as they go; others are an admin's to see."""
    if not _is_self(call, name):
        call.require_lake(Permission.ADMIN)
    user = call.lake.user(name)
    if call.who.limits is None or call.who.may(Permission.ADMIN, LAKE):
        return user
    return replace(user, email="", grants=call.who.within())


@routes.PATCH("/users/{name}", ADMIN_LAKE)
def change_user(call: Caller, name: str, body: UserChange) -> User:
    lake = call.lake
    return lake.disable_user(name) if body.disabled else lake.enable_user(name)


@routes.DELETE("/users/{name}", ADMIN_LAKE, status_code=204)
def delete_user(call: Caller, name: str) -> None:
    call.lake.delete_user(name)


@routes.PUT("/users/{name}/password", ANYBODY, status_code=204)
async def set_password(call: Caller, name: str, body: NewPassword) -> None:
    """One's own, if the current one is given; anybody's for an admin."""
    core, who, places = call.service.lake._core, call.who, call.service.passwords
    if not who.may(Permission.ADMIN, LAKE):
        if not _is_self(call, name) or who.kind == "job":
            raise NotAllowed(f"{who.name} may not set the password of others.")
        if who.limits is not None:
            raise NotAllowed("A token with limits may not set its owner's password.")
        current = body.current or ""
        with call.service.throttle.attempt(name, call.address):
            if await places.run(lambda: users.check_password(core, name, current)) is None:
                raise NotAllowed("The current password is wrong.")
    await places.run(
        lambda: users.set_password(core, who.name, name, body.password, keep=who.token)
    )


@routes.PUT("/grants", ADMIN_BODY)
def grant(call: Caller, body: NewGrant) -> User:
    """Give a role; the admin of a project may in it."""
    _require_admin(call, body.scope)
    return _shown(call, call.lake.grant(body.user, body.role, body.scope))


@routes.DELETE("/grants", ADMIN_BODY)
def revoke_grant(call: Caller, user: str, scope: str = "lake") -> User:
    _require_admin(call, scope)
    return _shown(call, call.lake.revoke_grant(user, scope))


@routes.GET("/tokens", ANYBODY)
def list_tokens(
    call: Caller, owner: str | None = None, limit: Limit = 100, cursor: Cursor = None
) -> Page[TokenInfo]:
    """One's own; for an admin anybody's, or all. One with limits sees itself."""
    who = call.who
    if not who.may(Permission.ADMIN, LAKE):
        if owner not in (None, who.name):
            raise NotAllowed(f"{who.name} may not see the tokens of others.")
        found = [one for one in call.lake.tokens(who.name) if access.owns(who, one)]
    else:
        found = call.lake.tokens(owner)
    return page(found, _newest_first, limit, cursor)


@routes.POST("/tokens", ANYBODY, status_code=201)
def create_token(call: Caller, body: TokenOrder) -> NewToken:
    """A token with no more rights than its maker has. Its secret is told this once."""
    return call.lake._create_token(call.who, body.note, body.expires, body.limits, body.owner)


@routes.DELETE("/tokens/{token}", ANYBODY)
def revoke_token(call: Caller, token: str) -> TokenInfo:
    return access.revoke_token(call.service.lake._core, call.who, token)


@routes.GET("/audit", ADMIN_LAKE)
def audit(
    call: Caller,
    since: Moment | None = None,
    who: str | None = None,
    action: str | None = None,
    outcome: Annotated[str | None, Query(description="ok, refused or failed")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[AuditEntry]:
    """What was done and refused, the newest first."""
    after = decoded(cursor)
    if after is not None and (not after.isdecimal() or len(after) > MOST_DIGITS):
        raise Usage("This cursor is none of this server's.", hint="Leave it out to start anew.")
    call.service.journal.flush()
    before = int(after) if after is not None else None
    found = call.lake._audit(before, since, limit + 1, who, action, outcome)
    return page_in_order(found, lambda one: str(one.position), limit)


def _newest_first(token: TokenInfo) -> str:
    return f"{(1 << 62) - token.created:020} {token.id}"


def _is_self(call: Call, name: str) -> bool:
    return call.who.name == name


def _shown(call: Call, user: User) -> User:
    """A user as the admin of a project may know them: by their name, and their roles in it."""
    if call.who.may(Permission.ADMIN, LAKE):
        return user
    grants = tuple(one for one in user.grants if call.who.may(Permission.ADMIN, one.scope))
    return replace(user, email="", grants=grants)


def _require_admin(call: Call, scope: str) -> None:
    """The right to give and take roles on a scope."""
    wanted = parse_scope(scope)
    if call.who.may(Permission.ADMIN, wanted):
        return
    if wanted != LAKE:
        call.require_project_seen(wanted.partition("/")[0])
    raise NotAllowed(
        f"{call.who.name} may not give or take roles on {scope_text(wanted)}.",
        hint="Ask an admin.",
    )
