"""Where data came from and what became of it, as a graph and in words."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.gallery import HOSTILE_NAME
from tests.console.looking import Watch, axe, shot
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    return lake


def of(ref: str, **more: str) -> str:
    query = "".join(f"&{name}={quote(value)}" for name, value in more.items())
    return f"/lineage?ref={quote(ref, safe='')}{query}"


def graph(page: Page) -> Locator:
    return page.get_by_role("region", name=re.compile("^Graph of"))


def card(page: Page, title: str) -> Locator:
    return graph(page).get_by_role("article").filter(has_text=title)


def words(page: Page, which: str) -> Locator:
    return page.get_by_role("tree", name=which)


def asked(page: Page) -> dict[str, str]:
    return {name: value[0] for name, value in parse_qs(urlsplit(page.url).query).items()}


def left(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["x"]


def test_a_report_goes_back_to_orders(page: Page, lake: RemoteLake):
    page.goto(of("report@main"))
    for title in ("orders", "clean", "revenue", "goods"):
        expect(card(page, title).first).to_be_visible()
    orders = graph(page).get_by_role("button", name=re.compile("commit orders"))
    clean = graph(page).get_by_role("button", name=re.compile("commit clean"))
    report = card(page, "commit report")
    assert left(orders) < left(clean) < left(report)
    expect(report).to_have_attribute("aria-current", "true")
    expect(page.get_by_text("Nothing was made from it yet.")).to_be_visible()
    shot(page, "lineage")
    assert axe(page) == []


def test_pressing_a_card_tells_of_that(page: Page, lake: RemoteLake):
    page.goto(of("report@main"))
    graph(page).get_by_role("button", name=re.compile("commit orders")).click()
    expect(page.get_by_role("heading", name="Lineage of orders")).to_be_visible()
    expect(page.get_by_text("Nothing: it is a source.")).to_be_visible()
    expect(words(page, "Made into")).to_contain_text("report@")
    assert asked(page)["ref"] == f"default/orders@{lake.commit_info('orders@main').id}"
    page.go_back()
    expect(page.get_by_role("heading", name="Lineage of report")).to_be_visible()


def test_cards_lead_to_files_code_and_job(page: Page, lake: RemoteLake):
    page.goto(of("report@main"))
    made = lake.commit_info("revenue@main").id
    revenue = card(page, "commit revenue")
    expect(revenue.get_by_role("link", name="Open the files: revenue")).to_have_attribute(
        "href", f"/repos/default/revenue?at={made}"
    )
    expect(revenue.get_by_role("link", name=re.compile("^Code of"))).to_have_attribute(
        "href", "/pipelines/default/revenue?tab=code&v=1"
    )
    revenue.get_by_role("link", name=re.compile("^Job that made it")).click()
    expect(page).to_have_url(re.compile(f"/jobs/default/revenue/{made}"))


def test_one_direction(page: Page):
    page.goto(of("clean@main"))
    expect(card(page, "commit orders")).to_be_visible()
    expect(card(page, "commit report")).to_be_visible()
    page.get_by_label("Direction").select_option("down")
    expect(card(page, "commit orders")).to_have_count(0)
    expect(card(page, "commit report")).to_be_visible()
    expect(words(page, "Made from")).to_have_count(0)


def test_the_keyboard_walks_along_the_words(page: Page):
    page.goto(of("report@main"))
    tree = words(page, "Made from")
    revenue = tree.get_by_role("treeitem", name=re.compile("^revenue@"))
    expect(revenue).to_have_attribute("aria-expanded", "true")
    tree.get_by_role("treeitem").first.focus()
    page.keyboard.press("ArrowDown")
    expect(revenue).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(revenue).to_have_attribute("aria-expanded", "false")
    expect(tree.get_by_role("treeitem", name=re.compile("^clean@"))).to_have_count(0)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(tree.get_by_role("treeitem", name=re.compile("^clean@"))).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Lineage of clean")).to_be_visible()


def test_more_is_counted_and_shown_when_asked_for(page: Page):
    page.goto(of("orders@main:/", limit="2"))
    more = graph(page).get_by_role("button", name=re.compile("and 2 more"))
    expect(more.first).to_be_visible()
    more.first.click()
    expect(page).to_have_url(re.compile("limit=10"))
    expect(graph(page).get_by_text("and 2 more")).to_have_count(0)


def test_versions_and_what_changed_between_them(page: Page, lake: RemoteLake):
    page.goto(of("report@main"))
    page.get_by_role("button", name="Older version").click()
    older = lake.commit_info("report@main~1").id
    expect(page.get_by_label("Version", exact=True)).to_have_value(older)
    assert asked(page)["ref"] == f"default/report@{older}"
    page.get_by_role("button", name="Newer version").click()
    newest = lake.commit_info("report@main").id
    expect(page.get_by_label("Version", exact=True)).to_have_value(newest)
    page.get_by_label("Compare with the version").select_option(older)
    row = page.get_by_role("table").get_by_role("row").filter(has_text="orders")
    before, after = (lake.commit_info(f"orders@{at}").id for at in ("main~1", "main"))
    expect(row).to_contain_text(before[:12])
    expect(row).to_contain_text(after[:12])
    expect(page.get_by_text(re.compile(r"inputs differ, \d+ the same"))).to_be_visible()
    row.get_by_role("link", name="orders").click()
    expect(page).to_have_url(re.compile(f"tab=compare&old={before}&new={after}"))


class TestColumns:
    def test_columns_inside_their_tables(self, page: Page):
        page.goto(of("report@main"))
        page.get_by_role("button", name="Columns").click()
        amount = graph(page).get_by_role("list", name="Columns of orders").get_by_text("amount")
        expect(amount).to_be_visible()
        expect(graph(page).get_by_text("its columns are not known").first).to_be_visible()
        shot(page, "lineage-columns")
        assert axe(page) == []

    def test_pressing_a_column_tells_of_that(self, page: Page):
        page.goto(of("report@main", column="euros"))
        expect(page.get_by_role("heading", name="Lineage of euros")).to_be_visible()
        chosen = graph(page).get_by_role("button", name="euros", pressed=True)
        expect(chosen).to_have_count(1)
        graph(page).get_by_role("list", name="Columns of orders").get_by_role("button").click()
        expect(page.get_by_role("heading", name="Lineage of amount")).to_be_visible()
        assert asked(page)["column"] == "amount"
        report = words(page, "Made into").get_by_role("treeitem", name=re.compile("^report@"))
        expect(report).to_contain_text("euros")

    def test_what_is_no_table_is_said_so(self, page: Page, watch: Watch, lake: RemoteLake):
        watch.forgive("412")
        lake.create_repo("words")
        with lake.commit("words@main", message="Some") as commit:
            commit.put("/a.txt", b"words\n")
        page.goto(of("words@main", view="columns"))
        expect(page.get_by_role("alert")).to_contain_text("words@main")


class TestBeginning:
    def test_something_is_found(self, page: Page):
        page.goto("/lineage")
        expect(page.get_by_role("list", name="Repos")).to_contain_text("orders")
        page.get_by_role("searchbox").fill("best_seller")
        found = page.get_by_role("list", name="Found").get_by_role("link", name="best_seller")
        assert axe(page) == []
        found.first.click()
        expect(page.get_by_role("heading", name="Lineage of best_seller")).to_be_visible()

    def test_nothing_is_found(self, page: Page):
        page.goto("/lineage?q=zzzz-nothing")
        expect(page.get_by_text("Nothing is called “zzzz-nothing”")).to_be_visible()

    def test_a_ref_that_does_not_exist(self, page: Page, watch: Watch):
        watch.forgive("404")
        page.goto(of("orders@nowhere"))
        expect(page.get_by_role("alert")).to_contain_text('no branch, tag or commit "nowhere"')


def test_hostile_names_do_nothing(page: Page, lake: RemoteLake):
    lake.create_repo("hostile")
    with lake.commit("hostile@main", message="<b>bold</b>") as commit:
        commit.put(f"/{HOSTILE_NAME}", b"1\n")
    page.goto(of(f"hostile@main:/{HOSTILE_NAME}"))
    expect(card(page, HOSTILE_NAME)).to_be_visible()
    expect(page.get_by_role("complementary")).to_contain_text(HOSTILE_NAME)
    expect(page.locator("img[src=x]")).to_have_count(0)
