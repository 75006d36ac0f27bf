"""What DuckDB reads through Arrow: any number of times, as a join of a table with itself does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trunkline.errors import TrunklineError
from trunkline.lake.core import Core
from trunkline.tables.types import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

    from trunkline.tables.describe import Table


class ArrowSource:
    """A table in the way that Arrow's producers speak: each stream begins anew.

    `error` is why a stream broke off, in better words than those that reach DuckDB.
    """

    def __init__(self, core: Core, table: Table) -> None:
        self._core = core
        self._table = table
        self.error: TrunklineError | None = None

    def again(self) -> ArrowSource:
        """The same without what went wrong in it."""
        return ArrowSource(self._core, self._table)

    def __arrow_c_schema__(self) -> object:
        return to_arrow(self._table.schema).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(to_arrow(self._table.schema), self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        from trunkline.tables.reading.arrowread import record_batches

        try:
            yield from record_batches(self._core, self._table)
        except TrunklineError as error:
            self.error = error
            raise
