"""`trunkline user`, `role`, `token` and `audit`."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Cli
from tests.server.people import PASSWORD, a_lake


@pytest.fixture
def cli(
    capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cli:
    a_lake(tmp_path).close()
    monkeypatch.chdir(tmp_path / "lake")
    return Cli(capfdbinary)


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_a_user_from_beginning_to_end(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    type_in(monkeypatch, PASSWORD + "\n")
    said = cli.ok("user", "create", "bob", "--email", "bob@example.org", "--password-stdin")
    assert said.startswith("Created user bob. They may do nothing yet: trunkline role grant bob")
    assert (
        cli.ok("role", "grant", "bob", "writer", "shop/orders") == "bob is writer on shop/orders.\n"
    )
    shown = cli.ok("user", "inspect", "bob")
    assert "writer on shop/orders" in shown
    assert "bob@example.org" in shown
    found: Any = cli.json("user", "list")
    assert [(one["name"], roles(one), one["has_password"]) for one in found] == [
        ("ada", {"": "admin"}, True),
        ("bob", {"shop/orders": "writer"}, True),
    ]
    assert cli.ok("role", "list").split()[:3] == ["USER", "SCOPE", "ROLE"]
    assert cli.json("role", "list")[1] == {"user": "bob", "scope": "shop/orders", "role": "writer"}
    cli.ok("role", "revoke", "bob", "shop/orders")
    assert cli.ok("user", "disable", "bob") == "Disabled user bob.\n"
    assert "disabled" in cli.ok("user", "list")
    assert cli.json("user", "enable", "bob")["disabled"] is False
    type_in(monkeypatch, "another password")
    cli.ok("user", "password", "bob", "--password-stdin")
    assert cli.json("user", "delete", "bob") == {"deleted": "bob"}
    assert cli("user", "inspect", "bob").code == 3


def test_a_password_is_never_an_argument(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    type_in(monkeypatch, "")
    nobody = cli("user", "create", "bob")
    assert nobody.code == 2
    assert "--password-stdin" in nobody.err
    assert cli("user", "create", "bob", "--password", PASSWORD).code == 2
    type_in(monkeypatch, "short\n")
    short = cli("user", "create", "bob", "--password-stdin")
    assert (short.code, "too short" in short.err) == (2, True)
    assert cli.json("user", "list")[-1]["name"] == "ada"
    made = cli.json("user", "create", "bot", "--no-password", "--role", "reader")
    assert (made["has_password"], roles(made)) == (False, {"": "reader"})


def test_mistakes_with_roles(cli: Cli):
    assert cli("role", "grant", "ada", "boss").code == 2
    assert cli("role", "grant", "eve", "reader").code == 3
    last = cli("role", "revoke", "ada")
    assert last.code == 6
    assert "last admin" in last.err


def test_tokens_are_shown_once(cli: Cli):
    said = cli.ok("token", "create", "--owner", "ada", "--note", "for ci", "--expires", "90d")
    token = said.split("\n")[0]
    assert token.startswith("tl_")
    assert "secret key" in said
    made = cli.json("token", "create", "--owner", "ada", "--limit", "shop/orders=reader")
    assert [(one["scope"], one["role"]) for one in made["info"]["limits"]] == [
        ("shop/orders", "reader")
    ]
    assert {"token", "s3_access_key", "s3_secret"} < set(made)
    listed = cli.ok("token", "list")
    assert "for ci" in listed
    assert "reader on shop/orders" in listed
    assert token[20:] not in cli.ok("token", "list", "--all", "--json")
    assert (
        cli.ok("token", "revoke", made["info"]["id"])
        == f"Revoked token {made['info']['id']} of ada.\n"
    )
    assert [one["note"] for one in cli.json("token", "list")] == ["for ci"]
    assert len(cli.json("token", "list", "--all", "--owner", "ada")) == 2


def test_mistakes_with_tokens(cli: Cli):
    assert "is not a user of this lake" in cli("token", "create").err
    for bad in (("--expires", "soon"), ("--limit", "reader"), ("--limit", "shop=boss")):
        assert cli("token", "create", "--owner", "ada", *bad).code == 2
    assert cli("token", "revoke", "nothing").code == 3


def test_the_audit_log(cli: Cli):
    cli.ok("role", "grant", "ada", "writer", "shop")
    said = cli.ok("audit", "--limit", "1")
    assert said.split("\n")[0].split() == [
        *("AT", "WHO", "ACTION", "TARGET", "OUTCOME", "FROM", "DETAIL")
    ]
    assert "writer on shop" in said
    newest = cli.json("audit", "--action", "role.grant", "--since", "1h")[0]
    assert (newest["target"], newest["detail"]) == ("ada", "writer on shop")
    assert cli.ok("audit", "--refused") == "Nothing.\n"
    assert cli("audit", "--since", "then").code == 2


def test_the_commands_do_not_start_what_they_do_not_need(cli: Cli):
    """A local command about users loads neither the server nor Spark."""
    code = (
        "import sys; from trunkline.cli import main; main(['user', 'list']);"
        "print([m for m in ('fastapi', 'pyspark', 'httpx2', 'argon2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip().endswith("[]"), done.stdout + done.stderr


def roles(user: Any) -> dict[str, str]:
    return {one["scope"]: one["role"] for one in user["grants"]}
