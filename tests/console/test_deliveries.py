"""The job's page says where its output went, and lets one try again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import trunkline as tl
from tests.console.looking import axe
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

SERVE = ("--workers", "1")


@pytest.fixture(scope="module")
def lake(site: Serving) -> Iterator[RemoteLake]:
    with tl.open(site.url) as found:
        assert isinstance(found, RemoteLake)
        yield found


@pytest.fixture(scope="module")
def sent(lake: RemoteLake, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The newest job of `report`, whose output goes to a folder and to nobody's address."""
    outbox: Path = tmp_path_factory.mktemp("outbox")
    spec = dict(lake.pipeline("report").spec)
    spec["egress"] = [
        {"folder": {"path": str(outbox)}, "name": "desk"},
        {"webhook": "http://127.0.0.1:9/hook", "name": "hook", "tries": 1},
    ]
    lake.apply(spec)
    lake.deliver("report")
    return lake.commits("report@main")[0].id


def test_deliveries_of_a_job(page: Page, sent: str):
    page.goto(f"/jobs/default/report/{sent}")
    rows = page.get_by_label("Deliveries", exact=True).get_by_role("row")
    expect(rows.filter(has_text="desk")).to_contain_text("done")
    expect(rows.filter(has_text="hook")).to_contain_text("does not answer")
    assert not axe(page)
    page.get_by_role("button", name="Try again hook").click()
    expect(page.get_by_text("It goes out to hook again.")).to_be_visible()


def test_home_says_what_did_not_go_out(page: Page, sent: str):
    page.goto("/")
    shelf = page.get_by_role("list", name="Not delivered").get_by_role("listitem")
    expect(shelf).to_have_count(1)
    expect(shelf).to_contain_text("report to hook")
    expect(shelf).to_contain_text("does not answer")
    assert not axe(page)
    shelf.get_by_role("link", name="See where report went").click()
    expect(page.get_by_role("heading", name="Where it went")).to_be_visible()


def test_a_job_without_egress_says_nothing_of_it(page: Page, lake: RemoteLake):
    job = lake.jobs("clean")[0].id
    page.goto(f"/jobs/default/clean/{job}")
    expect(page.get_by_role("heading", name="What it read")).to_be_visible()
    expect(page.get_by_role("heading", name="Where it went")).to_have_count(0)
