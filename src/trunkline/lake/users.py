"""Users and their roles. Every change is in the audit log with the change itself."""

from __future__ import annotations

from trunkline.errors import AlreadyExists, NotAllowed, NotFound, Precondition
from trunkline.lake.core import Core, repo_key, require_project
from trunkline.lake.passwords import hash_password, is_password
from trunkline.lake.rights import changed, record
from trunkline.model.access import (
    LAKE,
    Grant,
    Role,
    User,
    grants_from,
    parse_scope,
    scope_text,
    validate_user,
)
from trunkline.model.commits import RepoName
from trunkline.model.suggest import did_you_mean
from trunkline.storage.catalog import Session, access


def find(core: Core, name: str) -> User:
    with core.database.read() as session:
        return require(session, name)


def require(session: Session, name: str) -> User:
    found = access.user(session, name)
    if found is not None:
        return found
    known = [one.name for one in access.users(session)]
    raise NotFound(
        f'There is no user "{name}".',
        near=did_you_mean(name, known),
        hint="trunkline user list shows all users.",
    )


def create(
    core: Core,
    by: str,
    name: str,
    password: str | None = None,
    email: str = "",
    roles: dict[str, str] | None = None,
) -> User:
    """Make a user, with roles by scope if they are given."""
    validate_user(name)
    kept = hash_password(name, password) if password is not None else None
    given = grants_from(name, roles or {})
    with core.database.write() as session:
        if access.user(session, name) is not None:
            raise AlreadyExists(f'There is a user "{name}" already.')
        access.add_user(session, name, kept, email)
        record(session, by, "user.create", name)
        for one in given:
            _grant(session, by, one)
        made = require(session, name)
    changed(core)
    return made


def delete(core: Core, by: str, name: str) -> None:
    """Forget a user, their roles and tokens. What they did stays theirs."""
    with core.database.write() as session:
        require(session, name)
        _keep_an_admin(session, name, "deleted")
        access.remove_user(session, name)
        record(session, by, "user.delete", name)
    changed(core)


def set_disabled(core: Core, by: str, name: str, disabled: bool) -> User:
    """Let a user in no more, by whatever way; or let them in again."""
    with core.database.write() as session:
        require(session, name)
        if disabled:
            _keep_an_admin(session, name, "disabled")
            access.revoke_tokens(session, kind="session", owner=name)
        access.set_disabled(session, name, disabled)
        record(session, by, "user.disable" if disabled else "user.enable", name)
        found = require(session, name)
    changed(core)
    return found


def set_password(core: Core, by: str, name: str, password: str, keep: str = "") -> None:
    """Set a password, and end the logins that were made with the old one, but for `keep`."""
    kept = hash_password(name, password)
    with core.database.write() as session:
        require(session, name)
        access.set_password(session, name, kept)
        for one in access.tokens(session, owner=name, kind="session"):
            if one.id != keep:
                access.revoke_token(session, one.id)
        record(session, by, "user.password", name)
    changed(core)


def check_password(core: Core, name: str, password: str) -> User | None:
    """The user, if this is the password of one who may log in."""
    with core.database.read() as session:
        found = access.user(session, name)
        kept = access.password_of(session, name)
    right = is_password(kept, password)
    return found if right and found is not None and not found.disabled else None


def of_identity(
    core: Core,
    identity: str,
    name: str,
    email: str,
    *,
    create_missing: bool = False,
    is_proven: bool = False,
) -> User:
    """Who logged in at the single sign-on: known from before, by name, or made now.

    A name that is not proven to be theirs, as a verified address is, they may have chosen there
    themselves: it does not open what somebody has a password for.
    """
    with core.database.write() as session:
        found = access.user_of_identity(session, identity)
        if found is None:
            found = access.user(session, name)
            if found is None:
                if not create_missing:
                    raise NotAllowed(f"{name} is not a user here.", hint="Ask an admin.")
                access.add_user(session, validate_user(name), None, email)
                record(session, name, "user.create", name, "single sign-on")
            elif access.identity_of(session, name) is not None or (
                found.has_password and not is_proven
            ):
                raise NotAllowed(f"{name} is somebody else here.", hint="Ask an admin.")
            access.set_identity(session, name, identity)
            found = require(session, name)
        if found.disabled:
            raise NotAllowed(f"{found.name} may not log in.", hint="Ask an admin.")
        return found


def grant(core: Core, by: str, name: str, role: str, scope: str) -> User:
    """Give a role on a scope, in place of the one that they had there."""
    wanted = Grant(name, parse_scope(scope), Role.of(role))
    with core.database.write() as session:
        require(session, name)
        if wanted.scope == LAKE and wanted.role is not Role.ADMIN:
            _keep_an_admin(session, name, f"made {wanted.role}")
        _grant(session, by, wanted)
        found = require(session, name)
    changed(core)
    return found


def revoke(core: Core, by: str, name: str, scope: str) -> User:
    """Take a role away."""
    wanted = parse_scope(scope)
    with core.database.write() as session:
        require(session, name)
        if wanted == LAKE:
            _keep_an_admin(session, name, "without a role")
        if not access.remove_grant(session, name, wanted):
            raise NotFound(
                f"{name} has no role on {scope_text(wanted)}.",
                hint=f"trunkline user inspect {name} shows their roles.",
            )
        record(session, by, "role.revoke", name, f"on {scope_text(wanted)}")
        found = require(session, name)
    changed(core)
    return found


def require_scope(session: Session, scope: str) -> None:
    """Refuse a scope that is not there."""
    project, slash, repo = scope.partition("/")
    if slash:
        repo_key(session, RepoName(project, repo))
    elif project:
        require_project(session, project, hint="trunkline project list shows all projects")


def _grant(session: Session, by: str, wanted: Grant) -> None:
    require_scope(session, wanted.scope)
    access.set_grant(session, wanted)
    said = f"{wanted.role} on {scope_text(wanted.scope)}"
    record(session, by, "role.grant", wanted.subject, said)


def _keep_an_admin(session: Session, name: str, what: str) -> None:
    if access.admins(session) == [name]:
        raise Precondition(
            f"{name} is the last admin of this lake, and cannot be {what}.",
            hint="Make somebody else admin first: trunkline role grant NAME admin",
        )
