"""Arrow batches brought to a table's schema: by name, widened, with nulls for what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trunkline.errors import Usage
from trunkline.model.tables import Column, Schema
from trunkline.tables.types import cast, to_arrow_type

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(schema: Schema) -> pa.Schema:
    """As the files have it: nulls are allowed everywhere, so that bytes do not depend on it."""
    import pyarrow as pa

    return pa.schema([pa.field(column.name, to_arrow_type(column.type)) for column in schema])


def fitted(batches: Iterable[pa.RecordBatch], schema: Schema) -> Iterator[pa.RecordBatch]:
    """Each batch with exactly the columns of `schema`."""
    import pyarrow as pa

    wanted = arrow_schema(schema)
    for batch in batches:
        places = {name.casefold(): place for place, name in enumerate(batch.schema.names)}
        columns = []
        for column, field in zip(schema, wanted, strict=True):
            place = places.get(column.name.casefold())
            if place is None:
                values = pa.nulls(batch.num_rows, field.type)
            else:
                values = _cast(batch.column(place), field, column)
            if values.null_count and not column.nullable:
                raise Usage(
                    f'Column "{column.name}" is not null, and has {values.null_count:,} nulls.'
                )
            columns.append(values)
        yield pa.RecordBatch.from_arrays(columns, schema=wanted)


def _cast(values: pa.Array, field: pa.Field, column: Column) -> pa.Array:
    import pyarrow as pa

    try:
        return cast(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise Usage(
            f'Values of column "{column.name}" do not fit {column.type}: {reason}',
            hint="Cast the column before you write it.",
        ) from None
