"""Environments: made, looked at, reviewed, published, kept fresh and thrown away."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, shot
from tests.console.screens import open_screen, settled
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

SERVE = ("--workers", "1")
DEV = "/environments/default/dev"
MORE = b"id,shop,goods,amount\n2026-01-05-0001,berlin,bread,2.5\n"


def report(least: int) -> dict[str, Any]:
    """The pipeline `report` with another query: a line for each day with so many sold."""
    return {
        "pipeline": {"name": "report"},
        "input": {"pfs": {"repo": "goods", "glob": "/"}},
        "transform": {
            "sql": f"SELECT item, sum(sold) AS sold FROM goods GROUP BY item HAVING sold > {least}",
            "mode": "whole",
        },
    }


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    return lake


def line(page: Page, table: str, text: str) -> Locator:
    return page.get_by_label(table, exact=True).get_by_role("row").filter(has_text=text)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def test_none_yet_and_one_is_made(page: Page, watch: Watch, lake: RemoteLake):
    watch.forgive("status of 400")
    open_screen(page, "/environments")
    expect(page.get_by_text("trunkline env create dev")).to_be_visible()
    button(page, "New environment").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("no such/name")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("no such/name")
    dialog.get_by_label("Name").fill("dev")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"{DEV}$"))
    expect(page.get_by_text("All is as in main.")).to_be_visible()
    assert [one.name for one in lake.environments()] == ["dev"]
    expect(button(page, "Merge into main")).to_be_disabled()
    expect(button(page, "Sync with main")).to_be_disabled()
    page.get_by_role("tab", name="Differences").click()
    expect(page.get_by_text("Nothing differs")).to_be_visible()
    page.get_by_role("link", name="Environments", exact=True).last.click()
    expect(line(page, "Environments", "dev")).to_contain_text("main")
    assert axe(page) == []


@pytest.fixture(scope="module")
def tried(lake: RemoteLake) -> None:
    """In the environment: another query, and a day more of orders."""
    if not lake.environments():
        lake.create_environment("dev")
    lake.apply(report(10), env="dev")
    with lake.commit("orders@dev", message="One day more") as commit:
        commit.put("/day=2026-01-05/orders.csv", MORE)
    assert lake.run().failed == 0


@pytest.mark.usefixtures("tried")
def test_how_far_it_is_from_main(page: Page, lake: RemoteLake):
    open_screen(page, DEV)
    expect(page.get_by_text("Not as in main: 1 pipeline and the data")).to_be_visible()
    changed = line(page, "Pipelines", "report")
    expect(changed).to_contain_text("changed here")
    expect(changed).to_contain_text("v2")
    expect(line(page, "Pipelines", "goods")).to_contain_text("as in main")
    expect(line(page, "Branches", "orders@dev")).to_contain_text("1 commit ahead")
    expect(line(page, "Branches", "goods@dev")).to_contain_text("computed")
    shot(page, "environment")
    assert axe(page) == []
    job = lake.environment_status("dev").pipelines
    last = next(one.last_job for one in job if one.name.repo == "report")
    changed.get_by_role("link", name="success").click()
    expect(page).to_have_url(re.compile(f"/jobs/default/report/{last}"))


@pytest.mark.usefixtures("tried")
def test_its_jobs_are_told_from_those_of_main(page: Page):
    open_screen(page, "/jobs")
    expect(page.get_by_text("report@dev").first).to_be_visible()
    expect(page.get_by_text("report@main")).to_have_count(0)


@pytest.mark.usefixtures("tried")
def test_what_differs_is_reviewed(page: Page):
    open_screen(page, f"{DEV}?tab=diff")
    code = page.get_by_role("region", name="Code of report that differs")
    expect(code).to_contain_text("HAVING sold > 10")
    expect(code.locator("span").filter(has_text=re.compile(r"^\+.*HAVING"))).to_be_visible()
    expect(page.get_by_label("Files of orders that differ")).to_contain_text(
        "+ /day=2026-01-05/orders.csv"
    )
    rows = page.get_by_role("grid", name="Rows of orders:/ that differ")
    expect(rows).to_contain_text("2026-01-05-0001")
    expect(rows).to_contain_text("added")
    settled(page)
    shot(page, "environment-diff")
    assert axe(page) == []
    page.locator("section").filter(has_text="orders@dev").get_by_role(
        "link", name="Compare"
    ).click()
    expect(page).to_have_url(re.compile("/repos/default/orders.*old=main&new=dev"))
    expect(page.get_by_role("region", name="Changed files")).to_contain_text("day=2026-01-05/")


@pytest.mark.usefixtures("tried")
def test_a_conflict_keeps_it_from_being_merged_until_it_is_synced(page: Page, lake: RemoteLake):
    lake.apply(report(20))
    assert lake.run().failed == 0
    open_screen(page, DEV)
    expect(line(page, "Pipelines", "report")).to_contain_text("changed here and in main")
    button(page, "Merge into main").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("note")).to_contain_text("report")
    expect(dialog.get_by_role("button", name="Merge")).to_be_disabled()
    dialog.get_by_role("button", name="Cancel").click()
    button(page, "Sync with main").click()
    expect(dialog.get_by_role("note")).to_contain_text("report")
    expect(dialog.get_by_role("button", name="Sync")).to_be_disabled()
    assert axe(page) == []
    dialog.get_by_label("Where both have changed").select_option("ours")
    expect(dialog.get_by_role("note")).to_have_count(0)
    dialog.get_by_role("button", name="Sync").click()
    expect(dialog.get_by_role("status")).to_contain_text("Synced dev with main")
    dialog.get_by_role("button", name="Close").click()
    expect(line(page, "Pipelines", "report")).to_contain_text("changed here")


@pytest.mark.usefixtures("tried")
def test_code_and_data_are_published_together(page: Page, lake: RemoteLake):
    assert lake.run().failed == 0
    before = lake.pipeline("report").version
    open_screen(page, DEV)
    button(page, "Merge into main").click()
    dialog = page.get_by_role("dialog")
    steps = dialog.get_by_label("What would be done")
    expect(steps).to_contain_text("updated pipeline report")
    expect(steps).to_contain_text("forwarded repo orders: 1 commit")
    assert lake.pipeline("report").version == before
    dialog.get_by_role("button", name="Merge").click()
    expect(dialog.get_by_role("status")).to_contain_text("nothing computed")
    assert lake.pipeline("report").version == before + 1
    assert lake.read("orders@main:/day=2026-01-05/orders.csv") == MORE
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_text("All is as in main.")).to_be_visible()


@pytest.mark.usefixtures("tried")
def test_jobs_that_failed_are_in_the_way_unless_one_says_so(
    page: Page, watch: Watch, lake: RemoteLake
):
    watch.forgive("status of 4")
    lake.apply(
        {
            "pipeline": {"name": "broken"},
            "input": {"pfs": {"repo": "goods", "glob": "/"}},
            "transform": {"cmd": ["sh", "-c", "exit 3"]},
            "datum_tries": 1,
        },
        env="dev",
    )
    assert lake.run().failed == 1
    open_screen(page, DEV)
    expect(line(page, "Pipelines", "broken")).to_contain_text("new here")
    button(page, "Merge into main").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("broken")
    expect(dialog.get_by_role("button", name="Merge")).to_be_disabled()
    dialog.get_by_label("Even if its last jobs failed or are not over").check()
    expect(dialog.get_by_label("What would be done")).to_contain_text("pipeline broken")
    expect(dialog.get_by_role("button", name="Merge")).to_be_enabled()
    dialog.get_by_role("button", name="Cancel").click()
    lake.delete_pipeline("broken", env="dev")
    expect(page.get_by_text("All is as in main.")).to_be_visible()


@pytest.mark.usefixtures("tried")
def test_what_would_be_lost_is_asked_for(page: Page, lake: RemoteLake):
    open_screen(page, DEV)
    expect(page.get_by_text("All is as in main.")).to_be_visible()
    with lake.commit("orders@dev", message="Another day") as commit:
        commit.put("/day=2026-01-06/orders.csv", MORE)
    expect(line(page, "Branches", "orders@dev")).to_contain_text("1 commit ahead")
    button(page, "Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_label("It has what main has not. Delete that too").check()
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/environments$"))
    expect(page.get_by_text("No environments")).to_be_visible()
    assert lake.environments() == []
    assert "dev" not in [one.name for one in lake.branches("orders")]


def test_one_that_is_not_there(page: Page, watch: Watch):
    watch.forgive("status of 404")
    page.goto("/environments/default/nope")
    expect(page.get_by_role("alert")).to_contain_text("nope")
