"""Every screen of the console at an address where it has something to show."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.docs.console import ROOT

ENVIRONMENT = "trial"
_ROUTES = ROOT / "console/src/app/routes.tsx"


def routes() -> list[str]:
    """The patterns of the addresses that the console knows, such as `/repos/:project/:repo`."""
    return re.findall(r'\bat\("(/[^"]*)"', _ROUTES.read_text(encoding="utf-8"))


def addresses(
    job: str, *, repo: str = "orders", pipeline: str = "clean", stream: str = "sessions"
) -> dict[str, str]:
    """For each route one address. The job is one of the pipeline's, and names its set too. The
    environment is ENVIRONMENT, which whoever goes there has made.
    """
    ids = {
        "/repos/:project/:repo": repo,
        "/tables/:project/:repo": pipeline,
        "/streams/:project/:repo": stream,
    }
    found = {}
    for route in routes():
        address = route.replace(":project", "default").replace(":repo", ids.get(route, pipeline))
        found[route] = address.replace(":id", job).replace(":environment", ENVIRONMENT)
    found["/lineage"] = f"/lineage?ref=default/{pipeline}@main"
    return found


# The same as the three lines of `settled`, but looked at with each frame: `expect` would look
# again after a tenth, a quarter and half of a second.
_WHEN_SETTLED = """
(patience) => new Promise((done) => {
  const end = performance.now() + patience;
  const look = () => {
    const seen = [...document.querySelectorAll("h1")].some((one) => one.checkVisibility());
    const waits = document.querySelector(
      "[aria-busy=true], main [role=status][aria-label]:has(> i)"
    );
    if ((seen && !waits) || performance.now() > end) done();
    else requestAnimationFrame(look);
  };
  look();
})
"""


def settled(page: Page) -> None:
    """The screen has its heading, and nothing in it is being waited for."""
    page.evaluate(_WHEN_SETTLED, 10_000)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.locator("main [role=status][aria-label]:has(> i)")).to_have_count(0)


def open_screen(page: Page, address: str) -> None:
    page.goto(address)
    settled(page)


def confirm(page: Page, action: str) -> None:
    """Press it in a dialog, and wait until that is gone: until then nothing behind it has a role,
    so who looks for what is not there finds just that.
    """
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=action, exact=True).click()
    expect(dialog).to_have_count(0)
