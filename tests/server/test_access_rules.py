"""Who may do what, as a rule: without a server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.errors import InvalidName, Usage
from trunkline.model.access import (
    LAKE,
    Grant,
    Grants,
    Permission,
    Principal,
    Role,
    grants_from,
    parse_scope,
    roles_of,
    scope_text,
    validate_user,
)

SCOPES = (LAKE, "shop", "shop/orders", "shop/items", "default", "default/notes")
scopes = st.sampled_from(SCOPES)
grant_lists = st.lists(
    st.builds(Grant, st.just("ada"), scopes, st.sampled_from(Role)), max_size=5
).map(tuple)
principals = st.builds(
    Principal, st.just("ada"), st.just("user"), grant_lists, st.none() | grant_lists
)

BELOW = {
    LAKE: SCOPES,
    "shop": ("shop", "shop/orders", "shop/items"),
    "shop/orders": ("shop/orders",),
}


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("at", BELOW)
def test_each_role_on_each_scope(role: Role, at: str):
    """A role reaches as far as its permission, on its scope and below, and nowhere else."""
    who = Principal("ada", grants=(Grant("ada", at, role),))
    for scope in SCOPES:
        for permission in Permission:
            expected = scope in BELOW[at] and permission <= role.permission
            assert who.may(permission, scope) is expected, (scope, permission)


def test_the_matrix_in_full():
    allowed = {
        role: [str(p.name).lower() for p in Permission if p <= role.permission] for role in Role
    }
    assert allowed == {
        Role.READER: ["read"],
        Role.WRITER: ["read", "write"],
        Role.MAINTAINER: ["read", "write", "maintain"],
        Role.ADMIN: ["read", "write", "maintain", "admin"],
    }


@given(principals, scopes, st.sampled_from(Permission))
def test_what_allows_more_allows_less(who: Principal, scope: str, permission: Permission):
    if who.may(permission, scope):
        assert all(who.may(less, scope) for less in Permission if less <= permission)


@given(principals, st.sampled_from(Permission))
def test_what_is_allowed_above_is_allowed_below(who: Principal, permission: Permission):
    for above, inside in BELOW.items():
        if who.may(permission, above):
            assert all(who.may(permission, scope) for scope in inside)


@given(principals, st.builds(Grant, st.just("ada"), scopes, st.sampled_from(Role)), scopes)
def test_one_role_more_takes_nothing_away(who: Principal, more: Grant, scope: str):
    richer = Principal("ada", grants=(*who.grants, more), limits=who.limits)
    for permission in Permission:
        if who.may(permission, scope):
            assert richer.may(permission, scope)


@given(grant_lists, grant_lists, scopes, st.sampled_from(Permission))
def test_limits_never_widen(held: Grants, limits: Grants, scope: str, permission: Permission):
    limited = Principal("ada", grants=held, limits=limits)
    if limited.may(permission, scope):
        assert Principal("ada", grants=held).may(permission, scope)
        assert Principal("ada", grants=limits).may(permission, scope)


@given(principals, st.sampled_from(("shop", "default")))
def test_who_may_read_a_repo_sees_its_project(who: Principal, project: str):
    inside = [scope for scope in SCOPES if scope.startswith(project)]
    if any(who.may(Permission.READ, scope) for scope in inside):
        assert who.may_see(project)


@given(grant_lists)
def test_roles_are_read_as_they_are_shown(held: Grants):
    by_scope = {one.scope: one for one in held}
    assert grants_from("ada", roles_of(tuple(by_scope.values()))) == tuple(
        sorted(by_scope.values())
    )


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("lake", LAKE),
        ("", LAKE),
        ("lake/", "lake"),
        ("shop", "shop"),
        ("shop/", "shop"),
        ("shop/orders", "shop/orders"),
        ("lake/orders", "lake/orders"),
    ],
)
def test_scopes_as_people_write_them(text: str, scope: str):
    assert parse_scope(text) == scope
    assert parse_scope(scope_text(scope)) == scope


@pytest.mark.parametrize("text", ["/", "/orders", "a/b/c", "shop/or ders", "..", "shop@main"])
def test_no_scope(text: str):
    with pytest.raises(InvalidName):
        parse_scope(text)


@pytest.mark.parametrize("name", ["", "a b", "job:x", "-a", "a/b", "ä", "a" * 128, "a\n"])
def test_nobody_is_called_so(name: str):
    with pytest.raises(InvalidName):
        validate_user(name)


@pytest.mark.parametrize("name", ["ada", "ada@example.org", "ci-1", "a+b@c.de", "0"])
def test_people_may_be_called_so(name: str):
    assert validate_user(name) == name


def test_a_role_that_is_none_is_told_its_near_miss():
    with pytest.raises(Usage, match='Did you mean "writer"'):
        Role.of("writter")
