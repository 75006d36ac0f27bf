"""Logging in and out, the first user, and those who guess."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from tests.served import served
from tests.server.people import PASSWORD, Server, a_lake, a_server
from trunkline import sdk
from trunkline.errors import NotAuthenticated, TooManyRequests
from trunkline.lake import access
from trunkline.lake.passwords import is_password
from trunkline.sdk.wire.values import API
from trunkline.server.auth import sessions
from trunkline.server.auth.throttle import Throttle


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    yield running
    running.reset()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Server]:
    """A server of a lake without users."""
    with sdk.init(tmp_path) as lake, served(lake, authenticated=True) as url:
        yield Server(lake, url)


def test_a_login_is_a_cookie_that_scripts_cannot_read(server: Server):
    with server.browser() as browser:
        answer = browser.post("login", json={"name": "ada", "password": PASSWORD})
        assert answer.json()["name"] == "ada"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"{sessions.COOKIE}=tl_")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Path=/" in cookie
        assert "Max-Age=43200" in cookie
        assert "Secure" not in cookie
        assert browser.get("whoami").json()["kind"] == "session"


def test_behind_https_the_cookie_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRUNKLINE_SERVER_URL", "https://lake.example.org")
    monkeypatch.setenv("TRUNKLINE_SESSION_LENGTH", "10m")
    with a_server(tmp_path) as server:
        answer = httpx2.post(
            f"{server.api}/login",
            json={"name": "ada", "password": PASSWORD},
            headers={"Host": "lake.example.org", "Origin": "https://lake.example.org"},
        )
        assert answer.status_code == 200
        assert "Secure" in answer.headers["set-cookie"]
        assert "Max-Age=600" in answer.headers["set-cookie"]
        assert "strict-transport-security" in answer.headers


def test_after_logout_the_cookie_is_worth_nothing(server: Server):
    with server.logged_in() as browser:
        kept = browser.cookies[sessions.COOKIE]
        assert browser.post("logout").status_code == 204
        assert sessions.COOKIE not in browser.cookies
        browser.cookies.set(sessions.COOKIE, kept)
        assert browser.get("whoami").status_code == 401


def test_a_session_is_no_token_and_a_token_no_session(server: Server):
    with server.logged_in() as browser:
        session = browser.cookies[sessions.COOKIE]
    token = server.lake.create_token(owner="ada").token
    place = f"{server.api}/whoami"
    as_token = httpx2.get(place, headers={"Authorization": f"Bearer {session}"})
    as_session = httpx2.get(place, cookies={sessions.COOKIE: token})
    assert [as_token.status_code, as_session.status_code] == [401, 401]


def test_a_session_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRUNKLINE_SESSION_LENGTH", "0s")
    with a_server(tmp_path) as server, server.browser() as browser:
        answer = browser.post("login", json={"name": "ada", "password": PASSWORD})
        text = answer.headers["set-cookie"].partition("=")[2].partition(";")[0]
        browser.cookies.set(sessions.COOKIE, text)
        assert browser.get("whoami").status_code == 401


def test_wrong_names_and_passwords_are_told_alike(server: Server):
    with server.browser() as browser:
        for name in ("ada", "nobody", ""):
            answer = browser.post("login", json={"name": name, "password": "wrong password"})
            assert answer.status_code == 401
            assert answer.json()["error"]["message"] == "The name or the password is wrong."
            assert "set-cookie" not in answer.headers


def test_who_has_no_password_or_is_disabled_cannot_log_in(server: Server):
    server.lake.create_user("token-only")
    server.lake.create_user("gone", PASSWORD)
    server.lake.disable_user("gone")
    with server.browser() as browser:
        for name in ("token-only", "gone"):
            for password in (PASSWORD, ""):
                answer = browser.post("login", json={"name": name, "password": password})
                assert answer.status_code == 401


def test_an_unknown_name_costs_a_hash_too():
    """Without a hash to compare with, one is compared all the same, and nothing fits it."""
    assert not is_password(None, "nobody has this password")
    assert not is_password("no hash at all", "x")
    assert not is_password(None, "x" * 5000)


def test_the_ways_to_log_in(server: Server, empty: Server):
    assert httpx2.get(f"{server.api}/login").json() == {"auth": True, "setup": False, "oidc": False}
    assert httpx2.get(f"{empty.api}/login").json() == {"auth": True, "setup": True, "oidc": False}


def test_where_nobody_is_asked_nobody_logs_in(tmp_path: Path):
    with a_lake(tmp_path) as lake, served(lake) as url:
        answer = httpx2.post(f"{url}{API}/login", json={"name": "ada", "password": PASSWORD})
        assert answer.status_code == 412
        assert httpx2.get(f"{url}{API}/login").json()["auth"] is False
        assert httpx2.get(f"{url}{API}/whoami").json()["kind"] == "local"


# -- the first user ------------------------------------------------------------------------


def test_the_set_up_token_makes_one_admin(empty: Server):
    token = access.issue_setup_token(empty.lake._core)
    assert token is not None
    body = {"token": token, "name": "root", "password": PASSWORD}
    with empty.browser() as browser:
        short = browser.post("setup", json={**body, "password": "short"})
        assert short.status_code == 400
        made = browser.post("setup", json=body)
        assert made.status_code == 201, made.text
        assert browser.get("whoami").json()["grants"][0]["role"] == "admin"
        assert browser.post("setup", json={**body, "name": "eve"}).status_code == 401
    assert [one.name for one in empty.lake.users()] == ["root"]
    assert access.issue_setup_token(empty.lake._core) is None


def test_a_set_up_token_opens_nothing_else(empty: Server):
    token = access.issue_setup_token(empty.lake._core)
    headers = {"Authorization": f"Bearer {token}"}
    assert httpx2.get(f"{empty.api}/whoami", headers=headers).status_code == 401


def test_wrong_and_older_set_up_tokens(empty: Server):
    old = access.issue_setup_token(empty.lake._core)
    new = access.issue_setup_token(empty.lake._core)
    assert old is not None
    assert new is not None
    with empty.browser() as browser:
        for bad in (old, new[:-1] + ("A" if new[-1] != "A" else "B"), "", "tl_x_y"):
            body = {"token": bad, "name": "root", "password": PASSWORD}
            assert browser.post("setup", json=body).status_code == 401
    assert empty.lake.users() == []


def test_once_there_are_users_it_is_too_late(empty: Server):
    token = access.issue_setup_token(empty.lake._core)
    empty.lake.create_user("ada", roles={"lake": "admin"})
    body = {"token": token, "name": "root", "password": PASSWORD}
    assert httpx2.post(f"{empty.api}/setup", json=body).status_code == 401


def test_of_two_at_once_one_is_first(empty: Server):
    token = access.issue_setup_token(empty.lake._core)
    assert token is not None
    core, made = empty.lake._core, []

    def attempt(name: str) -> None:
        made.append(access.set_up(core, token, name, PASSWORD))

    threads = [threading.Thread(target=attempt, args=(f"root{n}",)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(empty.lake.users()) == 1
    assert sum(one is not None for one in made) == 1


# -- guessing ------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def wait_of(throttle: Throttle, name: str, address: str) -> float:
    try:
        with throttle.attempt(name, address):
            raise LookupError("it was not tried")
    except TooManyRequests as error:
        return error.retry_after
    except LookupError:
        return 0.0


def fail(throttle: Throttle, name: str, address: str) -> None:
    with suppress(NotAuthenticated, TooManyRequests), throttle.attempt(name, address):
        raise NotAuthenticated("wrong")


def test_each_failure_makes_the_next_wait_longer():
    clock = Clock()
    throttle = Throttle(clock)
    waits = []
    for _ in range(8):
        fail(throttle, "ada", "10.0.0.1")
        waits.append(wait_of(throttle, "ada", "10.0.0.1"))
        clock.now += waits[-1]
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8]
    assert wait_of(throttle, "ada", "10.0.0.1") == 0


def test_others_are_not_held_up():
    throttle = Throttle(Clock())
    for _ in range(10):
        fail(throttle, "ada", "10.0.0.1")
    assert wait_of(throttle, "ada", "10.0.0.1") > 0
    assert wait_of(throttle, "ada", "10.0.0.2") == 0
    assert wait_of(throttle, "bob", "10.0.0.1") == 0


def test_many_names_from_one_place_and_one_name_from_many():
    throttle = Throttle(Clock())
    for number in range(30):
        fail(throttle, f"user{number}", "10.0.0.1")
    assert wait_of(throttle, "somebody", "10.0.0.1") > 0
    for number in range(80):
        fail(throttle, "ada", f"10.0.1.{number}")
    assert 0 < wait_of(throttle, "ada", "10.0.0.9") <= 30


def test_a_success_is_a_new_start_and_memory_has_an_end():
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(6):
        fail(throttle, "ada", "10.0.0.1")
        clock.now += 60
    with throttle.attempt("ada", "10.0.0.1"):
        pass
    assert wait_of(throttle, "ada", "10.0.0.1") == 0
    clock = Clock()
    small = Throttle(clock, most=100)
    for hour in range(1, 20):
        clock.now = hour * 4000.0
        fail(small, "ada", "10.0.0.1")
        assert wait_of(small, "ada", "10.0.0.1") == 0
    for number in range(1000):
        fail(small, f"user{number}", f"address{number}")
    assert len(small._failures) <= 103


def test_the_server_tells_how_long_to_wait(tmp_path: Path):
    with a_server(tmp_path) as server, server.browser() as browser:
        wrong = {"name": "ada", "password": "wrong password"}
        codes = [browser.post("login", json=wrong).status_code for _ in range(5)]
        assert codes == [401] * 5
        answer = browser.post("login", json={"name": "ada", "password": PASSWORD})
        assert answer.status_code == 429
        assert answer.json()["error"]["code"] == "too_many_requests"
        assert int(answer.headers["retry-after"]) >= 1


def test_a_try_is_counted_before_it_is_made():
    throttle = Throttle(Clock())
    with ExitStack() as trying:
        for _ in range(5):
            trying.enter_context(throttle.attempt("ada", "10.0.0.1"))
        with pytest.raises(TooManyRequests):
            trying.enter_context(throttle.attempt("ada", "10.0.0.1"))
        assert wait_of(throttle, "ada", "10.0.0.2") == 0
    # All were right: nothing is left of them.
    assert wait_of(throttle, "ada", "10.0.0.1") == 0
    assert not any(one.count for one in throttle._failures.values())


def test_what_could_not_be_tried_costs_nothing():
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(7):
        clock.now += 100
        fail(throttle, "ada", "10.0.0.1")
    clock.now += 3
    assert 0 < wait_of(throttle, "ada", "10.0.0.1") <= 1
    clock.now += 2
    for _ in range(20):
        assert wait_of(throttle, "ada", "10.0.0.1") == 0


def test_guesses_at_once_are_no_more_than_guesses_one_by_one(server: Server):
    def guess(_: int) -> int:
        with server.browser() as browser:
            wrong = {"name": "guessed", "password": "wrong password"}
            return browser.post("login", json=wrong, timeout=60).status_code

    with ThreadPoolExecutor(30) as pool:
        codes = list(pool.map(guess, range(30)))
    # Five, and who came after a wait that was over by then.
    assert codes.count(401) < 10
    assert codes.count(401) + codes.count(429) == 30


def test_checks_of_passwords_take_no_thread_of_others(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    """While every place for passwords is taken, others are answered, and more are refused."""
    held, going_on = threading.Semaphore(0), threading.Event()

    def slow(kept: str | None, password: str) -> bool:
        held.release()
        assert going_on.wait(60)
        return False

    monkeypatch.setattr("trunkline.lake.users.is_password", slow)

    def log_in(number: int) -> httpx2.Response:
        headers = {"Origin": server.url, "X-Forwarded-For": f"10.9.{number}.1"}
        body = {"name": f"user{number}", "password": "x" * 12}
        return httpx2.post(f"{server.api}/login", json=body, headers=headers, timeout=60)

    with ThreadPoolExecutor(60) as pool:
        asked = [pool.submit(log_in, number) for number in range(60)]
        try:
            assert held.acquire(timeout=30)
            # Those that found no place are answered while the others still wait.
            first = [one.result() for one in itertools.islice(as_completed(asked), 44)]
            assert {one.status_code for one in first} == {429}
            assert all(int(one.headers["retry-after"]) >= 1 for one in first)
            lake = server.as_("ada")
            assert len(list(lake.repos(all_projects=True))) == 3
            assert not held.acquire(blocking=False)
        finally:
            going_on.set()
        rest = [one.result().status_code for one in asked]
    assert rest.count(401) == 16
