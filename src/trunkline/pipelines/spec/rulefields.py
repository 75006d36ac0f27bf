"""The fields of expectations. Each has exactly one of the eight kinds of rules."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trunkline.pipelines.spec.fields import Fields, about
from trunkline.pipelines.spec.tablevalues import (
    AnyShare,
    Column,
    Columns,
    RuleName,
    Scalar,
    Share,
)
from trunkline.pipelines.spec.values import Count, Duration, Positive, Text


class AcceptedField(Fields):
    column: Column = Field(description="The column.")
    values: list[Scalar] = Field(description="The values it may have.")


class ForeignKeyField(Fields):
    columns: Columns = Field(description="The columns of the table.")
    references: Text = Field(description="The input that must have a row with the same values.")
    to: Columns = about("The columns of that input; without it, those of the same name.", [])


class RowCountField(Fields):
    min: Count | None = about("The table has at least this many rows.")
    max: Count | None = about("The table has at most this many rows.")


class RowCountChangeField(Fields):
    max_drop: Share | None = about("How much fewer rows there may be, as 20%.")
    max_rise: AnyShare | None = about("How much more rows there may be, as 50%.")
    over: Positive = about("Compared with the mean of this many versions before.", 1)


class FreshnessField(Fields):
    column: Column = Field(description="A column of times or dates.")
    within: Duration = Field(description="Its latest value is not older than this, as 2h.")


class ExpectationField(Fields):
    name: RuleName | None = about("The rule's name; without it, one is made from the rule.")
    action: Literal["warn", "drop", "quarantine", "fail"] = about(
        "What happens to rows that break it, or to the job.", "fail"
    )
    table: Text = about("Which table it is about, if there are several.", "")
    tolerate: Share = about("The share of rows that may break it, as 1%.", 0.0)
    expr: Text | None = about("SQL that is true for good rows.")
    not_null: Columns | None = about("Columns that always have a value.")
    unique: Columns | None = about("Columns whose values are together only in one row.")
    accepted_values: AcceptedField | None = about("A column that has only certain values.")
    foreign_key: ForeignKeyField | None = about("Columns whose values an input has too.")
    row_count: RowCountField | None = about("How many rows the table has.")
    row_count_change: RowCountChangeField | None = about("How much that may change.")
    freshness: FreshnessField | None = about("How old the latest row may be.")
