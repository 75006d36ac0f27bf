"""Answers that need no engine: SHOW TABLES, and DESCRIBE of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trunkline.query.names import Query
from trunkline.query.result import Answer, Row
from trunkline.tables.describe import Table

if TYPE_CHECKING:
    import pyarrow as pa


class Listing(Answer):
    """Rows of text that are known already."""

    def __init__(self, names: tuple[str, ...], rows: Sequence[Row]) -> None:
        self.names = names
        self.types = ("string",) * len(names)
        self._rows = list(rows)

    def chunks(self, limit: int | None = None) -> Iterator[list[Row]]:
        if rows := self._rows[:limit]:
            yield rows

    def batches(self) -> pa.RecordBatchReader:
        import pyarrow as pa

        columns = [list(column) for column in zip(*self._rows, strict=True)]
        columns = columns or [[] for _ in self.names]
        arrays = [pa.array(column, pa.string()) for column in columns]
        return pa.Table.from_arrays(arrays, names=list(self.names)).to_reader()


def described(asked: Query, tables: Mapping[str, Table]) -> Listing | None:
    """The columns of the one table that a DESCRIBE names, alike on every engine."""
    from sqlglot import exp

    tree = asked.tree
    if not isinstance(tree, exp.Describe) or not isinstance(tree.this, exp.Table):
        return None
    if asked.explain or len(tables) != 1:
        return None
    (table,) = tables.values()
    rows = [(one.name, one.type, "yes" if one.nullable else "no") for one in table.schema]
    return Listing(("column", "type", "null"), rows)
