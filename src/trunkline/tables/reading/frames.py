"""Rows in the form a user wants: Arrow, pandas, polars or Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ToSpark = Callable[["pa.Table"], Any]


class Frames:
    """What has `arrow()` has the others too. `_to_spark` is given by who knows of a session."""

    _to_spark: ToSpark | None = None

    def arrow(self) -> pa.Table:
        raise NotImplementedError

    def pandas(self) -> pd.DataFrame:
        """Whole numbers beside null are pandas' nullable ones: doubles would lose digits."""
        import pandas as pd
        import pyarrow as pa

        table = self.arrow()
        # Those inside of lists and structs are Python's.
        found = table.to_pandas(integer_object_nulls=True)
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count and pa.types.is_integer(column.type):
                found[name] = column.to_pandas(
                    types_mapper=lambda kind: pd.api.types.pandas_dtype(str(kind).title())
                )
        return found

    def polars(self) -> pl.DataFrame:
        import polars

        found = polars.from_arrow(self.arrow())
        assert isinstance(found, polars.DataFrame)
        return found

    def spark(self) -> Any:
        """The same as a Spark DataFrame."""
        if self._to_spark is None:
            raise Precondition("There is no lake behind these rows that could start Spark.")
        return self._to_spark(self.arrow())
