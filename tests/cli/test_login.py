"""Logging in: a password for a token that a context keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import process
from tests.served import served
from trunkline.lake.access import issue_setup_token

PASSWORD = "correct horse battery"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's own folder, where no lake is near."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[tl.Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("orders")
        yield made


@pytest.fixture
def server(lake: tl.Lake) -> Iterator[str]:
    with served(lake, authenticated=True) as url:
        yield url


@pytest.mark.slow
def test_the_first_to_come_is_the_first_admin(home, lake, server):
    token = issue_setup_token(lake._core)
    said = f"{token}\n{PASSWORD}\n".encode()
    done = process("login", server, "--user", "ada", "--password-stdin", stdin=said)
    assert done.code == 0, done.err
    assert done.out == f"Logged in to {server} as ada; the context 127.0.0.1 is in use.\n"
    assert "orders" in process("repo", "list").out
    assert [user.name for user in lake.users()] == ["ada"]
    again = process("login", server, "--user", "eve", "--password-stdin", stdin=said)
    assert again.code == 5
    assert "wrong" in again.err


@pytest.mark.slow
def test_in_and_out(home, lake, server):
    lake.create_user("ada", PASSWORD, roles={"lake": "reader"})
    stdin = f"{PASSWORD}\n".encode()
    into = ("login", server, "--user", "ada", "--password-stdin", "--context", "team")
    for _ in range(2):
        assert process(*into, stdin=stdin).code == 0
    config = (home / "config/trunkline/contexts.toml").read_text()
    assert PASSWORD not in config
    assert process("--lake", "team", "repo", "list").code == 0
    out = process("logout")
    assert (out.code, out.out) == (0, f"Logged out of {server}.\n")
    made = [one for one in lake.tokens("ada") if one.kind == "user"]
    assert [one.revoked is not None for one in made] == [True, True]
    assert process("logout").code == 2


@pytest.mark.slow
def test_a_token_that_is_worth_nothing_is_forgotten_too(home, lake, server):
    lake.create_user("ada", PASSWORD, roles={"lake": "reader"})
    stdin = f"{PASSWORD}\n".encode()
    assert process("login", server, "--user", "ada", "--password-stdin", stdin=stdin).code == 0
    lake.delete_user("ada")
    assert process("repo", "list").code == 5
    assert process("logout").code == 0
    assert process("context", "list").out == "There are no contexts.\n"


def test_a_wrong_password_leaves_nothing(home, lake, server):
    lake.create_user("ada", PASSWORD)
    done = process("login", server, "--user", "ada", "--password-stdin", stdin=b"wrong\n")
    assert done.code == 5
    assert done.err.startswith("error: The name or the password is wrong.\n")
    assert not (home / "config/trunkline/contexts.toml").exists()
    assert not lake.tokens("ada")


def test_places_where_one_cannot_log_in(home, lake):
    assert process("login", "orders").code == 2
    assert process("login", "http://127.0.0.1:9", "--user", "a", "--password-stdin").code == 7
    with served(lake) as url:
        done = process("login", url)
        assert done.code == 6
        assert "asks nobody" in done.err
