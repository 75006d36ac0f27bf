"""The console's page and files, and the page that says that there are none."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import httpx2
import pytest

import trunkline as tl
from tests.served import served
from trunkline.server import console
from trunkline.server.auth.sessions import COOKIE

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
INDEX = '<!doctype html><title>built</title><meta name="csp-nonce" content="__CSP_NONCE__">'
SCRIPT = "let a = 1"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("lake")
    with tl.init(folder) as lake, served(lake, authenticated=True) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, trust_env=False) as client:
        yield client


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A console as the build leaves it, with something beside it that is nobody's business."""
    folder = tmp_path / "console"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets/app-1.js").write_text(SCRIPT)
    (folder / "assets/app-1.js.gz").write_bytes(gzip.compress(SCRIPT.encode()))
    (folder / "assets/app-1.js.br").write_bytes(b"as brotli")
    (tmp_path / "secret").write_text("canary")
    (tmp_path / "console-secret").write_text("canary")
    monkeypatch.setattr(console, "FOLDER", folder)
    return folder


@pytest.mark.parametrize("path", ["/", "/repos/orders"])
def test_without_a_console_a_page_says_how_to_build_it(client, tmp_path, monkeypatch, path):
    monkeypatch.setattr(console, "FOLDER", tmp_path / "none")
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert "not part of this installation" in answer.text
    assert "make console" in answer.text and "Node" in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert client.get("/assets/app.js").json()["error"]["code"] == "not_found"


PAGES = ["/", "/index.html", "/graph", "/repos/default/orders@main:/day=2026-01-01/", "/apiary"]


@pytest.mark.parametrize("path", PAGES)
def test_every_address_of_the_console_is_its_page(client, built, path):
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert "<title>built</title>" in answer.text
    assert console.NONCE not in answer.text


def test_a_page_says_exactly_what_it_may_load(client, built):
    answer = client.get("/graph", headers=BROWSER)
    found = re.search('content="([A-Za-z0-9_-]{24})"', answer.text)
    assert found
    (said,) = answer.headers.get_list("content-security-policy")
    assert said == (
        "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'; script-src 'self'; "
        f"style-src 'self' 'nonce-{found[1]}'; worker-src 'self'; connect-src 'self'; "
        "font-src 'self'; media-src 'self' blob:"
    )
    for name, value in {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
    }.items():
        assert answer.headers[name] == value


def test_no_two_answers_share_a_nonce(client, built):
    policies = {
        client.get(path, headers=BROWSER).headers["content-security-policy"]
        for path in ("/", "/", "/graph", "/graph")
    }
    assert len(policies) == 4


def test_the_page_is_read_again_only_when_it_is_another(client, built, monkeypatch):
    assert "built" in client.get("/").text
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", None)
        assert "built" in client.get("/").text
    (built / "index.new").write_text(INDEX.replace("built", "built again"))
    os.replace(built / "index.new", built / "index.html")
    assert "built again" in client.get("/").text


NO_PAGES = (
    "/api", "/api/", "/api/none", "/api/v1/none", "/assets/none.js", "/assets/", "/healthz/x",
    "/readyz/x", "/metrics/x",
)  # fmt: skip


@pytest.mark.parametrize("path", NO_PAGES)
def test_what_is_no_page_stays_not_found(client, built, path):
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_only_who_wants_a_page_gets_one(client, built):
    for headers in ({"Accept": "application/json"}, {"Accept": "*/*"}):
        answer = client.get("/graph", headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert client.post("/graph", headers=BROWSER).status_code == 404
    assert client.head("/graph", headers=BROWSER).status_code == 200
    # A route that knows the address, and another method, says so.
    assert client.get("/api/v1/logout", headers=BROWSER).status_code == 405


def test_another_host_gets_no_page(client, built):
    """Nobody is logged in at a name that was made to point here, but a cookie may come along."""
    headers = {**BROWSER, "Host": "evil.example", "Cookie": f"{COOKIE}=tl_x_y"}
    answer = client.get("/graph", headers=headers)
    assert answer.status_code == 403
    assert "built" not in answer.text


@pytest.mark.parametrize(
    "accepts, encoding, body",
    [
        ("gzip, deflate, br, zstd", "br", b"as brotli"),
        ("gzip;q=1.0, br;q=0", "gzip", gzip.compress(SCRIPT.encode(), mtime=0)),
        ("identity", None, SCRIPT.encode()),
        ("br;q=0.0, gzip;q=0", None, SCRIPT.encode()),
    ],
)
def test_scripts_come_compressed_to_who_takes_them_so(url, client, built, accepts, encoding, body):
    (built / "assets/app-1.js.gz").write_bytes(gzip.compress(SCRIPT.encode(), mtime=0))
    with client.stream("GET", "/assets/app-1.js", headers={"Accept-Encoding": accepts}) as answer:
        raw = b"".join(answer.iter_raw())
    assert raw == body
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["vary"] == "Accept-Encoding"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "name, kind",
    [
        ("a.css", "text/css; charset=utf-8"),
        ("inter-latin.woff2", "font/woff2"),
        ("engine.wasm", "application/wasm"),
        ("worker-x_-1.js", "text/javascript; charset=utf-8"),
        ("strange.bin", "application/octet-stream"),
    ],
)
def test_files_say_what_they_are(client, built, name, kind):
    (built / "assets" / name).write_bytes(b"x")
    answer = client.get(f"/assets/{name}")
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_files_of_the_root_are_served(client, built):
    answer = client.get("/favicon.svg")
    assert (answer.status_code, answer.text) == (200, "<svg/>")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "nonce" not in answer.headers["content-security-policy"]


OUT = (
    "%2e%2e", "..%2fsecret", "%2e%2e%2f%2e%2e%2fsecret", "....//secret", ".", "..%5csecret",
    "%2e%2e%2fsecret%00.js", "..%252fsecret", "%2fetc%2fpasswd", ".hidden", "a" * 101,
)  # fmt: skip


@pytest.mark.parametrize("before", ["/assets/", "/", "//", "/assets/../", "/x/"])
@pytest.mark.parametrize("name", OUT)
def test_nothing_beside_the_console_is_served(url, built, before, name):
    (built / ".hidden").write_text("canary")
    (built / "assets/.hidden").write_text("canary")
    status, text = asked_as_it_is(url, before + name)
    assert status in (404, 405)
    assert "canary" not in text and "root:" not in text
    # A browser gets the page where others get nothing, and never the file.
    _, text = asked_as_it_is(url, before + name, **BROWSER)
    assert "canary" not in text and "root:" not in text


def asked_as_it_is(url: str, path: str, **headers: str) -> tuple[int, str]:
    """What a client gets that does not tidy up the address first."""
    connection = HTTPConnection(url.removeprefix("http://"))
    with closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
