"""Two versions of a repo side by side, and branches merged."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import trunkline as tl
from tests.console.gallery import HOSTILE_NAME
from tests.console.looking import Watch, axe, shot
from tests.console.versions import AWKWARD, make_drafts, make_stock
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

COMPARED = "/repos/default/stock?tab=compare&old=before&new=main"


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    make_stock(lake)
    return lake


@pytest.fixture(autouse=True)
def _filled(lake: RemoteLake) -> None:
    """Every test looks at the same repo."""


@pytest.fixture
def drafts(lake: RemoteLake, request: pytest.FixtureRequest) -> str:
    """Branches of the test's own to merge."""
    name = re.sub(r"\W+", "-", request.node.name).strip("-")[:40]
    make_drafts(lake, name)
    return name


def changed(page: Page) -> Locator:
    return page.get_by_role("region", name="Changed files")


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def text_of(lake: RemoteLake, ref: str) -> str:
    return bytes(lake.read(ref)).decode()


def ask_to_merge(page: Page, repo: str, branch: str) -> Locator:
    page.goto(f"/repos/default/{repo}?tab=refs")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=branch, exact=True))
    row.get_by_role("button", name=re.compile("Merge")).click()
    expect(dialog(page).get_by_role("heading")).to_contain_text(f"Merge {branch} into main")
    return dialog(page)


class TestFiles:
    def test_what_differs_is_listed_and_opened(self, page: Page):
        page.goto(COMPARED)
        expect(page.get_by_role("status").filter(has_text="2 added")).to_be_visible()
        file = changed(page).get_by_role("button", name="modified count.py")
        file.click()
        expect(page).to_have_url(re.compile("path=%2Fnotes%2Fcount.py"))
        expect(page.get_by_label("/notes/count.py, old")).to_contain_text("return 1")
        expect(page.get_by_label("/notes/count.py, new")).to_contain_text("return 2")
        shot(page, "compare-files")
        assert axe(page) == []
        page.go_back()
        expect(page.get_by_text("Choose a file")).to_be_visible()

    def test_folders_shut_and_filters_hold(self, page: Page):
        page.goto(COMPARED)
        folder = changed(page).get_by_role("button", name=re.compile("^notes"))
        folder.click()
        expect(folder).to_have_attribute("aria-expanded", "false")
        expect(changed(page).get_by_text("count.py")).to_have_count(0)
        page.get_by_label("Folders").click()
        expect(changed(page).get_by_text("/notes/count.py")).to_be_visible()
        page.get_by_label("Which changes").select_option("removed")
        page.get_by_role("searchbox", name="Filter paths").fill("gone")
        expect(changed(page).get_by_role("listitem")).to_have_count(1)
        page.reload()
        expect(changed(page).get_by_role("listitem")).to_have_text([re.compile("/gone.txt")])

    def test_pictures_stand_side_by_side(self, page: Page):
        page.goto(f"{COMPARED}&path=/picture.png")
        expect(page.get_by_role("img", name="picture.png")).to_have_count(2)
        widths = page.get_by_role("img", name="picture.png").evaluate_all(
            "all => Promise.all(all.map(async (one) => { await one.decode(); "
            "return one.naturalWidth }))"
        )
        assert widths == [16, 24]

    def test_rows_of_a_file(self, page: Page):
        page.goto(f"{COMPARED}&path=/prices.csv")
        page.get_by_role("button", name="No key: whole rows").click()
        page.get_by_role("checkbox", name="id", exact=True).check()
        page.keyboard.press("Escape")
        grid = page.get_by_role("grid", name="Rows of /prices.csv that differ")
        expect(grid.get_by_role("gridcell", name="2.5 → 2.75")).to_be_visible()
        page.get_by_role("button", name="Compare as text").click()
        expect(page.get_by_label("/prices.csv, new")).to_contain_text("1,2.75")

    def test_bytes_that_are_no_text(self, page: Page):
        page.goto(f"{COMPARED}&path=/noise.bin")
        expect(page.get_by_text("It is no text")).to_be_visible()

    def test_hostile_names_and_text_do_nothing(self, page: Page):
        page.goto(COMPARED)
        changed(page).get_by_role("button", name=f"added {HOSTILE_NAME}").click()
        expect(page.get_by_role("heading", name=HOSTILE_NAME)).to_be_visible()
        expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
        expect(page.locator("img[src=x]")).to_have_count(0)


class TestRefs:
    def test_swapping_sides(self, page: Page):
        page.goto(COMPARED)
        expect(changed(page).get_by_role("button", name="removed gone.txt")).to_be_visible()
        page.get_by_role("button", name="Swap").click()
        expect(changed(page).get_by_role("button", name="added gone.txt")).to_be_visible()
        expect(page).to_have_url(re.compile("old=main&new=before"))

    def test_another_ref_is_chosen(self, page: Page):
        page.goto(COMPARED)
        page.get_by_role("button", name="New: main").click()
        page.get_by_placeholder("Find a branch").fill("before")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Nothing differs")).to_be_visible()
        expect(page.get_by_text("before and before are the same commit.")).to_be_visible()

    def test_what_does_not_exist_is_said_in_the_words_of_the_api(self, page: Page, watch: Watch):
        watch.forgive("404")
        page.goto("/repos/default/stock?tab=compare&old=nowhere&new=main")
        expect(page.get_by_role("alert")).to_contain_text(
            'stock has no branch, tag or commit "nowhere".'
        )

    def test_the_permalink_names_commits(self, page: Page, lake: RemoteLake):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{COMPARED}&path=/gone.txt")
        page.get_by_role("button", name="Copy permalink").click()
        expect(page.get_by_text("Copied the permalink.")).to_be_visible()
        address = page.evaluate("navigator.clipboard.readText()")
        old, new = (lake.commit_info(f"stock@{at}").id for at in ("before", "main"))
        assert f"old={old}" in address and f"new={new}" in address
        page.goto(address)
        expect(page.get_by_role("heading", name="/gone.txt")).to_be_visible()


class TestTables:
    def test_changed_cells_are_marked(self, page: Page):
        page.goto(f"{COMPARED}&view=tables")
        page.get_by_role("button", name="/shelves").click()
        expect(page.get_by_role("row").filter(has_text="/shelves")).to_contain_text(
            "shop (string) is new"
        )
        page.get_by_role("button", name="No key: whole rows").click()
        page.get_by_role("checkbox", name="id", exact=True).check()
        page.keyboard.press("Escape")
        grid = page.get_by_role("grid", name="Rows of /shelves that differ")
        cell = grid.get_by_role("gridcell", name="10 → 12")
        expect(cell).to_have_class(re.compile("changed"))
        expect(grid.get_by_role("gridcell", name="apples")).not_to_have_class(re.compile("changed"))
        expect(grid.get_by_role("gridcell", name="<b>dates</b>")).to_have_class(re.compile("added"))
        expect(grid.get_by_role("gridcell", name="coffee")).to_have_class(re.compile("removed"))
        expect(page.get_by_text("Changed in amount 1 row.")).to_be_visible()
        shot(page, "compare-rows")
        assert axe(page) == []
        page.reload()
        expect(cell).to_be_visible()
        page.get_by_label("Also columns that one side lacks").click()
        expect(grid.get_by_role("columnheader", name="shop")).to_be_visible()

    def test_a_key_that_is_no_column(self, page: Page, watch: Watch):
        watch.forgive("400")
        page.goto(f'{COMPARED}&view=tables&path=/shelves&key=["nope"]')
        expect(page.get_by_role("alert")).to_contain_text('Neither side has a column "nope".')


class TestMerging:
    def test_without_conflicts(self, page: Page, lake: RemoteLake, drafts: str):
        box = ask_to_merge(page, drafts, "agrees")
        expect(box.get_by_role("status")).to_have_text(
            "1 file of main would change. There is no conflict."
        )
        expect(box.get_by_label("What would change")).to_contain_text("/own.txt")
        assert axe(page) == []
        box.get_by_label("Message").fill("Its own file")
        box.get_by_role("button", name="Merge").click()
        expect(box.get_by_role("status")).to_contain_text("Its own file")
        made = lake.commit_info(f"{drafts}@main")
        expect(box.get_by_role("link", name=made.id[:12])).to_be_visible()
        assert made.message == "Its own file"
        assert text_of(lake, f"{drafts}@main:/own.txt") == "mine\n"

    def test_conflicts_are_decided_path_by_path(self, page: Page, lake: RemoteLake, drafts: str):
        box = ask_to_merge(page, drafts, "argues")
        expect(box.get_by_role("status")).to_contain_text("3 to decide")
        merge = box.get_by_role("button", name="Merge")
        expect(merge).to_be_disabled()
        conflict = box.get_by_role("group", name="/a.txt")
        conflict.get_by_role("button", name="Look at both").click()
        expect(box.get_by_label("/a.txt, old")).to_contain_text("ours")
        expect(box.get_by_label("/a.txt, new")).to_contain_text("theirs")
        shot(page, "merge-conflicts")
        conflict.get_by_role("button", name="Hide both").click()
        for path, side in {"/a.txt": "Ours", "/b.txt": "Theirs", AWKWARD: "Theirs"}.items():
            box.get_by_role("group", name=path).get_by_role("radio", name=side).check()
        expect(box.get_by_role("status")).to_contain_text("all are decided")
        assert axe(page) == []
        merge.click()
        expect(box.get_by_role("status")).to_contain_text("Merged")
        found = {
            path: text_of(lake, f"{drafts}@main:{path}") for path in ("/a.txt", "/b.txt", AWKWARD)
        }
        assert found == {"/a.txt": "ours\n", "/b.txt": "theirs\n", AWKWARD: "theirs\n"}
        assert text_of(lake, f"{drafts}@main:/new.txt") == "theirs\n"

    def test_one_strategy_for_all_but_one(self, page: Page, lake: RemoteLake, drafts: str):
        box = ask_to_merge(page, drafts, "argues")
        box.get_by_label("Where both changed a path").select_option("theirs")
        box.get_by_role("group", name="/b.txt").get_by_role("radio", name="Ours").check()
        expect(box.get_by_role("status")).to_contain_text("all are decided")
        box.get_by_role("button", name="Merge").click()
        expect(box.get_by_role("status")).to_contain_text("Merged")
        assert text_of(lake, f"{drafts}@main:/a.txt") == "theirs\n"
        assert text_of(lake, f"{drafts}@main:/b.txt") == "ours\n"

    def test_nothing_to_merge(self, page: Page, drafts: str):
        box = ask_to_merge(page, drafts, "nothing")
        expect(box.get_by_role("status")).to_have_text(
            "Nothing to do: main has everything that is on nothing."
        )
        expect(box.get_by_role("button", name="Merge")).to_be_disabled()

    def test_a_branch_that_moves_meanwhile(self, page: Page, lake: RemoteLake, drafts: str):
        box = ask_to_merge(page, drafts, "agrees")
        expect(box.get_by_role("status")).to_contain_text("There is no conflict.")
        with lake.commit(f"{drafts}@main", message="Faster") as commit:
            commit.put("/own.txt", b"not yours\n")
        expect(box.get_by_role("note")).to_contain_text("has moved since")
        expect(box.get_by_role("button", name="Merge")).to_be_disabled()
        box.get_by_role("button", name="Look again").click()
        expect(box.get_by_role("status")).to_contain_text("1 to decide")
        expect(box.get_by_role("group", name="/own.txt")).to_be_visible()
