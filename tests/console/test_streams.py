"""Streams and ingests: how they go, their batches, and steering them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, shot
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

SESSIONS = "/streams/default/sessions"


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    return lake


def line(page: Page, table: str, text: str) -> Locator:
    return page.get_by_label(table, exact=True).get_by_role("row").filter(has_text=text)


def said(page: Page) -> Locator:
    return page.get_by_label("Messages")


def test_streams_and_ingests_are_listed(page: Page):
    page.goto("/streams")
    expect(line(page, "Streams", "sessions")).to_contain_text("every 1s")
    expect(line(page, "Ingests", "clicks")).to_contain_text("folder")
    expect(line(page, "Ingests", "clicks")).to_contain_text("1,090")
    shot(page, "streams")
    assert axe(page) == []
    page.get_by_label("Filter streams and ingests").fill("live")
    expect(page.get_by_role("link", name="live_revenue", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="sessions", exact=True)).to_have_count(0)
    expect(page.get_by_text("No ingest matches")).to_be_visible()


def test_how_a_stream_goes(page: Page, lake: RemoteLake):
    status = lake.stream("sessions")
    page.goto(SESSIONS)
    expect(page.get_by_text(f"batches, epoch {status.epoch}")).to_be_visible()
    for title in ("Rows per second", "Batch time", "Late rows", "Rows in state"):
        chart = page.get_by_role("img", name=re.compile(f"^{title} over"))
        expect(chart.locator("svg").first).to_be_visible()
    expect(line(page, "Inputs", "clicks")).to_contain_text("main")
    shot(page, "stream")
    assert axe(page) == []
    page.get_by_role("link", name="late rows").click()
    expect(page.get_by_role("grid", name="Late rows of clicks")).to_be_visible()


def test_batches_tell_what_they_read_and_wrote(page: Page, lake: RemoteLake):
    newest, *rest = lake.stream_batches("sessions")
    page.goto(f"{SESSIONS}?tab=batches")
    shown = line(page, "Batches", newest.commit[:12])
    expect(shown).to_contain_text(str(newest.rows_out))
    expect(shown).to_contain_text(f"clicks: {newest.end['clicks'][:12]}")
    expect(page.get_by_label("Batches", exact=True).get_by_role("row")).to_have_count(2 + len(rest))
    assert axe(page) == []
    page.get_by_role("link", name=newest.commit[:12]).first.click()
    expect(page).to_have_url(re.compile(f"/tables/default/sessions.at={newest.commit}"))
    expect(page.get_by_role("grid")).to_be_visible()


def test_an_ingest(page: Page, lake: RemoteLake):
    page.goto("/streams/default/clicks")
    expect(page.get_by_text("files: 6")).to_be_visible()
    expect(page.get_by_text("no worker holds it")).to_be_visible()
    expect(page.get_by_role("button", name="Rewind…")).to_have_count(0)
    assert axe(page) == []
    page.get_by_role("tab", name="Batches").click()
    expect(line(page, "Batches", "files: 4 → 6")).to_contain_text("234")
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("link", name="malformed rows").click()
    expect(page.get_by_role("grid", name="Malformed rows")).to_contain_text("not JSON")


def test_how_rows_are_sent(page: Page, lake: RemoteLake):
    lake.apply({"ingest": {"name": "events"}, "source": {"http": {"port": 8480}}})
    page.goto("/streams/default/events")
    expect(page.get_by_text("/api/v1/ingests/default/events/events")).to_be_visible()
    page.get_by_role("tab", name="Batches").click()
    expect(page.get_by_text("A batch is made when there is something new")).to_be_visible()


def test_pause_and_resume(page: Page, lake: RemoteLake):
    page.goto("/streams/default/live_revenue")
    page.get_by_role("button", name="Pause").click()
    expect(said(page)).to_contain_text("is paused")
    expect(page.get_by_role("heading", name="live_revenue").get_by_text("paused")).to_be_visible()
    assert lake.pipeline("live_revenue").paused
    page.get_by_role("button", name="Resume").click()
    expect(said(page)).to_contain_text("goes on")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert not lake.pipeline("live_revenue").paused


def test_a_savepoint(page: Page, lake: RemoteLake):
    page.goto(f"{SESSIONS}?tab=savepoints")
    expect(page.get_by_text("trunkline stream savepoint sessions")).to_be_visible()
    page.get_by_role("button", name="Make a savepoint").click()
    expect(said(page)).to_contain_text("Kept the state of sessions")
    (made,) = lake.savepoints("sessions")
    expect(line(page, "Savepoints", made.commit[:12])).to_be_visible()


def test_rewind(page: Page, lake: RemoteLake):
    batches = lake.stream_batches("sessions")
    target = next(one for one in batches if one.number == batches[0].number - 1)
    plan = lake.plan_rewind("sessions", target.commit)
    page.goto(f"{SESSIONS}?tab=batches")
    page.get_by_label(f"Rewind to batch {target.number}", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"{plan.commits} commit with {plan.rows} rows")
    expect(dialog.get_by_role("link", name="visits")).to_be_visible()
    shot(page, "rewind")
    assert axe(page) == []
    do = dialog.get_by_role("button", name="Rewind")
    expect(do).to_be_disabled()
    dialog.get_by_label("Type sessions to confirm").fill("session")
    expect(do).to_be_disabled()
    dialog.get_by_label("Type sessions to confirm").fill("sessions")
    do.click()
    expect(said(page)).to_contain_text(f"goes on after batch {target.number}")
    expect(dialog).to_have_count(0)
    now = lake.stream("sessions")
    assert (now.batch, now.epoch) == (target.number, batches[0].epoch + 1)
    expect(page.get_by_text(f"batches, epoch {now.epoch}")).to_be_visible()


def test_restart(page: Page, lake: RemoteLake):
    epoch = lake.stream("live_revenue").epoch
    page.goto("/streams/default/live_revenue")
    page.get_by_role("button", name="Restart…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Read from").select_option("now")
    dialog.get_by_label("Keep the rows").check()
    expect(dialog).to_contain_text("added to the rows that are there")
    do = dialog.get_by_role("button", name="Restart")
    expect(do).to_be_disabled()
    dialog.get_by_label("Type live_revenue to confirm").fill("live_revenue")
    do.click()
    expect(said(page)).to_contain_text(f"epoch {epoch + 1}")
    assert lake.stream("live_revenue").epoch == epoch + 1


def test_a_refusal_is_told_where_it_happened(page: Page, watch: Watch):
    watch.forgive("status of 4")
    page.goto("/streams/default/live_revenue")
    page.get_by_role("button", name="Restart…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Read from").select_option("ref")
    dialog.get_by_role("textbox", name="Commit").fill("nowhere")
    dialog.get_by_label("Type live_revenue to confirm").fill("live_revenue")
    dialog.get_by_role("button", name="Restart").click()
    expect(dialog.get_by_role("alert")).to_contain_text("nowhere")


def test_what_is_no_stream_says_so(page: Page):
    page.goto("/streams/default/clean")
    expect(page.get_by_text("clean is not a stream")).to_be_visible()
    page.goto("/streams/default/nobody")
    expect(page.get_by_text("There is no nobody")).to_be_visible()
    assert axe(page) == []
