"""The console in a real browser, on a real server with the sample lake.

A module says with `SERVE = ("--workers", "1")` what else its server is told. `watch` fails the
test for what a page must never do; `watch.forgive(pattern)` is for what a test does on purpose.
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.console.looking import Watch
from tests.console.sample import MAKING_SECONDS, copy_sample
from tests.docs.console import ROOT
from tests.serving import Serving, serving
from tests.spark import SHORT_LIVED_CONF
from trunkline.server.console import FOLDER

PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.slow)  # a browser, and a server with a worker
    # The first of them may have to make the sample.
    item.add_marker(pytest.mark.timeout(MAKING_SECONDS + 100))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Troubles of the page fail the test itself, not what is torn down after it."""
    result = yield
    watch = pyfuncitem.funcargs.get("watch")
    if isinstance(watch, Watch):
        watch.check()
    return result


@pytest.fixture(scope="module")
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the module's own, to do with as it likes."""
    kept = request.config.cache.mkdir("console-sample")
    folder = tmp_path_factory.mktemp("console") / "lake"
    copy_sample(kept, folder)
    return folder


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, sample: Path) -> Iterator[Serving]:
    """`trunkline serve` on the sample, with the console that was built."""
    if not (FOLDER / "index.html").is_file():
        pytest.fail("The console is not built: make console", pytrace=False)
    environ = {
        "TRUNKLINE_AUTHOR": "ada@example.org",
        "TRUNKLINE_SPARK_MASTER": "local[2]",
        "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF,
    }
    with serving(sample, *getattr(request.module, "SERVE", ()), environ=environ) as running:
        yield running
        running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module: while it is there, no other event loop runs in this thread."""
    found = subprocess.run(
        [ROOT / "scripts/browser.sh", "--found"], capture_output=True, text=True
    ).stdout.strip()
    if not found:
        pytest.fail("There is no Chromium to look with: scripts/browser.sh", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def context(browser: Browser, site: Serving) -> Iterator[BrowserContext]:
    """A browser that has never been here."""
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": 1440, "height": 900},
        locale="en-GB",
        timezone_id="UTC",
        color_scheme="light",
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture
def watch(context: BrowserContext, site: Serving) -> Watch:
    return Watch(site.url, context)


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Page:
    """An empty page that is watched: begin with `page.goto("/")`."""
    return context.new_page()
