"""`trunkline table`: looking at tables on the command line."""

from pathlib import Path

import pytest

from tests.cli.run import Cli


@pytest.fixture
def shop(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,name,amount\n1,Ann,9.50\n2,Bob,\n")
    cli.ok("init")
    cli.ok("repo", "create", "shop")
    cli.ok("put", "shop@main:/orders/day=2026-01-01/a.csv", "a.csv")
    return cli


def test_list(shop: Cli) -> None:
    assert shop.ok("table", "list") == (
        "TABLE              FORMAT  COLUMNS  ROWS  FILES  SIZE\n"
        "shop@main:/orders  csv           4     2      1  38 B\n"
    ).replace("38 B", shop.ok("table", "list").split()[-2] + " B")
    (found,) = shop.json("table", "list", "shop")
    assert found["path"] == "/orders"
    assert found["columns"][3] == {"name": "day", "type": "date", "nullable": True}


def test_schema(shop: Cli) -> None:
    lines = shop.ok("table", "schema", "shop:/orders").splitlines()
    assert lines[0].split() == ["id", "bigint"]
    assert lines[5].startswith("csv, 2 rows, 1 file, ")
    assert lines[6] == "Folders: day"
    assert shop.json("table", "schema", "shop:/orders")["rows"] == 2


def test_head(shop: Cli) -> None:
    assert shop.ok("table", "head", "shop:/orders") == (
        "id  name  amount  day\n 1  Ann      9.5  2026-01-01\n 2  Bob     null  2026-01-01\n"
    )
    assert shop.json("table", "head", "shop:/orders", "-n", "1", "--columns", "day,id") == [
        {"day": "2026-01-01", "id": 1}
    ]
    assert shop.ok("table", "head", "shop:/orders", "-n", "0") == "No rows.\n"


def test_rows_that_are_left_out(shop: Cli) -> None:
    asked = ("table", "head", "shop:/orders", "--malformed")
    assert shop.ok(*asked) == "No rows are left out.\n"
    schema = "id int, name date, amount double, day date"
    shop.ok("table", "set", "shop:/orders", "--schema", schema, "--option", "mode=DROPMALFORMED")
    assert shop.ok("table", "head", "shop:/orders") == "No rows.\n"
    (first, second) = shop.json(*asked)
    assert (first["line"], first["reason"]) == (2, 'name is not date: "Ann"')
    assert second["text"].startswith("2,Bob")
    assert shop.ok(*asked, "-n", "1").startswith("PATH")


def test_set(shop: Cli) -> None:
    done = shop("table", "set", "shop:/orders", "--schema", "id int, name string", "--key", "id")
    assert done.out.startswith("shop@main is now ")
    assert shop.json("table", "head", "shop:/orders") == [
        {"id": 1, "name": "Ann"},
        {"id": 2, "name": "Bob"},
    ]
    assert "Key: id" in shop.ok("table", "schema", "shop:/orders")


@pytest.mark.parametrize(
    "args, code, message",
    [
        (["head", "shop"], 6, "shop@main is not a table itself, but its folders are."),
        (["head", "shop"], 6, "hint: Name one of them: /orders\n"),
        (["head", "shop:/order"], 3, 'error: There is no "/order" in shop@main. Did you mean'),
        (["head", "shop:/orders", "-c", "nme"], 3, 'no column "nme". Did you mean "name"?'),
        (["head", "shop:/orders", "-n", "-1"], 2, "no fewer rows than none"),
        (["set", "shop:/orders", "--option", "sep"], 2, 'The option "sep" has no value.'),
        (["set", "shop:/orders", "--schema", "id date"], 6, "/orders/day=2026-01-01/a.csv"),
    ],
)  # fmt: skip
def test_refused(shop: Cli, args: list[str], code: int, message: str) -> None:
    done = shop("table", *args)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


def test_history(shop: Cli, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("id,name,amount,tip\n3,Cid,1.0,0.5\n")
    shop.ok("put", "shop@main:/orders/day=2026-01-01/a.csv", "b.csv", "-m", "With tips")
    shop.ok("put", "shop@main:/other.txt", "b.csv")
    head, *rows = shop.ok("table", "history", "shop:/orders").splitlines()
    assert head.split() == ["COMMIT", "CREATED", "ROWS", "FILES", "SIZE", "COLUMNS", "MESSAGE"]
    assert len(rows) == 2
    assert rows[0].endswith("+ tip double  With tips")
    found = shop.json("table", "history", "shop:/orders", "-n", "1")
    assert [one["changes"] for one in found] == [["+ tip double"]]
