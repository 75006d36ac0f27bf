"""What browsers are made to send, what names are made to point at, and what the log keeps."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx2
import pytest

from tests.served import served
from tests.server.people import PASSWORD, Server, a_lake, a_server
from trunkline.errors import NotAllowed, NotFound
from trunkline.model.access import AuditEntry
from trunkline.model.shape import as_json
from trunkline.model.time import now_micros
from trunkline.sdk.wire.values import API
from trunkline.server.auth import sessions
from trunkline.server.auth.journal import Journal


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.reset()


@pytest.fixture(scope="module")
def open_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that asks nobody who they are."""
    with a_lake(tmp_path_factory.mktemp("open")) as lake, served(lake) as url:
        yield url


# -- origins -------------------------------------------------------------------------------

JSON = {"Content-Type": "application/json"}
EVIL = {"Origin": "https://evil.example"}


def post(browser: httpx2.Client, headers: Mapping[str, str], body: bytes = b'{"name": "p"}') -> int:
    browser.headers.pop("Origin", None)
    return browser.post("projects", content=body, headers=dict(headers)).status_code


def test_with_a_cookie_only_our_own_pages_change_things(server: Server):
    ours = {"Origin": server.url}
    with server.logged_in() as browser:
        refused: list[dict[str, str]] = [
            JSON,
            {**JSON, **EVIL},
            {**JSON, "Origin": "null"},
            {**JSON, "Origin": server.url + "0"},
            {**JSON, "Origin": server.url.replace("http:", "https:")},
            {**JSON, "Origin": server.url.replace("127.0.0.1", "127.0.0.1.evil.example")},
            {**JSON, "Origin": server.url.replace("//", "//x@")},
            {**JSON, "Sec-Fetch-Site": "cross-site"},
            {**JSON, "Sec-Fetch-Site": "same-site"},
            {**JSON, "Sec-Fetch-Site": "none"},
            {**JSON, **EVIL, "Sec-Fetch-Site": "same-origin"},
            {**ours, "Content-Type": "text/plain"},
            {**ours, "Content-Type": "application/x-www-form-urlencoded"},
            {**ours, "Content-Type": "multipart/form-data; boundary=x"},
            ours,
        ]
        assert [post(browser, headers) for headers in refused] == [403] * len(refused)
        assert post(browser, {**JSON, **ours}) == 201
        assert post(browser, {**JSON, "Sec-Fetch-Site": "same-origin"}, b'{"name": "q"}') == 201


def test_other_bodies_must_be_meant(server: Server):
    with server.logged_in() as browser:
        kind = {"Content-Type": "application/octet-stream"}
        assert browser.post("projects", content=b"x", headers=kind).status_code == 403
        meant = browser.post("projects", content=b"x", headers={**kind, "X-Trunkline": "1"})
        assert meant.status_code == 422


def test_reading_and_deleting_need_no_body(server: Server):
    with server.logged_in() as browser:
        assert browser.get("whoami", headers=EVIL).status_code == 200
        assert browser.delete("repos/shop/items").status_code == 204
        assert browser.delete("repos/shop/orders", headers=EVIL).status_code == 403


def test_a_token_in_a_header_needs_no_origin(server: Server):
    token = server.lake.create_token(owner="ada").token
    headers = {**EVIL, "Authorization": f"Bearer {token}"}
    assert httpx2.post(f"{server.api}/projects", json={"name": "p"}, headers=headers).is_success


def test_other_sites_cannot_log_anybody_in(server: Server):
    body = {"name": "ada", "password": PASSWORD}
    assert httpx2.post(f"{server.api}/login", json=body, headers=EVIL).status_code == 403
    assert httpx2.post(f"{server.api}/login", json=body).status_code == 200


def test_where_everybody_is_owner_other_sites_are_nobody(open_door: str):
    place = f"{open_door}{API}/projects"
    for headers in (EVIL, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        for body in ('{"name": "p"}', ""):
            answer = httpx2.post(place, content=body, headers={**headers, **JSON})
            assert answer.status_code == 403
    with_token = {**EVIL, **JSON, "Authorization": "Bearer x"}
    assert httpx2.post(place, content='{"name": "p"}', headers=with_token).status_code == 403
    assert httpx2.post(place, json={"name": "p"}).status_code == 201
    assert httpx2.post(place, json={"name": "q"}, headers={"Origin": open_door}).status_code == 201


# -- hosts ---------------------------------------------------------------------------------

BAD_HOSTS = ("evil.example", "evil.example:8470", "127.0.0.1.evil.example", "", "[::1", "a@b")
GOOD_HOSTS = ("127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:8470", "127.9.9.9")


def status(url: str, host: str, **options: object) -> int:
    return httpx2.get(f"{url}{API}/whoami", headers={"Host": host}, **options).status_code  # type: ignore[arg-type]


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_name_that_is_not_ours_is_refused(open_door: str, host: str):
    assert status(open_door, host) in (400, 403)


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_names_of_this_computer(open_door: str, host: str):
    assert status(open_door, host) == 200


def test_hosts_matter_where_cookies_do(server: Server):
    with server.logged_in() as browser:
        cookies = {sessions.COOKIE: browser.cookies[sessions.COOKIE]}
    assert status(server.url, "evil.example", cookies=cookies) == 403
    assert status(server.url, "localhost", cookies=cookies) == 200
    assert status(server.url, "evil.example") == 401
    login = httpx2.post(
        f"{server.api}/login",
        json={"name": "ada", "password": PASSWORD},
        headers={"Host": "evil.example"},
    )
    assert login.status_code == 403


def test_the_address_that_people_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRUNKLINE_SERVER_URL", "https://lake.example.org")
    with a_server(tmp_path) as server, server.logged_in() as browser:
        # A cookie for https is not sent over http: behind a proxy it would have been.
        cookies = {sessions.COOKIE: browser.cookies[sessions.COOKIE]}
        assert status(server.url, "lake.example.org", cookies=cookies) == 200
        headers = {"Host": "lake.example.org", "Origin": "https://lake.example.org"}
        made = httpx2.post(
            f"{server.api}/projects", json={"name": "p"}, headers=headers, cookies=cookies
        )
        assert made.status_code == 201


# -- headers -------------------------------------------------------------------------------


def test_every_answer_has_safe_headers(server: Server):
    for path in (f"{API}/whoami", f"{API}/login", "/nowhere", f"{API}/nowhere", "/healthz"):
        headers = httpx2.get(server.url + path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "same-origin"
        assert headers["x-request-id"]
    assert httpx2.get(f"{server.api}/whoami").headers["cache-control"] == "no-store"


# -- audit ---------------------------------------------------------------------------------


def audited(server: Server, **wanted: str) -> list[AuditEntry]:
    return list(server.as_("ada").audit(**wanted))  # type: ignore[arg-type]


def test_what_is_changed_is_recorded_with_who_and_from_where(server: Server):
    bob = server.user("bob", shop="maintainer")
    bob.create_repo("shop/new")
    with pytest.raises(NotFound):
        bob.delete_branch("shop/new@nothing")
    made, failed = reversed(audited(server, who="bob"))
    assert (made.action, made.target) == ("POST /projects/{project}/repos", "/projects/shop/repos")
    assert (made.outcome, made.address, made.detail) == ("ok", "127.0.0.1", "201")
    assert made.request
    assert (failed.outcome, failed.detail) == ("failed", "404")


def test_every_refusal_is_recorded(server: Server):
    bob = server.user("bob", shop__orders="reader")
    with pytest.raises(NotAllowed):
        bob.delete_repo("shop/orders")
    with pytest.raises(NotFound):
        bob.repo("shop/items")
    with pytest.raises(NotFound):
        bob.repo("nowhere/at-all")
    with pytest.raises(NotAllowed):
        bob.users()
    httpx2.get(f"{server.api}/whoami")
    httpx2.get(f"{server.api}/users", headers={"Authorization": "Bearer tl_bad"})
    found = [
        (one.who, one.action, one.target, one.detail) for one in audited(server, outcome="refused")
    ]
    assert found == [
        ("", "GET /users", "/users", "401"),
        ("", "GET /whoami", "/whoami", "401"),
        ("bob", "GET /users", "/users", "403"),
        ("bob", "GET /repos/{project}/{repo}", "nowhere/at-all", "404"),
        ("bob", "GET /repos/{project}/{repo}", "shop/items", "404"),
        ("bob", "DELETE /repos/{project}/{repo}", "shop/orders", "403"),
    ]


def test_reading_is_not_recorded(server: Server):
    bob = server.user("bob", lake="reader")
    bob.repos()
    bob.whoami()
    assert audited(server, who="bob") == []


def test_users_roles_tokens_and_logins_are_recorded(server: Server):
    ada = server.as_("ada")
    ada.create_user("bob")
    ada.grant("bob", "writer", "shop")
    token = ada.create_token("x", owner="bob", limits={"shop": "reader"})
    ada.revoke_token(token.info.id)
    ada.revoke_grant("bob", "shop")
    ada.set_password("bob", "another password")
    ada.disable_user("bob")
    ada.delete_user("bob")
    with server.logged_in() as browser:
        browser.post("login", json={"name": "ada", "password": "wrong password"})
        browser.post("login", json={"name": "hunter2 is my password", "password": "x"})
        browser.post("logout")
    entries = audited(server)
    changes = [(one.action, one.target, one.detail) for one in entries if one.who == "ada"]
    changes = [one for one in reversed(changes) if "/" not in one[0]]
    assert changes == [
        ("user.create", "bob", ""),
        ("role.grant", "bob", "writer on shop"),
        ("token.create", token.info.id, "for bob: reader on shop"),
        ("token.revoke", token.info.id, "of bob"),
        ("role.revoke", "bob", "on shop"),
        ("user.password", "bob", ""),
        ("user.disable", "bob", ""),
        ("user.delete", "bob", ""),
    ]
    logins = [
        (one.who, one.action, one.target, one.outcome)
        for one in reversed(entries)
        if one.action in ("POST /login", "POST /logout")
    ]
    assert logins == [
        ("ada", "POST /login", "ada", "ok"),
        ("ada", "POST /login", "ada", "refused"),
        ("ada", "POST /login", "an unknown name", "refused"),
        ("ada", "POST /logout", "ada", "ok"),
    ]


def test_the_audit_log_is_read_in_pages_by_admins(server: Server):
    ada = server.as_("ada")
    for number in range(5):
        ada.create_project(f"p{number}")
    whole = list(ada.audit(action="POST /projects"))
    assert len(whole) == 5
    assert list(ada.audit(action="POST /projects", limit=2)) == whole[:2]
    headers = {"Authorization": f"Bearer {server.lake.create_token(owner='ada').token}"}
    pages, cursor = [], ""
    while cursor is not None:
        query = {"action": "POST /projects", "limit": "2", "cursor": cursor}
        answer = httpx2.get(f"{server.api}/audit", params=query, headers=headers).json()
        pages.append([one["position"] for one in answer["items"]])
        cursor = answer["next"]
    assert pages == [[one.position for one in whole[i : i + 2]] for i in (0, 2, 4)]
    assert list(ada.audit(since=whole[1].at, action="POST /projects")) == whole[:2]
    with pytest.raises(NotAllowed):
        list(server.user("bob", lake="maintainer").audit())


def test_no_secret_is_in_the_audit_log_or_the_log(server: Server, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    ada = server.as_("ada")
    made = ada.create_token("for x")
    ada.create_user("bob", "bobs secret password")
    with pytest.raises(NotFound):
        ada.set_password("eve", "eves secret password")
    bad = made.token[:-1] + "!"
    httpx2.get(f"{server.api}/whoami", headers={"Authorization": f"Bearer {bad}"})
    httpx2.get(f"{server.api}/whoami?token={made.token}")
    with server.logged_in() as browser:
        cookie = browser.cookies[sessions.COOKIE]
        browser.post("login", json={"name": "bob", "password": ["bobs secret password"]})
        browser.post("setup", json={"token": made.token, "name": "x", "password": "a secret one"})
    kept = "\n".join(str(as_json(one)) for one in audited(server))
    # The client is in this process too, and its log is not ours.
    kept += "\n".join(
        one.getMessage() for one in caplog.records if one.name.startswith(("trunkline", "uvicorn"))
    )
    secrets = (made.token, made.s3_secret, cookie, PASSWORD, "secret password", "a secret one")
    for secret in secrets:
        assert secret not in kept
        assert secret[20:] not in kept or len(secret) < 40


def test_the_journal_writes_what_is_left_when_it_closes(tmp_path: Path):
    with a_lake(tmp_path) as lake:
        journal = Journal(lake._core, 3600)
        for number in range(100):
            journal.add(AuditEntry(0, now_micros(), "ada", "test", str(number), "ok"))
        journal.close()
        found = [one.target for one in lake.audit(action="test")]
        assert found == [str(number) for number in reversed(range(100))]


@pytest.mark.parametrize(
    ("outcome", "detail"), [("refused", "401"), ("failed", "404"), ("failed", "422")]
)
def test_strangers_cannot_fill_the_log(tmp_path: Path, outcome: str, detail: str):
    with a_lake(tmp_path) as lake:
        journal = Journal(lake._core, 3600)
        for number in range(100):
            for who in ("", "bob"):
                said = AuditEntry(
                    0, now_micros(), who, "GET x", f"/{number}", outcome, "::1", "", detail
                )
                journal.add(said)
        journal.close()
        found = list(lake.audit(action="GET x", who=""))
        assert 1 <= len(found) <= 5
        assert sum(int(one.detail.split()[1].strip("(")) for one in found if "(" in one.detail) > 90
        assert len(list(lake.audit(action="GET x", who="bob"))) == 100


def test_what_is_older_than_it_is_kept_is_forgotten(tmp_path: Path):
    with a_lake(tmp_path) as lake:
        journal = Journal(lake._core, 3600)
        now = now_micros()
        for age in (0, 3599, 3601):
            entry = AuditEntry(0, now - age * 1_000_000, "ada", "test", str(age), "ok")
            journal.add(entry)
        journal.flush()
        journal.prune(now)
        journal.close()
        assert [one.target for one in lake.audit(action="test")] == ["3599", "0"]


def test_an_entry_that_cannot_be_written_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with a_lake(tmp_path) as lake:
        catalog = Path(lake.location) / ".trunkline" / "catalog.db"
        away = catalog.with_name("away")
        journal = Journal(lake._core, 3600)
        lake.close()
        catalog.rename(away)
        journal.add(AuditEntry(0, now_micros(), "ada", "test", "x", "ok"))
        journal.flush()
        away.rename(catalog)
        journal.close()
        assert [one.target for one in lake.audit(action="test")] == ["x"]
        assert "the audit log waits" in caplog.text
