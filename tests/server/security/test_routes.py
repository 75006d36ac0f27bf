"""Every route says what it needs, and really refuses whoever lacks it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from fastapi import FastAPI

from tests.server.security.asking import JSON, QUERIES, READING_POSTS, Way, send, ways
from tests.server.security.world import World
from trunkline.model.access import Permission
from trunkline.server.app import create_app
from trunkline.server.calls import On
from trunkline.server.service import Service

PUBLIC = {
    "GET /login",
    "POST /login",
    "POST /logout",
    "POST /setup",
    "GET /login/oidc",
    "GET /login/oidc/callback",
    "GET /info",
    "GET /healthz",
    "GET /readyz",
    "GET /docs",
    "GET /openapi.json",
    "GET /",
    "GET /assets/{name}",
}
OWN = {
    "GET /whoami",
    "GET /pipelines/schema",
    "GET /sql",
    "GET /run",
    "GET /events",
}
"""Of the caller alone, or of nothing: looked at one by one below."""
LISTS = {
    "GET /projects",
    "GET /repos",
    "GET /pipelines",
    "GET /backfills",
    "GET /environments",
    "GET /jobs",
    "GET /streams",
    "GET /ingests",
    "GET /deliveries",
    "GET /tables",
    "GET /checks",
    "GET /events/history",
    "GET /sets",
    "GET /search",
}
FOR_ALL_WHO_MAY_ANYTHING = {"GET /status", "GET /workers", "GET /pools"}
ASKING = {"POST /sql", "POST /sql/run"}
"""What is said there of the lake as a whole has no names of its parts."""


@pytest.fixture(scope="module")
def app(world: World) -> FastAPI:
    return create_app(Service(world.lake, world.lake._settings, authenticated=True))


@pytest.fixture
def unchanged(world: World) -> Iterator[None]:
    before = world.state()
    yield
    assert world.state() == before


def test_every_route_says_what_it_needs(app: FastAPI):
    found = list(ways(app))
    assert len(found) > 150
    assert {way.name for way in found if way.needs.on is On.PUBLIC} == PUBLIC
    for way in found:
        if not way.is_quiet and way.needs.on in (On.LAKE, On.PROJECT, On.REPO, On.REFS):
            assert way.needs.permission > Permission.READ, way.name
    shown = app.openapi()["paths"]
    for path, methods in shown.items():
        for method, operation in methods.items():
            assert operation["x-needs"], (method, path)


def test_every_route_is_called_here(app: FastAPI):
    """One that is new and needs a body or a query is added to `asking`."""
    known = {way.name for way in ways(app)}
    assert {*JSON, *QUERIES, *READING_POSTS, *PUBLIC, *OWN, *LISTS} <= known
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path.removeprefix('/api/v1')}".replace(
                "/secrets/{name}", "/secrets/{name:path}"
            )
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                assert name in JSON, name
            if any(
                one["required"] for one in operation.get("parameters", ()) if one["in"] == "query"
            ):
                assert name in QUERIES, name


@pytest.mark.parametrize("token", [None, "x", "tl_x_y", "tl_0123456789abcdef_" + "0" * 43])
def test_nobody_comes_in(world: World, app: FastAPI, unchanged: None, token: str | None):
    with world.client() as client:
        if token is not None:
            client.headers["Authorization"] = f"Bearer {token}"
        for way in ways(app):
            if way.name in PUBLIC:
                continue
            answer = send(world, client, way)
            assert answer.status_code == 401, (way.name, answer.text)
            assert answer.headers["www-authenticate"].startswith("Bearer"), way.name
            if way.method != "HEAD":
                assert answer.json()["error"]["code"] == "not_authenticated"


@pytest.mark.parametrize("who", ["stranger", "elsewhere"])
def test_who_has_no_right_gets_nothing(world: World, app: FastAPI, unchanged: None, who: str):
    with world.client(who) as client:
        for way in ways(app):
            if way.name in PUBLIC:
                continue
            answer = send(world, client, way)
            if way.name in LISTS:
                assert answer.status_code == 200, (way.name, answer.text)
                there = [one for one in answer.json()["items"] if "other" not in str(one)]
                assert there == [], way.name
            elif way.name in OWN:
                _is_own(way, answer, who)
            elif way.name in FOR_ALL_WHO_MAY_ANYTHING:
                assert answer.status_code == (403 if who == "stranger" else 200), way.name
                assert "shop" not in answer.text
            elif way.name in ASKING and who == "stranger":
                assert answer.status_code == 403, (way.name, answer.text)
            elif way.name == "POST /sql":
                assert answer.json()["state"] == "failed"
            elif way.name.partition("/transactions/{txn}")[1]:
                assert answer.status_code in (403, 404, 503), (way.name, answer.text)
            else:
                assert answer.status_code in (403, 404), (way.name, answer.text)


def _is_own(way: Way, answer: httpx2.Response, who: str) -> None:
    assert answer.status_code in (200, 204), (way.name, answer.text)
    if way.name == "GET /whoami":
        assert answer.json()["name"] == who
    elif way.name == "GET /run":
        assert (answer.json()["unfinished"], answer.json()["ended"]) == ([], [])
    elif way.name == "GET /sql":
        assert {one["state"] for one in answer.json()["items"]} <= {"failed"}
    elif way.name == "GET /events":
        assert answer.text.startswith(": listening after")


def test_who_reads_changes_nothing(world: World, app: FastAPI, unchanged: None):
    with world.client("reader") as client:
        for way in ways(app):
            if way.is_quiet or way.name in PUBLIC or way.name in OWN:
                continue
            answer = send(world, client, way)
            allowed = (403, 404, 503) if "{txn}" in way.path else (403, 404)
            assert answer.status_code in allowed, (way.name, answer.text)
            if way.needs.on in (On.LAKE, On.PROJECT, On.REPO):
                assert answer.status_code == 403, (way.name, answer.text)


def test_who_may_does(world: World, app: FastAPI):
    """The same requests, sent by somebody with the rights, are not refused: so they were good."""
    with world.client("reader") as client:
        for way in ways(app):
            if way.needs.permission is not Permission.READ or way.needs.on is On.LAKE:
                continue
            if way.is_quiet and way.needs.on in (On.REPO, On.REFS):
                answer = send(world, client, way)
                assert answer.status_code not in (401, 403, 422, 500), (way.name, answer.text)
