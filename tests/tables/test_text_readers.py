"""CSV and JSON through Arrow, DuckDB and Spark: the same cells, or nobody reads the table."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, date, datetime
from typing import Any

import pytest

from trunkline import Lake
from trunkline.errors import TrunklineError

CELLS = [
    "", '""', " ", '" "', "a", '"a"', "a b", '"a,b"', '"a""b"', 'a"b', '""""', "#a", "NA", '"NA"',
    "1", "-7", "007", "+1", " 1", "1 ", "1.50", "1e5", ".5", "5.", "-0", "1_000", "0x1F", "NaN",
    "nan", "Inf", "-Inf", "-Infinity", "9223372036854775808", "2147483648", "-", "e5", "true",
    "True", "yes", "2026-01-02", "2026-02-30", "2026-1-2", "2026-01-01 10:00", "24:00",
    "2026-01-01T24:00:00", "2026-01-01T10:00:00.123456", "2026-01-01T10:00:00.1234567",
    "2026-01-01T10:00:00Z", "2026-01-01T10:00:00+02:00", "ü", "\u2028", "a\\b", '"a\\b"', "\x00",
    '"two\nlines"', '"c\r\nd"', '"e\rf"', '"padded" ', ' "late"', "null", "\\N",
]  # fmt: skip
SIMILAR = [
    ["1", "2", "", '""', "-5", "12345678901"], ["1.5", "2", "NaN", "-Inf", '""', "1e400"],
    ["2026-01-02", "9999-12-31", "0001-01-01", '"2026-01-03"'], ["true", "FALSE", "True", ""],
    ["2026-01-01 10:00", "2026-01-01T10:00:00.5", "2026-01-02"], ["a", '""', "", '"x"'],
    ["2026-01-01T10:00:00Z", "1500-03-01T00:00:00.000001+05:30", ""],
]  # fmt: skip
OPTIONS: list[dict[str, str]] = [
    {}, {}, {}, {"nullValue": "NA"}, {"comment": "#"}, {"mode": "DROPMALFORMED"},
    {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"},
    {"sep": ",", "escape": "\\"}, {"multiLine": "true"},
]  # fmt: skip
TYPES = ["int", "bigint", "double", "decimal(12,3)", "boolean", "date", "timestamp", "string",
         "timestamp_ntz", "smallint"]  # fmt: skip
VALUES = [
    "1", "-7", "1.50", "1e5", "true", "null", '"a"', '""', '"2026-01-02"', '"2026-01-01T10:00:00Z"',
    '{"a":1.50}', "[1, 2]", "[]", "{}", '{"a":{"b":[1, {"c":null}]}}', "12345678901234567890123",
    "9007199254740993", "0.1", '"7"', '"NaN"', "-0", '"\\u00fc\\n\\ud83d\\ude00"', '{"A":1}',
    '"\\u0000"', "1e400", '{ "a" : "x\\"y" }', "18446744073709551615", "1.0",
]  # fmt: skip


def csv_text(rng: random.Random) -> bytes:
    width = rng.randint(1, 3)
    end = rng.choice(["\n", "\n", "\r\n"])
    choices = [rng.choice(SIMILAR) if rng.random() < 0.6 else CELLS for _ in range(width)]
    rows = [[rng.choice(one) for one in choices] for _ in range(rng.randint(0, 6))]
    if rng.random() < 0.1:
        rows.append(["x"] * rng.choice([1, width + 1]))
    lines = [",".join(f"c{place}" for place in range(width))]
    for row in rows:
        lines.append(",".join(row))
        if rng.random() < 0.05:
            lines.append(rng.choice(["", " ", "#,"]))
    text = end.join(lines) + (end if rng.random() < 0.8 else "")
    return ("\ufeff" if rng.random() < 0.1 else "").encode() + text.encode()


def json_text(rng: random.Random) -> bytes:
    names = rng.sample(["a", "B", "c d", "ü"], rng.randint(1, 3))
    kinds = {name: rng.sample(VALUES, rng.choice([1, 1, 2, 4])) for name in names}
    rows = []
    for _ in range(rng.randint(1, 4)):
        inside = [f"{json.dumps(n)}: {rng.choice(kinds[n])}" for n in names if rng.random() < 0.9]
        rows.append("{" + ",".join(inside) + "}")
    if rng.random() < 0.2:
        return ("[" + ",\n".join(rows) + "]").encode()
    return ("\n".join(rows) + "\n").encode()


def cases(seed: int, count: int) -> dict[str, tuple[str, bytes, dict[str, str], str]]:
    """By folder: the name of a file, its bytes, options and a schema."""
    rng = random.Random(seed)
    found = {}
    for number in range(count):
        if rng.random() < 0.7:
            text, options = csv_text(rng), rng.choice(OPTIONS)
            width = text.split(b"\n")[0].count(b",") + 1
            columns = [f"c{place} {rng.choice(TYPES)}" for place in range(width)]
            schema = ", ".join(columns) if rng.random() < 0.3 else ""
            found[f"t{number}"] = ("a.csv", text, options, schema)
        else:
            found[f"t{number}"] = ("a.json", json_text(rng), {}, "")
    return found


def same(ours: Any, theirs: str | None, type_: str) -> bool:
    if ours is None or theirs is None:
        return ours is None and theirs is None
    if isinstance(ours, float):
        other = float(theirs)
        return ours == other or (math.isnan(ours) and math.isnan(other))
    if isinstance(ours, bool):
        return str(ours).lower() == theirs
    if isinstance(ours, datetime):
        moment = datetime.fromisoformat(theirs)
        return ours == (moment.replace(tzinfo=UTC) if type_ == "timestamp" else moment)
    if isinstance(ours, date):
        return ours.isoformat() == theirs
    if isinstance(ours, list | dict):
        return bool(_full(ours) == _full(json.loads(theirs)))
    return str(ours) == theirs


def _full(value: Any) -> Any:
    """Without fields that are null, which Spark does not write."""
    if isinstance(value, dict):
        return {name: _full(one) for name, one in value.items() if one is not None}
    return [_full(one) for one in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_readers_agree_or_refuse(lake: Lake, spark: Any, seed: int) -> None:
    from pyspark.sql import functions as f

    made = cases(seed, 60)
    with lake.commit("orders@main") as commit:
        for folder, (name, text, _, _) in made.items():
            commit.put(f"/{folder}/{name}", text)
    frames, ours = [], {}
    for folder, (_, text, options, schema) in made.items():
        where = f"orders@main:/{folder}"
        try:
            if options or schema:
                lake.set_table(where, options=options or None, schema=schema or None)
            table = lake.table(where)
            rows = table.arrow().to_pylist()
        except TrunklineError:
            continue
        assert str(lake.sql(f'FROM "{where}"').arrow().to_pylist()) == str(rows), text
        types = [column.type for column in table.info.columns]
        ours[folder] = ([list(row.values()) for row in rows], types)
        frame = table.spark()
        cells = [
            (f.to_json if "<" in type_ else lambda one: one.cast("string"))(f.col(f"`{name}`"))
            for name, type_ in zip(frame.columns, types, strict=True)
        ]
        frames.append(frame.select(f.lit(folder).alias("folder"), f.array(*cells).alias("cells")))
    assert len(frames) > 20  # most of what is made can be read
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionAll(frame)
    theirs: dict[str, list[list[str | None]]] = {folder: [] for folder in ours}
    for row in whole.collect():
        theirs[row.folder].append(list(row.cells))
    for folder, (rows, types) in ours.items():
        told = (made[folder], types, rows, theirs[folder])
        assert len(rows) == len(theirs[folder]), told
        for one, two in zip(rows, theirs[folder], strict=True):
            assert all(map(same, one, two, types)), (told, one, two)
