"""The tutorial notebook runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.console import ROOT
from tests.spark import SHORT_LIVED_CONF

NOTEBOOK = ROOT / "examples" / "notebook" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The outputs of each cell, by the beginning of its source."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(tmp_path_factory.mktemp("notebook")))
        patch.setenv("TRUNKLINE_AUTHOR", "ada@example.org")
        patch.setenv("TRUNKLINE_SPARK_MASTER", "local[2]")
        patch.setenv("TRUNKLINE_SPARK_CONF", SHORT_LIVED_CONF)
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        notebook = nbformat.read(NOTEBOOK, 4)
        place = {"metadata": {"path": str(NOTEBOOK.parent)}}
        NotebookClient(notebook, timeout=240, resources=place).execute()
    return {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def cell(ran: dict[str, Any], beginning: str, number: int = 0) -> Any:
    return [outputs for source, outputs in ran.items() if source.startswith(beginning)][number]


def html(outputs: Any) -> str:
    return "".join(one["data"].get("text/html", "") for one in outputs if "data" in one)


def plain(outputs: Any) -> str:
    return "".join(one.get("text", "") or one["data"]["text/plain"] for one in outputs)


@pytest.mark.slow
def test_sql_of_a_cell_is_a_table_and_knows_variables(ran):
    shown = html(cell(ran, "%%tl sql\nSELECT shop, count(*)"))
    assert "<th>euros</th>" in shown
    assert "osaka" in shown


def test_an_answer_can_be_named(ran):
    assert not cell(ran, "%%tl sql --as by_shop")
    assert "berlin" in plain(cell(ran, "by_shop.pandas()"))


def test_jobs_are_shown_while_they_run(ran):
    assert "revenue@" in html(cell(ran, "%tl run"))
    assert "success" in html(cell(ran, "%tl run"))


def test_only_the_new_day_was_computed(ran):
    assert plain(cell(ran, "job = lake.jobs")) == "(1, 1)"


def test_before_and_now_in_one_query(ran):
    shown = html(cell(ran, "%%tl sql\nSELECT day, shop, now.euros"))
    assert shown.count("2026-01-01") == 3
    assert shown.count("2026-01-02") == 3


def test_a_list_of_commits_is_a_table(ran):
    assert "2 × Commit" in html(cell(ran, 'lake.commits("revenue@main")'))


def test_a_command_says_what_it_says_in_a_terminal(ran):
    assert "orders" in plain(cell(ran, "%tl lineage"))
