"""One table at a commit, as the interface hands it out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.display import fields
from trunkline.model.display import table as html_table
from trunkline.model.shape import as_json
from trunkline.model.tables import Schema
from trunkline.tables.physical import check_references
from trunkline.tables.reading.frames import Frames

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyRelation

    from trunkline.engine.session import Session
    from trunkline.tables.describe import Table
    from trunkline.tables.reading.conditions import Condition

NO_COLUMNS = Schema()
# What Spark's own methods ask another DataFrame for, as join and union do.
_OF_SPARK = frozenset(("_jdf", "_plan", "_session", "_sc", "_jseq", "_jcols", "_schema"))


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table without its rows. `recorded` tells that a `_table.json` describes it."""

    name: str
    path: str
    format: str = ""
    columns: Schema = NO_COLUMNS
    rows: int | None = None
    size: int = 0
    files: int = 0
    recorded: bool = False
    partition_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def of(cls, table: Table) -> TableInfo:
        spec = table.spec
        return cls(
            table.name,
            table.path,
            spec.format.value,
            spec.schema,
            table.rows,
            table.size,
            len(table.entries),
            table.recorded,
            spec.partition_by or (table.scans[0].path_columns.names if table.scans else ()),
            spec.key,
            dict(spec.options),
        )

    def _repr_html_(self) -> str:
        shown = {k: v for k, v in as_json(self).items() if k != "columns"}
        return fields(f"Table {self.name}", shown) + html_table("Columns", self.columns.to_list())


class LakeTable(Frames):
    """A table that reads as a Spark DataFrame; Spark starts when it is first used as one.

    The methods here do without Spark, but for `spark`, which gives the real DataFrame.
    """

    def __init__(self, core: Core, table: Table, session: Callable[[], Session]) -> None:
        self._core = core
        self._table = table
        self._start = session
        self._frame: Any = None

    @property
    def info(self) -> TableInfo:
        return TableInfo.of(self._table)

    def spark(self) -> Any:
        """The Spark DataFrame of its rows."""
        if self._frame is None:
            from trunkline.engine.tables import read

            check_references(self._core, self._table.entries)
            self._frame = read(self._start(), self._table.scans, self._table.schema)
        return self._frame

    def batches(
        self, columns: Sequence[str] | None = None, where: Sequence[Condition] | None = None
    ) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches, for tables larger than memory."""
        from trunkline.tables.reading.arrowread import record_batches

        return record_batches(self._core, self._table, columns, where)

    def arrow(
        self, columns: Sequence[str] | None = None, where: Sequence[Condition] | None = None
    ) -> pa.Table:
        """All rows as an Arrow table; `where` is a list such as [("day", ">=", "2026-01-01")]."""
        return self.batches(columns, where).read_all()

    def peek(self, count: int = 10, columns: Sequence[str] | None = None) -> pa.Table:
        """The first rows in path order, reading no more than they need."""
        from trunkline.tables.reading.arrowread import first_rows

        return first_rows(self._core, self._table, count, columns)

    def malformed(self, count: int | None = None) -> pa.Table:
        """The rows that `mode=DROPMALFORMED` leaves out: path, line, text and reason."""
        from trunkline.tables.reading.arrowread import left_out

        return left_out(self._core, self._table, count)

    def duckdb(self) -> DuckDBPyRelation:
        """The table as a relation of DuckDB, in a connection of its own."""
        from trunkline.tables.reading.duck import connect

        return connect(self._core, {"rows": self._table}).connection.sql("FROM rows")

    def __getattr__(self, name: str) -> Any:
        # Notebooks and copy ask for many names that begin so: they must not start Spark.
        if name.startswith("_") and name not in _OF_SPARK:
            raise AttributeError(name)
        found = getattr(self.spark(), name)
        return self._named(found) if isinstance(found, MethodType) else found

    def _named(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """The same, but what it says of a file names it as the lake does."""
        from trunkline.engine.sqlerrors import naming_files

        @functools.wraps(method)
        def called(*arguments: Any, **named: Any) -> Any:
            with naming_files({self._table.name: self._table}):
                return method(*arguments, **named)

        return called

    def __getitem__(self, item: Any) -> Any:
        return self.spark()[item]

    def __dir__(self) -> list[str]:
        own = [name for name in super().__dir__() if not name.startswith("_")]
        return sorted({*own, *self.info.columns.names})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.batches().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        info = self.info
        columns = ", ".join(str(column) for column in info.columns.columns[:50])
        more = ", …" if len(info.columns) > 50 else ""
        return f"LakeTable({info.name}: {columns}{more})"

    def _repr_html_(self) -> str:
        return self.info._repr_html_()
