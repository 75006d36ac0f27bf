"""`trunkline context`, and what other commands make of it."""

import io
import stat
import sys

import pytest

from tests.serving import serving
from trunkline import settings


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return settings.user_file().with_name("contexts.toml")


def test_a_context_from_first_to_last(cli, config, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("tl_abc_secret\n"))
    said = cli.ok(
        *("context", "add", "team", "https://lake.example.org/", "--token-stdin"),
        *("--project", "shop"),
    )
    assert said.startswith("Added team: https://lake.example.org.")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    cli.ok("context", "use", "team")
    assert cli.json("context", "show") == {
        "name": "team",
        "lake": "https://lake.example.org",
        "project": "shop",
        "has_token": True,
        "current": True,
    }
    shown = [cli.ok("context", *verb) for verb in (["list"], ["show"], ["show", "team"])]
    assert not any("secret" in text for text in shown)
    assert cli("context", "add", "team", "https://lake.example.org").code == 4
    assert cli("context", "use", "taem").err.startswith('error: There is no context "taem".')
    cli.ok("context", "use", "--none")
    assert cli("context", "show").code == 3
    cli.ok("context", "remove", "team")
    assert "secret" not in config.read_text()
    assert cli.json("context", "list") == []


def test_a_token_from_the_environment(cli, config, monkeypatch):
    monkeypatch.setenv("THEIR_TOKEN", "tl_abc_secret")
    cli.ok("context", "add", "team", "https://lake.example.org", "--token-env", "THEIR_TOKEN")
    assert "tl_abc_secret" in config.read_text()
    refused = cli("context", "add", "b", "https://lake.example.org", "--token-env", "NOT_THERE")
    assert (refused.code, refused.err) == (2, "error: --token-env: NOT_THERE is not set.\n")


@pytest.mark.slow
def test_other_commands_go_where_the_context_says(cli, lake, tmp_path_factory, monkeypatch):
    with serving(lake) as server:
        assert f"Server:  {server.url}" in cli.ok("status")
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        assert cli("repo", "list").code == 3
        cli.ok("context", "add", "shop", server.url)
        assert "orders" in cli.ok("repo", "list", "--lake", "shop")
        cli.ok("context", "use", "shop")
        assert "orders" in cli.ok("repo", "list")
        found = cli.json("status")
        assert (found["context"], found["server"]) == ("shop", server.url)
        refused = cli("config", "set", "project", "x")
        assert refused.code == 6
        assert "is a server" in refused.err


def test_a_token_is_never_shown(cli, lake, monkeypatch):
    assert "secret" not in cli.ok("config", "set", "token", "tl_abc_secret", "--user")
    monkeypatch.setenv("TRUNKLINE_TOKEN", "tl_abc_secret")
    for args in (["list"], ["get", "token"], ["list", "--json"]):
        assert "secret" not in cli.ok("config", *args)
