"""Tokens: made, checked, revoked. Of a secret only its hash is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trunkline.errors import NotAllowed, NotFound, Precondition, Usage
from trunkline.lake import users
from trunkline.lake.core import Core
from trunkline.lake.passwords import hash_password
from trunkline.lake.rights import changed, record
from trunkline.model.access import (
    LAKE,
    Grant,
    Grants,
    Permission,
    Principal,
    Role,
    TokenInfo,
    User,
    grants_from,
    roles_of,
    scope_of,
    scope_text,
    validate_user,
)
from trunkline.model.commits import RepoName
from trunkline.model.jobs import Job
from trunkline.model.time import now_micros
from trunkline.storage.catalog import Session, access

SETUP_SECONDS = 24 * 3600.0
_token = re.compile(r"tl_([0-9a-f]{16})_([A-Za-z0-9_-]{43})").fullmatch


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a token that exists. `principal` is None if it is good no more."""

    hash: str
    kind: str
    principal: Principal | None
    expires: int | None
    last_used: int | None

    def is_good(self, digest: str, now: int) -> bool:
        """Whether a secret of this hash opens it now. Takes as long whatever is wrong."""
        right = hmac.compare_digest(self.hash.encode(), digest.encode())
        return right and self.principal is not None and (self.expires or now) >= now


def split_token(text: str) -> tuple[str, str] | None:
    """The id of a token and the hash of its secret, if it looks like one."""
    found = _token(text)
    return (found[1], _hash(found[2])) if found else None


def look_up(core: Core, token_id: str) -> Known | None:
    """A token and whose rights it has, by its id alone."""
    with core.database.read() as session:
        row = access.token(session, token_id)
        if row is None:
            return None
        info = row.info
        owner = access.user(session, info.owner) if info.kind in ("user", "session") else None
    good = info.revoked is None and (info.expires is None or info.expires >= now_micros())
    principal = _principal(info, owner) if good else None
    return Known(row.hash, info.kind, principal, info.expires, info.last_used)


def _principal(info: TokenInfo, owner: User | None) -> Principal | None:
    if info.kind == "job":
        return Principal(info.owner, "job", info.limits or (), None, info.id, info.expires)
    if owner is None or owner.disabled:
        return None
    return Principal(owner.name, info.kind, owner.grants, info.limits, info.id, info.expires)


# -- made by people ------------------------------------------------------------------------


def create_token(
    core: Core,
    by: Principal,
    owner: str | None = None,
    note: str = "",
    seconds: float | None = None,
    limits: Mapping[str, str] | None = None,
) -> tuple[TokenInfo, str]:
    """A token for somebody, with no more rights than who makes it has; and its secret text."""
    if by.kind == "job":
        raise NotAllowed("A job may not make tokens.")
    if by.limits is not None:
        # Revoking it would leave those that it made.
        raise NotAllowed(
            "A token with limits may not make tokens.", hint="Use one without, or log in."
        )
    whose = owner or by.name
    if whose != by.name and not by.may(Permission.ADMIN, LAKE):
        raise NotAllowed(f"{by.name} may not make tokens for others.", hint="Ask an admin.")
    if seconds is not None and seconds <= 0:
        raise Usage(
            "A token must hold for some time.", hint="Without an end it holds until it is revoked."
        )
    wanted = _narrowed(by, whose, limits)
    expires = None if seconds is None else now_micros() + int(seconds * 1_000_000)
    if by.kind == "user" and by.expires is not None:
        expires = min(expires or by.expires, by.expires)
    with core.database.write() as session:
        _require_owner(session, by, whose)
        for one in wanted or ():
            users.require_scope(session, one.scope)
        made = _add(session, whose, "user", note=note, expires=expires, limits=wanted)
        said = ", ".join(f"{role} on {scope}" for scope, role in roles_of(wanted or ()).items())
        told = f"for {whose}" + (f": {said or 'nothing'}" if wanted is not None else "")
        record(session, by.name, "token.create", made[0].id, told)
    return made


def _require_owner(session: Session, by: Principal, whose: str) -> None:
    if by.kind == "local" and whose == by.name and access.user(session, whose) is None:
        raise Precondition(
            f"{whose} is not a user of this lake, and tokens belong to users.",
            hint="Say whose it is: trunkline token create --owner NAME",
        )
    users.require(session, whose)


def _narrowed(by: Principal, whose: str, limits: Mapping[str, str] | None) -> Grants | None:
    """The limits of a new token: what was asked for, if its maker has that; else the maker's."""
    if limits is None:
        return None if by.limits is None else tuple(_for(whose, by.limits))
    wanted = grants_from(whose, limits)
    for one in wanted:
        if not by.may(one.role.permission, one.scope):
            raise NotAllowed(
                f"{by.name} is not {one.role} on {scope_text(one.scope)}, "
                "so neither can their token be.",
            )
    return wanted


def _for(whose: str, limits: Grants) -> Iterable[Grant]:
    return (Grant(whose, one.scope, one.role) for one in limits)


def owns(who: Principal, info: TokenInfo) -> bool:
    """Whether somebody may see and revoke a token as their own; with limits it is itself alone."""
    if who.limits is not None:
        return who.token == info.id
    return who.name == info.owner and who.kind != "job"


def revoke_token(core: Core, by: Principal, token_id: str) -> TokenInfo:
    """Let a token be good no more. Others' are an admin's matter, and unseen by the rest."""
    with core.database.write() as session:
        row = access.token(session, token_id)
        own = row is not None and owns(by, row.info)
        if row is None or not (own or by.may(Permission.ADMIN, LAKE)):
            raise NotFound(
                f'There is no token "{token_id}".', hint="trunkline token list shows them."
            )
        if access.revoke_token(session, token_id):
            record(session, by.name, "token.revoke", token_id, f"of {row.info.owner}")
        done = access.token(session, token_id)
        assert done is not None
    changed(core)
    return done.info


# -- made by the server --------------------------------------------------------------------


def issue_session(core: Core, name: str, seconds: float) -> tuple[TokenInfo, str]:
    """A login: a token for the cookie of somebody's browser."""
    expires = now_micros() + int(seconds * 1_000_000)
    with core.database.write() as session:
        return _add(session, name, "session", expires=expires)


def issue_job_token(
    core: Core, job: Job, inputs: Iterable[RepoName], output: RepoName, lifetime: float
) -> str:
    """A token for a job: it may read the job's inputs and its own output, for so many seconds."""
    name = job_name(job)
    scopes = sorted({scope_of(repo) for repo in (*inputs, output)})
    limits = tuple(Grant(name, scope, Role.READER) for scope in scopes)
    expires = now_micros() + int(lifetime * 1_000_000)
    with core.database.write(durable=False) as session:
        return _add(session, name, "job", expires=expires, limits=limits)[1]


def revoke_job_tokens(core: Core, job: Job) -> None:
    """The job is over, and so is what it may do."""
    with core.database.write() as session:
        access.revoke_tokens(session, kind="job", owner=job_name(job))
    changed(core)


def job_name(job: Job) -> str:
    """What a job is called where people have names; no user can be called so."""
    return f"job:{scope_of(job.pipeline)}@{job.id}"


def issue_setup_token(core: Core) -> str | None:
    """The token that makes the first user; None if there are users. Older ones end."""
    expires = now_micros() + int(SETUP_SECONDS * 1_000_000)
    with core.database.write() as session:
        if access.has_users(session):
            return None
        access.revoke_tokens(session, kind="setup")
        return _add(session, "", "setup", expires=expires)[1]


def set_up(core: Core, token: str, name: str, password: str) -> User | None:
    """Make the first user, an admin, with the set-up token; None if that is not good (any more)."""
    given = split_token(token)
    known = look_up_setup(core, given[0]) if given else None
    if given is None or known is None or not hmac.compare_digest(known.hash, given[1]):
        return None
    validate_user(name)
    kept = hash_password(name, password)
    with core.database.write() as session:
        # Of two who come at once, one finds it revoked.
        if access.has_users(session) or not access.revoke_token(session, given[0]):
            return None
        access.add_user(session, name, kept, "")
        access.set_grant(session, Grant(name, LAKE, Role.ADMIN))
        record(session, name, "user.create", name, "set-up: admin on lake")
        made = users.require(session, name)
    changed(core)
    return made


def look_up_setup(core: Core, token_id: str) -> access.TokenRow | None:
    with core.database.read() as session:
        row = access.token(session, token_id)
    if row is None or row.info.kind != "setup" or row.info.revoked is not None:
        return None
    return row if row.info.expires is None or row.info.expires >= now_micros() else None


def _add(
    session: Session,
    owner: str,
    kind: str,
    *,
    note: str = "",
    expires: int | None = None,
    limits: Grants | None = None,
) -> tuple[TokenInfo, str]:
    secret = secrets.token_urlsafe(32)
    token_id = secrets.token_hex(8)
    info = TokenInfo(token_id, owner, kind, note, session.now(), expires, limits=limits)
    access.add_token(session, info, _hash(secret))
    return info, f"tl_{token_id}_{secret}"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
