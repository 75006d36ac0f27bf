"""SQL in the browser: completion, errors, large results, charts, yesterday, sharing."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.looking import Watch, axe, shot
from tests.serving import Serving
from tests.waiting import until

LONG = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"
HOSTILE = "<img src=x onerror=alert(1)>"


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="SQL")


def write(page: Page, text: str) -> None:
    box = editor(page)
    box.click()
    page.keyboard.press("Control+a")
    # Typing over a selection would make Chromium itself style what it inserts, which the page's
    # policy forbids, and the editor undoes anyway.
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def run(page: Page, text: str) -> None:
    write(page, text)
    page.keyboard.press("Control+Enter")


def choice(page: Page, label: str) -> Locator:
    return page.get_by_role("combobox", name=re.compile(f"^{label}\\b"))


def grid(page: Page) -> Locator:
    return page.get_by_role("grid", name="Result")


def done(page: Page, rows: str) -> None:
    expect(page.get_by_role("status").filter(has_text=rows)).to_contain_text("done")


def test_a_query_is_asked_and_answered(page: Page):
    page.goto("/sql")
    run(page, "SELECT day, euros, orders FROM report ORDER BY day")
    done(page, "4 rows")
    expect(grid(page).get_by_role("gridcell", name="2026-01-01")).to_be_visible()
    expect(grid(page).get_by_role("columnheader", name="euros")).to_be_visible()
    page.get_by_role("tab", name="What was read").click()
    expect(page.get_by_role("link", name=re.compile("report@"))).to_be_visible()


def test_only_what_is_selected_is_asked(page: Page):
    page.goto("/sql")
    write(page, "SELECT 1 AS one\nno sql at all")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+End")
    page.keyboard.press("Control+Enter")
    done(page, "1 row")


def test_tables_and_columns_are_offered(page: Page):
    page.goto("/sql")
    offered = page.get_by_role("listbox")
    expect(page.get_by_text("live_revenue")).to_be_visible()
    write(page, "SELECT * FROM ")
    page.keyboard.type("repo", delay=20)
    expect(offered.get_by_role("option", name=re.compile("report"))).to_be_visible()
    page.keyboard.press("Escape")
    write(page, "SELECT report. FROM report")
    page.keyboard.press("Control+Home")
    for _ in range(len("SELECT report.")):
        page.keyboard.press("ArrowRight")
    page.keyboard.type("be", delay=20)
    expect(offered.get_by_role("option", name=re.compile("best_seller"))).to_be_visible()
    page.keyboard.press("Escape")
    write(page, "")
    table = page.get_by_role("group").filter(has=page.locator("summary[title='goods@main']"))
    table.locator("summary").click()
    table.get_by_role("button", name="insert the name").click()
    expect(editor(page)).to_contain_text("goods")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT nothing FROM report", "nothing"),
        ("SELECT * FROM rapport", "rapport"),
        ("SELEC 1", "SELEC"),
    ],
)
def test_errors_are_in_the_words_of_the_api(page: Page, watch: Watch, text: str, said: str):
    watch.forgive("status of 4")
    page.goto("/sql")
    run(page, text)
    expect(page.get_by_role("alert")).to_contain_text(said)
    expect(page.get_by_role("button", name="Run")).to_be_enabled()


def test_a_large_result_is_scrolled_to_its_end(page: Page):
    page.goto("/sql")
    run(page, "SELECT range AS n, 'row ' || range AS text FROM range(100000)")
    done(page, "100,000 rows")
    grid(page).focus()
    page.keyboard.press("Control+End")
    expect(grid(page).get_by_role("gridcell", name="row 99999", exact=True)).to_be_visible()
    assert grid(page).get_by_role("row").count() < 100
    page.keyboard.press("Control+Home")
    expect(grid(page).get_by_role("gridcell", name="row 0", exact=True)).to_be_visible()


def test_a_long_query_is_stopped(page: Page, site: Serving):
    page.goto("/sql")
    run(page, LONG)
    stop = page.get_by_role("button", name="Stop")
    expect(page.get_by_role("status").filter(has_text="running")).to_be_visible()
    stop.click()
    expect(page.get_by_role("status").filter(has_text="cancelled")).to_be_visible()

    def states() -> set[str]:
        kept = httpx2.get(f"{site.url}/api/v1/sql").json()["items"]
        return {one["state"] for one in kept if one["text"] == LONG}

    until(lambda: "running" not in states())


@pytest.mark.parametrize("kind", ["bar", "line", "scatter", "histogram"])
def test_charts(page: Page, kind: str):
    page.goto("/sql")
    run(page, "SELECT shop, amount, cast(id[:10] AS DATE) AS day FROM clean")
    done(page, "479 rows")
    page.get_by_role("tab", name="Chart").click()
    choice(page, "Kind").select_option(kind)
    choice(page, "x").select_option("amount" if kind == "histogram" else "day")
    if kind != "histogram":
        choice(page, "y").select_option("amount")
        choice(page, "of equal x").select_option("sum")
    chart = page.get_by_role("img", name=re.compile(f"^{kind} chart of"))
    expect(chart.locator("rect, path, circle").first).to_be_attached()
    assert f"chart={kind}" in page.url or kind == "line"
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as SVG").click()
    assert b"<svg" in saving.value.path().read_bytes()
    if kind == "bar":
        shot(page, "sql-chart")


def test_a_chart_that_cannot_be_says_why(page: Page):
    page.goto("/sql")
    run(page, "SELECT shop, id FROM clean")
    done(page, "479 rows")
    page.get_by_role("tab", name="Chart").click()
    choice(page, "Kind").select_option("histogram")
    expect(page.get_by_role("note")).to_contain_text("A histogram needs numbers or times")


def test_rows_are_exported(page: Page):
    page.goto("/sql")
    run(page, "SELECT day, orders FROM report ORDER BY day")
    done(page, "4 rows")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as saving:
        page.get_by_role("menuitem", name="CSV").click()
    lines = saving.value.path().read_text().splitlines()
    assert lines[0] == "day,orders"
    assert len(lines) == 5


def test_rows_become_a_table(page: Page, site: Serving):
    httpx2.post(f"{site.url}/api/v1/projects/default/repos", json={"name": "best"})
    page.goto("/sql")
    run(page, "SELECT * FROM report")
    done(page, "4 rows")
    page.get_by_role("button", name="Write as a table").click()
    page.get_by_label("Where").fill("best@main")
    page.get_by_role("dialog").get_by_role("button", name="Write").click()
    expect(page.get_by_text("Wrote 4 rows to best@main.")).to_be_visible()
    run(page, "SELECT count(*) AS found FROM best")
    done(page, "1 row")
    expect(grid(page).get_by_role("gridcell", name="4", exact=True)).to_be_visible()


def test_yesterdays_version(page: Page):
    """A moment is chosen, and the same question has the answer of then."""
    page.goto("/sql")
    run(page, "SELECT count(*) AS days FROM report")
    expect(grid(page).get_by_role("gridcell", name="4", exact=True)).to_be_visible()
    page.get_by_role("button", name="as of now").click()
    page.get_by_role("button", name=re.compile("The second day")).click()
    expect(page).to_have_url(re.compile("moment="))
    page.keyboard.press("Escape")
    run(page, "SELECT count(*) AS days FROM report")
    expect(grid(page).get_by_role("gridcell", name="2", exact=True)).to_be_visible()
    run(page, "SELECT day, euros, orders, best_seller\nFROM report\nORDER BY day")
    done(page, "2 rows")
    shot(page, "sql")


def test_a_query_is_shared_by_its_address(page: Page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/sql")
    text = "SELECT 'ä & = #' AS odd FROM report"
    write(page, text)
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_text("Copied a link to this query.")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert parse_qs(urlsplit(link).query)["q"] == [text]
    page.goto("/")
    page.goto(link)
    expect(editor(page)).to_contain_text(text)
    expect(page.get_by_role("status").filter(has_text="done")).to_have_count(0)


def test_what_was_asked_is_found_again(page: Page):
    page.goto("/sql")
    run(page, "SELECT 41 + 1 AS answer")
    done(page, "1 row")
    write(page, "")
    page.get_by_role("tab", name="History").click()
    page.get_by_role("button", name=re.compile(re.escape("SELECT 41 + 1"))).click()
    expect(editor(page)).to_contain_text("SELECT 41 + 1 AS answer")


def test_hostile_values_are_text(page: Page):
    page.goto("/sql")
    run(page, f"SELECT '{HOSTILE}' AS \"{HOSTILE}\"")
    done(page, "1 row")
    expect(grid(page).get_by_role("gridcell", name=HOSTILE)).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_kept_out(page: Page, theme: str):
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto("/sql")
    run(page, "SELECT * FROM clean")
    done(page, "479 rows")
    assert axe(page) == []
    page.get_by_role("tab", name="Chart").click()
    expect(page.get_by_role("img", name=re.compile("chart of"))).to_be_visible()
    assert axe(page) == []
