"""What a browser fetches when a screen is the first that is opened: little, packed, and from
nobody but the server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Response

import trunkline as tl
from tests.console.screens import ENVIRONMENT, addresses, open_screen, routes
from tests.serving import Serving
from trunkline.server.console import FOLDER

MOST_AT_HOME = 250_000
MOST_ELSEWHERE = 400_000
# The smallest answers gain nothing by being packed.
NOT_WORTH_PACKING = 512


@pytest.fixture(scope="module")
def job(site: Serving) -> str:
    with tl.open(site.url) as lake:
        lake.create_environment(ENVIRONMENT)
        return lake.jobs(pipeline="clean", limit=1)[0].id


def fetched(page: Page, address: str) -> list[Response]:
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))
    open_screen(page, address)
    page.wait_for_load_state("networkidle")
    return [one for one in answers if not urlsplit(one.url).path.startswith("/api/")]


@pytest.mark.parametrize("route", routes())
def test_the_first_load(
    page: Page, site: Serving, job: str, route: str, record_property: Callable[[str, object], None]
):
    """Scripts count by the bytes that cross the wire, those of workers too."""
    answers = fetched(page, addresses(job)[route])
    scripts = {}
    for one in answers:
        assert one.url.startswith(f"{site.url}/"), one.url
        path = PurePosixPath(urlsplit(one.url).path)
        if path.suffix in (".js", ".mjs"):
            body = int(one.headers["content-length"])  # as it was packed
            assert "content-encoding" in one.headers or body < NOT_WORTH_PACKING, one.url
            scripts[path.name] = body
        if one.request.resource_type == "font":
            assert path.suffix == ".woff2"
            assert one.headers["content-type"] == "font/woff2"
        assert path.suffix != ".map"
    whole = sum(scripts.values())
    record_property("script_bytes", whole)
    print(f"{route}: {whole / 1000:.0f} KB of scripts in {len(scripts)} files")
    largest = sorted(scripts.items(), key=lambda one: -one[1])[:6]
    assert 0 < whole <= (MOST_AT_HOME if route == "/" else MOST_ELSEWHERE), (whole, largest)


def test_the_second_time_nothing_is_fetched_again(page: Page):
    """The page itself is asked for anew; what it is made of is not."""
    open_screen(page, "/")
    page.wait_for_load_state("networkidle")
    page.reload()
    page.wait_for_load_state("networkidle")
    again = page.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter((one) => one.name.includes("/assets/") && one.transferSize > 0)
          .map((one) => one.name)"""
    )
    assert again == []


def test_what_is_built_has_no_sources_in_it():
    built = [one for one in FOLDER.rglob("*") if one.is_file()]
    assert [one for one in built if one.suffix == ".map"] == []
    scripts = [one for one in built if one.suffix == ".js"]
    assert scripts
    assert [one for one in scripts if "sourceMappingURL" in one.read_text("utf-8")] == []
    assert {one.suffix for one in built if one.suffix.startswith((".wof", ".ttf", ".otf"))} <= {
        ".woff2"
    }
