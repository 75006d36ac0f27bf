"""Home and the palette: what runs, what failed, what changed; and the way to everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, shot
from tests.serving import Serving, serving
from trunkline.model.commits import Commit

SERVE = ("--workers", "1")
SPARK_MS = 60_000
"""A worker starts Spark first."""
HOSTILE = "<img src=x onerror=alert(1)>"

FAILS = """\
pipeline: {name: breaks}
input:
  pfs: {repo: orders, glob: /day=2026-01-01/orders.csv}
transform:
  cmd: [sh, -c, "echo 'no such shop' >&2; exit 3"]
datum_tries: 1
"""


@pytest.fixture(scope="module")
def dev(site: Serving) -> Commit:
    """A branch, a tag and a commit to look for."""
    with tl.open(site.url) as lake:
        lake.create_branch("orders@wintersale")
        lake.create_tag("orders@season-one", "orders@main")
        with lake.commit("orders@wintersale", message=f"Sledges {HOSTILE}") as commit:
            commit.put("/sledges.csv", b"a,b\n1,2\n")
        return next(iter(lake.log("orders@wintersale")))


def shelf(page: Page, title: str) -> Locator:
    return page.get_by_role("list", name=title, exact=True)


def palette(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Find anything")


def look_for(page: Page, text: str, kind: str, name: str) -> None:
    """Open the palette, type, go to the line with the arrows, and press Enter: keys only."""
    expect(page.get_by_role("button", name="Find anything")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(palette(page).get_by_role("combobox")).to_be_focused()
    page.keyboard.type(text)
    group = palette(page).get_by_role("group", name=kind, exact=True)
    line = group.get_by_role("option", name=name).first
    expect(line).to_be_visible()
    for _ in range(60):
        if line.get_attribute("aria-selected") == "true":
            break
        page.keyboard.press("ArrowDown")
    expect(line).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(palette(page)).to_have_count(0)


# -- home --------------------------------------------------------------------------------------


def test_the_lake_at_a_glance(page: Page):
    page.goto("/")
    figures = page.get_by_role("region", name="Figures")
    expect(figures).to_contain_text("9repos")
    expect(figures).to_contain_text("5pipelines")
    expect(figures).to_contain_text("jobs today")
    changes = shelf(page, "Changes")
    expect(changes.get_by_role("link", name="orders: The second day")).to_be_visible()
    expect(changes.get_by_role("listitem").filter(has_text="by ingest")).to_have_count(0)
    page.get_by_label("Those of streams too").click()
    expect(changes.get_by_role("listitem").filter(has_text="by ingest").first).to_be_visible()
    expect(page).to_have_url(re.compile("changes=all"))
    expect(page.get_by_text("No worker is at work")).to_have_count(0)
    shot(page, "home")
    assert axe(page) == []


def test_a_change_leads_to_its_set(page: Page):
    page.goto("/")
    shelf(page, "Changes").get_by_role("link", name="orders: The second day").click()
    expect(page).to_have_url(re.compile("/sets/[0-9a-f]{32}"))


def test_the_past_has_its_own_troubles(page: Page, site: Serving):
    """A check failed on the third day, and was mended later."""
    with tl.open(site.url) as lake:
        third = next(one for one in lake.log("orders@main") if one.message == "The third day")
    page.goto(f"/?moment={third.id}")
    failed = shelf(page, "Failed").get_by_role("listitem")
    expect(failed.first).to_contain_text("the check known_once")
    expect(failed.filter(has_text="its input clean failed")).to_contain_text("revenue")
    expect(shelf(page, "Jobs of this change").get_by_role("link", name="goods")).to_be_visible()
    expect(shelf(page, "Changes").get_by_role("link").first).to_have_text("orders: The third day")
    shelf(page, "Checks").get_by_role("link", name="Checks of clean").click()
    expect(page).to_have_url(re.compile(f"/jobs/default/clean/{third.id}.*tab=checks"))
    expect(page).to_have_url(re.compile(f"moment={third.id}"))


def test_a_failing_job_appears_by_itself(page: Page, site: Serving, tmp_path: Path):
    page.goto("/")
    expect(page.get_by_text("No pipeline's last job failed.")).to_be_visible()
    (tmp_path / "breaks.yaml").write_text(FAILS)
    with tl.open(site.url) as lake:
        lake.apply(tmp_path / "breaks.yaml")
    expect(shelf(page, "Running now").get_by_role("link", name="breaks")).to_be_visible()
    item = shelf(page, "Failed").get_by_role("listitem").filter(has_text="breaks")
    expect(item).to_be_visible(timeout=SPARK_MS)
    expect(item).to_contain_text("3")
    expect(page.get_by_text("Nothing runs and nothing waits.")).to_be_visible()
    assert axe(page) == []
    item.get_by_role("link", name="Why breaks failed").click()
    expect(page).to_have_url(re.compile("/jobs/default/breaks/"))
    expect(page.get_by_text("applied version 1.")).to_be_visible()
    with tl.open(site.url) as lake:
        lake.delete_pipeline("breaks")
    page.goto("/")
    expect(page.get_by_text("No pipeline's last job failed.")).to_be_visible()


@pytest.fixture
def nothing(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A page of a server whose lake is empty."""
    tl.init(tmp_path / "empty").close()
    with serving(tmp_path / "empty") as running:
        context = browser.new_context(base_url=running.url)
        watch = Watch(running.url, context)
        yield context.new_page()
        watch.check()
        context.close()
        running.stop()


def test_the_first_steps_in_an_empty_lake(nothing: Page):
    nothing.goto("/")
    expect(nothing.get_by_role("heading", name="Apply a pipeline")).to_be_visible()
    expect(nothing.get_by_text("trunkline repo create orders")).to_be_visible()
    assert axe(nothing) == []
    nothing.get_by_role("button", name="New repo").click()
    nothing.get_by_role("dialog").get_by_label("Name").fill("orders")
    nothing.get_by_role("button", name="Create").click()
    expect(nothing).to_have_url(re.compile("/repos/default/orders"))
    nothing.goto("/")
    expect(nothing.get_by_text("No worker is at work")).to_be_visible()
    expect(nothing.get_by_role("region", name="Figures")).to_contain_text("1repo")


# -- the palette -------------------------------------------------------------------------------

# What is typed, among which kind it is found, the line, and where it leads.
FOUND = [
    ("orders", "Repos", "orders What our shops sell", "/repos/default/orders$"),
    ("clean", "Pipelines", "clean Orders that can be trusted", "/pipelines/default/clean$"),
    ("sessions", "Streams", "sessions", "/streams/default/sessions$"),
    ("clicks", "Ingests", "clicks What visitors click", "/streams/default/clicks$"),
    ("report", "Tables", "report", "/tables/default/report$"),
    ("euros", "Columns", "euros report", "/tables/default/report.*column=euros"),
    ("wintersale", "Branches", "wintersale orders", "/repos/default/orders.*at=wintersale"),
    ("season-one", "Tags", "season-one orders", "/repos/default/orders.*at=season-one"),
    ("third day", "Commits", "The third day orders", "/orders.*tab=history&commit=[0-9a-f]{32}"),
    ("01-02/ord", "Files", "/day=2026-01-02/orders.csv", "/orders.*path=%2Fday%3D2026-01-02"),
]


@pytest.mark.parametrize(("text", "kind", "name", "url"), FOUND, ids=[one[1] for one in FOUND])
def test_everything_is_found_by_its_name(
    page: Page, dev: Commit, text: str, kind: str, name: str, url: str
):
    page.goto("/sql")
    page.get_by_role("button", name="Find anything").focus()
    look_for(page, text, kind, name)
    expect(page).to_have_url(re.compile(url))


def test_a_job_is_found_by_its_id(page: Page, site: Serving):
    with tl.open(site.url) as lake:
        job = lake.jobs("clean")[0]
    page.goto("/")
    expect(page.get_by_role("region", name="Figures")).to_be_visible()
    page.keyboard.press("/")
    expect(palette(page).get_by_role("combobox")).to_be_focused()
    page.keyboard.type(job.id[:16])
    expect(palette(page).get_by_text("Jobs", exact=True)).to_be_visible()
    jobs = palette(page).get_by_role("group", name="Jobs")
    jobs.get_by_role("option", name=re.compile("clean")).click()
    expect(page).to_have_url(re.compile(f"/jobs/default/clean/{job.id}"))


def test_screens_actions_and_what_was_opened_before(page: Page):
    page.goto("/")
    look_for(page, "clean", "Pipelines", "clean")
    expect(page).to_have_url(re.compile("/pipelines/default/clean"))
    look_for(page, "streams", "Screens", "Streams")
    expect(page).to_have_url(re.compile("/streams$"))
    look_for(page, "", "Recent", "clean")
    expect(page).to_have_url(re.compile("/pipelines/default/clean"))
    look_for(page, "dark", "Actions", "Dark theme")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    look_for(page, "new pipe", "Actions", "New pipeline")
    expect(page).to_have_url(re.compile("/pipelines/new"))
    page.keyboard.press("Control+k")
    expect(palette(page).get_by_role("combobox")).to_be_focused()
    page.keyboard.type("new repo")
    palette(page).get_by_role("option", name="New repo").click()
    expect(page.get_by_role("dialog", name="New repo")).to_be_visible()


def test_the_palette_stays_in_the_moment_and_leads_back_to_now(page: Page, site: Serving):
    with tl.open(site.url) as lake:
        first = list(lake.log("orders@main"))[-1].id
    page.goto(f"/?moment={first}")
    expect(page.get_by_role("region", name="Figures")).to_be_visible()
    look_for(page, "repos", "Screens", "Repos")
    expect(page).to_have_url(re.compile(f"/repos.moment={first}"))
    look_for(page, "now", "Actions", "Go to now")
    expect(page).to_have_url(re.compile("/repos$"))


def test_hostile_text_is_text_and_nothing_is_said_to_be_nothing(page: Page, dev: Commit):
    page.goto("/")
    expect(page.get_by_role("region", name="Figures")).to_be_visible()
    expect(page.get_by_text(f"Sledges {HOSTILE}").first).to_be_visible()
    page.keyboard.press("Control+k")
    expect(palette(page).get_by_role("combobox")).to_be_focused()
    page.keyboard.type("sledges")
    expect(palette(page).get_by_role("option", name=HOSTILE)).to_be_visible()
    assert axe(page) == []
    shot(page, "palette")
    page.keyboard.press("Control+a")
    page.keyboard.type("no such thing anywhere")
    expect(palette(page).get_by_text("Nothing is called like this.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette(page)).to_have_count(0)
    assert page.locator("img").count() == 0
