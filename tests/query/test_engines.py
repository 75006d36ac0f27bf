"""The same questions, the same answers, on both engines."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from tests.cases import load
from tests.query.conftest import local
from tests.spark import shared_session
from trunkline import Lake
from trunkline.errors import Failed, InvalidQuery


def cases() -> list[tuple[str, str]]:
    return [("\n".join(lines[:-1]), lines[-1].removeprefix("= ")) for lines in load("queries.case")]


def plain(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value


@pytest.mark.parametrize("sql, rows", cases())
def test_duckdb(lake: Lake, sql: str, rows: str):
    if "LEFT ANTI" in sql:
        sql = sql.replace("LEFT ANTI", "ANTI")
    check(lake, sql, rows, "duckdb")


@local
@pytest.mark.parametrize("sql, rows", cases())
def test_spark(lake: Lake, sql: str, rows: str):
    shared_session()
    check(lake, sql, rows, "spark")


def check(lake: Lake, sql: str, rows: str, engine: str) -> None:
    found = lake.sql(sql, engine=engine)
    wanted = json.loads(rows, parse_float=Decimal)
    assert [[plain(value) for value in row] for row in found.rows()] == wanted
    table = found.arrow()
    assert table.num_rows == len(wanted)
    assert table.num_columns == len(found.columns) == len(found.types)


@local
@pytest.mark.parametrize(
    "sql, marked",
    [
        ("SELECT id,\n  nope\nFROM orders AT 'v1'", "nope"),
        ("SELECT nope(id) FROM orders AT 'v1'", "nope"),
        ("SELECT sum(id FROM orders", "FROM"),
    ],
)
def test_spark_marks_the_place(lake: Lake, sql: str, marked: str, capfd):
    shared_session()
    capfd.readouterr()
    with pytest.raises(InvalidQuery) as caught:
        lake.sql(sql, engine="spark")
    line, carets = caught.value.excerpt.split("\n")
    assert line[carets.index("^") :].startswith(marked)
    assert "\n" not in caught.value.message
    assert "SQLSTATE" not in caught.value.message
    assert capfd.readouterr().err == ""


@local
def test_spark_fails_in_one_line(lake: Lake):
    shared_session()
    found = lake.sql("SELECT CAST(name AS INT) FROM customers", engine="spark")
    with pytest.raises(Failed, match="cannot be cast") as caught:
        found.rows()
    assert "\n" not in caught.value.message


@local
def test_spark_answers_with_a_dataframe(lake: Lake):
    shared_session()
    found = lake.sql("SELECT id FROM orders WHERE id > :least", engine="spark", params={"least": 3})
    assert found.spark().count() == 1
    assert lake.sql("DESCRIBE orders", engine="spark").rows()[0][0] == "id"
    assert "orders" in str(lake.sql("SHOW TABLES", engine="spark").rows())
