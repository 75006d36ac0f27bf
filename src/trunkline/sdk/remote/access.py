"""Users, roles and tokens, through a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from trunkline.model.access import AuditEntry, NewToken, Principal, TokenInfo, User
from trunkline.model.time import to_rfc3339
from trunkline.sdk.access import Access
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.access import NewGrant, NewPassword, NewUser, TokenOrder, UserChange


class RemoteAccess(RemoteBase, Access):
    def whoami(self) -> Principal:
        found: Principal = self._client.get(Principal, "/whoami")
        return found

    def users(self) -> list[User]:
        return list(self._client.pages(User, "/users"))

    def user(self, name: str) -> User:
        found: User = self._client.get(User, _user(name))
        return found

    def create_user(
        self,
        name: str,
        password: str | None = None,
        email: str = "",
        roles: Mapping[str, str] | None = None,
    ) -> User:
        body = NewUser(name, password, email, dict(roles or {}))
        made: User = self._client.send("POST", "/users", body, kind=User)
        return made

    def delete_user(self, name: str) -> None:
        self._client.send("DELETE", _user(name))

    def disable_user(self, name: str) -> User:
        return self._set_disabled(name, True)

    def enable_user(self, name: str) -> User:
        return self._set_disabled(name, False)

    def _set_disabled(self, name: str, disabled: bool) -> User:
        done: User = self._client.send("PATCH", _user(name), UserChange(disabled), kind=User)
        return done

    def set_password(self, name: str, password: str, current: str | None = None) -> None:
        self._client.send("PUT", f"{_user(name)}/password", NewPassword(password, current))

    def grant(self, user: str, role: str, scope: str = "lake") -> User:
        done: User = self._client.send("PUT", "/grants", NewGrant(user, role, scope), kind=User)
        return done

    def revoke_grant(self, user: str, scope: str = "lake") -> User:
        done: User = self._client.send("DELETE", "/grants", kind=User, user=user, scope=scope)
        return done

    def tokens(self, owner: str | None = None) -> list[TokenInfo]:
        return list(self._client.pages(TokenInfo, "/tokens", owner=owner))

    def create_token(
        self,
        note: str = "",
        expires: float | None = None,
        limits: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> NewToken:
        body = TokenOrder(note, expires, dict(limits) if limits is not None else None, owner)
        made: NewToken = self._client.send("POST", "/tokens", body, kind=NewToken)
        return made

    def revoke_token(self, id: str) -> TokenInfo:
        done: TokenInfo = self._client.send(
            "DELETE", f"/tokens/{quote(id, safe='')}", kind=TokenInfo
        )
        return done

    def audit(
        self,
        since: int | None = None,
        limit: int | None = None,
        who: str | None = None,
        action: str | None = None,
        outcome: str | None = None,
    ) -> Iterator[AuditEntry]:
        from_ = to_rfc3339(since) if since is not None else None
        return self._client.pages(
            AuditEntry, "/audit", limit=limit, since=from_, who=who, action=action, outcome=outcome
        )


def _user(name: str) -> str:
    return f"/users/{quote(name, safe='')}"
