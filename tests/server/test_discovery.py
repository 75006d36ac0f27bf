"""Which lake is meant, and whether a server stands before it."""

import errno
import fcntl
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import trunkline as tl
from tests.serving import serving
from trunkline.errors import Failed, NotFound, Precondition, Unavailable, Usage
from trunkline.sdk.contexts import Context, Contexts
from trunkline.sdk.places import LOCK_FILE, SERVER_FILE, find_place, server_of
from trunkline.sdk.remote.client import Client
from trunkline.sdk.wire.values import decode
from trunkline.server.presence import Presence


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
    return tmp_path / "lake"


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contexts:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return Contexts()


class TestServed:
    def test_a_served_lake_is_reached_through_its_server(self, folder, monkeypatch):
        with serving(folder) as server:
            with tl.open(folder) as lake:
                assert (lake.server, lake.location) == (server.url, str(folder))
                lake.create_repo("items")
            with tl.open(folder, direct=True) as lake:
                assert lake.server == ""
                assert {repo.name.repo for repo in lake.repos()} == {"orders", "items"}
            monkeypatch.setenv("TRUNKLINE_DIRECT", "1")
            with tl.open(folder) as lake:
                assert lake.server == ""

    def test_commits_are_by_whom_the_lakes_owner_says(self, folder):
        with serving(folder, "--auth"):
            with tl.open(folder, author="Zoë") as lake, lake.commit("orders@main") as commit:
                commit.put("/a", b"a")
            with tl.open(folder) as lake:
                assert lake.commits("orders@main")[0].author == "Zoë"

    @pytest.mark.slow
    def test_what_a_killed_server_left_is_not_believed(self, folder):
        with serving(folder) as server:
            server.process.kill()
            server.process.wait()
            assert (folder / ".trunkline" / SERVER_FILE).exists()
            with tl.open(folder) as lake:
                assert lake.server == ""
        with serving(folder) as another, tl.open(folder) as lake:
            assert lake.server == another.url

    def test_one_that_tells_us_nothing_is_passed_by(self, folder):
        place = folder / ".trunkline"
        presence = Presence(place)
        presence.take()
        presence.announce("http://127.0.0.1:1", "t")
        assert server_of(place) is not None
        file = place / SERVER_FILE
        elsewhere = {**json.loads(file.read_text()), "host": "another"}
        for text in ("", "[]", json.dumps(elsewhere)):
            file.write_text(text)
            assert server_of(place) is None
        presence.leave()
        assert server_of(place) is None

    def test_a_file_system_without_locks_is_told_of(self, folder, monkeypatch):
        """NFS that is mounted without them: a refused lock does not mean that a server has it."""

        def refuse(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        presence = Presence(folder / ".trunkline")
        presence.take()
        presence.announce("http://127.0.0.1:1", "t")
        monkeypatch.setattr(fcntl, "flock", refuse)
        with pytest.raises(Precondition, match=f"{folder}/.trunkline refuses locks"):
            tl.open(folder)
        monkeypatch.setenv("TRUNKLINE_DIRECT", "1")
        with tl.open(folder) as lake:
            assert lake.server == ""

    def test_a_copy_does_not_believe_the_server_of_the_original(self, folder, tmp_path):
        presence = Presence(folder / ".trunkline")
        presence.take()
        presence.announce("http://127.0.0.1:1", "t")
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        other = Presence(copy / ".trunkline")
        other.take()
        shutil.copy(folder / ".trunkline" / SERVER_FILE, copy / ".trunkline" / SERVER_FILE)
        assert server_of(copy / ".trunkline") is None
        assert server_of(folder / ".trunkline") is not None

    def test_looking_does_not_keep_a_server_from_starting(self, folder):
        place = folder / ".trunkline"
        looker = os.open(place / LOCK_FILE, os.O_RDONLY | os.O_CREAT)
        fcntl.flock(looker, fcntl.LOCK_SH)
        threading.Timer(0.1, os.close, (looker,)).start()
        presence = Presence(place)
        presence.take()
        presence.leave()

    def test_nobody_migrates_a_lake_that_is_served(self, folder):
        presence = Presence(folder / ".trunkline")
        presence.take()
        with pytest.raises(Precondition, match="is being served"):
            tl.migrate(folder)
        presence.leave()
        tl.migrate(folder)


class TestPlaces:
    def test_the_nearer_wins(self, folder, contexts, tmp_path, monkeypatch):
        contexts.add(Context("team", "https://lake.example.org/", "tl_a_b", "shop"))
        monkeypatch.chdir(tmp_path)
        with pytest.raises(NotFound):
            find_place()
        contexts.use("team")
        chosen = find_place()
        assert (chosen.url, chosen.project) == ("https://lake.example.org", "shop")
        assert (chosen.token, chosen.context) == ("tl_a_b", "team")
        monkeypatch.chdir(folder)
        assert find_place().folder == folder / ".trunkline"
        monkeypatch.setenv("TRUNKLINE_LAKE", "http://127.0.0.1:9")
        assert find_place().url == "http://127.0.0.1:9"
        assert find_place("team").url == "https://lake.example.org"
        assert find_place(folder).folder == folder / ".trunkline"
        assert find_place(str(folder)).context == ""

    def test_a_context_may_name_a_folder(self, folder, contexts, tmp_path, monkeypatch):
        contexts.add(Context("here", str(folder)))
        monkeypatch.chdir(tmp_path)
        with tl.open("here") as lake:
            assert lake.location == str(folder)
        with pytest.raises(Usage, match="needs no token"):
            contexts.add(Context("there", str(folder), "tl_a_b"))

    def test_the_token_of_the_environment_goes_before_the_contexts(self, contexts, monkeypatch):
        contexts.add(Context("team", "http://127.0.0.1:9", "tl_context_x"))
        with tl.open("team") as lake:
            assert _sent(lake) == "Bearer tl_context_x"
        monkeypatch.setenv("TRUNKLINE_TOKEN", "tl_environment_x")
        with tl.open("team") as lake:
            assert _sent(lake) == "Bearer tl_environment_x"
        with tl.open("team", token="tl_given_x") as lake:
            assert _sent(lake) == "Bearer tl_given_x"

    @pytest.mark.parametrize("name", ["", "a/b", "-x", "a b", "x" * 65])
    def test_names_of_contexts(self, contexts, name):
        with pytest.raises(Usage):
            contexts.add(Context(name, "https://lake.example.org"))

    def test_an_address_with_a_password_is_refused_without_it(self, contexts):
        with pytest.raises(Usage) as caught:
            contexts.add(Context("team", "https://me:secret@lake.example.org"))
        assert "secret" not in caught.value.message


def _sent(lake: tl.Lake) -> str:
    client: Client = lake._client  # type: ignore[attr-defined]
    return str(client._http.headers["Authorization"])


@contextmanager
def answering(headers: dict[str, str], body: bytes, status: int = 200) -> Iterator[str]:
    """Something that answers everything in one way."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


class TestVersions:
    @pytest.mark.parametrize("status", [200, 404])
    def test_an_api_that_we_do_not_know_is_refused(self, status):
        with (
            answering({"X-Trunkline-Api": "2"}, b'{"items": []}', status) as url,
            tl.open(url) as lake,
            pytest.raises(Precondition, match="speaks version 2 of the API"),
        ):
            lake.repos()

    @pytest.mark.parametrize("status", [200, 404, 500])
    def test_another_kind_of_server(self, status):
        with (
            answering({}, b"<html>", status) as url,
            tl.open(url) as lake,
            pytest.raises(Failed, match="is no Trunkline server"),
        ):
            lake.repos()

    def test_no_server_at_all(self):
        with tl.open("http://127.0.0.1:9") as lake, pytest.raises(Unavailable):
            lake.repos()

    def test_fields_that_a_newer_server_adds_are_passed_by(self):
        @dataclass(frozen=True)
        class Known:
            name: str

        assert decode(Known, b'{"name": "x", "newer": {"deep": 1}}') == Known("x")
