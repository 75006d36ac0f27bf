"""Columns are followed through SQL without running it."""

from __future__ import annotations

import pytest

from trunkline.model.tables import Column, Schema
from trunkline.pipelines.columns import Columns, sql_columns
from trunkline.pipelines.sqltext import parse

ORDERS = Schema(
    tuple(Column(n, t) for n, t in (("id", "bigint"), ("Day", "date"), ("amount", "double")))
)
CUSTOMERS = Schema((Column("id", "bigint"), Column("name", "string")))
SCHEMAS = {"orders": ORDERS, "customers": CUSTOMERS}


def of(sql: str, schemas: dict[str, Schema | None] | None = None) -> dict[str, Columns] | None:
    return sql_columns(parse(sql, where="test").steps, schemas or dict(SCHEMAS))


ID, DAY, AMOUNT = ("orders", "id"), ("orders", "Day"), ("orders", "amount")
NAME = ("customers", "name")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id, amount * 2 + id AS x, 1 AS one FROM orders",
         {"id": [ID], "x": [AMOUNT, ID], "one": []}),
        ("SELECT * FROM orders", {"id": [ID], "Day": [DAY], "amount": [AMOUNT]}),
        ("SELECT o.*, name FROM orders o JOIN customers c ON o.id = c.id",
         {"id": [ID], "Day": [DAY], "amount": [AMOUNT], "name": [NAME]}),
        ("WITH c AS (SELECT day d, sum(amount) s FROM orders GROUP BY 1) SELECT d, s/2 half FROM c",
         {"d": [DAY], "half": [AMOUNT]}),
        ("SELECT id FROM orders UNION ALL SELECT id FROM customers",
         {"id": [("customers", "id"), ID]}),
        ("SELECT row_number() OVER (PARTITION BY day ORDER BY amount) AS r FROM orders",
         {"r": [DAY, AMOUNT]}),
        ("SELECT (SELECT max(name) FROM customers) AS m FROM orders", {"m": [NAME]}),
        ("SELECT s.x FROM (SELECT upper(name) AS x FROM customers) s", {"x": [NAME]}),
    ],
)  # fmt: skip
def test_a_query(sql: str, expected: Columns) -> None:
    found = of(sql)
    assert found is not None
    assert {key.casefold(): sorted(value) for key, value in found[""].items()} == {
        key.casefold(): sorted(value) for key, value in expected.items()
    }


def test_views_of_the_script_and_several_tables() -> None:
    found = of(
        "CREATE TEMP VIEW paid AS SELECT id AS number, amount FROM orders WHERE amount > 0;"
        "CREATE TABLE big AS SELECT number FROM paid WHERE amount > 9;"
        "CREATE TABLE sums AS SELECT sum(amount) AS s FROM paid;"
    )
    assert found == {"big": {"number": [ID]}, "sums": {"s": [AMOUNT]}}


def test_without_columns_only_what_is_written() -> None:
    assert of("SELECT id AS x FROM orders", {"orders": None}) == {"": {"x": [("orders", "id")]}}


def test_what_cannot_be_followed_is_not_guessed() -> None:
    from trunkline.pipelines.sqltext import Step

    assert sql_columns([Step("", "result", "SELECT FROM WHERE", 1)], {}) is None
