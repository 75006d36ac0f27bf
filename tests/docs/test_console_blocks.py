"""Every command on a page that can be run prints what the page says."""

from pathlib import Path

import pytest

from tests.docs.console import ROOT, Ids, Shell, blocks, compare, perform, steps

ALWAYS = ("README.md", "docs/quickstart.md")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNABLE = [page for page in PAGES if steps(page)]


def test_the_pages_a_newcomer_reads_can_be_run():
    assert {ROOT / name for name in ALWAYS} <= set(RUNNABLE)


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_page(page: Path, tmp_path: Path):
    shell = Shell(tmp_path)
    ids = Ids()
    try:
        for step in steps(page):
            code, actual = perform(shell, step, ids)
            bound = compare(step.expected, actual, ids)
            shown, printed = "\n".join(step.expected), "\n".join(actual)
            assert bound, f"{step.where}: {step.command}\n-- shown:\n{shown}\n-- real:\n{printed}"
            # A command may fail only where the page shows how.
            failed = any(line.startswith("error: ") for line in step.expected)
            assert bool(code) == failed, f"{step.where}: exit code {code}"
            ids = bound
    finally:
        shell.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_of_known_kinds(page: Path):
    """So that nobody writes `shell` for `console` and it is never run."""
    known = {"console", "console one", "python run", "python", "text", "sh", "toml", "json", ""}
    assert {block.info for block in blocks(page.read_text())} <= known
