"""What tests of the console look with: a watch on the page, axe for its accessibility, pictures."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Page, Request, Response

from tests.docs.console import ROOT

AXE = ROOT / "console/node_modules/axe-core/axe.min.js"
PICTURES = ROOT / "docs/images/console"
# Read now: no setting of the person who runs the tests reaches a test.
TAKES_PICTURES = os.environ.get("TRUNKLINE_SCREENSHOTS") == "1"
GRAVE = ("serious", "critical")
# What the browser says about a policy is worded for people; this event is not.
_TELL_OF_POLICY = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI || "inline"}`);
});
"""


@dataclass
class Watch:
    """Notes what must never happen while a page is looked at. `forgive` is for what a test does
    on purpose: what matches its pattern does not count.
    """

    origin: str
    context: BrowserContext
    _seen: list[str] = field(default_factory=list)
    _forgiven: list[re.Pattern[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.add_init_script(_TELL_OF_POLICY)
        self.context.on("console", self._said)
        self.context.on("weberror", lambda error: self._seen.append(f"error: {error.error}"))
        self.context.on("request", self._asked)
        self.context.on("response", self._answered)
        self.context.on("requestfailed", self._failed)

    def forgive(self, pattern: str) -> None:
        self._forgiven.append(re.compile(pattern))

    def check(self) -> None:
        for page in self.context.pages:
            page.evaluate("1")  # what was said before this has been heard after it
        troubles = [one for one in self._seen if not any(f.search(one) for f in self._forgiven)]
        self._seen.clear()
        assert not troubles, "\n".join(["The page had troubles:", *troubles])

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            where = urlsplit(message.location.get("url", "")).path
            self._seen.append(f"console: {message.text} ({where})")

    def _asked(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and not request.url.startswith(
            f"{self.origin}/"
        ):
            self._seen.append(f"asked another host: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self._seen.append(f"{response.status}: {response.url}")

    def _failed(self, request: Request) -> None:
        # A page that is left does not wait for what it asked.
        if request.failure != "net::ERR_ABORTED":
            self._seen.append(f"{request.failure}: {request.url}")


def boxes(page: Page) -> list[str]:
    """What the page puts up as a box, from now on; each is dismissed."""
    found: list[str] = []

    def dismiss(box: Dialog) -> None:
        found.append(box.message)
        box.dismiss()

    page.on("dialog", dismiss)
    return found


def axe(page: Page) -> list[str]:
    """What keeps people out of the page, gravely: the rule, and where it is broken.

    It is evaluated by the browser's debugger, so the page's policy stays as it is.
    """
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate(
        "() => axe.run({resultTypes: ['violations']}).then(({violations}) => violations)"
    )
    return [
        f"{one['id']} ({one['help']}): {node['html']} {node['failureSummary']}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


def shot(page: Page, name: str) -> None:
    """A picture in each theme, for the documentation, if TRUNKLINE_SCREENSHOTS=1."""
    if not TAKES_PICTURES:
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    root = page.locator("html")
    before = root.get_attribute("data-theme")
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        page.screenshot(path=PICTURES / f"{name}-{theme}.png", animations="disabled")
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", before)
