"""Parquet files with days of the old calendar: Spark takes them so, and nobody else does.

Until version 3 Spark wrote days before 1582-10-15 in the Julian calendar, and moments before 1900
as the clocks of its own zone had them. Its footers tell, and it turns them into ours when it reads.
Arrow, DuckDB and polars take the same numbers as they are: two readers, two answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.errors import Precondition

if TYPE_CHECKING:
    import pyarrow as pa

_VERSION = b"org.apache.spark.version"
_DAYS, _INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
_FIRST_DAY = -141_427  # 1582-10-15
_FIRST_MOMENT = -2_208_988_800_000_000  # 1900-01-01, in microseconds


def refuse_old_days(file: Any, path: str) -> None:
    """Precondition if an opened file has values that readers would not agree on."""
    told = file.metadata.metadata or {}
    version = told.get(_VERSION)
    if version is None:
        return  # whoever it was, no reader takes its days for others
    old_days = version < b"3.0.0" or _DAYS in told
    old_moments = version < b"3.1.0" or _INT96 in told
    for name in _suspects(file, old_days, old_moments):
        for batch in file.iter_batches(columns=[name]):
            if _has_old(batch.column(0)):
                raise Precondition(
                    f"{path} has {_kind(file, name)} in {name} that readers do not agree on: "
                    f"Spark {version.decode()} wrote them in the old calendar.",
                    hint="Write the file again with a newer Spark: its readers see the same rows.",
                )


def _kind(file: Any, name: str) -> str:
    import pyarrow.types as kinds

    type_ = file.schema_arrow.field(name).type
    return "days before 1582" if kinds.is_date(type_) else "days before 1582 or times before 1900"


def _suspects(file: Any, old_days: bool, old_moments: bool) -> list[str]:
    """The columns with days or moments whose bounds do not tell that all of them are newer."""
    found = set()
    metadata = file.metadata
    for index in range(metadata.num_columns):
        leaf = metadata.schema.column(index)
        if leaf.physical_type == "INT96":
            if old_moments:
                found.add(leaf.path)
        elif old_days and leaf.logical_type.type in ("DATE", "TIMESTAMP"):
            groups = (metadata.row_group(n).column(index) for n in range(metadata.num_row_groups))
            if not all(_is_newer(one, leaf) for one in groups):
                found.add(leaf.path)
    return [
        name
        for name in file.schema_arrow.names
        if any(path == name or path.startswith(f"{name}.") for path in found)
    ]


def _is_newer(group: Any, leaf: Any) -> bool:
    known = group.statistics
    if known is None or not known.has_min_max:
        return bool(known is not None and known.num_values == 0)
    if leaf.logical_type.type == "DATE":
        return bool(known.min_raw >= _FIRST_DAY)
    thousands = 1000 if "milliseconds" in leaf.logical_type.to_json() else 1
    return bool(known.min_raw * thousands >= _FIRST_MOMENT)


def _has_old(array: pa.Array) -> bool:
    """Whether there is a day or a moment of the old calendar in it, however deep."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    type_ = array.type
    if types.is_struct(type_):
        return any(_has_old(one) for one in array.flatten())
    if types.is_map(type_):
        return _has_old(array.keys) or _has_old(array.items)
    if types.is_nested(type_):
        return _has_old(array.flatten())
    if types.is_date(type_):
        least = pc.min(array.cast(pa.date32()).cast(pa.int32())).as_py()
        return least is not None and least < _FIRST_DAY
    if types.is_timestamp(type_):
        least = pc.min(array.cast(pa.timestamp("us", type_.tz)).cast(pa.int64())).as_py()
        return least is not None and least < _FIRST_MOMENT
    return False
