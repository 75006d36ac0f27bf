"""Single sign-on, with a provider on a real port."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from joserfc.jwk import OctKey, RSAKey

from tests.server.people import Server, a_server
from tests.server.provider import CLIENT, Provider, a_provider
from trunkline.server.auth import oidc, sessions


@pytest.fixture(scope="module")
def sign_on() -> Iterator[Provider]:
    with a_provider() as running:
        yield running


@pytest.fixture
def provider(sign_on: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("TRUNKLINE_OIDC_ISSUER", sign_on.url)
    monkeypatch.setenv("TRUNKLINE_OIDC_CLIENT", CLIENT)
    kept = dict(vars(sign_on))
    oidc._known.clear()
    yield sign_on
    vars(sign_on).update(kept)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def server(running: Server, provider: Provider) -> Iterator[Server]:
    """Settings are read when they are asked for, and so are those of the provider."""
    yield running
    running.reset()


def come_back(server: Server, browser: httpx2.Client) -> str:
    """Go to the provider and to where it sends us: an address at our server."""
    away = browser.get("login/oidc", follow_redirects=False)
    assert away.status_code == 302, away.text
    back = httpx2.get(away.headers["location"])
    assert back.status_code == 302, back.text
    return str(back.headers["location"])


def sign_in(server: Server, browser: httpx2.Client) -> httpx2.Response:
    return browser.get(come_back(server, browser), follow_redirects=False)


def test_who_is_known_by_name_logs_in(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org", roles={"shop": "reader"})
    with server.browser() as browser:
        assert browser.get("login").json()["oidc"] is True
        answer = sign_in(server, browser)
        assert (answer.status_code, answer.headers["location"]) == (302, "/")
        assert "SameSite=strict" in answer.headers["set-cookie"]
        who = browser.get("whoami").json()
        assert (who["name"], who["kind"]) == ("ada@example.org", "session")
    found = list(server.as_("ada").audit(action="GET /login/oidc/callback"))
    assert [(one.who, one.target, one.outcome) for one in found] == [
        ("ada@example.org", "ada@example.org", "ok")
    ]


def test_a_person_stays_the_same_when_their_address_changes(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    with server.browser() as browser:
        sign_in(server, browser)
    provider.person = {**provider.person, "email": "new@example.org"}
    with server.browser() as browser:
        sign_in(server, browser)
        assert browser.get("whoami").json()["name"] == "ada@example.org"


def test_another_person_with_the_same_address_is_not_let_in(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    with server.browser() as browser:
        sign_in(server, browser)
    provider.person = {**provider.person, "sub": "other"}
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 403
        assert sessions.COOKIE not in browser.cookies


def test_strangers_are_made_users_only_where_that_is_wanted(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    with server.browser() as browser:
        answer = sign_in(server, browser)
        assert answer.status_code == 403
        assert "is not a user here" in answer.json()["error"]["message"]
    assert [one.name for one in server.lake.users()] == ["ada"]
    monkeypatch.setenv("TRUNKLINE_OIDC_CREATE", "yes")
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 302
        assert browser.get("whoami").json()["grants"] == []
        assert browser.get("projects").json()["items"] == []
    made = server.lake.user("ada@example.org")
    assert (made.email, made.has_password) == ("ada@example.org", False)


def test_who_is_disabled_is_not_let_in(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    server.lake.disable_user("ada@example.org")
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 403


def test_another_claim_can_be_the_name(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRUNKLINE_OIDC_CLAIM", "preferred_username")
    server.lake.create_user("lovelace")
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 403
        provider.person = {"sub": "7", "preferred_username": "lovelace"}
        assert sign_in(server, browser).status_code == 302
        assert browser.get("whoami").json()["name"] == "lovelace"


UNVERIFIED: list[dict[str, Any]] = [
    {"email_verified": False},
    {"email_verified": None},
    {"email_verified": "true"},
    {"email": None},
]


def bad_claims() -> list[dict[str, Any]]:
    now = int(time.time())
    return [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": None},
        {"azp": "another"},
        {"iss": "https://another.example"},
        {"iss": None},
        {"exp": now - 3600},
        {"exp": None},
        {"iat": now + 3600},
        {"nbf": now + 3600},
        {"sub": None},
    ]


def test_id_tokens_that_say_something_else_are_refused(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    for claims in bad_claims():
        provider.claims = claims
        with server.browser() as browser:
            answer = sign_in(server, browser)
            assert answer.status_code == 401, claims
            assert sessions.COOKIE not in browser.cookies


def test_addresses_that_nobody_verified_are_nobodys(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    for claims in UNVERIFIED:
        provider.claims = claims
        with server.browser() as browser:
            assert sign_in(server, browser).status_code == 403, claims


@pytest.mark.filterwarnings("ignore:JWS algorithm")
def test_id_tokens_with_bad_signatures_are_refused(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    forger = RSAKey.generate_key(2048, {"kid": "one"}, private=True)
    shared = OctKey.generate_key(256)
    for signer, algorithm in ((forger, "RS256"), (shared, "HS256"), (shared, "none")):
        provider.signer, provider.algorithm = signer, algorithm  # type: ignore[assignment]
        with server.browser() as browser:
            assert sign_in(server, browser).status_code == 401


def test_keys_that_were_changed_are_read_again(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 302
    provider.key = provider.signer = RSAKey.generate_key(2048, {"kid": "two"}, private=True)
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 302


def test_only_the_browser_that_began_comes_back(server: Server, provider: Provider):
    server.lake.create_user("ada@example.org")
    with server.browser() as browser, server.browser() as other:
        address = come_back(server, browser)
        assert other.get(address).status_code == 401
        come_back(server, other)
        assert other.get(address).status_code == 401
        assert browser.get(address + "x").status_code == 401
        assert browser.get(address.replace("code=", "code=x")).status_code == 401
        assert browser.get(address.replace("code=", "error=denied&x=")).status_code == 401
        cookie = browser.cookies[oidc.COOKIE]
        forged = cookie[:-1] + ("A" if cookie[-1] != "A" else "B")
        sent = {"Cookie": f"{oidc.COOKIE}={forged}"}
        assert httpx2.get(address, headers=sent).status_code == 401
        assert browser.get(address, follow_redirects=False).status_code == 302
        assert browser.get(address).status_code == 401


def test_a_way_that_took_too_long(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(oidc, "AWAY_SECONDS", 0)
    with server.browser() as browser:
        away = browser.get("login/oidc", follow_redirects=False)
        text = away.headers["set-cookie"].partition("=")[2].partition(";")[0]
        back = httpx2.get(away.headers["location"]).headers["location"]
        answer = httpx2.get(back, headers={"Cookie": f"{oidc.COOKIE}={text}"})
        assert answer.status_code == 401
        assert "took too long" in answer.text


def test_the_clients_secret_comes_from_the_environment(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    server.lake.create_user("ada@example.org")
    provider.secrets_seen.clear()
    with server.browser() as browser:
        sign_in(server, browser)
        monkeypatch.setenv(oidc.SECRET_VARIABLE, "a:secret")
        sign_in(server, browser)
    assert provider.secrets_seen[0] == ""
    assert provider.secrets_seen[1].startswith("Basic ")


def test_mistakes_in_the_settings(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    def told(**settings: str) -> tuple[int, str]:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        with server.browser() as browser:
            answer = browser.get("login/oidc", follow_redirects=False)
            return answer.status_code, answer.json()["error"]["message"]

    assert told(TRUNKLINE_OIDC_ISSUER="http://id.example.org")[0] == 412
    code, message = told(TRUNKLINE_OIDC_ISSUER="http://127.0.0.1:1")
    assert (code, "cannot be asked" in message) == (503, True)
    provider.issuer_told = "https://another.example"
    assert "says that it is" in told(TRUNKLINE_OIDC_ISSUER=provider.url)[1]
    assert told(TRUNKLINE_OIDC_ISSUER="")[1] == "There is no single sign-on here."


def test_without_authlib_it_says_so(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delitem(sys.modules, "trunkline.server.auth.idtokens", raising=False)
    monkeypatch.delattr("trunkline.server.auth.idtokens", raising=False)
    monkeypatch.setitem(sys.modules, "authlib.oidc.core", None)
    with server.browser() as browser:
        answer = browser.get("login/oidc")
        assert answer.status_code == 412
        assert "needs authlib" in answer.json()["error"]["message"]
        assert "trunkline[oidc]" in answer.json()["error"]["hint"]


def test_a_name_that_anybody_may_choose_opens_nothing_with_a_password(
    server: Server, provider: Provider, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRUNKLINE_OIDC_CLAIM", "preferred_username")
    provider.person = {**provider.person, "preferred_username": "chief"}
    server.lake.create_user("chief", "correct horse battery", roles={"lake": "admin"})
    with server.browser() as browser:
        assert sign_in(server, browser).status_code == 403
        assert browser.get("whoami").status_code == 401
