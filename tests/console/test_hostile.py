"""Whatever people can name, write, commit or put into an address is shown as text, and stays in
its place. Nothing of it runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Error, Page, expect

import trunkline as tl
from tests.console.looking import Watch, boxes
from tests.console.screens import ENVIRONMENT, addresses, open_screen, routes
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

IMAGE = '<img src=x onerror="window.hacked=1">'
SCRIPT = '"><script>window.hacked=1</script>'
LINK = "javascript:window.hacked=1"
BACKWARDS = "\u202egpj.exe"
LONG = "long" * 63 + "txt"
MARKUP = f"<html><body>{IMAGE}<script>window.hacked=1</script></body></html>"
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1" width="9" height="9">'
    "<script>window.hacked=1</script></svg>"
)
FOUL = "foul" * 14
"""Nearly the longest name that a repo may have; a pipeline has one for its code too."""
NAMES = (IMAGE, SCRIPT, LINK, BACKWARDS, LONG, "   ", "a?b#c&d=e", "%2e%2e%2fx", "constructor")
FILES = {
    "/kinds/page.html": MARKUP,
    "/kinds/drawing.svg": DRAWING,
    "/kinds/words.md": f"# {IMAGE}\n\n[click]({LINK})\n\n{SCRIPT}\n",
    "/kinds/tree.json": json.dumps({IMAGE: SCRIPT, "__proto__": {"hacked": 1}}),
    "/kinds/cells.csv": f'id,"{SCRIPT.replace(chr(34), chr(34) * 2)}"\n1,{LINK}\n2,<b>bold</b>\n',
    "/kinds/lines.jsonl": json.dumps({"a": IMAGE, SCRIPT: LINK}) + "\n",
    "/kinds/book.ipynb": json.dumps(
        {
            "nbformat": 4,
            "cells": [
                {"cell_type": "markdown", "source": [IMAGE, f"[x]({LINK})"]},
                {
                    "cell_type": "code",
                    "source": [SCRIPT],
                    "outputs": [
                        {"output_type": "display_data", "data": {"text/html": [MARKUP]}},
                        {"output_type": "display_data", "data": {"image/svg+xml": [DRAWING]}},
                        {"output_type": "error", "ename": IMAGE, "evalue": SCRIPT},
                    ],
                },
            ],
        }
    ),
}
ROWS = [{IMAGE: SCRIPT, SCRIPT: LINK, "wide" * 60: BACKWARDS * 40, " ": 1}]
DOER = f"doer{FOUL[4:]}"
SPEC = {
    "pipeline": {"name": DOER},
    "description": f"{IMAGE} {'unbroken' * 60}",
    "input": {"pfs": {"repo": FOUL, "glob": "/kinds/*"}},
    "transform": {"sql": f"SELECT '{IMAGE}' AS \"{SCRIPT.replace(chr(34), '')}\" -- {LINK}"},
}
WIDTHS = (1440, 1000)
UNHARMED = """
() => ({
  hacked: window.hacked ?? null,
  images: document.querySelectorAll("img[src=x]").length,
  scripts: [...document.scripts].filter((one) => !one.src).length,
  links: [...document.querySelectorAll("a[href], area[href], form[action]")].map(String)
    .filter((one) => /^\\s*(javascript|data|vbscript):/i.test(one)).length,
})
"""
OVERFLOW = "() => [document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    lake.create_project("lab", IMAGE)
    lake.create_repo(FOUL, f"{IMAGE} {'unbroken' * 60}")
    with lake.commit(f"{FOUL}@main", message=f"{IMAGE}\n\n{SCRIPT}", author=SCRIPT) as commit:
        for name in NAMES:
            commit.put(f"/{name}", IMAGE.encode())
            commit.put(f"/folders/{name}/{name}", MARKUP.encode())
        for path, text in FILES.items():
            commit.put(path, text.encode())
    lake.write_table(f"{FOUL}@main:/kinds/table", ROWS, message="unbroken" * 60)
    lake.create_branch(f"{FOUL}@{'branch' * 10}", "main")
    lake.create_tag(f"{FOUL}@{'tag' * 20}", "main", message=IMAGE)
    with lake.commit(f"{FOUL}@main", message=SCRIPT, author=IMAGE) as commit:
        commit.put("/kinds/page.html", f"{MARKUP}\n{SCRIPT}".encode())
        commit.put("/kinds/words.md", IMAGE.encode())
    lake.apply(SPEC)
    lake.create_environment(ENVIRONMENT)
    lake.apply({**SPEC, "description": SCRIPT}, env=ENVIRONMENT)
    with lake.commit(f"{FOUL}@{ENVIRONMENT}", message=SCRIPT) as commit:
        commit.put(f"/{IMAGE}-again", MARKUP.encode())
        commit.put("/kinds/cells.csv", FILES["/kinds/cells.csv"].replace("bold", SCRIPT).encode())
    return lake


@pytest.fixture(autouse=True)
def _unharmed(page: Page, lake: RemoteLake) -> Iterator[None]:
    """Whatever a test looked at has left the page as it was: no box came up either."""
    shown = boxes(page)
    yield
    assert not shown


@pytest.fixture(scope="module")
def job(lake: RemoteLake) -> str:
    """The doer's: nobody does it, so it waits."""
    return lake.jobs(pipeline=DOER)[0].id


def check(page: Page) -> None:
    """Nothing ran, and nothing sticks out of the window, be it wide or narrow."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(50)
        needed, there = page.evaluate(OVERFLOW)
        assert needed <= there, f"{page.url} is {needed} wide in {there}"
        main = page.locator("main").evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert main[0] <= main[1], f"what {page.url} shows is {main[0]} wide in {main[1]}"
    found = page.evaluate(UNHARMED)
    assert found == {"hacked": None, "images": 0, "scripts": 0, "links": 0}, (page.url, found)


def looked_at(page: Page, address: str) -> None:
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    open_screen(page, address)
    check(page)


def of(repo: str, **query: str) -> str:
    return f"/{repo}?{urlencode(query)}" if query else f"/{repo}"


@pytest.mark.parametrize("route", routes())
def test_every_screen_shows_it_as_text(page: Page, job: str, route: str):
    there = addresses(job, repo=FOUL, pipeline=DOER)
    there["/tables/:project/:repo"] = f"/tables/default/{FOUL}?path=/kinds/table"
    there["/lineage"] = f"/lineage?ref=default/{FOUL}@main:/kinds/table"
    looked_at(page, there[route])


TABS = {
    "repos": (FOUL, ("history", "refs", "compare", "tables")),
    "pipelines": (DOER, ("code", "jobs", "schedule", "edit")),
    "tables": (FOUL, ("schema", "profile", "history", "checks", "lineage")),
}


@pytest.mark.parametrize("screen", TABS)
def test_every_tab_shows_it_as_text(page: Page, screen: str):
    repo, tabs = TABS[screen]
    for tab in tabs:
        query = {"tab": tab}
        if screen == "tables":
            query["path"] = "/kinds/table"
        if tab == "compare":
            query |= {"old": "main~1", "path": "/kinds/page.html"}
        looked_at(page, of(f"{screen}/default/{repo}", **query))


def test_differences_of_an_environment_show_it_as_text(page: Page, lake: RemoteLake):
    looked_at(page, f"/environments/default/{ENVIRONMENT}?tab=diff")
    expect(page.get_by_role("region", name=f"Code of {DOER} that differs")).to_contain_text(SCRIPT)
    expect(page.get_by_label(f"Files of {FOUL} that differ")).to_contain_text(IMAGE)


def test_jobs_show_it_as_text(page: Page, job: str):
    for tab in ("datums", "logs", "checks"):
        looked_at(page, f"/jobs/default/{DOER}/{job}?tab={tab}")
    looked_at(page, "/jobs?tab=grid")


@pytest.mark.parametrize("path", [f"/{name}" for name in NAMES])
def test_names_of_files(page: Page, path: str):
    place = f"repos/default/{FOUL}"
    looked_at(page, of(place, path=path))
    expect(page.locator("main")).to_contain_text('<img src=x onerror="window.hacked=1">')
    looked_at(page, of(place, path=f"/folders{path}"))
    page.get_by_role("table", name="Files").get_by_role("link").first.click()
    expect(page.locator("main")).to_contain_text("<script>window.hacked=1</script>")
    check(page)


@pytest.mark.parametrize("path", FILES)
def test_contents_of_files(page: Page, watch: Watch, path: str):
    looked_at(page, of(f"repos/default/{FOUL}", path=path, at="main~1"))
    # By itself, in a tab of its own: a browser that is told to show it must not run it.
    query = urlencode({"at": "main~1", "path": path})
    address = f"/api/v1/repos/default/{FOUL}/content?{query}"
    answer = page.request.get(address)
    assert answer.ok
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    watch.forgive("policy: |Content Security Policy|Blocked script execution|ERR_ABORTED")
    with suppress(Error):  # what is only to be downloaded is no page
        page.goto(address)
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked ?? null") is None


def test_results_of_sql(page: Page):
    text = f"SELECT '{IMAGE}' AS \"{SCRIPT.replace(chr(34), chr(34) * 2)}\", '{LINK}' AS link"
    looked_at(page, of("sql", q=text))
    page.get_by_role("button", name="Run", exact=True).click()
    grid = page.get_by_role("grid", name="Result")
    expect(grid.get_by_role("gridcell", name=IMAGE)).to_be_visible()
    expect(grid.get_by_role("columnheader", name=SCRIPT)).to_be_visible()
    check(page)


def test_errors_that_say_what_was_asked(page: Page, watch: Watch):
    watch.forgive("40[0-9]")
    looked_at(page, of("sql", q='SELECT * FROM "<img src=x onerror=window.hacked=1>"'))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("<img src=x")
    check(page)
    looked_at(page, of(f"repos/default/{FOUL}", path=f"/none/{IMAGE}"))
    expect(page.locator("main")).to_contain_text(IMAGE)
    check(page)


PARAMETERS = (
    "at", "path", "sel", "select", "tab", "moment", "q", "project", "state", "sort", "column",
    "old", "new", "key", "job", "datum", "find", "show", "ref", "view", "direction", "kind", "name",
    "repo", "engine", "z", "chart", "x", "y", "compare", "tip", "version", "limit", "profile",
)  # fmt: skip


@pytest.mark.parametrize("route", routes())
def test_every_parameter_of_every_screen(page: Page, watch: Watch, job: str, route: str):
    """All at once, and all but the moment, which may leave a screen with nothing to read."""
    watch.forgive("status of 4[0-9][0-9]")
    address = addresses(job, repo=FOUL, pipeline=DOER)[route].partition("?")[0]
    for text, without in ((IMAGE, "moment"), ("9" * 400, "moment"), (LINK, "")):
        names = [one for one in PARAMETERS if one != without]
        looked_at(page, f"{address}?{urlencode(dict.fromkeys(names, text))}")
        expect(page.get_by_text("This screen cannot be shown")).to_have_count(0)


PLACES = (
    "repos/default/{}", "repos/{}/orders", "pipelines/default/{}", "sets/{}",
    "jobs/default/clean/{}", "tables/default/{}", "streams/default/{}", "{}",
)  # fmt: skip


@pytest.mark.parametrize("text", [IMAGE, SCRIPT, LINK, "constructor", "..%2f..", "%00", "%E0%A4%A"])
def test_parts_of_addresses(page: Page, watch: Watch, text: str):
    watch.forgive("status of 4[0-9][0-9]")
    part = text if "%" in text else quote(text, safe="")
    for place in PLACES:
        looked_at(page, f"/{place.format(part)}")
        expect(page.get_by_text("This screen cannot be shown")).to_have_count(0)


ELSEWHERE = (
    "//evil.example", "/\\evil.example", "https://evil.example/", LINK, "/\t/evil.example",
    f" {LINK}", "data:text/html,<script>1</script>", "/login?next=/login", "///evil.example",
)  # fmt: skip


@pytest.mark.parametrize("next_", ELSEWHERE)
def test_logging_in_leads_nowhere_else(page: Page, site: Serving, next_: str):
    page.goto(of("login", next=next_))
    page.get_by_role("button", name="Open the console").click()
    expect(page.get_by_role("navigation", name="Screens")).to_be_visible()
    assert page.url == f"{site.url}/"
    check(page)


def test_what_is_looked_for(page: Page, lake: RemoteLake):
    open_screen(page, "/")
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("<img src=x")
    expect(page.get_by_role("option").filter(has_text=IMAGE).first).to_be_visible()
    check(page)
