"""A thousand pipelines on one screen: they are drawn, they move, and one is found among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import trunkline as tl
from tests.console.looking import axe

PROJECTS = {"default": 500, "lab": 300, "shop": 200}
CHAIN = 10
COUNT_FRAMES = """
() => {
  window.frames = 0;
  const frame = () => { window.frames += 1; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}
"""


def spec(project: str, n: int) -> dict[str, Any]:
    """One of a chain; every chain begins at the project's only repo."""
    reads = f"step{n - 1}" if n % CHAIN else "raw"
    return {
        "pipeline": {"project": project, "name": f"step{n}"},
        "input": {"pfs": {"project": project, "repo": reads, "glob": "/*"}},
        "transform": {"cmd": ["true"]},
    }


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Instead of the demo's lake: nothing in it has run."""
    folder = tmp_path_factory.mktemp("large")
    with tl.init(folder) as lake:
        for project, size in PROJECTS.items():
            if project != "default":
                lake.create_project(project)
            lake.create_repo(f"{project}/raw")
            lake.apply(*(spec(project, n) for n in range(size)))
    return folder


def place(page: Page) -> str:
    transform = page.locator(".react-flow__viewport").evaluate("one => one.style.transform")
    return str(transform)


def test_a_thousand_pipelines(page: Page):
    page.goto("/graph")
    expect(page.get_by_text("1,003 nodes")).to_be_visible()
    graph = page.locator("#graph")
    buttons = graph.locator(".react-flow__node button")
    expect(buttons).to_have_count(1003)
    expect(graph.get_by_role("heading")).to_have_text(list(PROJECTS), use_inner_text=False)

    page.evaluate(COUNT_FRAMES)
    before = place(page)
    box = graph.bounding_box()
    assert box
    x, y = box["x"] + 100, box["y"] + 40
    page.mouse.move(x, y)
    page.mouse.down()
    frames: list[int] = []
    for step in range(1, 11):
        page.mouse.move(x + 15 * step, y + 5 * step)
        page.wait_for_function("before => window.frames > before", arg=sum(frames))
        frames.append(page.evaluate("window.frames") - sum(frames))
    page.mouse.up()
    assert all(frames), "every step of the pan was drawn"
    assert place(page) != before

    page.get_by_role("searchbox", name="Find or select").fill("project:lab,step123")
    page.keyboard.press("Enter")
    found = graph.locator('[data-node="lab/step123"]')
    expect(found).to_be_in_viewport()
    expect(found).to_contain_text("new")
    expect(buttons.nth(100)).to_have_count(0)  # what is out of view is not drawn
    found.get_by_role("button").click()
    expect(page.get_by_role("complementary", name="About lab/step123")).to_be_visible()
    assert axe(page) == []


def test_one_project_alone(page: Page):
    page.goto("/graph")
    page.get_by_role("combobox", name="Project").select_option("shop")
    expect(page.get_by_text("201 nodes")).to_be_visible()
    expect(page.locator("#graph").get_by_role("heading")).to_have_count(0)
    expect(page.locator(".react-flow__node button")).to_have_count(201)
