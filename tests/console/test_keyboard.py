"""The console without a mouse and for everybody: whole journeys by keys, what has the focus is
seen, and axe finds nothing grave on any screen, in either theme.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe
from tests.console.screens import ENVIRONMENT, addresses, open_screen, routes, settled
from tests.serving import Serving, serving
from trunkline.sdk.remote.lake import RemoteLake

MOST_STOPS = 90
# What has the focus, what it points to within it (a cell of a grid), or the box around it may
# carry the ring.
RING = """
() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return null;
  const seen = (one) => {
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(one);
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0
      && outlineColor !== "rgba(0, 0, 0, 0)";
  };
  const active = focused.getAttribute("aria-activedescendant");
  const near = [focused, active && document.getElementById(active)];
  for (let one = focused, n = 0; one.parentElement && n < 4; n += 1) {
    one = one.parentElement;
    near.push(one);
  }
  const box = focused.getBoundingClientRect();
  return {
    ring: near.some((one) => one && seen(one)),
    there: box.width > 0 && box.height > 0,
    what: focused.outerHTML.slice(0, 200),
  };
}
"""
MARK = "() => { const was = document.activeElement.dataset.passed; "
MARK += "document.activeElement.dataset.passed = '1'; return Boolean(was); }"


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    return lake


@pytest.fixture(scope="module")
def job(lake: RemoteLake) -> str:
    lake.create_environment(ENVIRONMENT)
    return next(one.id for one in lake.jobs(pipeline="clean") if one.state == "success")


def tab_to(page: Page, target: Locator, *, back: bool = False) -> None:
    """Press Tab until it has the focus: that it can be reached is half of the test."""
    expect(target).to_be_visible()
    for _ in range(MOST_STOPS):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if target.evaluate("one => one === document.activeElement"):
            return
    pytest.fail(f"Tab does not reach {target}")


def enter(page: Page, target: Locator) -> None:
    tab_to(page, target)
    page.keyboard.press("Enter")


def choose_tab(page: Page, name: str) -> None:
    """Tab leads to the tab that is chosen; arrows lead from there."""
    tab_to(page, page.get_by_role("tab", selected=True).first)
    wanted = page.get_by_role("tab", name=name, exact=True)
    for _ in range(12):
        if wanted.evaluate("one => one === document.activeElement"):
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(wanted).to_have_attribute("aria-selected", "true")


# -- journeys ----------------------------------------------------------------------------------


def test_from_the_palette_to_a_pipeline_that_runs(page: Page, lake: RemoteLake):
    before = len(lake.jobs(pipeline="goods"))
    open_screen(page, "/")
    page.keyboard.press("Control+k")
    box = page.get_by_role("dialog", name="Find anything").get_by_role("combobox")
    expect(box).to_be_focused()
    page.keyboard.type("goods")
    line = page.get_by_role("group", name="Pipelines", exact=True).get_by_role("option").first
    expect(line).to_contain_text("goods")
    for _ in range(40):
        if line.get_attribute("aria-selected") == "true":
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/pipelines/default/goods$"))
    settled(page)
    enter(page, page.get_by_role("button", name="Run now"))
    dialog = page.get_by_role("dialog")
    enter(page, dialog.get_by_role("button", name="Run now"))
    expect(dialog).to_have_count(0)
    assert len(lake.jobs(pipeline="goods")) == before + 1


def test_the_graph(page: Page):
    open_screen(page, "/graph")
    first = page.locator("#graph [data-node] button").first
    expect(first).to_be_visible()
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("Boolean(document.activeElement.closest('[data-node]'))"):
            break
    page.keyboard.press("Home")
    came = page.evaluate("document.activeElement.closest('[data-node]').dataset.node")
    page.keyboard.press("ArrowRight")
    went = page.evaluate("document.activeElement.closest('[data-node]').dataset.node")
    assert went != came
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name=f"About {went}")
    expect(panel).to_be_visible()
    enter(page, panel.get_by_role("link", name="Repo", exact=True))
    expect(page).to_have_url(re.compile(f"/repos/default/{went}"))


def test_from_a_repo_to_a_file_and_its_history(page: Page):
    open_screen(page, "/repos")
    enter(page, page.get_by_role("link", name="orders", exact=True))
    files = page.get_by_role("table", name="Files")
    enter(page, files.get_by_role("link").first)
    expect(page).to_have_url(re.compile("path="))
    enter(page, files.get_by_role("link", name=re.compile("csv")).first)
    expect(page.get_by_label("Path")).to_contain_text("csv")
    settled(page)
    page.evaluate("document.activeElement.blur()")
    choose_tab(page, "History")
    commits = page.get_by_role("region", name="Commits")
    tab_to(page, commits.get_by_role("link").first)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name=re.compile("^Commit "))).to_be_visible()


def test_the_grid_of_jobs(page: Page):
    open_screen(page, "/jobs")
    choose_tab(page, "Grid")
    grid = page.get_by_role("grid", name="Jobs by set and pipeline")
    expect(grid.get_by_role("gridcell", name=re.compile("^clean: failure"))).to_be_visible()
    tab_to(page, grid)
    for key in ("Home", "ArrowRight", "ArrowRight", " "):
        page.keyboard.press(key)
    panel = page.get_by_role("complementary", name="Job of clean")
    expect(panel).to_be_visible()
    enter(page, panel.get_by_role("link", name="Logs"))
    expect(page).to_have_url(re.compile("tab=logs"))


def test_sql_and_out_of_the_editor_again(page: Page):
    open_screen(page, "/sql")
    editor = page.get_by_role("textbox", name="SQL")
    tab_to(page, editor)
    page.keyboard.insert_text("SELECT 6 * 7 AS answer")
    page.keyboard.press("Control+Enter")
    grid = page.get_by_role("grid", name="Result")
    expect(grid.get_by_role("gridcell", name="42")).to_be_visible()
    page.keyboard.press("Tab")
    expect(editor).to_be_focused()  # within it Tab writes
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(editor).not_to_be_focused()
    tab_to(page, grid)


# -- where the focus is ------------------------------------------------------------------------


def test_the_first_stop_leads_to_the_content(page: Page):
    open_screen(page, "/repos")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("Boolean(document.activeElement.closest('main'))")


def test_a_dialog_keeps_the_focus_and_gives_it_back(page: Page):
    open_screen(page, "/repos")
    opener = page.get_by_role("button", name="New repo")
    enter(page, opener)
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    inside = "one => one.contains(document.activeElement)"
    for key in ["Tab"] * 8 + ["Shift+Tab"] * 8:
        page.keyboard.press(key)
        assert dialog.evaluate(inside), page.evaluate("document.activeElement.outerHTML")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(opener).to_be_focused()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Find anything")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.press("Tab")
    assert palette.evaluate(inside)
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)
    expect(opener).to_be_focused()


def test_a_menu_gives_the_focus_back(page: Page):
    open_screen(page, "/pipelines/default/goods")
    opener = page.get_by_role("button", name="More actions")
    enter(page, opener)
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_have_count(0)
    expect(opener).to_be_focused()


@pytest.mark.parametrize("route", routes())
def test_what_has_the_focus_is_seen(page: Page, job: str, route: str):
    open_screen(page, addresses(job)[route])
    page.evaluate("document.activeElement?.blur()")
    stops = 0
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        found = page.evaluate(RING)
        if found is None:  # out of the page
            break
        if not found["ring"]:  # an editor takes notice of it a moment later
            page.wait_for_timeout(100)
            found = page.evaluate(RING)
        assert found["ring"] and found["there"], found["what"]
        if page.evaluate(MARK):  # round once
            break
        if page.evaluate("Boolean(document.activeElement.closest('.cm-editor'))"):
            page.keyboard.press("Escape")
        stops += 1
    assert stops > (0 if route == "/login" else 12)


# -- everybody ---------------------------------------------------------------------------------


def let_everybody_in(page: Page) -> None:
    """In both themes, as the system says which."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        page.wait_for_function(
            "() => !document.getAnimations().some((one) => one instanceof CSSTransition)"
        )
        assert axe(page) == [], f"{page.url}, {theme}"


@pytest.mark.parametrize("route", routes())
def test_every_screen(page: Page, job: str, route: str):
    open_screen(page, addresses(job)[route])
    let_everybody_in(page)


ERRORS = (
    "/nowhere",
    "/repos/default/none",
    "/repos/default/orders?path=/none",
    "/repos/default/orders?at=none",
    "/pipelines/default/none",
    f"/jobs/default/clean/{'0' * 32}",
    f"/sets/{'0' * 32}",
    "/tables/default/none",
    "/streams/default/none",
    "/lineage?ref=none@main",
    "/graph?select=kind:none",
    "/graph?moment=none",
)


@pytest.mark.parametrize("address", ERRORS)
def test_every_error(page: Page, watch: Watch, address: str):
    watch.forgive("status of 4[0-9][0-9]")
    open_screen(page, address)
    let_everybody_in(page)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server of a lake in which there is nothing yet."""
    folder: Path = tmp_path_factory.mktemp("empty")
    tl.init(folder).close()
    with serving(folder) as running:
        yield running
        running.stop()


@pytest.mark.parametrize("route", [one for one in routes() if ":" not in one and one != "/login"])
def test_every_screen_with_nothing_in_it(browser: Browser, empty: Serving, route: str):
    context = browser.new_context(base_url=empty.url, viewport={"width": 1440, "height": 900})
    watch = Watch(empty.url, context)
    page = context.new_page()
    open_screen(page, route)
    let_everybody_in(page)
    watch.check()
    context.close()
