"""`trunkline table diff`, `changes` and `profile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import Cli


@pytest.fixture
def shop(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with two versions of the table orders."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cli.ok("init")
    cli.ok("repo", "create", "orders")
    for text in (
        "id,city,n\n1,Rome,1.5\n2,Paris,2\n3,Oslo,\n",
        "id,city,n\n1,Rome,1.5\n2,Lyon,3\n4,Bonn,4\n",
    ):
        (tmp_path / "a.csv").write_text(text)
        cli.ok("put", "orders@main:/", "a.csv")
    return tmp_path


def test_a_diff_by_key(cli: Cli, shop: Path):
    assert cli.ok("table", "diff", "orders@main~1", "orders@main", "--key", "id").splitlines() == [
        "1 added, 1 removed, 1 changed (of 3 rows)",
        "",
        "   id  city          n",
        "~  2   Paris → Lyon  2 → 3",
        "-  3   Oslo          null",
        "+  4   Bonn          4",
    ]


def test_a_diff_of_whole_rows_from_the_head(cli: Cli, shop: Path):
    lines = cli.ok("table", "diff", "orders@main~1", "-n", "1").splitlines()
    assert lines[0] == "2 added, 2 removed (of 3 rows)"
    assert lines[-1] == "… 3 rows more: --limit shows them"


def test_a_diff_as_json(cli: Cli, shop: Path):
    found = cli.json("table", "diff", "orders@main~1", "--key", "id", "--limit", "1")
    assert (found["added"], found["removed"], found["changed"]) == (1, 1, 1)
    assert found["columns"] == {"id": 0, "city": 1, "n": 1}
    assert found["samples"] == [
        {
            "change": "changed",
            "old": {"id": 2, "city": "Paris", "n": 2.0},
            "new": {"id": 2, "city": "Lyon", "n": 3.0},
            "columns": ["city", "n"],
        }
    ]


def test_chosen_columns_tolerance_and_colour(cli: Cli, shop: Path, monkeypatch):
    some = cli.ok("table", "diff", "orders@main~1", "--key", "id", "-c", "n", "--tolerance", "1")
    assert some.splitlines()[0] == "1 added, 1 removed, 0 changed (of 3 rows)"
    monkeypatch.setenv("TRUNKLINE_COLOR", "always")
    coloured = cli.ok("table", "diff", "orders@main~1", "--key", "id")
    assert "\x1b[32m+" in coloured
    assert "\x1b[33m → \x1b[0m" in coloured


def test_schema_and_duplicates_are_told(cli: Cli, shop: Path):
    Path("a.csv").write_text("id,town\n1,x\n1,y\n")
    cli.ok("put", "orders@main:/", "a.csv")
    out = cli.ok("table", "diff", "orders@main~1", "--key", "id")
    assert "+ column town string" in out
    assert "- column city string" in out
    assert "1 key of more than one row in the new table: id does not tell all rows apart" in out


def test_changes(cli: Cli, shop: Path):
    out = cli.ok("table", "changes", "orders@main~1", "--key", "id", "--format", "csv")
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == ["_change", "_commit", "id", "city", "n"]
    assert [(line[0], *line[2:]) for line in lines[1:]] == [
        ("update_before", "2", "Paris", "2.0"),
        ("update_after", "2", "Lyon", "3.0"),
        ("delete", "3", "Oslo", ""),
        ("insert", "4", "Bonn", "4.0"),
    ]
    table = cli.ok("table", "changes", "orders@main~1", "orders@main", "--per-commit")
    assert table.split()[:5] == ["_change", "_commit", "id", "city", "n"]
    rows = cli.json("table", "changes", "orders@main~1")
    assert cli("table", "changes", "orders@main~1", "--format", "json").json == rows
    assert {row["_change"] for row in rows} == {"insert", "delete"}
    assert cli.ok("table", "changes", "orders", "orders") == "Nothing changed.\n"


def test_profile(cli: Cli, shop: Path):
    out = cli.ok("table", "profile", "orders")
    assert out.splitlines()[0] == "orders@main: 3 rows, 3 columns"
    assert "█" in out
    found = cli.json("table", "profile", "orders", "--columns", "n,city")
    assert [column["name"] for column in found["columns"]] == ["n", "city"]
    assert found["columns"][0]["max"] == 4.0


@pytest.mark.parametrize(
    "arguments, code",
    [
        (("diff", "orders@main~1", "--key", "nope"), 2),
        (("diff", "orders@main~1", "--tolerance", "x"), 2),
        (("diff", "orders@main~1", "--tolerance", "1"), 2),
        (("diff", "orders@main~1", "--key", "id", "--no-key"), 2),
        (("diff", "orders@main~1", "-n", "-1"), 2),
        (("diff", "orders@main~9"), 3),
        (("diff", "nothing"), 3),
        (("changes", "orders@main~1", "--format", "xml"), 2),
        (("profile", "orders", "--columns", "nope"), 2),
        (("profile", "orders@main:/nope"), 3),
    ],
)
def test_mistakes_are_told_in_a_line(cli: Cli, shop: Path, arguments, code):
    result = cli("table", *arguments)
    assert result.code == code
    assert result.out == ""
    assert "Traceback" not in result.err
