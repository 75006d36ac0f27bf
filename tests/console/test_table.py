"""Tables: their rows at any version, columns, profiles, history, checks and lineage."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, boxes, shot
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

CLEAN = "/tables/default/clean"
EVIL_NAME = "<img src=x onerror=alert(1)>"
EVIL_VALUE = "<script>alert(2)</script>"
WIDE, LONG = 200, 1200


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    for name in ("wide", "hostile", "market", "broken", "blank"):
        lake.create_repo(name)
    rows = range(LONG)
    lake.write_table(
        "wide@main", pa.table({f"c{n:03}": [n + r for r in rows] for n in range(WIDE)})
    )
    lake.write_table("hostile@main", pa.table({EVIL_NAME: [EVIL_VALUE, None], 'a,b"c': [1.5, 2.5]}))
    lake.write_table("market@main:/items", pa.table({"sku": ["mug"]}), message="The first")
    lake.write_table(
        "market@main:/items", pa.table({"sku": ["cup"], "price": [2.5]}), message="With prices"
    )
    lake.write_table("market@main:/staff", pa.table({"name": ["Ada"]}))
    with lake.commit("broken@main") as commit:
        commit.put("/bad.parquet", b"not parquet at all")
    return lake


@pytest.fixture(autouse=True)
def _filled(lake: RemoteLake) -> None:
    """Every test looks at the same tables."""


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()


def line(page: Page, table: str, text: str) -> Locator:
    return page.get_by_label(table, exact=True).get_by_role("row").filter(has_text=text)


def test_all_tables_are_listed(page: Page):
    page.goto("/tables")
    expect(line(page, "Tables", "clean")).to_contain_text("479")
    expect(line(page, "Tables", "market:/items")).to_contain_text("sku, price")
    expect(line(page, "Tables", "broken")).to_contain_text(re.compile("cannot be read|not", re.I))
    assert axe(page) == []
    page.get_by_label("Filter by table or column").fill("best_seller")
    expect(page.get_by_role("link", name="report", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="clean", exact=True)).to_have_count(0)
    expect(page).to_have_url(re.compile("q=best_seller"))
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_role("heading", name="report")).to_be_visible()


def test_tables_as_of_a_moment(page: Page, lake: RemoteLake):
    first = lake.commits("clean@main")[-1].id
    page.goto(f"/tables?moment={first}")
    expect(line(page, "Tables", "clean")).to_contain_text("120")
    expect(page.get_by_role("link", name="sessions", exact=True)).to_have_count(0)
    page.get_by_role("link", name="clean", exact=True).click()
    expect(page).to_have_url(re.compile(f"moment={first}"))
    expect(page.get_by_text("120", exact=True).first).to_be_visible()


def test_rows_and_a_column_beside_them(page: Page):
    page.goto(CLEAN)
    grid = page.get_by_role("grid", name="Rows of clean")
    expect(grid.get_by_text("2026-01-01-0001")).to_be_visible()
    grid.get_by_role("button", name="amount").click()
    side = page.get_by_role("complementary", name="Column amount")
    expect(side.get_by_role("img", name=re.compile("Histogram of 20 ranges"))).to_be_visible()
    expect(side.get_by_role("link", name="orders.amount")).to_be_visible()
    shot(page, "table")
    assert axe(page) == []
    side.get_by_role("button", name="Close").click()
    expect(side).to_have_count(0)


def test_rows_are_fetched_as_one_scrolls(page: Page):
    page.goto("/tables/default/wide")
    grid = page.get_by_role("grid", name="Rows of wide")
    expect(grid.get_by_role("columnheader").filter(has_text="c000")).to_be_visible()
    # Only what is seen is drawn, in both directions.
    assert grid.get_by_role("columnheader").count() < WIDE / 4
    grid.focus()
    page.keyboard.press("End")
    expect(grid.get_by_role("columnheader").filter(has_text="c199")).to_be_visible()
    for _ in range(4):
        page.keyboard.press("Control+End")
        page.wait_for_timeout(400)
    expect(grid.get_by_text(str(WIDE - 1 + LONG - 1), exact=True)).to_be_visible()
    assert grid.get_by_role("row").count() < 100


def test_columns_with_nulls_and_distinct_values(page: Page):
    page.goto(f"{CLEAN}?tab=schema")
    expect(line(page, "Columns", "shop")).to_contain_text("3")
    expect(line(page, "Columns", "day")).to_contain_text("partition")
    page.get_by_label("Filter columns").fill("amo")
    expect(page.get_by_label("Columns", exact=True).get_by_role("row")).to_have_count(2)
    page.get_by_role("button", name="amount").click()
    expect(page.get_by_role("complementary", name="Column amount")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("complementary", name="Column amount")).to_have_count(0)
    assert axe(page) == []


def test_a_profile_of_every_column(page: Page):
    page.goto(f"{CLEAN}?tab=profile")
    amount = page.get_by_role("article", name="amount")
    expect(amount.get_by_role("img", name=re.compile("Histogram"))).to_be_visible()
    assert amount.locator("rect").count() == 20
    expect(amount).to_contain_text("77.2")
    shop = page.get_by_role("article", name="shop")
    expect(shop.get_by_role("list", name="Most frequent values")).to_contain_text("osaka")
    expect(page.get_by_role("article", name="id")).to_contain_text("all values distinct")
    assert axe(page) == []


def test_a_large_table_is_profiled_when_asked(page: Page):
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/profile" in one.url else None)

    def large(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "rows": 6_000_000})

    page.route(re.compile(r"/repos/default/clean/table\?"), large)
    page.goto(f"{CLEAN}?tab=profile")
    button = page.get_by_role("button", name="Profile the table")
    expect(button).to_be_visible()
    expect(page.get_by_text("6,000,000 rows")).to_be_visible()
    assert asked == []
    button.click()
    expect(page.get_by_role("article", name="amount")).to_be_visible()
    assert len(asked) == 1


def test_history_and_looking_at_a_version(page: Page, lake: RemoteLake):
    commits = lake.commits("clean@main")
    page.goto(f"{CLEAN}?tab=history")
    chart = page.get_by_role("img", name="Rows over 4 versions: from 120 to 479.")
    expect(chart.locator("svg").first).to_be_visible()
    expect(line(page, "Versions", commits[0].short_id)).to_contain_text("+120")
    assert axe(page) == []
    page.get_by_role("button", name=commits[-1].short_id).click()
    expect(page).to_have_url(re.compile(f"at={commits[-1].id}"))
    expect(page.get_by_text("in 1 files")).to_be_visible()
    expect(page.get_by_label("Versions", exact=True).get_by_role("row")).to_have_count(5)
    tab(page, "Rows")
    expect(page.get_by_role("grid").get_by_text("2026-01-01-0001")).to_be_visible()
    page.go_back()
    page.go_back()
    expect(page).not_to_have_url(re.compile("at="))


def test_two_versions_are_compared(page: Page, lake: RemoteLake):
    new, old = (one.id for one in lake.commits("clean@main")[:2])
    page.goto(f"{CLEAN}?tab=history")
    expect(page.get_by_role("button", name="Choose two to compare")).to_be_disabled()
    for one in (new, old):
        page.get_by_label(f"Compare {one[:12]}").click()
        expect(page.get_by_label(f"Compare {one[:12]}")).to_be_checked()
    link = page.get_by_role("link", name="Compare the two")
    compared = f"tab=compare&view=tables&old={old}&new={new}"
    expect(link).to_have_attribute("href", re.compile(compared))


def test_a_change_of_columns_is_marked(page: Page):
    page.goto("/tables/default/market?tab=history")
    expect(page.get_by_role("heading", name="market:/items")).to_be_visible()
    expect(line(page, "Versions", "With prices")).to_contain_text("+ price double")
    expect(
        page.get_by_role("img", name=re.compile("Rows over 2")).get_by_text("schema")
    ).to_be_visible()
    page.get_by_label("Table of the repo").select_option("/staff")
    expect(page).to_have_url(re.compile("path=%2Fstaff"))
    tab(page, "Rows")
    expect(page.get_by_role("grid").get_by_text("Ada")).to_be_visible()


def test_checks_and_rows_that_broke_them(page: Page, lake: RemoteLake):
    page.goto(f"{CLEAN}?tab=checks")
    jobs = page.get_by_label("Jobs that checked known_once, oldest first")
    expect(jobs.get_by_role("button")).to_have_count(5)
    jobs.get_by_role("button", name=re.compile("^failed, 240 of 240 rows")).click()
    expect(page).to_have_url(re.compile("job="))
    broken = page.get_by_role("grid", name="Rows that broke known_once")
    expect(broken.get_by_text("2026-01-03-0002").first).to_be_visible()
    aside = page.get_by_role("grid", name="Quarantined by not_negative")
    expect(aside.get_by_text("-12.8")).to_be_visible()
    shot(page, "checks")
    assert axe(page) == []
    page.get_by_role("button", name="Compute again").click()
    page.get_by_role("dialog").get_by_role("button", name="Compute again").click()
    expect(page.get_by_label("Messages")).to_contain_text(re.compile("Job [0-9a-f]{12} is waiting"))
    assert any(job.cause == "replay of not_negative" for job in lake.jobs("clean", limit=3))


@pytest.mark.parametrize(
    ("repo", "title", "value"),
    [("sessions", "Late rows of clicks", "2026-01-04"), ("clicks", "Malformed rows", "not JSON")],
)
def test_late_and_malformed_rows(page: Page, repo: str, title: str, value: str):
    page.goto(f"/tables/default/{repo}?tab=checks")
    grid = page.get_by_role("grid", name=title)
    expect(grid.get_by_text(value).first).to_be_visible()
    page.get_by_role("link", name="Open as a table").click()
    expect(page).to_have_url(re.compile("path=%2F_"))
    expect(page.get_by_role("grid").get_by_text(value).first).to_be_visible()


def test_the_lineage_of_a_column_is_walked(page: Page):
    page.goto(f"{CLEAN}?tab=lineage")
    page.get_by_role("button", name="amount").click()
    tree = page.get_by_role("region", name="Lineage of amount")
    expect(tree.get_by_role("link", name="amount orders")).to_be_visible()
    expect(tree.get_by_role("link", name=re.compile("euros report"))).to_be_visible()
    explorer = page.get_by_role("link", name="Open in the lineage explorer")
    expect(explorer).to_have_attribute("href", re.compile("^/lineage.ref=.*column=amount"))
    assert axe(page) == []
    tree.get_by_role("link", name=re.compile("euros report")).click()
    expect(page.get_by_role("heading", name="report", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Lineage of euros")).to_contain_text("revenue")


def test_a_table_leads_to_sql(page: Page):
    page.goto(CLEAN)
    link = page.get_by_role("link", name="Query in SQL")
    expect(link).to_have_attribute("href", "/sql?q=SELECT+*+FROM+%22clean%22+LIMIT+100")


def test_hostile_names_and_values_are_text(page: Page):
    alarms = boxes(page)
    page.goto("/tables/default/hostile")
    grid = page.get_by_role("grid")
    expect(grid.get_by_text(EVIL_VALUE)).to_be_visible()
    grid.get_by_role("button", name=EVIL_NAME).click()
    side = page.get_by_role("complementary")
    expect(side.get_by_role("heading", name=EVIL_NAME)).to_be_visible()
    expect(side).to_contain_text("50 % null")
    for name in ("Schema", "Profile", "History", "Checks", "Lineage"):
        tab(page, name)
        expect(page.get_by_role("tab", name=name)).to_have_attribute("aria-selected", "true")
        page.wait_for_load_state("networkidle")
    expect(page.get_by_role("heading", name=f"Lineage of {EVIL_NAME}")).to_be_visible()
    page.get_by_role("button", name='a,b"c').click()
    expect(page.get_by_role("heading", name='Lineage of a,b"c')).to_be_visible()
    tab(page, "Profile")
    expect(page.get_by_role("article", name='a,b"c')).to_contain_text("2.5")
    assert alarms == []


def test_what_cannot_be_shown_says_why(page: Page, watch: Watch):
    watch.forgive("status of 4")
    page.goto("/tables/default/broken")
    expect(page.get_by_role("alert")).to_contain_text("bad.parquet")
    page.goto("/tables/default/blank")
    expect(page.get_by_role("alert").or_(page.get_by_text("No table here"))).to_be_visible()
    page.goto("/tables/default/clean?path=/nowhere")
    expect(page.get_by_role("alert").first).to_contain_text('no "/nowhere" in clean@main')
    page.goto("/tables/default/orders?tab=checks")
    expect(page.get_by_text("rules belong to the pipeline")).to_be_visible()
    assert axe(page) == []
