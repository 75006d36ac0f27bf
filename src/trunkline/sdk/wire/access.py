"""Bodies of requests: users, roles, tokens, logins, the audit log."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NewUser:
    """`roles` are by scope: lake, project or project/repo."""

    name: str
    password: str | None = field(default=None, repr=False)
    email: str = ""
    roles: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserChange:
    disabled: bool


@dataclass(frozen=True, slots=True)
class NewPassword:
    """`current` is asked of those who are no admins."""

    password: str = field(repr=False)
    current: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NewGrant:
    user: str
    role: str
    scope: str = "lake"


@dataclass(frozen=True, slots=True)
class TokenOrder:
    """`expires` is in seconds from now; `limits` are roles by scope."""

    note: str = ""
    expires: float | None = None
    limits: dict[str, str] | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Login:
    name: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Setup:
    """The first user of a lake, made with the token that the server showed when it started."""

    token: str = field(repr=False)
    name: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LoginWays:
    """How one logs in here: whether one must, whether there are users, whether by OIDC too."""

    auth: bool
    setup: bool
    oidc: bool
