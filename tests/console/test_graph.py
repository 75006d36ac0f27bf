"""The graph in the browser: what is there, what it says, its past, and that it follows the lake."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, shot
from tests.serving import Serving

GONE = re.compile("gone")
DIM = re.compile("dim")


def node(page: Page, name: str) -> Locator:
    """The card of a node, by its name; also when it is out of sight."""
    return page.locator(f'#graph [data-node="{name}"]')


def opener(page: Page, name: str) -> Locator:
    return node(page, name).get_by_role("button")


def slider(page: Page) -> Locator:
    return page.get_by_role("slider", name="Moment")


def about(page: Page, name: str) -> Locator:
    return page.get_by_role("complementary", name=f"About {name}")


def failed_set(site: Serving) -> str:
    with tl.open(site.url) as lake:
        return next(one.id for one in lake.sets() if one.jobs.get("failure"))


def test_everything_is_there_and_says_how_it_is(page: Page):
    page.goto("/graph")
    for name in ("orders", "clean", "revenue", "goods", "report", "clicks", "sessions", "visits"):
        expect(node(page, name)).to_be_visible()
    expect(node(page, "clean")).to_contain_text("success")
    expect(opener(page, "clean")).to_have_accessible_name(
        re.compile(r"^clean, pipeline, success, last job success .*, fresh, checks: 2 passed, 0")
    )
    expect(node(page, "orders")).to_contain_text("The fourth day")
    expect(page.locator(".react-flow__edge")).to_have_count(8)
    expect(page.locator(".react-flow__edge[class*=quiet]")).to_have_count(2)
    assert axe(page) == []
    shot(page, "graph")


def test_a_node_tells_more_and_leads_on(page: Page):
    page.goto("/graph")
    opener(page, "clean").click()
    panel = about(page, "clean")
    expect(panel).to_contain_text("Orders that can be trusted")
    expect(page).to_have_url(re.compile("sel=default%2Fclean"))
    panel.get_by_text("Why it ran").click()
    expect(panel.locator("details p").first).to_be_visible()
    for name, where in (("Repo", "/repos/default/clean"), ("Code", "/pipelines/default/clean")):
        link = panel.get_by_role("link", name=name, exact=True)
        expect(link).to_have_attribute("href", re.compile(where))
    assert axe(page) == []
    panel.get_by_role("button", name="revenue").click()
    expect(about(page, "revenue")).to_be_visible()
    page.go_back()
    expect(about(page, "clean")).to_be_visible()
    panel.get_by_role("link", name="All that came of this change").click()
    expect(page).to_have_url(re.compile("/sets/[0-9a-f]{32}"))


def test_by_keys_alone(page: Page):
    page.goto("/graph")
    opener(page, "clean").focus()
    page.keyboard.press("ArrowRight")
    expect(opener(page, "revenue")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(opener(page, "orders")).to_be_focused()
    page.keyboard.press("Enter")
    expect(about(page, "orders")).to_be_visible()
    page.keyboard.press("Escape")
    expect(about(page, "orders")).to_have_count(0)
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    about(page, "report").get_by_role("button", name="Close").press("Enter")
    expect(opener(page, "report")).to_be_focused()


def test_a_part_is_selected(page: Page):
    page.goto("/graph")
    box = page.get_by_role("searchbox", name="Find or select")
    box.fill("1+report")
    expect(page.get_by_text("3 nodes of 9 selected")).to_be_visible()
    expect(node(page, "clean")).to_have_class(DIM)
    expect(node(page, "goods")).not_to_have_class(DIM)
    expect(page).to_have_url(re.compile(r"select=1%2Breport"))
    page.get_by_role("checkbox", name="Hide the rest").check()
    expect(node(page, "clean")).to_have_count(0)
    expect(node(page, "goods")).to_be_visible()
    box.fill("kind:table")
    expect(page.get_by_text('There is no kind "table". It is one of: ingest')).to_be_visible()
    page.get_by_role("button", name="How to select").click()
    page.get_by_role("button", name="kind:stream").click()
    expect(page.get_by_text("2 nodes of 9 selected")).to_be_visible()


def test_as_a_list(page: Page):
    page.goto("/graph?select=%2Breport")
    page.get_by_role("checkbox", name="As a list").check()
    table = page.get_by_role("region", name="Nodes of the graph")
    expect(table.locator("tbody tr")).to_have_count(5)
    table.get_by_role("button", name="clean").click()
    expect(about(page, "clean")).to_be_visible()
    assert axe(page) == []


def test_the_past(page: Page, site: Serving):
    page.goto("/graph")
    expect(slider(page)).to_have_attribute("aria-valuetext", "Now")
    before = node(page, "clean").bounding_box()
    page.goto(f"/graph?moment={failed_set(site)}")
    expect(page.get_by_text(re.compile("The lake as of .*2026"))).to_be_visible()
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("orders: The third day$"))
    expect(node(page, "clean")).to_contain_text("failure")
    expect(node(page, "revenue")).to_contain_text("unrunnable")
    expect(node(page, "clicks")).to_have_class(GONE)
    expect(node(page, "clicks")).not_to_be_visible()
    after = node(page, "clean").bounding_box()
    assert before and after
    assert after["x"] == pytest.approx(before["x"], abs=40)  # the band takes room, not the past
    assert axe(page) == []
    shot(page, "graph-past")

    opener(page, "clean").click()
    expect(about(page, "clean")).to_contain_text("known_once")
    expect(about(page, "clean").get_by_role("button", name="Run")).to_have_count(0)
    slider(page).press("ArrowRight")
    expect(slider(page)).to_have_attribute("aria-valuetext", re.compile("each order once$"))
    expect(node(page, "clean")).to_contain_text("success")
    page.get_by_role("button", name="Previous moment").click()
    expect(node(page, "clean")).to_contain_text("failure")
    page.get_by_role("button", name="Back to now").click()
    expect(page).not_to_have_url(re.compile("moment="))
    expect(node(page, "clicks")).to_be_visible()


def test_the_past_goes_with_every_link(page: Page, site: Serving):
    page.goto("/repos")
    page.get_by_role("button", name="Time travel").click()
    expect(slider(page)).to_be_visible()
    slider(page).press("Home")
    expect(page).to_have_url(re.compile("/repos.*moment="))
    page.get_by_role("navigation", name="Screens").get_by_role("link", name="Graph").click()
    expect(page).to_have_url(re.compile("/graph.*moment="))
    expect(node(page, "orders")).to_contain_text("The first day")
    expect(node(page, "clean")).not_to_be_visible()
    page.go_back()
    page.go_back()
    expect(page).not_to_have_url(re.compile("moment="))


def test_the_past_is_played(page: Page):
    page.goto("/graph")
    page.get_by_role("combobox", name="Speed").select_option("4")
    for _ in range(3):
        page.get_by_role("button", name="Previous moment").click()
    page.get_by_role("button", name="Play forward").click()
    expect(page.get_by_role("button", name="Stop playing")).to_be_visible()
    expect(slider(page)).to_have_attribute("aria-valuetext", "Now")
    expect(page.get_by_role("button", name="Play forward")).to_be_visible()


def test_a_moment_that_never_was(page: Page, watch: Watch):
    watch.forgive("404")
    page.goto("/graph?moment=00000000000000000000000000000000")
    expect(page.get_by_role("alert")).to_contain_text("000000000000")
    page.get_by_role("button", name="Back to now").click()
    expect(node(page, "clean")).to_be_visible()


def test_an_empty_lake_says_how_to_begin(page: Page):
    empty: dict[str, object] = {
        "at": None,
        "time": "2026-01-01T00:00:00Z",
        "nodes": [],
        "edges": [],
    }
    page.route("**/api/v1/overview*", lambda route: route.fulfill(body=json.dumps(empty)))
    page.goto("/graph")
    expect(page.get_by_text("trunkline repo create orders")).to_be_visible()


def test_it_follows_the_lake(page: Page, site: Serving):
    """There is no worker: jobs stay where they begin."""
    page.goto("/graph?sel=default/goods")
    panel = about(page, "goods")
    panel.get_by_role("button", name="Pause").click()
    expect(node(page, "goods")).to_contain_text("paused")
    panel.get_by_role("button", name="Resume").click()
    expect(node(page, "goods")).to_contain_text("success")
    panel.get_by_role("button", name="Run").click()
    expect(page.get_by_text("Started goods.")).to_be_visible()
    expect(node(page, "goods")).to_contain_text(re.compile("created|waiting"))

    with tl.open(site.url) as lake, lake.commit("orders", message="The fifth day") as commit:
        commit.put("/day=2026-01-05/orders.csv", b"id,shop,goods,amount\n")
    expect(node(page, "orders")).to_contain_text("The fifth day")
    expect(node(page, "clean")).to_contain_text(re.compile("created|waiting"))
