"""Users and roles through a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.server.people import PASSWORD, Server, a_server
from trunkline.errors import (
    AlreadyExists,
    InvalidName,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    Precondition,
    TrunklineError,
    Usage,
)
from trunkline.model.access import Permission, Role, roles_of
from trunkline.sdk.lake import Lake


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.reset()


@pytest.fixture(params=["local", "remote"])
def admin(request: pytest.FixtureRequest, server: Server) -> Lake:
    """The same lake as its owner has it, and as an admin has it through a server."""
    return server.lake if request.param == "local" else server.as_("ada")


ACTS: dict[Permission, Callable[[Lake, str], object]] = {
    Permission.READ: lambda lake, repo: lake.repo(repo),
    Permission.WRITE: lambda lake, repo: lake.create_tag(f"{repo}@t", "main"),
    Permission.MAINTAIN: lambda lake, repo: lake.delete_branch(f"{repo}@nobranch"),
    Permission.ADMIN: lambda lake, repo: lake.grant("nobody", "reader", repo),
}


def outcome(act: Callable[[Lake, str], object], lake: Lake, repo: str) -> str:
    """`allowed`, `forbidden`, or `hidden` when it looks as if the repo were not there."""
    try:
        act(lake, repo)
    except NotAllowed:
        return "forbidden"
    except NotFound as error:
        short = repo.removeprefix("default/")
        missing = (f'There is no repo "{short}"', "There is no project")
        return "hidden" if error.message.startswith(missing) else "allowed"
    except TrunklineError:
        return "allowed"
    return "allowed"


@pytest.mark.parametrize("at", ["lake", "shop", "shop/orders"])
def test_every_role_on_every_scope(server: Server, at: str):
    """What is inside the scope goes as far as the role; what is outside is not there at all."""
    inside = {"lake": ["shop/orders", "default/notes"], "shop": ["shop/orders", "shop/items"]}
    repos = ("shop/orders", "shop/items", "default/notes")
    for role in Role:
        server.lake.create_user(f"a-{role}", roles={at: str(role)})
        lake = server.as_(f"a-{role}")
        for repo in repos:
            if repo not in (*inside.get(at, ()), at) and at != "lake":
                assert outcome(ACTS[Permission.READ], lake, repo) == "hidden"
                continue
            for permission, act in ACTS.items():
                expected = "allowed" if permission <= role.permission else "forbidden"
                assert outcome(act, lake, repo) == expected, (role, repo, permission)


def test_what_one_may_not_see_is_as_if_it_were_not_there(server: Server):
    bob = server.user("bob", shop__orders="reader")
    for repo in ("shop/items", "shop/nothing", "default/notes", "elsewhere/x"):
        with pytest.raises(NotFound, match=f'There is no repo "{repo.removeprefix("default/")}"'):
            bob.repo(repo)
    assert [str(one.name) for one in bob.repos(all_projects=True)] == ["shop/orders"]
    assert [one.name for one in bob.projects()] == ["shop"]


def test_who_was_given_nothing_has_nothing(server: Server):
    nobody = server.user("nobody")
    assert nobody.repos(all_projects=True) == []
    assert nobody.projects() == []
    assert nobody.whoami().name == "nobody"
    with pytest.raises(NotAllowed):
        nobody.create_project("mine")


def test_rights_follow_changes_at_once(server: Server):
    bob = server.user("bob")
    ada = server.as_("ada")
    with pytest.raises(NotFound):
        bob.repo("shop/orders")
    ada.grant("bob", "writer", "shop")
    bob.create_branch("shop/orders@mine")
    ada.grant("bob", "reader", "shop")
    with pytest.raises(NotAllowed, match="bob may not maintain shop/orders"):
        bob.delete_repo("shop/orders")
    ada.revoke_grant("bob", "shop")
    with pytest.raises(NotFound):
        bob.repo("shop/orders")
    ada.disable_user("bob")
    with pytest.raises(NotAuthenticated):
        bob.whoami()
    ada.enable_user("bob")
    assert bob.whoami().grants == ()
    ada.delete_user("bob")
    with pytest.raises(NotAuthenticated):
        bob.whoami()


def test_a_repo_of_the_same_name_is_another(server: Server):
    bob = server.user("bob", shop__orders="writer")
    server.lake.delete_repo("shop/orders")
    server.lake.create_repo("shop/orders")
    with pytest.raises(NotFound):
        server.with_token(server.lake.create_token(owner="bob").token).repo("shop/orders")
    assert server.lake.user("bob").grants == ()
    bob.close()


def test_the_admin_of_a_project_gives_roles_in_it(server: Server):
    head = server.user("head", shop="admin")
    server.user("bob")
    assert head.grant("bob", "writer", "shop/orders").grants[0].scope == "shop/orders"
    head.revoke_grant("bob", "shop/orders")
    with pytest.raises(NotAllowed, match="head may not give or take roles on lake"):
        head.grant("head", "admin", "lake")
    with pytest.raises(NotFound, match='There is no project "default"'):
        head.grant("bob", "reader", "default")
    with pytest.raises(NotAllowed):
        head.users()
    with pytest.raises(NotAllowed):
        head.create_user("more")


def test_users_see_themselves_and_no_others(server: Server):
    bob = server.user("bob")
    assert bob.user("bob").name == "bob"
    with pytest.raises(NotAllowed):
        bob.user("ada")
    with pytest.raises(NotAllowed):
        bob.user("nobody-of-that-name")


# -- the same here and there ---------------------------------------------------------------


def test_users_are_made_shown_and_deleted(admin: Lake):
    made = admin.create_user("bob", PASSWORD, "bob@example.org", {"shop/orders": "writer"})
    assert roles_of(made.grants) == {"shop/orders": "writer"}
    assert (made.email, made.has_password, made.disabled) == ("bob@example.org", True, False)
    assert admin.user("bob") == made
    assert [one.name for one in admin.users()] == ["ada", "bob"]
    admin.delete_user("bob")
    assert [one.name for one in admin.users()] == ["ada"]


def test_mistakes_with_users(admin: Lake):
    with pytest.raises(AlreadyExists, match='There is a user "ada" already'):
        admin.create_user("ada")
    with pytest.raises(InvalidName):
        admin.create_user("job:ada")
    with pytest.raises(Usage, match="too short"):
        admin.create_user("bob", "short")
    with pytest.raises(Usage, match="is the name"):
        admin.create_user("bobby-tables", "Bobby-Tables")
    with pytest.raises(NotFound, match='There is no repo "shop/order". Did you mean "orders"'):
        admin.create_user("bob", roles={"shop/order": "reader"})
    with pytest.raises(Usage, match="is no role"):
        admin.create_user("bob", roles={"lake": "owner"})
    assert [one.name for one in admin.users()] == ["ada"]
    with pytest.raises(NotFound, match='There is no user "adda". Did you mean "ada"'):
        admin.grant("adda", "reader")
    with pytest.raises(NotFound, match='There is no project "shoq"'):
        admin.grant("ada", "reader", "shoq")
    with pytest.raises(NotFound, match="ada has no role on shop"):
        admin.revoke_grant("ada", "shop")
    with pytest.raises(NotFound):
        admin.delete_user("nobody")


def test_the_last_admin_stays(admin: Lake):
    for attempt in (
        lambda: admin.delete_user("ada"),
        lambda: admin.disable_user("ada"),
        lambda: admin.grant("ada", "maintainer"),
        lambda: admin.revoke_grant("ada"),
    ):
        with pytest.raises(Precondition, match="ada is the last admin"):
            attempt()
    assert roles_of(admin.user("ada").grants) == {"lake": "admin"}
    admin.create_user("bob", roles={"lake": "admin"})
    admin.disable_user("bob")
    with pytest.raises(Precondition):
        admin.delete_user("ada")
    admin.enable_user("bob")
    admin.grant("ada", "admin")
    admin.delete_user("bob")
    with pytest.raises(Precondition):
        admin.revoke_grant("ada", "lake")


def test_who_am_i(admin: Lake):
    me = admin.whoami()
    assert all(me.may(one, "") for one in Permission)
    assert me.kind in ("local", "user")


# -- passwords -----------------------------------------------------------------------------


def test_ones_own_password_needs_the_current_one(server: Server):
    bob = server.user("bob", lake="reader")
    server.lake.set_password("bob", PASSWORD)
    with pytest.raises(NotAllowed, match="current password is wrong"):
        bob.set_password("bob", "another password")
    with pytest.raises(NotAllowed, match="current password is wrong"):
        bob.set_password("bob", "another password", "not my password")
    with pytest.raises(NotAllowed, match="may not set the password of others"):
        bob.set_password("ada", "another password", PASSWORD)
    bob.set_password("bob", "another password", PASSWORD)
    with server.logged_in("bob", "another password") as browser:
        assert browser.get("whoami").json()["name"] == "bob"


def test_an_admin_sets_anybodys_password_and_logins_end(server: Server):
    server.user("bob")
    server.lake.set_password("bob", PASSWORD)
    with server.logged_in("bob") as browser:
        assert browser.get("whoami").json()["name"] == "bob"
        server.as_("ada").set_password("bob", "another password")
        assert browser.get("whoami").status_code == 401


def test_authors_are_who_they_are(server: Server):
    server.user("bob", shop="maintainer")
    bob = server.as_("bob")
    bob.create_repo("shop/new")
    entries = list(server.as_("ada").audit(who="bob", action="POST /projects/{project}/repos"))
    assert [one.target for one in entries] == ["/projects/shop/repos"]
