"""Pipelines: listed, looked at, run, changed with a plan, and taken back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.looking import Watch, axe, shot
from tests.console.screens import confirm
from tests.serving import Serving

HOSTILE = '<img src=x onerror="document.title=1">'
NIGHTLY = f"""pipeline: {{name: nightly}}
description: '{HOSTILE}'
input:
  pfs: {{repo: orders, glob: /}}
schedule: {{cron: "0 6 * * *", timezone: Europe/Berlin}}
transform: {{sql: SELECT count(*) AS n FROM orders}}
"""
TABS = ("overview", "code", "jobs", "schedule", "edit")


def apply(page: Page, site: Serving, text: str) -> None:
    """As somebody else would, elsewhere."""
    api = f"{site.url}/api/v1/pipelines"
    read = page.request.post(f"{api}/read", data={"text": text})
    assert read.ok, read.text()
    done = page.request.post(api, data=read.json())
    assert done.ok, done.text()


def ask(page: Page, site: Serving, path: str) -> Any:
    answer = page.request.get(f"{site.url}/api/v1/{path}")
    assert answer.ok, answer.text()
    return answer.json()


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Spec")


def more(page: Page, action: str) -> None:
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name=action).click()


def write(page: Page, text: str) -> None:
    """Put a text in the place of what stands in the editor, as if it was pasted."""
    editor(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def told(page: Page) -> Locator:
    return page.get_by_role("region", name="Messages")


@pytest.fixture
def conflicts(watch: Watch) -> None:
    """The browser itself tells of answers that refuse something."""
    watch.forgive(r"the server responded with a status of 4\d\d")


def test_the_list(page: Page):
    page.goto("/pipelines")
    rows = page.get_by_role("region", name="Pipelines").get_by_role("row")
    clean = rows.filter(has=page.get_by_role("link", name="clean", exact=True)).first
    expect(clean).to_contain_text("Orders that can be trusted")
    expect(clean.get_by_role("link", name="orders")).to_be_visible()
    expect(clean.get_by_role("img", name=re.compile(r"\d jobs: .*success"))).to_be_visible()
    shot(page, "pipelines")
    assert axe(page) == []
    page.get_by_label("Filter pipelines").fill("trusted")
    expect(rows).to_have_count(2)
    expect(page).to_have_url(re.compile("q=trusted"))
    page.get_by_label("Filter pipelines").fill("there is none of this kind")
    expect(page.get_by_text("No pipeline is like this")).to_be_visible()
    page.goto("/pipelines?state=success")
    expect(rows.filter(has_text="idle")).to_have_count(0)
    expect(clean).to_be_visible()


def test_at_a_moment_there_were_fewer_jobs_and_no_actions(page: Page, site: Serving):
    first = ask(page, site, "jobs?pipeline=default/clean&limit=100")["items"][-1]["id"]
    page.goto(f"/pipelines/default/clean?tab=jobs&moment={first}")
    rows = page.get_by_role("region", name="Jobs", exact=True).get_by_role("row")
    expect(rows).to_have_count(2)
    expect(page.get_by_role("button", name="Run now")).to_have_count(0)
    expect(page.get_by_role("tab", name="Edit")).to_have_count(0)


def test_the_overview(page: Page):
    page.goto("/pipelines/default/clean")
    expect(heading(page)).to_contain_text("clean")
    expect(page.get_by_text("Its last job is")).to_be_visible()
    expect(
        page.get_by_role("list", name="Reads").get_by_role("link", name="orders")
    ).to_be_visible()
    readers = page.get_by_role("list", name="Is read by")
    expect(readers.get_by_role("link", name="revenue")).to_be_visible()
    expect(page.get_by_text("amount >= 0")).to_be_visible()
    expect(page.get_by_text(re.compile("passed"))).to_be_visible()
    shot(page, "pipeline")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_kept_out(page: Page, theme: str):
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto("/pipelines/default/goods")
    for tab in ("Overview", "Code", "Jobs", "Schedule and backfills", "Edit"):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("tabpanel").first).not_to_be_empty()
        if tab in ("Code", "Edit"):
            expect(page.locator(".cm-content").first).to_be_visible()
        expect(page.get_by_role("status", name="Loading")).to_have_count(0)
        assert axe(page) == [], tab


def test_jobs_in_a_chart_and_a_list(page: Page):
    page.goto("/pipelines/default/clean?tab=jobs")
    expect(page.get_by_role("img", name=re.compile("How long each of"))).to_be_visible()
    jobs = page.get_by_role("region", name="Jobs", exact=True)
    expect(jobs.get_by_text("failure")).to_be_visible()
    expect(jobs.get_by_text(re.compile("rows .* share their day and id"))).to_be_visible()
    jobs.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("/jobs/default/clean/[0-9a-f]{32}"))


@pytest.mark.usefixtures("conflicts")
def test_pause_resume_and_run(page: Page):
    page.goto("/pipelines/default/visits")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_contain_text("No new jobs start")
    confirm(page, "Pause")
    expect(heading(page)).to_contain_text("paused")
    page.get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Run now").click()
    expect(dialog.get_by_role("alert")).to_contain_text("visits is paused.")
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Resume").click()
    confirm(page, "Resume")
    expect(heading(page)).not_to_contain_text("paused")
    page.get_by_role("button", name="Run now").click()
    confirm(page, "Run now")
    expect(told(page)).to_contain_text("Started a job of visits")
    expect(heading(page)).to_contain_text("waiting")
    page.get_by_role("tab", name="Jobs").click()
    expect(page.get_by_text("run by hand")).to_be_visible()
    page.get_by_role("tab", name="Overview").click()
    expect(page.get_by_text("No worker is there")).to_be_visible()


@pytest.mark.usefixtures("conflicts")
def test_the_editor_completes(page: Page):
    page.goto("/pipelines/default/goods?tab=edit")
    expect(editor(page)).to_contain_text("goods.sh")
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("prio")
    offers = page.get_by_role("listbox", name="Completions")
    expect(offers.get_by_role("option", name=re.compile("priority"))).to_be_visible()
    expect(page.get_by_text("Jobs with a higher one go first.")).to_be_visible()
    page.wait_for_timeout(200)  # the editor takes no key for an answer to what has just appeared
    page.keyboard.press("Enter")
    expect(editor(page)).to_contain_text("priority: ")
    page.keyboard.type("1")
    write(page, "pipeline: {name: goods}\ninput:\n  pfs:\n    repo: ")
    page.keyboard.type("or")
    expect(offers.get_by_role("option", name=re.compile("orders"))).to_be_visible()


@pytest.mark.usefixtures("conflicts")
def test_a_mistake_is_told_in_the_servers_words(page: Page):
    page.goto("/pipelines/default/goods?tab=edit")
    expect(page.get_by_text("The spec can be read.")).to_be_visible()
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("transfrm: 3")
    expect(page.get_by_text('transfrm is not a field; did you mean "transform"?')).to_be_visible()
    expect(page.locator(".cm-lintRange-error")).to_have_text("transfrm: 3")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("transfrm is not a field")
    expect(page.get_by_role("button", name="Apply")).to_have_count(0)


def test_leaving_asks_first(page: Page):
    page.goto("/pipelines/default/goods?tab=edit")
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("priority: 2\n")
    page.get_by_role("tab", name="Code").click()
    expect(page.get_by_role("dialog")).to_contain_text("Leave without applying?")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(editor(page)).to_contain_text("priority: 2")
    page.get_by_role("link", name="Repos", exact=True).click()
    confirm(page, "Leave")
    expect(page).to_have_url(re.compile("/repos$"))


def test_a_change_is_planned_applied_compared_and_taken_back(page: Page, site: Serving):
    page.goto("/pipelines/default/goods?tab=edit")
    page.get_by_role("button", name="goods.sh", exact=True).click()
    code = page.get_by_role("textbox", name="/goods.sh")
    expect(code).to_contain_text("One day of orders in")
    code.click()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("# Changed in the console\n")
    page.get_by_role("button", name="Preview datums").click()
    datums = page.get_by_role("region", name="Datums", exact=True)
    expect(datums.get_by_text(re.compile(r"orders:/day=2026-01-01/orders.csv"))).to_be_visible()
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_text("goods gets a new version (v2): 4 datums to run.")).to_be_visible()
    expect(page.get_by_text("Then report.")).to_be_visible()
    shot(page, "pipeline-plan")
    assert axe(page) == []
    # What is applied is what was planned.
    page.get_by_label("When applied").select_option("reprocess")
    expect(page.get_by_role("button", name="Apply")).to_be_disabled()
    page.get_by_label("When applied").select_option("changed")
    page.get_by_role("button", name="Apply").click()
    expect(told(page)).to_contain_text("goods, version 2: updated.")
    page.get_by_role("tab", name="Code").click()
    page.get_by_label("compared with").select_option("1")
    expect(page.get_by_role("heading", name="goods.sh, changed from v1 to v2")).to_be_visible()
    expect(page.locator(".cm-merge-b")).to_contain_text("# Changed in the console")
    expect(page.locator(".cm-merge-a")).not_to_contain_text("# Changed in the console")
    assert axe(page) == []
    page.get_by_role("combobox", name="Version").select_option("1")
    page.get_by_role("button", name="Restore v1").click()
    confirm(page, "Restore")
    expect(told(page)).to_contain_text("goods is at v3, which is v1 again.")
    assert ask(page, site, "pipelines/default/goods")["version"] == 3


def test_reprocess_shows_its_plan(page: Page, site: Serving):
    page.goto("/pipelines/default/report")
    more(page, "Reprocess…")
    expect(page.get_by_role("dialog")).to_contain_text("report gets a new version (v2): 4 datums")
    confirm(page, "Reprocess")
    expect(told(page)).to_contain_text("report computes everything again.")
    assert ask(page, site, "pipelines/default/report")["version"] == 2


@pytest.mark.parametrize("kind", ["sql", "python", "cmd", "stream"])
def test_templates_can_be_read(page: Page, kind: str):
    page.goto(f"/pipelines/new?kind={kind}&repo=clicks")
    expect(editor(page)).to_be_visible()
    expect(page.get_by_text("The spec can be read.")).to_be_visible()
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.get_by_text(re.compile("my_pipeline is made"))).to_be_visible()


def test_a_new_pipeline_from_a_template(page: Page, site: Serving):
    page.goto("/pipelines")
    page.get_by_role("link", name="New pipeline").click()
    page.get_by_label("Reads").select_option("orders")
    page.get_by_label("Name").fill("copy")
    expect(editor(page)).to_contain_text("pipeline: {name: copy}")
    assert axe(page) == []
    editor(page).click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("priority: 1\n")
    expect(page.get_by_label("Name")).to_be_disabled()
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_role("button", name="Apply").click()
    expect(heading(page)).to_contain_text("copy")
    assert ask(page, site, "pipelines/default/copy")["version"] == 1
    more(page, "Delete…")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    dialog.get_by_label("Type copy to confirm").fill("copy")
    confirm(page, "Delete")
    expect(page).to_have_url(re.compile("/pipelines$"))
    expect(page.get_by_role("link", name="clean", exact=True).first).to_be_visible()
    expect(page.get_by_role("link", name="copy", exact=True)).to_have_count(0)


def test_a_schedule_ticks_by_hand(page: Page, site: Serving):
    apply(page, site, NIGHTLY)
    page.goto("/pipelines/default/nightly?tab=schedule")
    expect(page.get_by_text("every day at 06:00 (Europe/Berlin)")).to_be_visible()
    ticks = page.get_by_role("region", name="Next ticks").get_by_role("row")
    expect(ticks).to_have_count(9)
    before = len(ask(page, site, "jobs?pipeline=default/nightly")["items"])
    page.get_by_role("button", name="Tick now").click()
    confirm(page, "Tick now")
    expect(told(page)).to_contain_text("1 tick of nightly.")
    assert len(ask(page, site, "jobs?pipeline=default/nightly")["items"]) == before + 1


def test_hostile_words_are_only_words(page: Page, site: Serving):
    apply(page, site, NIGHTLY)
    for path in ("/pipelines", *(f"/pipelines/default/nightly?tab={tab}" for tab in TABS)):
        page.goto(path)
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
        assert page.locator("img[src=x]").count() == 0


def test_a_backfill_is_started_and_steered(page: Page, site: Serving):
    apply(page, site, NIGHTLY)
    page.goto("/pipelines/default/nightly?tab=schedule")
    page.get_by_role("button", name="New backfill").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("From").get_by_role("option")).not_to_have_count(1)
    dialog.get_by_label("From").select_option(index=2)
    dialog.get_by_label("Branch of the output").fill("past")
    confirm(page, "Start the backfill")
    expect(told(page)).to_contain_text("to the branch past.")
    row = page.get_by_role("region", name="Backfills").get_by_role("row").nth(1)
    expect(row).to_contain_text("running")
    assert axe(page) == []
    row.get_by_role("button", name="Pause").click()
    expect(row).to_contain_text("paused")
    row.get_by_role("button", name="Resume").click()
    expect(row).to_contain_text("running")
    row.get_by_role("button", name="Cancel").click()
    confirm(page, "Cancel the backfill")
    expect(row).to_contain_text(re.compile("cancelled|done"))


@pytest.mark.usefixtures("conflicts")
def test_a_pipeline_that_is_not_there(page: Page):
    page.goto("/pipelines/default/nowhere")
    expect(page.get_by_role("alert")).to_contain_text("nowhere")
