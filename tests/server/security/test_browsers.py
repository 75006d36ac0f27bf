"""What a browser may be made to do: requests of other sites, scripts in names and files."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import httpx2
import pytest
from fastapi import FastAPI

from tests.server.security.asking import place, send, ways
from tests.server.security.world import PASSWORD, World
from trunkline.server.app import create_app
from trunkline.server.service import Service

SCRIPT = "<script>alert(1)</script>"
TEXTS = (SCRIPT, '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "</title><svg/onload=a>")
FREE = {"POST /logout", "POST /login", "POST /setup"}


@pytest.fixture(scope="module")
def app(world: World) -> FastAPI:
    return create_app(Service(world.lake, world.lake._settings, authenticated=True))


@pytest.fixture(scope="module")
def cookie(world: World) -> str:
    with httpx2.Client(base_url=world.api, headers={"Origin": world.url}) as browser:
        answer = browser.post("login", json={"name": "root", "password": PASSWORD})
        assert answer.status_code == 200
        return answer.headers["set-cookie"].partition(";")[0]


FORGED: list[dict[str, str]] = [
    {},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
    {"Origin": "OURS", "Host": "evil.example"},
    {"Origin": "OURS", "Content-Type": "text/plain"},
    {"Origin": "OURS", "Content-Type": "application/x-www-form-urlencoded"},
    {"Origin": "OURS", "Content-Type": "multipart/form-data; boundary=x"},
    {"Origin": "https://evil.example", "Authorization": ""},
    {"Origin": "https://evil.example", "Authorization": "Basic YTpi"},
    {"Origin": "https://evil.example", "Authorization": "Negotiate"},
    {"Host": "evil.example", "Authorization": ""},
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_no_other_site_changes_anything(
    world: World, app: FastAPI, cookie: str, forged: dict[str, str]
):
    before = world.state()
    headers = {key: world.url if value == "OURS" else value for key, value in forged.items()}
    with httpx2.Client(base_url=world.url, trust_env=False, timeout=60) as browser:
        for way in ways(app):
            if way.method in ("GET", "HEAD") or way.name in FREE:
                continue
            told = {"Cookie": cookie, "Content-Type": "application/json", **headers}
            answer = browser.request(way.method, place(world, way), content=b"{}", headers=told)
            assert answer.status_code == 403, (way.name, answer.text)
    assert world.state() == before


@pytest.mark.parametrize("header", ["", "Basic YTpi", "Bearer", "x", "Bearer\tx"])
def test_a_cookie_beside_another_header_is_nobodys(world: World, cookie: str, header: str):
    """Whatever the guards make of the header, the cookie is not looked at where there is one."""
    with httpx2.Client(base_url=world.api, headers={"Origin": world.url}) as browser:
        told = {"Cookie": cookie}
        assert browser.get("whoami", headers=told).status_code == 200
        answer = browser.get("whoami", headers={**told, "Authorization": header})
        assert answer.status_code == 401, answer.text
        name = {"name": "forged"}
        forged = {**told, "Authorization": header, "Origin": "https://evil.example"}
        answer = browser.post("projects", json=name, headers=forged)
        assert answer.status_code in (401, 403), answer.text


def test_asking_changes_nothing(world: World, app: FastAPI):
    """A cookie goes along with every image on every page, so GET must be harmless."""
    before = world.state()
    with world.client("root") as client:
        for way in ways(app):
            if way.method in ("GET", "HEAD"):
                send(world, client, way)
    assert world.state() == before


# -- what answers hold ---------------------------------------------------------------------


def _safe(answer: httpx2.Response, way: str) -> None:
    kind = answer.headers.get("content-type", "")
    assert answer.headers["x-content-type-options"] == "nosniff", way
    assert "unsafe" not in answer.headers["content-security-policy"], way
    assert not kind.startswith(("text/html", "image/svg", "application/xml", "text/xml")), (
        way,
        kind,
    )
    assert answer.headers["x-frame-options"] == "DENY", way


def test_only_one_page_is_html(world: World, app: FastAPI):
    with world.client("root") as client:
        for way in ways(app):
            answer = send(world, client, way) if way.method in ("GET", "HEAD") else None
            if answer is None or way.name in ("GET /docs", "GET /"):
                continue
            _safe(answer, way.name)


@pytest.mark.parametrize("text", TEXTS)
def test_scripts_stay_text(world: World, text: str):
    with world.client("root") as client:
        name = f"x{abs(hash(text)) % 10**8}"
        answers = [
            client.post("/api/v1/projects", json={"name": name, "description": text}),
            client.post("/api/v1/projects", json={"name": text}),
            client.post("/api/v1/projects/shop/repos", json={"name": name, "description": text}),
            client.post("/api/v1/projects/shop/repos", json={"name": text}),
            client.get(f"/api/v1/repos/shop/{name}"),
            client.get("/api/v1/repos/shop/" + text.replace("/", "%2F").replace("?", "%3F")),
            client.get("/" + text.replace("/", "%2F")),
            client.get("/api/v1/repos", params={"project": text, "limit": text}),
            client.get("/api/v1/events/history", params={"kinds": text, "cursor": text}),
            client.post("/api/v1/sql", json={"text": f"SELECT '{text}'"}),
            client.post("/api/v1/sql/run", json={"text": text}),
            client.post("/api/v1/users", json={"name": text}),
            client.post("/api/v1/tokens", json={"note": text}),
            client.post(
                f"/api/v1/repos/shop/{name}/tags",
                json={"name": "t", "start": "main", "message": text},
            ),
            client.put(
                f"/api/v1/repos/shop/{name}/content",
                params={"path": f"/{text}.html", "message": text},
                content=f"<html>{text}</html>".encode(),
            ),
            client.get(f"/api/v1/repos/shop/{name}/files"),
            client.get(f"/api/v1/repos/shop/{name}/log"),
        ]
        for answer in answers:
            assert answer.status_code < 500, answer.text
            _safe(answer, str(answer.request.url))
            assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize(
    "name",
    ["a.html", "a.svg", "a.xhtml", "a.js", "a.xml", "a.pdf", "a", 'a"b\r\nX: y.html', "ü;.html"],
)
def test_files_are_never_shown_as_what_they_say_they_are(world: World, name: str):
    with world.client("root") as client:
        path = f"/{name}".replace("\r\n", "")
        put = client.put(
            "/api/v1/repos/shop/orders/content",
            params={"path": path, "branch": "work"},
            content=f"<html>{SCRIPT}</html>".encode(),
        )
        assert put.status_code == 201, put.text
        query = {"path": path, "at": "work"}
        for answer in (
            client.get("/api/v1/repos/shop/orders/content", params=query),
            client.head("/api/v1/repos/shop/orders/content", params=query),
            client.get("/api/v1/repos/shop/orders/archive", params=query),
        ):
            assert answer.status_code == 200, answer.text
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in ("application/octet-stream", "text/plain", "application/x-tar"), kind
            assert answer.headers["content-disposition"].startswith("attachment")
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]
            assert "x" not in answer.headers


class _Page(HTMLParser):
    """What a page loads and runs."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.events: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name in ("src", "href"):
                self.links.append(value or "")
            if name.startswith("on") or name == "style":
                self.events.append(name)


def test_the_page_of_the_api_needs_nothing_but_itself(world: World, app: FastAPI):
    with world.client() as client:
        answer = client.get("/api/v1/docs")
    assert answer.status_code == 200
    page = _Page()
    page.feed(answer.text)
    assert page.tags.isdisjoint({"script", "iframe", "img", "link", "form", "object", "base"})
    assert page.links == ["openapi.json"] and page.events == []
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    (style,) = re.findall(r"<style>(.*?)</style>", answer.text, re.S)
    assert style
    for way in ways(app):
        path = way.path.replace(":path}", "}")
        assert path in answer.text or path not in app.openapi()["paths"], way.name
