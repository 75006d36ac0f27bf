"""Repos: files looked at, uploaded and deleted, history as a graph, branches and tags."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

import trunkline as tl
from tests.console.conftest import PATIENCE_MS
from tests.console.gallery import (
    HOSTILE_NAME,
    HOSTILE_TEXT,
    files,
    make_branches,
    make_gallery,
    put,
)
from tests.console.looking import Watch, axe, boxes, shot
from tests.console.screens import confirm
from tests.serving import Serving
from trunkline.sdk.remote.lake import RemoteLake

expect.set_options(timeout=PATIENCE_MS)

GALLERY = "/repos/default/gallery"
BRANCHED = "/repos/default/branched"


@pytest.fixture(scope="module")
def lake(site: Serving) -> RemoteLake:
    lake = tl.open(site.url)
    assert isinstance(lake, RemoteLake)
    make_gallery(lake)
    make_branches(lake)
    return lake


@pytest.fixture(autouse=True)
def _filled(lake: RemoteLake) -> None:
    """Every test looks at the same repos."""


@pytest.fixture
def fresh(lake: RemoteLake, request: pytest.FixtureRequest) -> str:
    """A repo of the test's own, with one commit."""
    name = re.sub(r"\W+", "-", request.node.name).strip("-")[:40]
    lake.create_repo(name)
    put(lake, f"{name}@main", "kept/old.txt", "The first")
    return name


def paths(lake: RemoteLake, ref: str) -> set[str]:
    return {file.path for file in lake.ls(ref, recursive=True)}


def head(lake: RemoteLake, ref: str) -> str:
    return lake.commits(ref, limit=1)[0].id


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def said(page: Page) -> Locator:
    return page.get_by_label("Messages")


def row(page: Page, table: str, text: str) -> Locator:
    return page.get_by_label(table).get_by_role("row").filter(has_text=text)


def test_repos_are_found_and_made(page: Page, lake: RemoteLake):
    page.goto("/repos")
    expect(row(page, "Repos", "clean")).to_contain_text("pipeline output")
    page.get_by_label("Filter repos").fill("gall")
    expect(page.get_by_role("link", name="gallery")).to_be_visible()
    expect(page.get_by_role("link", name="orders")).to_have_count(0)
    expect(page).to_have_url(re.compile("q=gall"))
    page.get_by_role("button", name="New repo").click()
    dialog(page).get_by_label("Name").fill("made-here")
    dialog(page).get_by_label("Description").fill("By hand")
    dialog(page).get_by_role("button", name="Create").click()
    expect(page).to_have_url(re.compile("/repos/default/made-here$"))
    expect(page.get_by_text("trunkline put made-here@main")).to_be_visible()
    assert lake.repo("made-here").description == "By hand"


def test_a_repo_that_exists_is_not_made_again(page: Page, watch: Watch):
    watch.forgive("409")
    page.goto("/repos")
    page.get_by_role("button", name="New repo").click()
    dialog(page).get_by_label("Name").fill("gallery")
    dialog(page).get_by_role("button", name="Create").click()
    expect(dialog(page).get_by_role("alert")).to_contain_text('"gallery" exists already')


def test_folders_are_walked(page: Page):
    page.goto(GALLERY)
    expect(page.get_by_role("table", name="Files")).to_be_visible()
    expect(page.get_by_text("All kinds")).to_be_visible()
    page.get_by_role("link", name="code", exact=True).click()
    page.get_by_role("link", name="job.py").click()
    expect(page.get_by_label("Text of job.py")).to_contain_text("return 42")
    shot(page, "file")
    page.get_by_label("Path").get_by_role("link", name="code").click()
    expect(page.get_by_role("link", name="job.py")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Text of job.py")).to_be_visible()


def test_a_folder_may_be_large(page: Page, lake: RemoteLake, fresh: str):
    """Only what is seen is drawn, and the second page comes when one scrolls there."""
    with lake.commit(f"{fresh}@main", message="Many") as commit:
        for n in range(1500):
            commit.put(f"/many/{n:05}.txt", b"x")
    page.goto(f"/repos/default/{fresh}?path=/many")
    table = page.get_by_role("table", name="Files")
    expect(table).to_have_attribute("aria-rowcount", "1001")
    assert table.get_by_role("row").count() < 100
    lines = table.get_by_role("rowgroup")
    lines.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(table).to_have_attribute("aria-rowcount", "1501")
    lines.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    expect(page.get_by_role("link", name="01499.txt")).to_be_visible()


def test_a_past_moment_shows_the_files_of_then(page: Page, lake: RemoteLake):
    then = lake.commits("orders@main")[-1]
    page.goto(f"/repos/default/orders?moment={then.id}")
    lines = page.get_by_role("table", name="Files").get_by_role("row")
    expect(lines).to_have_count(2)
    expect(lines.nth(1)).to_contain_text("day=2026-01-01")
    expect(page.get_by_role("button", name="Upload")).to_have_count(0)
    page.get_by_role("tab", name="History").click()
    expect(page.get_by_label("Commits").get_by_role("link")).to_have_count(1)
    expect(page).to_have_url(re.compile(f"moment={then.id}"))


def test_rows_are_shown_and_fetched_as_one_scrolls(page: Page):
    page.goto(f"{GALLERY}?path=/rows.csv")
    grid = page.get_by_role("grid", name="Rows of rows.csv")
    expect(grid.get_by_role("columnheader", name="amount")).to_be_visible()
    expect(page.get_by_text("500 rows are here")).to_be_visible()
    grid.focus()
    page.keyboard.press("Control+End")
    expect(page.get_by_text("700 rows are here")).to_be_visible()
    page.get_by_role("button", name="Show raw text").click()
    expect(page.get_by_label("Text of rows.csv")).to_contain_text("id,amount")
    expect(page).to_have_url(re.compile("view=raw"))


@pytest.mark.parametrize(
    ("name", "column"),
    [("rows.parquet", "name"), ("rows.orc", "name"), ("lines.jsonl", "b string")],
)
def test_files_of_rows(page: Page, name: str, column: str):
    page.goto(f"{GALLERY}?path=/{name}")
    grid = page.get_by_role("grid", name=f"Rows of {name}")
    expect(grid.get_by_role("columnheader", name=column)).to_be_visible()


@pytest.mark.parametrize("name", ["picture.png", "drawing.svg"])
def test_pictures(page: Page, name: str):
    page.goto(f"{GALLERY}?path=/{name}")
    picture = page.get_by_role("img", name=name)
    expect(picture).to_be_visible()
    page.wait_for_function(
        "name => document.querySelector(`img[alt='${name}']`)?.naturalWidth > 0", arg=name
    )


@pytest.mark.parametrize(("name", "kind"), [("sound.wav", "audio"), ("film.webm", "video")])
def test_sound_and_film(page: Page, name: str, kind: str):
    page.goto(f"{GALLERY}?path=/{name}")
    page.wait_for_function("kind => document.querySelector(kind)?.readyState >= 1", arg=kind)


def test_text_of_all_kinds(page: Page):
    page.goto(f"{GALLERY}?path=/settings.json")
    expect(page.get_by_label("Text of settings.json")).to_contain_text('"answer": 42')
    page.goto(f"{GALLERY}?path=/sales.ipynb")
    cell = page.get_by_label("Cell 2, code")
    expect(cell.get_by_label("Code of cell 2")).to_contain_text("print(6 * 7)")
    for text in ("forty-two", "a plain table", "Oops: it broke"):
        expect(cell).to_contain_text(text)
    expect(page.get_by_label("Cell 1, markdown")).to_contain_text(HOSTILE_TEXT.strip())
    page.goto(f"{GALLERY}?path=/noise.bin")
    expect(page.get_by_label("Bytes of noise.bin")).to_contain_text("40 41 42 43")
    page.goto(f"{GALLERY}?path=/long.txt")
    expect(page.get_by_text("The first 512 kB of 640 kB")).to_be_visible()
    expect(page.get_by_label("Text of long.txt")).to_contain_text("0123456789abcde")
    page.goto(f"{GALLERY}?path=/no_ending")
    expect(page.get_by_label("Text of no_ending")).to_contain_text("plain words")
    page.goto(f"{GALLERY}?path=/none.txt")
    expect(page.get_by_text("This file is empty")).to_be_visible()


def test_what_means_harm_is_only_text(page: Page):
    asked = boxes(page)
    page.goto(GALLERY)
    page.get_by_role("link", name=HOSTILE_NAME).click()
    expect(page.get_by_role("heading", name=HOSTILE_NAME)).to_be_visible()
    expect(page.get_by_label(f"Text of {HOSTILE_NAME}")).to_contain_text(HOSTILE_TEXT.strip())
    assert page.locator("img").count() == 0
    assert asked == []


def test_what_is_not_there_is_said(page: Page, watch: Watch):
    watch.forgive("404")
    page.goto(f"{GALLERY}?path=/nowhere.txt")
    expect(page.get_by_role("alert")).to_contain_text("nowhere.txt")
    page.goto(f"{GALLERY}?at=nobranch")
    expect(page.get_by_role("alert")).to_contain_text("nobranch")
    page.goto("/repos/default/galery")
    expect(page.get_by_role("alert")).to_contain_text('Did you mean "gallery"?')


def test_downloads(page: Page, tmp_path: Path):
    page.goto(f"{GALLERY}?path=/rows.csv")
    with page.expect_download() as file:
        page.get_by_role("link", name="Download").click()
    assert file.value.suggested_filename == "rows.csv"
    assert Path(file.value.path()).read_bytes() == files()["/rows.csv"]
    page.goto(GALLERY)
    page.get_by_role("button", name="Actions for code").click()
    with page.expect_download() as folder:
        page.get_by_role("menuitem", name="Download as tar").click()
    with tarfile.open(folder.value.path()) as tar:
        assert tar.getnames() == ["job.py"]


def test_a_permalink_names_the_commit(page: Page, lake: RemoteLake):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{GALLERY}?path=/code/job.py")
    page.get_by_role("button", name="Copy permalink").click()
    expect(said(page)).to_contain_text("Copied the permalink.")
    link = page.evaluate("navigator.clipboard.readText()")
    assert f"at={head(lake, 'gallery@main')}" in link
    page.goto(link)
    expect(page.get_by_label("Text of job.py")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)


def test_a_folder_that_is_a_table_leads_to_it(page: Page):
    page.goto("/repos/default/orders")
    expect(page.get_by_text("This folder is a table: id, shop")).to_be_visible()
    link = page.get_by_role("link", name="Open the table")
    expect(link).to_have_attribute("href", "/tables/default/orders?at=main")
    page.get_by_role("tab", name="Tables").click()
    expect(row(page, "Tables", "csv")).to_contain_text("480")


def test_files_are_uploaded_as_one_commit(page: Page, lake: RemoteLake, fresh: str, tmp_path: Path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name * 1000)
    before = len(lake.commits(f"{fresh}@main"))
    page.goto(f"/repos/default/{fresh}?path=/kept")
    page.get_by_label("Files to upload").set_input_files([tmp_path / "a.txt", tmp_path / "b.txt"])
    expect(dialog(page)).to_contain_text("2 files, 10 kB, into /kept")
    assert axe(page) == []
    dialog(page).get_by_label("Commit message").fill("Two by hand")
    dialog(page).get_by_role("button", name="Upload").click()
    expect(said(page)).to_contain_text("Committed 2 files")
    expect(page.get_by_role("link", name="b.txt")).to_be_visible()
    assert paths(lake, f"{fresh}@main") == {"/kept/old.txt", "/kept/a.txt", "/kept/b.txt"}
    log = lake.commits(f"{fresh}@main")
    assert (len(log), log[0].message) == (before + 1, "Two by hand")


def test_a_folder_is_uploaded_with_its_paths(
    page: Page, lake: RemoteLake, fresh: str, tmp_path: Path
):
    (tmp_path / "data/deep").mkdir(parents=True)
    (tmp_path / "data/deep/x.txt").write_text("x")
    page.goto(f"/repos/default/{fresh}")
    page.get_by_label("Folder to upload").set_input_files(tmp_path / "data")
    dialog(page).get_by_role("button", name="Upload").click()
    expect(page.get_by_role("link", name="data", exact=True)).to_be_visible()
    assert "/data/deep/x.txt" in paths(lake, f"{fresh}@main")


DROP = """({kind, size}) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File(["d".repeat(size)], "dropped.txt"));
  const target = document.querySelector("[role=table]");
  target.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true,
    dataTransfer: transfer}));
}"""


def test_files_are_dropped_and_their_progress_is_shown(page: Page, lake: RemoteLake, fresh: str):
    page.goto(f"/repos/default/{fresh}")
    expect(page.get_by_role("table", name="Files")).to_be_visible()
    held: list[object] = []
    page.route("**/transactions/*/commit", lambda route: held.append(route))
    for kind in ("dragenter", "drop"):
        page.evaluate(DROP, {"kind": kind, "size": 300_000})
    dialog(page).get_by_role("button", name="Upload").click()
    expect(dialog(page).get_by_role("button", name="Committing")).to_be_disabled()
    bar = dialog(page).get_by_role("progressbar", name="/dropped.txt")
    expect(bar).to_have_attribute("value", "300000")
    expect(dialog(page)).to_contain_text("300 kB of 300 kB")
    held[0].continue_()  # type: ignore[attr-defined]
    expect(page.get_by_role("link", name="dropped.txt")).to_be_visible()
    assert "/dropped.txt" in paths(lake, f"{fresh}@main")


def test_a_file_that_fails_is_sent_again(page: Page, lake: RemoteLake, watch: Watch, fresh: str):
    watch.forgive("ERR_FAILED")
    watch.forgive("ERR_CONNECTION")
    broken = [True]

    def sometimes(route):
        if broken[0] and "bad.txt" in route.request.url:
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route("**/transactions/*/objects*", sometimes)
    page.goto(f"/repos/default/{fresh}")
    page.get_by_label("Files to upload").set_input_files(
        [FilePayload(name=name, mimeType="", buffer=b"1") for name in ("bad.txt", "good.txt")]
    )
    dialog(page).get_by_role("button", name="Upload").click()
    expect(dialog(page)).to_contain_text("The connection to the server was lost.")
    assert paths(lake, f"{fresh}@main") == {"/kept/old.txt"}
    broken[0] = False
    dialog(page).get_by_role("button", name="Retry").click()
    expect(page.get_by_role("link", name="bad.txt")).to_be_visible()
    assert {"/bad.txt", "/good.txt"} <= paths(lake, f"{fresh}@main")


def test_a_cancelled_upload_leaves_nothing(page: Page, lake: RemoteLake, fresh: str):
    page.route("**/transactions/*/objects*", lambda route: None)
    page.goto(f"/repos/default/{fresh}")
    page.get_by_label("Files to upload").set_input_files(
        [FilePayload(name="x.txt", mimeType="", buffer=b"1")]
    )
    dialog(page).get_by_role("button", name="Upload").click()
    expect(dialog(page).get_by_role("progressbar", name="/x.txt")).to_be_visible()
    dialog(page).get_by_role("button", name="Cancel").click()
    expect(dialog(page)).to_have_count(0)
    assert paths(lake, f"{fresh}@main") == {"/kept/old.txt"}


def test_files_and_folders_are_deleted(page: Page, lake: RemoteLake, fresh: str):
    put(lake, f"{fresh}@main", "more.txt", "Another")
    page.goto(f"/repos/default/{fresh}?path=/more.txt")
    page.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(page.get_by_role("link", name="kept", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="more.txt")).to_have_count(0)
    assert lake.commits(f"{fresh}@main")[0].message == "Delete more.txt"
    page.get_by_role("button", name="Actions for kept").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog(page).get_by_label("Commit message").fill("Away with it")
    dialog(page).get_by_role("button", name="Delete").click()
    expect(page.get_by_text("This commit has no files.")).to_be_visible()
    assert paths(lake, f"{fresh}@main") == set()


def test_output_is_not_written_to(page: Page):
    page.goto("/repos/default/clean")
    expect(page.get_by_role("table", name="Files")).to_be_visible()
    expect(page.get_by_role("button", name="Upload")).to_have_count(0)
    expect(page.get_by_role("link", name="Pipeline", exact=True)).to_be_visible()


def test_history_is_a_graph(page: Page):
    page.goto(f"{BRANCHED}?tab=history")
    commits = page.get_by_label("Commits").get_by_role("link")
    expect(commits).to_have_count(4)
    expect(commits.nth(0)).to_contain_text("Both together")
    expect(commits.nth(0)).to_contain_text("main")
    expect(page.get_by_role("link", name=re.compile("^side On the side"))).to_be_visible()
    # The merge has two lines below it: one to each parent.
    expect(commits.nth(0).locator("svg").first.locator("path")).to_have_count(2)
    shot(page, "history")
    commits.nth(0).click()
    about = page.get_by_label("About the commit")
    expect(about.get_by_label("Changes")).to_contain_text("/b.txt")
    expect(about.get_by_role("link", name="The whole change")).to_be_visible()
    compare = about.get_by_role("link", name="Compare with parent")
    expect(compare).to_have_attribute("href", re.compile(r"tab=compare&old=\w{32}&new=\w{32}"))
    assert axe(page) == []
    page.get_by_role("button", name="Close the commit").click()
    expect(about).to_have_count(0)
    page.go_back()
    expect(about).to_be_visible()


def test_history_of_a_path_and_of_one_branch(page: Page):
    page.goto(f"{BRANCHED}?path=/c.txt")
    page.get_by_role("link", name="History").click()
    commits = page.get_by_label("Commits").get_by_role("link")
    expect(commits).to_have_count(1)
    expect(commits).to_contain_text("Second on main")
    page.get_by_role("button", name="Show all paths").click()
    expect(commits).to_have_count(4)
    page.get_by_label("Which commits").select_option("What led to")
    page.get_by_role("button", name="Branch, tag or commit: main").click()
    page.get_by_placeholder("Find a branch").fill("side")
    page.keyboard.press("Enter")
    expect(commits).to_have_count(2)


def test_a_commit_of_a_pipeline_says_where_it_comes_from(page: Page):
    page.goto("/repos/default/clean?tab=history")
    page.get_by_label("Commits").get_by_role("link").first.click()
    about = page.get_by_label("About the commit")
    expect(about.get_by_role("link", name=re.compile("^job "))).to_be_visible()
    expect(about.get_by_role("link", name=re.compile("^orders@"))).to_be_visible()


def test_a_commit_is_reverted(page: Page, lake: RemoteLake, fresh: str):
    put(lake, f"{fresh}@main", "wrong.txt", "A mistake")
    page.goto(f"/repos/default/{fresh}?tab=history")
    page.get_by_text("A mistake").click()
    page.get_by_role("button", name="Revert").click()
    dialog(page).get_by_role("button", name="Revert").click()
    expect(page.get_by_label("Commits").get_by_role("link").first).to_contain_text(
        'Revert "A mistake"'
    )
    assert paths(lake, f"{fresh}@main") == {"/kept/old.txt"}


def test_branches_and_tags_are_made_and_deleted(page: Page, lake: RemoteLake, fresh: str):
    page.goto(f"/repos/default/{fresh}?tab=refs")
    page.get_by_role("button", name="New branch").click()
    dialog(page).get_by_label("Name").fill("try")
    dialog(page).get_by_role("button", name="Create").click()
    expect(row(page, "Branches", "try")).to_contain_text("The first")
    page.get_by_role("button", name="New tag").click()
    dialog(page).get_by_label("Name").fill("v1")
    dialog(page).get_by_label("Message").fill("Release")
    dialog(page).get_by_role("button", name="Create").click()
    expect(row(page, "Tags", "v1")).to_contain_text("Release")
    assert [tag.name for tag in lake.tags(fresh)] == ["v1"]
    assert axe(page) == []
    page.get_by_role("button", name="Delete v1").click()
    dialog(page).get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No tags")).to_be_visible()
    page.get_by_role("button", name="Delete try").click()
    confirm(page, "Delete")
    expect(row(page, "Branches", "try")).to_have_count(0)
    assert [branch.name for branch in lake.branches(fresh)] == ["main"]
    assert lake.tags(fresh) == []


def test_a_branch_is_made_at_a_commit_and_moved(page: Page, lake: RemoteLake, fresh: str):
    first = head(lake, f"{fresh}@main")
    put(lake, f"{fresh}@main", "new.txt", "The second")
    page.goto(f"/repos/default/{fresh}?tab=history&commit={first}")
    page.get_by_role("button", name="Branch", exact=True).click()
    dialog(page).get_by_label("Name").fill("behind")
    dialog(page).get_by_role("button", name="Create").click()
    expect(said(page)).to_contain_text("Made the branch behind.")
    assert head(lake, f"{fresh}@behind") == first
    page.get_by_role("tab", name="Branches & tags").click()
    page.get_by_role("button", name="Move behind").click()
    dialog(page).get_by_role("button", name="To: ").click()
    page.get_by_role("option", name="The second").click()
    dialog(page).get_by_role("button", name="Move").click()
    expect(said(page)).to_contain_text("Moved behind.")
    assert head(lake, f"{fresh}@behind") == head(lake, f"{fresh}@main")


def test_a_branch_is_offered_to_be_merged_and_compared(page: Page):
    page.goto(f"{BRANCHED}?tab=refs")
    page.get_by_role("button", name="Merge side").click()
    expect(dialog(page)).to_contain_text("side")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Compare side with main").click()
    expect(page).to_have_url(re.compile("tab=compare&old=main&new=side"))
    expect(page.get_by_role("tab", name="Compare")).to_have_attribute("aria-selected", "true")


def test_a_branch_that_follows_says_so(page: Page, lake: RemoteLake, fresh: str):
    lake.create_branch(f"{fresh}@daily", trigger=tl.Trigger("main", commits=2))
    page.goto(f"/repos/default/{fresh}?tab=refs")
    expect(row(page, "Branches", "daily")).to_contain_text("follows main: 2 new commits")


def test_another_place_is_picked(page: Page):
    page.goto(BRANCHED)
    expect(page.get_by_role("link", name="b.txt")).to_be_visible()
    page.get_by_role("button", name="Branch, tag or commit: main").click()
    page.get_by_role("option", name="v1").click()
    expect(page.get_by_role("link", name="b.txt")).to_have_count(0)
    expect(page).to_have_url(re.compile("at=v1"))
    expect(page.get_by_role("button", name="Upload")).to_have_count(0)
    page.get_by_role("button", name="Branch, tag or commit: v1").click()
    page.get_by_placeholder("Find a branch").fill("main~2")
    page.get_by_role("option", name="Go to").click()
    expect(page.get_by_role("link", name="c.txt")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("link", name="c.txt")).to_be_visible()


def test_what_others_commit_appears_by_itself(page: Page, lake: RemoteLake, fresh: str):
    page.goto(f"/repos/default/{fresh}")
    expect(page.get_by_role("link", name="kept", exact=True)).to_be_visible()
    put(lake, f"{fresh}@main", "news.txt", "From elsewhere")
    expect(page.get_by_role("link", name="news.txt")).to_be_visible()
    expect(page.get_by_text("From elsewhere")).to_be_visible()


def test_a_repo_is_deleted(page: Page, lake: RemoteLake, fresh: str):
    page.goto(f"/repos/default/{fresh}")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete the repo…").click()
    dialog(page).get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/repos$"))
    assert fresh not in {repo.name.repo for repo in lake.repos()}


def test_all_of_it_by_keyboard(page: Page):
    """From the list to a file, to its history and to another branch, without a mouse."""
    page.goto("/repos")
    link = page.get_by_role("link", name="branched")
    expect(link).to_be_visible()
    page.get_by_label("Filter repos").focus()
    page.keyboard.type("branched")
    expect(page.get_by_role("link", name="orders")).to_have_count(0)
    for _ in range(12):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Files")).to_be_visible()
    page.get_by_role("link", name="a.txt").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="b.txt")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Text of b.txt")).to_be_visible()
    page.get_by_role("tab", name="Files").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="History")).to_be_focused()
    page.keyboard.press("Enter")
    first = page.get_by_label("Commits").get_by_role("link").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_label("About the commit")).to_contain_text("Second on main")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "place",
    [
        "/repos",
        GALLERY,
        f"{GALLERY}?path=/rows.csv",
        f"{GALLERY}?path=/sales.ipynb",
        f"{BRANCHED}?tab=history",
        f"{BRANCHED}?tab=refs",
    ],
)
def test_nobody_is_kept_out(page: Page, place: str, theme: str):
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto(place)
    expect(page.locator("main").get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    assert axe(page) == []
