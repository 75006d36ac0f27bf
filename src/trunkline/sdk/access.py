"""Users, roles and tokens of a lake, and what was done in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trunkline.model.access import AuditEntry, NewToken, Principal, TokenInfo, User, owner_of_lake
from trunkline.sdk.base import LakeBase

AUDIT_PAGE = 500


class Access(LakeBase):
    """Who may do what. Who has the lake in a folder of their own may do everything."""

    def whoami(self) -> Principal:
        """Who you are to this lake, and what you may do in it."""
        return owner_of_lake(self.author)

    # -- users -----------------------------------------------------------------------------

    def users(self) -> list[User]:
        from trunkline.storage.catalog import access

        with self._core.database.read() as session:
            return access.users(session)

    def user(self, name: str) -> User:
        from trunkline.lake import users

        return users.find(self._core, name)

    def create_user(
        self,
        name: str,
        password: str | None = None,
        email: str = "",
        roles: Mapping[str, str] | None = None,
    ) -> User:
        """Make a user. Without a password they log in by token or single sign-on.

        `roles` are by scope: `{"lake": "reader", "shop/orders": "writer"}`.
        """
        from trunkline.lake import users

        return users.create(self._core, self.author, name, password, email, dict(roles or {}))

    def delete_user(self, name: str) -> None:
        """Forget a user with their roles and tokens. What they did stays theirs."""
        from trunkline.lake import users

        users.delete(self._core, self.author, name)

    def disable_user(self, name: str) -> User:
        """Let a user in no more, by whatever way, until they are enabled."""
        from trunkline.lake import users

        return users.set_disabled(self._core, self.author, name, True)

    def enable_user(self, name: str) -> User:
        from trunkline.lake import users

        return users.set_disabled(self._core, self.author, name, False)

    def set_password(self, name: str, password: str, current: str | None = None) -> None:
        """Set a password; their logins end. A server asks who is no admin for the current one."""
        from trunkline.lake import users

        users.set_password(self._core, self.author, name, password)

    # -- roles -----------------------------------------------------------------------------

    def grant(self, user: str, role: str, scope: str = "lake") -> User:
        """Give a role on the lake, a project or a project/repo, in place of the one there."""
        from trunkline.lake import users

        return users.grant(self._core, self.author, user, role, scope)

    def revoke_grant(self, user: str, scope: str = "lake") -> User:
        """Take the role on a scope away."""
        from trunkline.lake import users

        return users.revoke(self._core, self.author, user, scope)

    # -- tokens ----------------------------------------------------------------------------

    def tokens(self, owner: str | None = None) -> list[TokenInfo]:
        """Tokens without their secrets, the newest first; somebody's, or all."""
        from trunkline.storage.catalog import access

        with self._core.database.read() as session:
            return access.tokens(session, owner=owner)

    def create_token(
        self,
        note: str = "",
        expires: float | None = None,
        limits: Mapping[str, str] | None = None,
        owner: str | None = None,
    ) -> NewToken:
        """A token, whose secret is shown this once. `expires` is in seconds from now.

        `limits` are roles by scope: it may do no more than those, nor than its owner may.
        """
        return self._create_token(self.whoami(), note, expires, limits, owner)

    def _create_token(
        self,
        by: Principal,
        note: str,
        expires: float | None,
        limits: Mapping[str, str] | None,
        owner: str | None,
    ) -> NewToken:
        from trunkline.lake import access, keys

        key = keys.server_key(self._folder)
        info, text = access.create_token(self._core, by, owner, note, expires, limits)
        return NewToken(info, text, keys.s3_access_key(info.id), keys.s3_secret(key, info.id))

    def revoke_token(self, id: str) -> TokenInfo:
        """Let a token be good no more."""
        from trunkline.lake import access

        return access.revoke_token(self._core, self.whoami(), id)

    # -- audit -----------------------------------------------------------------------------

    def audit(
        self,
        since: int | None = None,
        limit: int | None = None,
        who: str | None = None,
        action: str | None = None,
        outcome: str | None = None,
    ) -> Iterator[AuditEntry]:
        """What was done and refused, the newest first. `since` is in microseconds since 1970."""
        return self._audit(None, since, limit, who, action, outcome)

    def _audit(
        self,
        before: int | None,
        since: int | None,
        limit: int | None,
        who: str | None,
        action: str | None,
        outcome: str | None,
    ) -> Iterator[AuditEntry]:
        from trunkline.storage.catalog import access

        left = limit
        while left is None or left > 0:
            size = AUDIT_PAGE if left is None else min(AUDIT_PAGE, left)
            with self._core.database.read() as session:
                found = access.audit(
                    session,
                    before=before,
                    since=since,
                    who=who,
                    action=action,
                    outcome=outcome,
                    limit=size,
                )
            yield from found
            if len(found) < size:
                return
            before = found[-1].position
            left = None if left is None else left - size
