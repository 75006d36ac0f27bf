"""Text files where Spark alone would read something else: values that we make of their texts.

Spark gives null for "" in every column or in none. And which rows it drops as malformed depends on
the columns that a query asks for. So such columns are read as text, and judged here.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from trunkline.model.tables import FITTING, QUOTED_NULLS, Column, Scan, Schema
from trunkline.model.types import quoted, text_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LINE = "__tl_line"
_FORMATS = {
    "date": ("to_date", "dateFormat"),
    "timestamp": ("to_timestamp_ltz", "timestampFormat"),
    "timestamp_ntz": ("to_timestamp_ntz", "timestampNTZFormat"),
}


def raw(scan: Scan) -> Scan:
    """The scan as Spark is to read it."""
    options = dict(scan.options)
    texts = _texts(scan)
    if FITTING in options:
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _LINE}
        options["columnPruning"] = "false"  # or which rows are malformed depends on the query
    elif not texts:
        return scan
    columns = [replace(one, type="string") if one.name in texts else one for one in scan.schema]
    if FITTING in options:
        columns.append(Column(_LINE, "string"))
    return replace(scan, schema=Schema(tuple(columns)), options=tuple(sorted(options.items())))


def made(frame: DataFrame, scan: Scan) -> DataFrame:
    """What was read by a raw scan, in the columns of the scan."""
    texts = _texts(scan)
    options = dict(scan.options)
    if FITTING in options:
        # A column must be asked for beside the line, or Spark refuses.
        first = quoted(scan.schema.names[0])
        tests = [f"{_LINE} IS NULL", f"({first} IS NULL OR length({first}) >= 0)"]
        for name, pattern in json.loads(options[FITTING]).items():
            column = scan.schema.find(name)
            assert column is not None
            text = f"nullif({quoted(name)}, '')"
            tests.append(
                f"({text} IS NULL OR ({text} RLIKE {text_literal(f'^(?:{pattern})$')} "
                f"AND try_cast({text} AS {column.type}) IS NOT NULL))"
            )
        frame = frame.where(" AND ".join(tests))
    elif not texts:
        return frame
    columns = []
    for one in (*scan.schema, *scan.path_columns):
        name = quoted(one.name)
        if one.name not in texts or one.type == "string":
            columns.append(name)
            continue
        function, option = _FORMATS.get(one.type, ("", ""))
        text = f"nullif({name}, '')"
        if option in options:
            form = text_literal(options[option])
            columns.append(f"{function}({text}, {form}) AS {name}")
        else:
            columns.append(f"CAST({text} AS {one.type}) AS {name}")
    return frame.selectExpr(*columns)


def _texts(scan: Scan) -> set[str]:
    """The columns that are read as text."""
    options = dict(scan.options)
    told = set(json.loads(options.get(QUOTED_NULLS, "[]")))
    return told | set(json.loads(options.get(FITTING, "{}")))
