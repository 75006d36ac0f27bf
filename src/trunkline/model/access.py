"""Who may do what: people, tokens and jobs, and the roles they have on a lake's parts.

A role on the lake counts in every project, one on a project in each of its repos. What nobody
was given, nobody has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from trunkline.errors import InvalidName, Usage
from trunkline.model.commits import RepoName
from trunkline.model.paths import validate_name
from trunkline.model.suggest import did_you_mean, shown
from trunkline.model.time import Moment

LAKE = ""
"""The scope that is the whole lake; others are `project` and `project/repo`."""
LAKE_WORD = "lake"

_user_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,126}").fullmatch


def validate_user(text: str) -> str:
    """The name itself, if somebody may be called so. An e-mail address will do."""
    if _user_name(text):
        return text
    raise InvalidName(
        f"{shown(text)} cannot be the name of a user.",
        hint="Letters A-Z a-z, digits and . _ @ + -, at most 127, the first a letter or digit.",
    )


def parse_scope(text: str) -> str:
    """A scope from what people write: lake, project or project/repo.

    A project that is called lake is written `lake/`.
    """
    if text in (LAKE, LAKE_WORD):
        return LAKE
    project, slash, repo = text.partition("/")
    validate_name("project", project)
    return f"{project}/{validate_name('repo', repo)}" if slash and repo else project


def scope_text(scope: str) -> str:
    """A scope as people write it."""
    if scope == LAKE_WORD:
        return LAKE_WORD + "/"
    return scope or LAKE_WORD


class Permission(IntEnum):
    """What an act needs. Each includes those below it."""

    READ = 1
    WRITE = 2
    MAINTAIN = 3
    ADMIN = 4


class Role(StrEnum):
    """What somebody is on a lake, a project or a repo."""

    READER = "reader"
    WRITER = "writer"
    MAINTAINER = "maintainer"
    ADMIN = "admin"

    @property
    def permission(self) -> Permission:
        return _PERMISSIONS[self]

    @classmethod
    def of(cls, text: str) -> Role:
        try:
            return cls(text)
        except ValueError:
            known = [str(one) for one in cls]
            raise Usage(
                f"{text!r} is no role.{did_you_mean(text, known)}",
                hint=f"One of {', '.join(known)}.",
            ) from None


_PERMISSIONS = dict(zip(Role, Permission, strict=True))


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """A role that somebody has on a scope: the lake (""), a project, or a project/repo."""

    subject: str
    scope: str
    role: Role


Grants = tuple[Grant, ...]


def permission_on(grants: Grants, scope: str) -> int:
    """The most that these grants allow on a scope; 0 is nothing."""
    above = {LAKE, scope.partition("/")[0], scope}
    return max((one.role.permission for one in grants if one.scope in above), default=0)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. With `limits`, a token's, no more is allowed than both they and `grants` do."""

    name: str
    kind: str = "user"
    grants: Grants = ()
    limits: Grants | None = None
    token: str = ""
    expires: Moment | None = None

    @property
    def identity(self) -> str:
        """Whose is what it begins: a token with limits shares nothing with its owner."""
        return self.name if self.limits is None else f"{self.name}#{self.token}"

    def within(self) -> Grants:
        """Its grants as far as its limits let them through."""
        if self.limits is None:
            return self.grants
        return tuple(
            Grant(self.name, scope, allowed[-1])
            for scope in sorted(self._scopes())
            if (allowed := [role for role in Role if self.may(role.permission, scope)])
        )

    def may(self, permission: Permission, scope: str) -> bool:
        if permission_on(self.grants, scope) < permission:
            return False
        return self.limits is None or permission_on(self.limits, scope) >= permission

    def may_repo(self, permission: Permission, repo: RepoName) -> bool:
        return self.may(permission, scope_of(repo))

    def covers(self, other: Principal) -> bool:
        """Whether all that another may, this one may too."""
        return all(
            not other.may(permission, scope) or self.may(permission, scope)
            for scope in other._scopes()
            for permission in Permission
        )

    def may_somewhere(self, permission: Permission) -> bool:
        """Whether there is any scope at all that this is allowed on."""
        return any(self.may(permission, scope) for scope in self._scopes())

    def may_see(self, project: str) -> bool:
        """Whether anything in a project may be seen, and so its name."""
        below = (scope for scope in self._scopes() if scope.startswith(project + "/"))
        return any(self.may(Permission.READ, scope) for scope in (project, *below))

    def _scopes(self) -> set[str]:
        """Where rights begin. Limits may begin below what was granted, and the other way around."""
        return {one.scope for one in (*self.grants, *(self.limits or ()))}


def owner_of_lake(name: str) -> Principal:
    """Who has the lake in a folder of their own: everything is theirs."""
    return Principal(name, "local", (Grant(name, LAKE, Role.ADMIN),))


def roles_of(grants: Grants) -> dict[str, str]:
    """Roles by scope, as people write them."""
    return {scope_text(one.scope): str(one.role) for one in grants}


def grants_from(subject: str, roles: Mapping[str, str]) -> Grants:
    """What `roles_of` shows, read."""
    return tuple(
        sorted(Grant(subject, parse_scope(scope), Role.of(role)) for scope, role in roles.items())
    )


def scope_of(repo: RepoName) -> str:
    return f"{repo.project}/{repo.repo}"


@dataclass(frozen=True, slots=True)
class User:
    """A person, or a machine of one. Without a password they log in by token or single sign-on."""

    name: str
    created: Moment
    disabled: bool = False
    has_password: bool = False
    email: str = ""
    grants: Grants = ()


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """A token without its secret. `limits` narrow its owner's rights.

    `kind`: user (made by people), job, session (a login), setup (makes the first user).
    """

    id: str
    owner: str
    kind: str
    note: str
    created: Moment
    expires: Moment | None = None
    last_used: Moment | None = None
    revoked: Moment | None = None
    limits: Grants | None = None


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token with its secret, which is shown this once. `s3_secret` is for the S3 door."""

    info: TokenInfo
    token: str = field(repr=False)
    s3_access_key: str = ""
    s3_secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Something that was done or refused, by whom, from where."""

    position: int
    at: Moment
    who: str
    action: str
    target: str
    outcome: str
    address: str = ""
    request: str = ""
    detail: str = ""
