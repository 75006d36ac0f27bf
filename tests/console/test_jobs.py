"""Jobs: what ran, when, why, what it printed; stopped and tried again."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.looking import axe, shot
from tests.serving import Serving

SERVE = ("--workers", "1")
SPARK_MS = 60_000
"""A worker starts Spark first."""

SLOW = """\
pipeline: {name: slow}
input:
  pfs: {repo: orders, glob: /day=2026-01-01/orders.csv}
transform:
  cmd: [sh, slow.sh]
  code: slow.sh
"""
# It ends when the test says so: by a file beside the lake.
PRINTS = """\
n=0
while [ ! -e "%s" ] && [ $n -lt 400 ]; do
  n=$((n+1))
  echo "line $n <img src=x onerror=alert(1)>"
  [ $((n %% 4)) = 0 ] && printf '\\033[31mWARN\\033[0m %%s is a fourth\\n' $n >&2
  sleep 0.1
done
echo "the last line"
echo done > pfs/out/done.txt
"""


def ask(site: Serving, path: str) -> Any:
    with urllib.request.urlopen(f"{site.url}/api/v1{path}") as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def failed(site: Serving) -> str:
    """The set in which the sample's check failed."""
    return str(ask(site, "/jobs?state=failure&pipeline=default/clean")["items"][0]["id"])


@pytest.fixture(scope="module")
def stop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """While this file is not there, the slow pipeline prints on."""
    return tmp_path_factory.mktemp("slow") / "stop"


@pytest.fixture
def slow(site: Serving, sample: Path, stop: Path, tmp_path: Path) -> str:
    """A job that prints lines until `stop` is there; its id."""
    stop.unlink(missing_ok=True)
    (tmp_path / "slow.yaml").write_text(SLOW)
    (tmp_path / "slow.sh").write_text(PRINTS % stop)
    with tl.open(site.url) as lake:
        lake.apply(tmp_path / "slow.yaml", reprocess=True)
    return str(ask(site, "/jobs?pipeline=default/slow&limit=1")["items"][0]["id"])


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Jobs", exact=True).locator("tbody tr[aria-rowindex]")


# -- the list ----------------------------------------------------------------------------------


def test_the_list_is_narrowed_by_the_address(page: Page):
    page.goto("/jobs")
    expect(rows(page).first).to_be_visible()
    page.get_by_label("State", exact=True).select_option("failure")
    expect(page).to_have_url(re.compile(r"state=failure"))
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("New data in orders")
    expect(rows(page)).to_contain_text("the check known_once: 240 of 240 rows")
    page.get_by_label("Pipeline", exact=True).select_option("default/goods")
    expect(page.get_by_text("No job is like that")).to_be_visible()
    page.get_by_role("button", name="Show all jobs").click()
    expect(rows(page).nth(3)).to_be_visible()
    page.goto("/jobs?pipeline=default/goods")
    expect(rows(page).first).to_contain_text("goods")
    expect(rows(page).filter(has_text="report")).to_have_count(0)


def test_a_job_is_found_by_its_id(page: Page, failed: str):
    page.goto("/jobs")
    box = page.get_by_role("searchbox", name="First digits of an ID")
    box.fill("01")
    expect(page.get_by_text("Give 8 of them or more")).to_be_visible()
    box.fill(failed[:12])
    expect(rows(page)).to_have_count(4)
    rows(page).filter(has_text="goods").get_by_role("link", name="success").click()
    expect(page).to_have_url(re.compile(f"/jobs/default/goods/{failed}"))


def test_what_ran_later_is_hidden_at_a_moment(page: Page, failed: str):
    page.goto(f"/jobs?moment={failed}")
    expect(rows(page).filter(has_text="failure")).to_have_count(1)
    expect(rows(page).filter(has_text="visits")).to_have_count(0)


# -- the grid ----------------------------------------------------------------------------------


def test_the_grid_by_keys(page: Page, failed: str):
    page.goto("/jobs?tab=grid")
    grid = page.get_by_role("grid", name="Jobs by set and pipeline")
    expect(grid.get_by_role("gridcell", name=re.compile("^clean: failure"))).to_be_visible()
    names = grid.get_by_role("rowheader").all_inner_texts()
    assert names.index("clean") < names.index("revenue") < names.index("report")
    grid.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    active = page.locator("[data-active]")
    expect(active).to_have_attribute("aria-label", re.compile("^clean: failure"))
    page.keyboard.press(" ")
    panel = page.get_by_role("complementary", name="Job of clean")
    expect(panel).to_contain_text("the check known_once")
    expect(page).to_have_url(re.compile(r"job=default%2Fclean%40"))
    page.keyboard.press("ArrowUp")
    expect(active).to_have_attribute("aria-label", re.compile("^Set of .*, failure, took"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/sets/{failed}"))
    page.go_back()
    expect(panel).to_be_visible()
    page.go_back()
    expect(panel).to_be_hidden()


def test_the_grid_by_pointer(page: Page, failed: str):
    page.goto("/jobs?tab=grid")
    cell = page.get_by_role("gridcell", name=re.compile("^goods: success")).first
    cell.hover()
    expect(page.get_by_text("1 datum: 1 ran")).to_be_visible()
    cell.click()
    panel = page.get_by_role("complementary", name="Job of goods")
    panel.get_by_role("link", name="Logs").click()
    expect(page).to_have_url(re.compile(r"/jobs/default/goods/[0-9a-f]+\?tab=logs"))
    expect(page.get_by_text("It printed nothing")).to_be_visible()


def test_what_only_streams_did_is_shown_when_asked_for(page: Page):
    page.goto("/jobs?tab=grid")
    row = page.get_by_role("rowheader", name="live_revenue")
    expect(page.get_by_role("rowheader", name="clean")).to_be_visible()
    expect(row).to_be_hidden()
    page.get_by_label("With what only streams did").check()
    expect(row).to_be_visible()


# -- a set -------------------------------------------------------------------------------------


def test_a_set_over_time(page: Page, site: Serving, failed: str):
    page.goto(f"/sets/{failed}")
    expect(page.get_by_text("The third day").first).to_be_visible()
    chart = page.get_by_role("list", name="Jobs over time")
    expect(chart.get_by_role("link", name=re.compile("clean ?: waited .*, worked"))).to_be_visible()
    line = chart.get_by_role("listitem").filter(has_text="report")
    expect(line.locator("[data-bar=inputs]")).to_have_count(1)
    expect(line.locator("[data-bar=work]")).to_have_count(0)
    clean = chart.get_by_role("listitem").filter(has_text="clean")
    expect(clean.locator("[data-bar=queue]")).to_have_count(1)
    expect(clean.locator("[data-bar=work]")).to_have_count(1)
    commits = page.get_by_role("region", name="Commits of the set")
    made = commits.get_by_role("row").filter(
        has=page.get_by_role("link", name="revenue", exact=True)
    )
    expect(made).to_contain_text("clean@this set")
    shot(page, "set")
    page.get_by_role("link", name="The lake at this moment").click()
    expect(page).to_have_url(re.compile(f"/graph.*moment={failed}"))


def test_a_set_without_jobs(page: Page, site: Serving, sample: Path):
    with tl.open(site.url) as lake:
        lake.create_repo("alone")
        with lake.commit("alone@main", "Nobody reads this") as change:
            change.put("/note.txt", b"hello")
    id = ask(site, "/repos/default/alone/commits/main")["id"]
    page.goto(f"/sets/{id}")
    expect(page.get_by_text("Nobody reads this").first).to_be_visible()
    expect(page.get_by_text("No pipeline reads what changed")).to_be_visible()


def test_there_is_no_such_set_or_job(page: Page, watch: Any):
    watch.forgive("404")
    page.goto("/sets/0123456789abcdef")
    expect(page.get_by_role("alert")).to_contain_text("0123456789abcdef")
    page.goto("/jobs/default/clean/0123456789abcdef")
    expect(page.get_by_role("alert")).to_contain_text("There is no job")


# -- a job -------------------------------------------------------------------------------------


def test_a_job_says_why(page: Page, failed: str):
    page.goto(f"/jobs/default/clean/{failed}")
    expect(page.get_by_text("It started because orders@main got")).to_be_visible()
    expect(page.get_by_text("It failed: the check known_once")).to_be_visible()
    inputs = page.get_by_role("region", name="Inputs")
    compare = inputs.get_by_role("link", name="Compare orders")
    expect(compare).to_have_attribute(
        "href", re.compile(f"/repos/default/orders\\?tab=compare&old=[0-9a-f]+&new={failed}")
    )
    code = page.get_by_role("link", name="1 (its code)")
    expect(code).to_have_attribute("href", "/repos/default/clean.code?at=v1")
    expect(page.get_by_role("link", name="Open pipeline")).to_be_visible()
    page.get_by_role("link", name="Open set").click()
    expect(page).to_have_url(re.compile(f"/sets/{failed}"))


def test_the_rows_that_broke_a_rule(page: Page, failed: str):
    page.goto(f"/jobs/default/clean/{failed}")
    page.get_by_role("tab", name="Checks").click()
    expect(page).to_have_url(re.compile("tab=checks"))
    expect(page.get_by_text("none of 240 rows break amount >= 0")).to_be_visible()
    grid = page.get_by_role("grid", name="Rows that broke known_once")
    expect(grid.get_by_role("columnheader", name="shop")).to_be_visible()
    expect(grid.get_by_role("gridcell", name="2026-01-03-0001").first).to_be_visible()


def test_the_datums(page: Page, failed: str):
    page.goto(f"/jobs/default/goods/{failed}?tab=datums")
    table = page.get_by_role("region", name="Datums of default/goods")
    expect(table.locator("tbody tr[aria-rowindex]")).to_have_count(3)
    page.get_by_label("State", exact=True).select_option("success")
    expect(page).to_have_url(re.compile("state=success"))
    expect(table.locator("tbody tr[aria-rowindex]")).to_have_count(1)
    table.get_by_role("button", name="Details of the datum").press("Enter")
    read = table.get_by_role("link", name="orders:/day=2026-01-03/orders.csv")
    expect(read).to_have_attribute("href", re.compile(f"at={failed}"))
    expect(table.get_by_role("link", name="1 file of goods")).to_be_visible()
    expect(table.get_by_text("It printed nothing.")).to_be_visible()
    page.get_by_label("State", exact=True).select_option("failed")
    expect(page.get_by_text("No datum is failed.")).to_be_visible()


# -- while it runs -----------------------------------------------------------------------------


def test_a_log_is_followed_searched_and_linked_to(page: Page, slow: str, stop: Path):
    page.set_default_timeout(SPARK_MS)
    page.goto(f"/jobs/default/slow/{slow}?tab=logs")
    log = page.get_by_role("region", name="Log", exact=True)
    expect(log.get_by_text("line 40 <img src=x onerror=alert(1)>")).to_be_visible(timeout=SPARK_MS)
    expect(page.get_by_label("Follow")).to_be_checked()

    find = page.get_by_role("searchbox", name="Find in the log")
    find.fill("is a FOURTH")
    expect(
        page.get_by_role("status").filter(has_text=re.compile(r"1 of \d+ lines"))
    ).to_be_visible()
    expect(log.locator("mark").first).to_have_text("is a fourth")
    expect(log.get_by_text("WARN 4 is a fourth")).to_be_in_viewport()
    find.press("Enter")
    expect(page.get_by_text(re.compile(r"^2 of \d+ lines"))).to_be_visible()
    find.press("Shift+Enter")
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text(re.compile(r"^(\d+) of \1 lines"))).to_be_visible()
    find.fill("no such words")
    expect(page.get_by_text("not found")).to_be_visible()
    find.fill("")

    page.get_by_label("Kind of lines").select_option("warn")
    expect(log.get_by_text(re.compile("^line"))).to_have_count(0)
    expect(log.get_by_text("WARN 4 is a fourth")).to_be_visible()
    page.get_by_label("Kind of lines").select_option("")
    page.get_by_role("button", name="Follow new lines").click()

    # It is over, and the page says so by itself.
    stop.touch()
    expect(log.get_by_text("the last line")).to_be_visible(timeout=SPARK_MS)
    expect(page.get_by_role("heading", level=1)).to_contain_text("success", timeout=SPARK_MS)
    expect(page.get_by_label("Follow")).to_be_hidden()
    with page.expect_download() as got:
        page.get_by_role("button", name="Download").click()
    assert " out line 1 <img src=x" in Path(got.value.path()).read_text()
    assert got.value.suggested_filename == f"slow-{slow[:12]}.log"

    log.press("Home")
    page.get_by_role("link", name="Link to line 3", exact=True).click()
    expect(page).to_have_url(re.compile("#L3$"))
    page.goto(f"/jobs/default/slow/{slow}?tab=logs#L30")
    page.reload()
    expect(log.locator("[aria-current=true]")).to_contain_text("30")
    expect(log.locator("[aria-current=true]")).to_be_in_viewport()
    shot(page, "logs")
    assert axe(page) == []


def test_a_running_job_is_cancelled(page: Page, slow: str, stop: Path):
    page.set_default_timeout(SPARK_MS)
    page.goto("/jobs?pipeline=default/slow")
    expect(rows(page).first).to_contain_text("running", timeout=SPARK_MS)
    rows(page).first.get_by_role("link", name="running").click()
    page.get_by_role("button", name="Cancel job").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why (optional)").fill("it takes too long")
    dialog.get_by_role("button", name="Cancel job").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("killed")
    expect(page.get_by_text("it takes too long").first).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    stop.touch()


def test_a_set_is_cancelled(page: Page, slow: str, stop: Path):
    page.goto(f"/sets/{slow}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel jobs").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("killed")
    stop.touch()


def test_what_failed_is_tried_again(page: Page, failed: str):
    page.goto(f"/sets/{failed}")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("dialog").get_by_role("button", name="Try again").click()
    expect(page).not_to_have_url(re.compile(failed))
    expect(page.get_by_text("Another try of")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("success", timeout=SPARK_MS)


# -- for everybody -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/jobs", "Ran, skipped, failed"),
        ("/jobs?tab=grid", "Pipeline"),
        ("/sets/{set}", "What began it"),
        ("/jobs/default/clean/{set}", "What it read"),
        ("/jobs/default/clean/{set}?tab=datums", "Reads"),
        ("/jobs/default/clean/{set}?tab=checks", "known_once"),
    ],
)
def test_nobody_is_kept_out(page: Page, failed: str, path: str, text: str):
    page.goto(path.format(set=failed))
    expect(page.get_by_text(text, exact=True).first).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    assert axe(page) == []
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert axe(page) == []
