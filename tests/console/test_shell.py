"""The frame around every screen: it loads, quickly and strictly, at any of its addresses."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Response, expect

from tests.console.looking import Watch, axe

SCREENS = ("Home", "Graph", "Repos", "Pipelines", "Jobs", "Tables", "SQL", "Streams", "Lineage")
MOST_SCRIPT_BYTES = 250_000


def frame(page: Page):
    return page.get_by_role("navigation", name="Screens")


def test_the_page_loads(page: Page):
    page.goto("/")
    expect(page).to_have_title(re.compile("Trunkline"))
    for screen in SCREENS:
        expect(frame(page).get_by_role("link", name=screen, exact=True)).to_be_visible()


@pytest.mark.parametrize("path", ["/graph", "/repos", "/repos/default/orders", "/sql"])
def test_deep_links(page: Page, path: str):
    page.goto(path)
    name = path.split("/")[1]
    link = frame(page).locator(f'a[href="/{name}"]')
    expect(link).to_have_attribute("aria-current", "page")
    page.reload()
    expect(link).to_have_attribute("aria-current", "page")


def test_the_theme_stays_as_it_was_chosen(page: Page):
    page.goto("/")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Dark theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Light theme")).to_be_visible()


def test_the_first_load_is_small(page: Page):
    """What is counted is what crosses the wire."""
    scripts: list[Response] = []
    page.on("response", lambda answer: scripts.append(answer) if ".js" in answer.url else None)
    page.goto("/", wait_until="networkidle")
    expect(frame(page)).to_be_visible()
    assert scripts
    for answer in scripts:
        whole = int(answer.headers["content-length"])
        assert answer.headers.get("content-encoding") or whole < 512, answer.url
    sizes = {answer.url: answer.request.sizes()["responseBodySize"] for answer in scripts}
    assert all(size > 0 for size in sizes.values())
    assert sum(sizes.values()) <= MOST_SCRIPT_BYTES, sizes


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_kept_out(page: Page, theme: str):
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto("/")
    expect(frame(page)).to_be_visible()
    assert axe(page) == []


def test_axe_finds_what_is_wrong(page: Page):
    page.goto("/")
    expect(frame(page)).to_be_visible()
    page.evaluate("document.body.append(document.createElement('button'))")
    assert any(one.startswith("button-name ") for one in axe(page))


WRONG = {
    "console: wrong": "console.error('wrong')",
    "error: .*thrown": "setTimeout(() => { throw new Error('thrown') })",
    "policy: script-src": "document.body.append(Object.assign(document.createElement('script'),"
    " {textContent: '1'}))",
    "policy: style-src": "document.body.append(Object.assign(document.createElement('style'),"
    " {textContent: 'a{}'}))",
    "policy: connect-src": "fetch('http://127.0.0.1:9/x').catch(() => 0)",
    "policy: img-src": "new Image().src = 'http://127.0.0.1:9/x'",
}


@pytest.mark.parametrize("trouble", WRONG)
def test_the_watch_sees(page: Page, watch: Watch, trouble: str):
    page.goto("/")
    expect(frame(page)).to_be_visible()
    watch.check()
    page.evaluate(f"() => {{ {WRONG[trouble]} }}")
    page.wait_for_timeout(200)
    with pytest.raises(AssertionError, match=trouble):
        watch.check()


def test_the_watch_sees_requests_to_others(page: Page, watch: Watch):
    """On a page without our policy, which would not let them out."""
    page.goto("about:blank")
    page.evaluate("() => { fetch('http://127.0.0.1:9/x').catch(() => 0) }")
    page.wait_for_timeout(200)
    with pytest.raises(AssertionError, match="asked another host: http://127.0.0.1:9/x"):
        watch.check()
