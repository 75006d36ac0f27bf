"""`trunkline table`, where rows change."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.cli.run import process


@pytest.fixture
def sales(cli, lake):
    """The repo sales with a table of two rows, and files to write."""
    cli.ok("repo", "create", "sales")
    (lake / "a.csv").write_text("id,day,n\n1,2026-01-01,1.5\n2,2026-01-02,2.5\n")
    cli.ok("table", "write", "sales", "a.csv", "--partition-by", "day")
    return lake


def test_write_says_the_commit_and_makes_the_table(cli, sales):
    spec = json.loads(cli.ok("cat", "sales:/_table.json"))
    assert [column["type"] for column in spec["schema"]] == ["bigint", "date", "double"]
    assert spec["partition_by"] == ["day"]
    parquet.write_table(pa.table({"id": [3]}), sales / "b.parquet")
    (sales / "c.jsonl").write_text('{"id": 4}\n{"id": 5}\n')
    with pa.ipc.new_stream(sales / "d.arrow", pa.schema([("id", pa.int64())])) as writer:
        writer.write_table(pa.table({"id": [6]}))
    assert cli.ok("table", "write", "sales", "b.parquet").startswith("Wrote sales in ")
    assert cli.json("table", "write", "sales", "c.jsonl")["branch"] == "main"
    cli.ok("table", "write", "sales", "d.arrow")
    assert cli.json("table", "delete", "sales", "--where", "true")["deleted"] == 6


def test_rows_from_standard_input(cli, sales):
    done = process("table", "write", "sales", "-", "--mode", "overwrite", stdin=b"id\n7\n8\n")
    assert done.code == 0, done.err
    assert cli.json("table", "delete", "sales", "--where", "id = 7")["deleted"] == 1


def test_files_that_cannot_be_read(cli, sales):
    (sales / "bad.parquet").write_bytes(b"no parquet")
    (sales / "x.txt").write_text("x")
    for given, code in (
        (["bad.parquet"], 1),
        (["missing.csv"], 1),
        (["x.txt"], 2),
        (["a.csv", "bad.parquet"], 2),
    ):
        result = cli("table", "write", "sales", *given)
        assert result.code == code, given
        assert result.err.startswith("error: ")


def test_a_clash_shows_what_differs(cli, sales):
    (sales / "other.csv").write_text("id,n\n9,many\n")
    result = cli("table", "write", "sales", "other.csv")
    assert result.code == 4
    assert "~ n double → string" in result.err
    shown = json.loads(cli("table", "write", "sales", "other.csv", "--json").err)
    assert shown["code"] == "schema_clash"
    assert "~ n double → string" in shown["diff"]


def test_merge_update_delete_and_compact(cli, sales):
    (sales / "new.csv").write_text("id,n,op\n1,9,U\n2,0,D\n3,3,I\n")
    said = cli.ok("table", "merge", "sales", "new.csv", "--on", "id", "--delete-when", "op = 'D'")
    assert said.startswith("1 inserted, 1 updated, 1 deleted: 2 files replaced in ")
    assert cli.ok("table", "update", "sales", "--set", "n = n + 1", "--where", "id = 3")
    done = cli.json("table", "update", "sales", "--set", "n=10", "--where", "id = 3")
    assert done["updated"] == 1
    assert cli.ok("table", "delete", "sales", "--where", "id = 99") == "Nothing changed in sales.\n"
    for _ in range(2):
        cli.ok("table", "write", "sales", "a.csv")
    assert cli.json("table", "compact", "sales")["before"] > 1
    assert cli.ok("table", "compact", "sales") == "Nothing to compact.\n"


def test_what_is_not_said_or_said_wrongly(cli, sales):
    assert cli("table", "delete", "sales").code == 2
    assert cli("table", "update", "sales", "--set", "n").code == 2
    assert cli("table", "compact", "sales", "--target-size", "big").code == 2
    assert cli("table", "write", "sales", "a.csv", "--mode", "upsert").code == 2
    assert cli("table", "delete", "sales", "--where", "id IN (SELECT 1)").code == 2
