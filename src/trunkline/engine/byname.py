"""Values brought to another type by the names of their fields: Spark's cast goes by position."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from trunkline.model.types import DataType, quoted

Way = tuple[str, ...]
"""To a value inside another: fields' names, `key` and `value` of maps, "" for arrays."""

EPOCHS = {
    "timestamp": "TIMESTAMP '1970-01-01 00:00:00Z'",
    "timestamp_ntz": "TIMESTAMP_NTZ '1970-01-01 00:00:00'",
}


def brought(
    value: str, own: DataType, wanted: DataType, nanoseconds: Collection[Way] = (), depth: int = 0
) -> str:
    """An expression of SQL for `value`, of the type `own`, as `wanted`: what it lacks is null.

    At the ends of `nanoseconds` there are numbers that count them, for the times that `own` says.
    """
    if () in nanoseconds:
        return f"timestampadd(MICROSECOND, {value} div 1000, {EPOCHS[own.name]})"
    if own == wanted and not nanoseconds:
        return value
    if own.name != wanted.name or not wanted.fields or (_alike(own, wanted) and not nanoseconds):
        return f"CAST({value} AS {wanted})"
    if wanted.name == "struct":
        return _struct(value, own, wanted, nanoseconds, depth)
    parts = []
    whole = (value,) if wanted.name == "array" else (f"map_keys({value})", f"map_values({value})")
    labels = _labels(own)
    for part, label, (_, from_), (_, to) in zip(
        whole, labels, own.fields, wanted.fields, strict=True
    ):
        below = _below(nanoseconds, label)
        if from_ == to and not below:
            parts.append(part)
        else:
            one = f"x{depth}"
            if () in below:
                # Spark's code for lambdas looks at numbers before it asks whether they are null,
                # which fails where Parquet has nothing but nulls. Its casts do not.
                part = f"CAST({part} AS array<decimal(19,0)>)"
            parts.append(f"transform({part}, {one} -> {brought(one, from_, to, below, depth + 1)})")
    return parts[0] if wanted.name == "array" else f"map_from_arrays({', '.join(parts)})"


def counting(type_: DataType, nanoseconds: Collection[Way]) -> DataType:
    """The type with whole numbers where nanoseconds are counted."""
    if () in nanoseconds:
        return DataType("bigint")
    if not nanoseconds:
        return type_
    fields = zip(_labels(type_), type_.fields, strict=True)
    return replace(
        type_,
        fields=tuple(
            (name, counting(inner, _below(nanoseconds, label))) for label, (name, inner) in fields
        ),
    )


def _struct(
    value: str, own: DataType, wanted: DataType, nanoseconds: Collection[Way], depth: int
) -> str:
    has = {name.casefold(): (name, type_) for name, type_ in own.fields}
    fields = []
    for name, type_ in wanted.fields:
        if name.casefold() in has:
            there, its_type = has[name.casefold()]
            below = _below(nanoseconds, name.casefold())
            field = brought(f"{value}.{quoted(there)}", its_type, type_, below, depth)
        else:
            field = f"CAST(NULL AS {type_})"
        fields.append(f"{field} AS {quoted(name)}")
    return f"CASE WHEN {value} IS NOT NULL THEN struct({', '.join(fields)}) END"


def _alike(one: DataType, two: DataType) -> bool:
    """Whether they differ in nothing but the types of leaves, so that positions are names."""
    if one.name != two.name or not one.fields or not two.fields:
        return "struct" not in (one.name, two.name)
    if [name for name, _ in one.fields] != [name for name, _ in two.fields]:
        return False
    pairs = zip(one.fields, two.fields, strict=True)
    return all(_alike(a, b) for (_, a), (_, b) in pairs)


def _labels(type_: DataType) -> Iterator[str]:
    if type_.name == "map":
        return iter(("key", "value"))
    return (name.casefold() for name, _ in type_.fields)


def _below(ways: Collection[Way], label: str) -> list[Way]:
    return [way[1:] for way in ways if way and way[0] == label]
