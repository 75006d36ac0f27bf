"""`trunkline serve` as a process: what it says, whom it refuses, and how it ends."""

import json
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import trunkline as tl
from tests.cli.run import process
from tests.serving import Serving, serving
from trunkline.errors import NotAuthenticated, Usage
from trunkline.sdk.places import SERVER_FILE
from trunkline.server.listening import check_host


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
    return tmp_path


def told(server: Serving, path: str) -> dict[str, object]:
    with urlopen(server.url + path) as answer:
        found: dict[str, object] = json.load(answer)
        return found


@pytest.mark.slow
def test_it_says_where_it_answers_and_leaves_nothing_behind(folder):
    with serving(folder) as server:
        assert server.facts["lake"] == str(folder)
        assert server.facts["setup_token"] == ""
        assert told(server, "/healthz") == {"status": "ok"}
        about = told(server, "/api/v1/info")
        assert (about["api"], about["authenticated"], about["workers"]) == (1, False, 0)
        note = folder / ".trunkline" / SERVER_FILE
        assert stat.S_IMODE(note.stat().st_mode) == 0o600
        assert server.stop(signal.SIGINT) == 0
        assert not note.exists()


@pytest.mark.slow
def test_one_lake_has_one_server(folder):
    with serving(folder) as server:
        refused = process("serve", "--lake", folder, "--port", "0", "--s3-port", "0")
        assert refused.code == 6
        said = f"This lake is served already at {server.url} (process {server.pid})."
        assert refused.err.splitlines()[0] == f"error: {said}"


def test_a_port_in_use(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = process("serve", "--lake", folder, "--port", str(port), "--s3-port", "0")
    assert refused.code == 7
    assert refused.err.splitlines()[0] == f"error: Port {port} of 127.0.0.1 is in use."
    assert not (folder / ".trunkline" / SERVER_FILE).exists()


def test_others_are_let_in_only_with_authentication(folder):
    refused = process("serve", "--lake", folder, "--host", "0.0.0.0", "--port", "0")
    assert refused.code == 2
    assert "hint: Add --auth" in refused.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "fe80::1"])
def test_addresses_that_others_reach(host):
    with pytest.raises(Usage, match="Others can reach"):
        check_host(host, authenticated=False)
    check_host(host, authenticated=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_addresses_that_only_this_computer_reaches(host):
    check_host(host, authenticated=False)


def test_the_first_start_with_authentication_prints_a_token(folder):
    with serving(folder, "--auth", "--host", "0.0.0.0") as server:
        assert str(server.facts["setup_token"]).startswith("tl_")
        assert server.url.startswith("http://127.0.0.1:")
        for token in (None, "tl_wrong_token"):
            with (
                tl.open(server.url, token=token) as lake,
                pytest.raises(NotAuthenticated) as caught,
            ):
                lake.repos()
            assert "TRUNKLINE_TOKEN" in caught.value.hint
        with tl.open(folder) as lake:
            assert lake.server == server.url
            assert [repo.name.repo for repo in lake.repos()] == ["orders"]


def test_the_process_of_the_api_has_no_spark():
    code = "import sys, trunkline.server.serve; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_worker_of_a_server_is_nobody_elses(folder):
    refused = process("worker", "--lake", folder, "--socket", folder / "s", stdin=b"no\n")
    assert refused.code == 2
    assert "--socket is for the workers that trunkline serve starts" in refused.err
