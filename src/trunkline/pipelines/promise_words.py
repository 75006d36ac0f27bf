"""What is said about queries that depend on which part of their input a run sees.

The same words before a job runs, from the SQL text, and in it, from Spark's plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

WORDS = {
    "Aggregate": "An aggregate",
    "Window": "A window",
    "Join": "A join",
    "LateralJoin": "A lateral join",
    "Distinct": "DISTINCT",
    "Deduplicate": "dropDuplicates",
    "GlobalLimit": "LIMIT",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Except": "EXCEPT",
    "Intersect": "INTERSECT",
    "FlatMapGroupsInPandas": "applyInPandas",
    "FlatMapGroupsInArrow": "applyInArrow",
}
"""What Spark's operators are called by those who write them."""

SUBQUERY = "A subquery"


class Said(NamedTuple):
    text: str
    hint: str


def brings_together(mode: str, what: str, input: str, columns: Sequence[str]) -> Said:
    """Of a step over rows of several parts of an input; `columns` tell which, if any do."""
    if not columns:
        return Said(
            f"{what} looks at several rows of {input}, and mode: {mode} reads new ones only.",
            "Use mode: whole, or together with partition_by.",
        )
    shown = ", ".join(columns)
    return Said(
        f"{what} brings rows of {input} together whatever their {shown}, and mode: {mode} "
        f"computes each {shown} on its own, from what changed.",
        f"Group, partition and join by {shown} too, or use mode: whole.",
    )


def column_changed(mode: str, where: str, column: str, input: str) -> Said:
    return Said(
        f"{where}: its column {column} is not as it stands in the rows of {input} that each row "
        f"is made from, and mode: {mode} tells by it which rows to replace.",
        f"Select {column} of {input} as it is, or use mode: whole.",
    )


def made_from_unknown(mode: str, where: str, inputs: Iterable[str]) -> Said:
    return Said(
        f"{where} is made from rows that the function fetched itself. Nobody can tell which part "
        f"of {' and '.join(inputs)} they depend on, as mode: {mode} must.",
        "Return a DataFrame that is made from the inputs, or use mode: whole or each.",
    )


def fetches(mode: str, what: str, input: str, columns: Sequence[str]) -> Said:
    """Of a method by which a function gets at rows of an input itself, in no plan."""
    if not columns:
        return Said(
            f"{what} fetches rows of {input}, of which mode: {mode} reads new ones only.",
            "Let Spark compute it row by row, or use mode: whole.",
        )
    shown = ", ".join(columns)
    return Said(
        f"{what} fetches rows of {input} whatever their {shown}, and mode: {mode} computes each "
        f"{shown} on its own, from what changed.",
        f"Let Spark compute it, grouped, partitioned or joined by {shown}, or use mode: whole.",
    )


def several_in_a_stream(what: str) -> Said:
    return Said(
        f"{what} looks at several rows at once, and a batch of a stream has only some of them.",
        "Aggregate by a window of time, or use a pipeline of mode: whole.",
    )


def output(name: str) -> str:
    return f"The output {name}" if name else "The output"
