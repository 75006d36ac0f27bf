"""A token with limits does what both its owner and its limits allow: no more, and no less."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.run import Cli
from tests.server.people import PASSWORD, Server, a_server
from trunkline.errors import NotAllowed, NotFound
from trunkline.model.access import Permission, Principal, grants_from
from trunkline.sdk.wire.values import IDEMPOTENCY
from trunkline.server.idempotency import REPLAYED

LARGE = 40 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def token(server: Server) -> str:
    """Of an admin, for one repo alone."""
    return server.lake.create_token(owner="ada", limits={"shop/orders": "writer"}).token


@pytest.mark.parametrize(
    ("grants", "limits", "permission", "allowed"),
    [
        ({"lake": "admin"}, {"shop/orders": "writer"}, Permission.WRITE, True),
        ({"lake": "admin"}, {"shop/orders": "writer"}, Permission.MAINTAIN, False),
        ({"shop/orders": "writer"}, {"lake": "admin"}, Permission.WRITE, True),
        ({"shop": "writer"}, {"lake": "reader", "shop/orders": "writer"}, Permission.WRITE, True),
        ({"shop/orders": "writer"}, {"shop/items": "writer"}, Permission.READ, False),
        ({"shop": "reader", "default": "writer"}, {"shop": "writer"}, Permission.WRITE, False),
        ({"shop": "reader"}, None, Permission.READ, True),
        ({"shop": "reader"}, {}, Permission.READ, False),
        ({}, None, Permission.READ, False),
    ],
)
def test_somewhere_is_wherever_both_allow_it(
    grants: dict[str, str], limits: dict[str, str] | None, permission: Permission, allowed: bool
):
    narrowed = None if limits is None else grants_from("bob", limits)
    who = Principal("bob", grants=grants_from("bob", grants), limits=narrowed)
    assert who.may_somewhere(permission) is allowed


def test_a_project_is_seen_where_something_in_it_may_be_read():
    who = Principal(
        "bob",
        grants=grants_from("bob", {"shop/orders": "reader", "default": "reader"}),
        limits=grants_from("bob", {"shop/items": "reader", "default/notes": "reader"}),
    )
    assert who.may_see("default")
    assert not who.may_see("shop")


def test_the_sdk_writes_with_a_limited_token(server: Server, token: str, tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).write_text(name)
    large = tmp_path / "large"
    with large.open("wb") as made:
        made.truncate(LARGE)
    with server.with_token(token) as lake:
        lake.put("shop/orders@main:/one", folder / "a")
        lake.put("shop/orders@main:/many", folder, recursive=True)
        lake.put("shop/orders@main:/large", large)
        with lake.transaction() as transaction:
            transaction.commit("shop/orders@main").put("/together", b"x")
        for other in ("shop/items", "default/notes"):
            with pytest.raises(NotFound):
                lake.put(f"{other}@main:/one", folder / "a")
    found = {one.path: one.size for one in server.lake.glob("shop/orders@main:/**")}
    wanted = {"/one": 1, "/many/a": 1, "/many/b": 1, "/large": LARGE, "/together": 1}
    assert {path: found.get(path) for path in wanted} == wanted


def test_the_command_writes_with_a_limited_token(
    server: Server,
    token: str,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TRUNKLINE_LAKE", server.url)
    monkeypatch.setenv("TRUNKLINE_TOKEN", token)
    cli = Cli(capfdbinary)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "c").write_text("c")
    cli.ok("put", "shop/orders@main:/c", str(tmp_path / "inside" / "c"))
    cli.ok("put", "-r", "shop/orders@main:/cs", str(tmp_path / "inside"))
    assert server.lake.read("shop/orders@main:/cs/c") == b"c"
    cli.ok("status")
    refused = cli("put", "shop/items@main:/c", str(tmp_path / "inside" / "c"))
    assert refused.code != 0
    assert len(refused.err.splitlines()) <= 2


def test_a_token_for_reading_begins_no_transaction(server: Server):
    token = server.lake.create_token(owner="ada", limits={"shop/orders": "reader"}).token
    with server.with_token(token) as lake:
        with pytest.raises(NotAllowed, match="ada may not write to anything here"):
            lake._client.send("POST", "/transactions", {})
        with pytest.raises(NotAllowed):
            lake._client.send("POST", "/run")


def test_a_token_with_limits_knows_nothing_else_of_its_owner(server: Server, token: str):
    other = server.lake.create_token(owner="ada")
    bob = server.user("bob", shop="maintainer", default="reader")
    limits = {"shop/orders": "writer", "default": "admin"}
    mine = server.lake.create_token(owner="bob", limits=limits)
    limited = server.with_token(mine.token)
    who = limited.whoami()
    assert who.grants == grants_from("bob", {"default": "reader", "shop/orders": "writer"})
    seen = limited.user("bob")
    assert (seen.grants, seen.email) == (who.grants, "")
    assert [one.id for one in limited.tokens()] == [mine.info.id]
    assert len(bob.tokens()) > 1
    for one in (bob.whoami().token, other.info.id):
        with pytest.raises(NotFound):
            limited.revoke_token(one)
    with pytest.raises(NotAllowed, match="limits"):
        limited.set_password("bob", "another horse battery", PASSWORD)
    assert limited.revoke_token(mine.info.id).revoked


def test_what_a_token_with_limits_began_is_its_own(server: Server, token: str):
    """Nor is what its owner began of it: uploads, and answers that are kept for keys."""
    ada = server.lake.create_token(owner="ada").token
    with httpx2.Client(base_url=server.api, trust_env=False) as client:

        def sent(token: str, method: str, path: str, **more: Any) -> httpx2.Response:
            headers = {"Authorization": f"Bearer {token}", IDEMPOTENCY: "one-key"}
            return client.request(method, path, headers=headers, **more)

        made = sent(ada, "POST", "/transactions", json={})
        assert made.status_code == 201
        txn = made.json()["id"]
        again = sent(ada, "POST", "/transactions", json={})
        assert (again.json()["id"], again.headers.get(REPLAYED)) == (txn, "true")
        other = sent(token, "POST", "/transactions", json={})
        assert other.json()["id"] != txn and REPLAYED not in other.headers
        body: dict[str, Any] = {"operations": []}
        taken = client.post(
            f"/transactions/{txn}/commit",
            json=body,
            headers={"Authorization": f"Bearer {token}"},
        )
        assert taken.status_code in (404, 503), taken.text


@pytest.mark.parametrize(
    ("grants", "limits", "within"),
    [
        ({"lake": "admin"}, {"shop": "reader"}, {"shop": "reader"}),
        ({"shop/orders": "writer"}, {"lake": "admin"}, {"shop/orders": "writer"}),
        ({"shop": "writer"}, {"default": "writer"}, {}),
        ({"shop": "writer"}, None, {"shop": "writer"}),
    ],
)
def test_within_limits(
    grants: dict[str, str], limits: dict[str, str] | None, within: dict[str, str]
):
    narrowed = None if limits is None else grants_from("bob", limits)
    who = Principal("bob", grants=grants_from("bob", grants), limits=narrowed)
    assert who.within() == grants_from("bob", within)
