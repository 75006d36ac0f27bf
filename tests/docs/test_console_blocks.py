"""Every command on a page that can be run prints what the page says."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.docs.console import ROOT, blocks, first_difference, steps

pytestmark = pytest.mark.slow

ALWAYS = ("README.md", "docs/quickstart.md", "docs/tutorial.md")
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
# Their READMEs are run there, since what they leave is looked at further.
TOURS = {file.stem.removeprefix("test_") for file in (ROOT / "tests/examples").glob("test_*.py")}
RUNNABLE = [page for page in PAGES if steps(page) and page.parent.name not in TOURS]
KINDS = {"console", "console one", "python run"} | {
    "json", "jsonnet", "python", "sh", "text", "toml", "yaml"
}  # fmt: skip
AT_ONCE = 3


def name_of(page: Path) -> str:
    return page.name if page.parent in (ROOT, ROOT / "docs") else f"{page.parent.name}-{page.name}"


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Path, Future[str]]]:
    """Some pages at once, since each mostly waits for commands to start; many start Spark."""
    asked = [item for item in request.session.items if isinstance(item, pytest.Function)]
    wanted = {item.callspec.params["page"] for item in asked if item.originalname == "test_page"}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            page: pool.submit(first_difference, page, tmp_path_factory.mktemp(page.stem))
            for page in RUNNABLE
            if page in wanted
        }


def test_the_pages_a_newcomer_reads_can_be_run():
    assert {ROOT / name for name in ALWAYS} <= set(RUNNABLE)


@pytest.mark.timeout(1800)  # the first of them waits for many
@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_page(page: Path, runs: dict[Path, Future[str]]):
    difference = runs[page].result()
    assert not difference, difference


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_are_of_known_kinds(page: Path):
    """So that nobody writes `shell` for `console` and it is never run."""
    assert {block.info for block in blocks(page.read_text(encoding="utf-8"))} <= KINDS


@pytest.mark.parametrize("wrong", ["$ echo one\ntwo", "$ false", "$ echo one"])
def test_a_wrong_page_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str):
    monkeypatch.setattr("tests.docs.console.Step.where", "page.md")
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ echo fine\nfine\n{wrong}\n```\n")
    assert first_difference(page, tmp_path / "run").startswith("page.md")
