"""What a row is, as a number that does not depend on where the row lies or who computes it.

The sums of these over a table's rows are its fingerprint: equal rows in any order, in any files
and from any JVM have the same one. Doubles count to 41 binary digits (twelve decimal ones): sums
of doubles differ in the last digits with the order of the rows.
"""

from __future__ import annotations

from trunkline.model.tables import Column, Schema

_SPLIT = "4097.0D"  # 2^12 + 1: what is left of a double after this is its first 41 digits
_GROUP = 63
_PLAIN = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "time"),
)
_PLAIN_BEGINNINGS = ("decimal(", "char(", "varchar(", "interval", "string collate", "time(")


def row_hash(schema: Schema) -> str:
    """An expression of SQL: a number for the row, of all columns and of which of them are null."""
    hashes = []
    for start in range(0, len(schema), _GROUP):
        group = schema.columns[start : start + _GROUP]
        values = ", ".join(_value(column) for column in group)
        # A null leaves the hash as it was: without this, (1, null) and (null, 1) were the same.
        nulls = " | ".join(
            f"shiftleft(CAST(isnull({quoted(column.name)}) AS bigint), {place})"
            for place, column in enumerate(group)
        )
        hashes.append(f"xxhash64({values}, {nulls})")
    return hashes[0] if len(hashes) == 1 else f"xxhash64({', '.join(hashes)})"


def _value(column: Column) -> str:
    name = quoted(column.name)
    if column.type == "double":
        return f"nanvl({name} * {_SPLIT} - ({name} * {_SPLIT} - {name}), {name})"
    if column.type in _PLAIN or column.type.startswith(_PLAIN_BEGINNINGS):
        return name
    # Maps have no hash, and nulls inside arrays and structs would leave no trace in theirs.
    return f"to_json(struct({name}))"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
