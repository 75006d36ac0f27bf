"""The door: the first user, logging in and out, and where one is led afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, shot
from tests.server.people import PASSWORD
from tests.serving import Serving, serving

SERVE = ("--auth",)
REFUSED = "status of 401"


@pytest.fixture(scope="module")
def sample(sample: Path) -> Path:
    with tl.open(sample, direct=True) as lake:
        lake.create_user("ada", PASSWORD, roles={"lake": "admin"})
    return sample


@pytest.fixture(autouse=True)
def _strangers_are_refused(watch: Watch) -> None:
    """Who one is, is asked first; the browser notes the refusal."""
    watch.forgive(REFUSED)


def log_in(page: Page, name: str = "ada", password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")


def test_who_is_not_known_is_asked_and_comes_back_to_where_they_wanted(page: Page):
    page.goto("/repos?q=ord")
    expect(page).to_have_url(re.compile(r"/login\?next="))
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    expect(page.get_by_role("button", name="Single sign-on")).to_have_count(0)
    assert axe(page) == []
    shot(page, "login")
    log_in(page)
    expect(page).to_have_url(re.compile(r"/repos\?q=ord$"))
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    expect(page.get_by_role("button", name="ada")).to_be_visible()


def test_a_wrong_password_is_said_in_the_servers_words(page: Page):
    page.goto("/login")
    log_in(page, "<img src=x onerror=alert(1)>", "wrong")
    expect(page.get_by_role("alert")).to_contain_text("The name or the password is wrong.")
    expect(page).to_have_url(re.compile("/login$"))
    assert axe(page) == []
    log_in(page)
    expect(page.get_by_role("heading", name="Home")).to_be_visible()


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/x",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/.//evil.example",
        "javascript:alert(1)",
    ],
)
def test_the_door_leads_nowhere_else(page: Page, site: Serving, elsewhere: str):
    page.goto(f"/login?next={quote(elsewhere, safe='')}")
    log_in(page)
    expect(page.get_by_role("heading", name="Home")).to_be_visible()
    expect(page).to_have_url(f"{site.url}/")


def test_logging_out(page: Page):
    page.goto("/login?next=/jobs")
    log_in(page)
    expect(page).to_have_url(re.compile("/jobs$"))
    page.get_by_role("button", name="ada").click()
    page.get_by_role("menuitem", name="Log out").click()
    expect(page).to_have_url(re.compile("/login"))
    page.goto("/jobs")
    expect(page).to_have_url(re.compile(r"/login\?next=%2Fjobs"))


def test_a_session_that_ended_leads_to_the_door_and_back(page: Page, sample: Path):
    page.goto("/login?next=/repos")
    log_in(page)
    expect(page.get_by_role("button", name="ada")).to_be_visible()
    page.goto("about:blank")
    with tl.open(sample) as lake:
        for token in lake.tokens("ada"):
            if token.kind == "session" and token.revoked is None:
                lake.revoke_token(token.id)
    page.goto("/tables?q=rep")
    expect(page).to_have_url(re.compile(r"/login\?next=%2Ftables%3Fq%3Drep"))
    log_in(page)
    expect(page).to_have_url(re.compile(r"/tables\?q=rep"))
    expect(page.get_by_role("button", name="ada")).to_be_visible()


def test_a_session_that_ends_while_one_looks(page: Page, context: BrowserContext):
    page.goto("/login?next=/repos")
    log_in(page)
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    context.clear_cookies()
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page).to_have_url(re.compile(r"/login\?next=%2Fjobs"))


# -- other servers -----------------------------------------------------------------------------


@pytest.fixture
def other(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of a server with an empty lake, and what the server said when it started."""
    tl.init(tmp_path / "lake").close()
    with serving(tmp_path / "lake", *request.param) as running:
        context = browser.new_context(base_url=running.url)
        watch = Watch(running.url, context)
        watch.forgive(REFUSED)
        page = context.new_page()
        page.goto("/login")
        page.evaluate("token => { window.name = token }", running.facts["setup_token"] or "")
        yield page
        watch.check()
        context.close()
        running.stop()


@pytest.mark.parametrize("other", [("--auth",)], indirect=True)
def test_the_first_user_is_made_with_the_servers_token(other: Page):
    token = other.evaluate("window.name")
    assert token
    expect(other.get_by_role("heading", name="The first user")).to_be_visible()
    assert axe(other) == []
    other.get_by_label("Set-up token").fill("tl_wrong_token")
    log_in(other, "root", PASSWORD)
    expect(other.get_by_role("alert")).to_contain_text("This set-up token is not good")
    other.get_by_label("Set-up token").fill(token)
    log_in(other, "root", PASSWORD)
    expect(other.get_by_text("This lake is empty.")).to_be_visible()
    other.goto("/admin")
    expect(other.get_by_text("admin on the whole lake")).to_be_visible()


@pytest.mark.parametrize("other", [()], indirect=True)
def test_where_nobody_is_asked_the_door_is_open(other: Page):
    expect(other.get_by_text("trunkline serve --auth")).to_be_visible()
    other.get_by_role("button", name="Open the console").click()
    expect(other.get_by_text("This lake is empty.")).to_be_visible()
    other.goto("/admin")
    expect(other.get_by_role("note")).to_contain_text("This server asks nobody who they are")
