"""`%tl` and `%%tl sql` in a shell of IPython, without a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import trunkline as tl
from trunkline.notebook.display import listed


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.clear_instance()
    made: Any = InteractiveShell.instance()
    made.run_line_magic("load_ext", "trunkline")
    with tl.init(tmp_path / "lake", catalog=None) as lake:
        lake.create_repo("orders")
        with lake.commit("orders@main", message="first") as commit:
            commit.put("/a.csv", b"id,amount\n1,5\n2,7\n")
        made.user_ns["lake"] = lake
        yield made
    InteractiveShell.clear_instance()


def test_a_command_runs_on_the_lake_of_the_notebook(shell, capsys):
    shell.run_line_magic("tl", "ls orders@main")
    assert capsys.readouterr().out == "/a.csv\n"


def test_a_command_that_fails_stops_the_notebook(shell, capsys):
    with pytest.raises(UsageError, match="exit code 3"):
        shell.run_line_magic("tl", "ls order")
    assert "Did you mean" in capsys.readouterr().err


def test_the_nearest_lake_is_meant_without_a_variable(shell, tmp_path, monkeypatch):
    del shell.user_ns["lake"]
    monkeypatch.chdir(tmp_path / "lake")
    result = shell.run_cell_magic("tl", "sql", "SELECT sum(amount) AS n FROM orders")
    assert result.rows() == [(12,)]


def test_variables_are_parameters(shell):
    shell.user_ns["least"] = 6
    result = shell.run_cell_magic("tl", "sql", "SELECT id FROM orders WHERE amount > $least")
    assert result.rows() == [(2,)]


def test_a_variable_is_no_parameter_by_the_beginning_of_its_name(shell):
    shell.user_ns |= {"least": 6, "le": 1, "least_of_all": 2}
    result = shell.run_cell_magic("tl", "sql", "SELECT id FROM orders WHERE amount > $least")
    assert result.rows() == [(2,)]


def test_an_answer_becomes_a_variable_or_a_table(shell):
    assert shell.run_cell_magic("tl", "sql --as found", "FROM orders") is None
    assert shell.user_ns["found"].columns == ("id", "amount")
    shell.user_ns["lake"].create_repo("copy")
    commit = shell.run_cell_magic("tl", "sql --into copy@main", "FROM orders")
    assert commit.message.startswith("sql from")


def test_an_error_is_a_line_not_a_traceback(shell):
    with pytest.raises(UsageError, match="amout"):
        shell.run_cell_magic("tl", "sql", "SELECT amout FROM orders")
    with pytest.raises(UsageError, match="begins with"):
        shell.run_cell_magic("tl", "log", "x")
    with pytest.raises(UsageError, match="No closing quotation"):
        shell.run_line_magic("tl", "log 'x")


def test_an_older_version_is_asked(shell):
    lake = shell.user_ns["lake"]
    first = lake.commits("orders@main")[0].id
    with lake.commit("orders@main") as commit:
        commit.put("/b.csv", b"id,amount\n3,9\n")
    now = shell.run_cell_magic("tl", "sql", "SELECT count(*) FROM orders")
    then = shell.run_cell_magic("tl", f"sql --at {first}", "SELECT count(*) FROM orders")
    assert (now.rows(), then.rows()) == ([(3,)], [(2,)])


def test_lists_of_the_lake_are_tables_and_others_are_left_alone(shell):
    lake = shell.user_ns["lake"]
    assert "1 × Commit" in (listed(lake.commits("orders@main")) or "")
    assert listed([1, 2]) is None
    assert listed([]) is None
    assert listed([lake.repo("orders"), 1]) is None


def test_what_is_shown_is_escaped(shell):
    lake = shell.user_ns["lake"]
    with lake.commit("orders@main", message="<script>") as commit:
        commit.put("/c.csv", b"id,amount\n4,1\n")
    assert "<script>" not in (listed(lake.commits("orders@main")) or "")
