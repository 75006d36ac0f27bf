"""Tables as the tests see them: rows in, sorted rows out."""

from __future__ import annotations

import io
from typing import Any

from pyarrow import parquet

from tests.served import home
from trunkline import Lake
from trunkline.lake.core import resolve
from trunkline.model.entries import Entry
from trunkline.model.tables import TableSpec
from trunkline.tables.changing.rewriting import rows_of
from trunkline.tables.writing.writing import data_lines


def spec(lake: Lake, ref: str) -> TableSpec:
    where, _, path = ref.partition(":")
    return TableSpec.decode(lake.read(f"{where}:{path.rstrip('/')}/_table.json"))


def entries(lake: Lake, ref: str) -> list[Entry]:
    parsed = lake._ref(ref)
    core = home(lake)._core
    with core.database.read() as session:
        commit = resolve(session, parsed).commit
    return [Entry.decode(line) for line in data_lines(core.tree(commit), parsed.path or "/")]


def rows(lake: Lake, ref: str) -> list[dict[str, Any]]:
    """All rows in the columns of the table, sorted."""
    path, described = lake._ref(ref).path or "/", spec(lake, ref)
    found = [
        row
        for entry in entries(lake, ref)
        for batch in rows_of(home(lake)._core, entry, path, described)
        for row in batch.to_pylist()
    ]
    return sorted(found, key=lambda row: [(v is None, str(type(v)), v) for v in row.values()])


def files(lake: Lake, ref: str) -> dict[str, Any]:
    """Each data file as Arrow has it, by its path."""
    where = ref.partition(":")[0]
    return {
        entry.path: parquet.read_table(io.BytesIO(lake.read(f"{where}:{entry.path}")))
        for entry in entries(lake, ref)
    }
