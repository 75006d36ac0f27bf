"""Users, roles, tokens and the audit log in the catalog, on each database."""

from __future__ import annotations

import pytest

from tests.catalog.conftest import add_repo
from trunkline.model.access import LAKE, AuditEntry, Grant, Role, TokenInfo
from trunkline.model.commits import DEFAULT_PROJECT
from trunkline.storage.catalog import Database, access, repos


def a_token(token_id: str = "0" * 16, owner: str = "ada", **fields: object) -> TokenInfo:
    kind = str(fields.pop("kind", "user"))
    return TokenInfo(token_id, owner, kind, "a note", 5, **fields)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_user_is_kept_and_forgotten_with_all_that_is_theirs(database: Database):
    with database.write() as session:
        assert not access.has_users(session)
        access.add_user(session, "ada", "hash", "ada@example.org")
        access.set_grant(session, Grant("ada", LAKE, Role.ADMIN))
        access.add_token(session, a_token(), "digest")
        found = access.user(session, "ada")
        assert found is not None
        assert (found.has_password, found.email, found.disabled) == (True, "ada@example.org", False)
        assert found.grants == (Grant("ada", LAKE, Role.ADMIN),)
        assert access.users(session) == [found]
        access.remove_user(session, "ada")
        assert access.user(session, "ada") is None
        assert access.token(session, "0" * 16) is None
        assert access.grants(session, "ada") == ()


def test_a_role_replaces_the_one_there(database: Database):
    with database.write() as session:
        access.add_user(session, "ada", None, "")
        access.set_grant(session, Grant("ada", "shop", Role.READER))
        access.set_grant(session, Grant("ada", "shop", Role.WRITER))
        access.set_grant(session, Grant("ada", LAKE, Role.READER))
        assert [one.role for one in access.grants(session, "ada")] == [Role.READER, Role.WRITER]
        assert access.remove_grant(session, "ada", "shop")
        assert not access.remove_grant(session, "ada", "shop")


def test_admins_are_those_who_can_act(database: Database):
    with database.write() as session:
        for name, scope, role in (
            ("ada", LAKE, Role.ADMIN),
            ("bob", LAKE, Role.ADMIN),
            ("eve", "shop", Role.ADMIN),
            ("mel", LAKE, Role.MAINTAINER),
        ):
            access.add_user(session, name, None, "")
            access.set_grant(session, Grant(name, scope, role))
        assert access.admins(session) == ["ada", "bob"]
        access.set_disabled(session, "bob", True)
        assert access.admins(session) == ["ada"]


def test_roles_on_a_repo_or_project_go_with_it(database: Database):
    with database.write() as session:
        access.add_user(session, "ada", None, "")
        repos.add_project(session, "shop", "")
        repo = add_repo(session, "orders", "shop")
        add_repo(session, "orders", DEFAULT_PROJECT)
        for scope in ("shop", "shop/orders", f"{DEFAULT_PROJECT}/orders"):
            access.set_grant(session, Grant("ada", scope, Role.WRITER))
        repos.remove(session, repo)
        left = [one.scope for one in access.grants(session, "ada")]
        assert left == [f"{DEFAULT_PROJECT}/orders", "shop"]
        repos.remove_project(session, "shop")
        assert [one.scope for one in access.grants(session, "ada")] == left[:1]


def test_a_token_is_kept_with_its_limits(database: Database):
    limits = (Grant("ada", LAKE, Role.READER), Grant("ada", "shop/orders", Role.WRITER))
    with database.write() as session:
        access.add_token(session, a_token("a" * 16, limits=limits, expires=9), "digest")
        access.add_token(session, a_token("b" * 16, limits=()), "other")
        access.add_token(session, a_token("c" * 16), "third")
        found = access.token(session, "a" * 16)
        assert found is not None
        assert found.hash == "digest"
        assert (found.info.limits, found.info.expires) == (limits, 9)
        assert [access.token(session, i * 16).info.limits for i in "bc"] == [(), None]  # type: ignore[union-attr]


def test_tokens_are_used_revoked_and_pruned(database: Database):
    with database.write() as session:
        access.add_token(session, a_token("a" * 16), "x")
        access.add_token(session, a_token("b" * 16, kind="session", expires=10), "x")
        access.add_token(session, a_token("c" * 16, owner="bob", kind="session"), "x")
        access.touch_tokens(session, {"a" * 16: 77})
        assert access.revoke_token(session, "a" * 16)
        assert not access.revoke_token(session, "a" * 16)
        found = access.token(session, "a" * 16)
        assert found is not None
        assert found.info.last_used == 77
        assert found.info.revoked is not None
        assert access.revoke_tokens(session, kind="session", owner="bob") == 1
        assert access.prune_tokens(session, 11) == 1
        assert [one.id[0] for one in access.tokens(session)] == ["a", "c"]
        assert access.prune_tokens(session, session.now() + 1) == 1
        assert [one.id[0] for one in access.tokens(session, owner="ada")] == ["a"]


def test_one_identity_is_one_user(database: Database):
    with database.write() as session:
        access.add_user(session, "ada", None, "")
        access.set_identity(session, "ada", '["https://id", "1"]')
        found = access.user_of_identity(session, '["https://id", "1"]')
        assert found is not None
        assert found.name == "ada"
        assert access.user_of_identity(session, "other") is None


def test_the_audit_log_is_read_from_its_end_in_pages(database: Database):
    with database.write() as session:
        for at in range(1, 8):
            entry = AuditEntry(
                0, at, "ada" if at % 2 else "bob", "user.create", f"u{at}", "ok", "::1", "r", "d"
            )
            access.add_audit(session, [entry])
        first = access.audit(session, limit=3)
        assert [one.target for one in first] == ["u7", "u6", "u5"]
        then = access.audit(session, before=first[-1].position, limit=3)
        assert [one.target for one in then] == ["u4", "u3", "u2"]
        assert [one.at for one in access.audit(session, who="ada", since=3)] == [7, 5, 3]
        assert access.audit(session, action="x") == access.audit(session, outcome="x") == []
        assert access.prune_audit(session, 6) == 5
        assert [one.at for one in access.audit(session)] == [7, 6]
