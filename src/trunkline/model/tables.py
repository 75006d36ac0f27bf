"""Tables: folders of files that share a schema, and what is known of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

TABLE_FILE = "_table.json"
"""In a table's folder: its format, options and schema. Versioned with the data it describes."""

QUARANTINE = "_quarantine"

NULL = "\0null\0"
"""Spark's `nullValue` where none is told: no cell reads so, and so "" is no null but empty text."""

EXACT, QUOTED_NULLS, FITTING = "exact", "quotedNulls", "fitting"
"""Options of ours for text files: one that is not written plainly; the columns (a JSON list) that
are not text and in which quotes with nothing between them are null; and where malformed rows are
left out, the pattern of each column's values (a JSON object)."""

DROP_MALFORMED = "DROPMALFORMED"


FOLDER_TYPES = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "date", "timestamp", "timestamp_ntz"),
)
"""Types whose values the names of folders can say."""


class Format(StrEnum):
    """How the rows of a table are stored."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    ORC = "orc"


class WriteMode(StrEnum):
    """What becomes of the rows that are there."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    OVERWRITE_PARTITIONS = "overwrite_partitions"


_TEXT = "encoding lineSep dateFormat timestampFormat timestampNTZFormat locale mode multiLine"
OPTIONS: Mapping[Format, str] = {
    Format.CSV: (
        "sep quote escape header comment nullValue emptyValue nanValue positiveInf negativeInf "
        "ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace maxColumns maxCharsPerColumn "
        f"enforceSchema unescapedQuoteHandling charToEscapeQuoteEscaping {_TEXT}"
    ),
    Format.JSON: (
        "primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames "
        "allowSingleQuotes allowNumericLeadingZeros allowBackslashEscapingAnyCharacter "
        f"allowUnquotedControlChars dropFieldIfAllNull {_TEXT}"
    ),
    Format.PARQUET: "",
    Format.ORC: "",
}
"""What may be told of how files of a format are read, by the names that Spark has for it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `type` is as Spark SQL writes it, in lower case: bigint, decimal(12,2), date."""

    name: str
    type: str
    nullable: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.type}" + ("" if self.nullable else " not null")


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...] = ()

    def __json__(self) -> tuple[Column, ...]:
        return self.columns

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        columns = handler.generate_schema(tuple[Column, ...])
        shown = core_schema.plain_serializer_function_ser_schema(
            cls.__json__, return_schema=columns
        )
        return core_schema.no_info_after_validator_function(cls, columns, serialization=shown)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        """The column of that name; as in Spark, upper and lower case are the same."""
        folded = name.casefold()
        return next((one for one in self.columns if one.name.casefold() == folded), None)

    def without(self, names: tuple[str, ...]) -> Schema:
        gone = {name.casefold() for name in names}
        return Schema(tuple(one for one in self.columns if one.name.casefold() not in gone))

    def to_list(self) -> list[dict[str, object]]:
        return [
            {"name": one.name, "type": one.type, **({} if one.nullable else {"nullable": False})}
            for one in self.columns
        ]

    @classmethod
    def from_list(cls, given: list[dict[str, object]]) -> Schema:
        return cls(
            tuple(
                Column(str(one["name"]), str(one["type"]), bool(one.get("nullable", True)))
                for one in given
            )
        )


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a table's folder records of itself.

    `partition_by` are columns with a folder for each value: the names of the folders have them,
    not the files, unless those are older than that rule or others put them there.
    `options` are those of Spark's reader: header, sep, quote, timestampFormat … `evolved` tells
    that older files may lack columns, or have narrower types.
    """

    format: Format
    schema: Schema
    partition_by: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    key: tuple[str, ...] = ()
    evolved: bool = False

    def encode(self) -> bytes:
        """The same table, the same bytes: an unchanged one must not look changed."""
        shown: dict[str, object] = {
            "format": self.format.value,
            "schema": self.schema.to_list(),
        }
        if self.partition_by:
            shown["partition_by"] = list(self.partition_by)
        if self.options:
            shown["options"] = dict(sorted(self.options))
        if self.key:
            shown["key"] = list(self.key)
        if self.evolved:
            shown["evolved"] = True
        return (json.dumps(shown, indent=1, ensure_ascii=False) + "\n").encode()

    @classmethod
    def decode(cls, data: bytes) -> TableSpec:
        """Raises ValueError if it is not what `encode` writes."""
        try:
            given = json.loads(data)
            options: Mapping[str, object] = given.get("options", {})
            return cls(
                Format(given["format"]),
                Schema.from_list(given["schema"]),
                tuple(given.get("partition_by", ())),
                tuple(sorted((str(name), str(value)) for name, value in options.items())),
                tuple(given.get("key", ())),
                bool(given.get("evolved", False)),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a table's description: {error}") from None


@dataclass(frozen=True, slots=True)
class ScanFile:
    """A file as an engine reads it.

    `uri` is where the bytes are: a whole object, or for a packed file `tlslice:///…`, which the
    engine's own file system reads. `values` are those of the scan's path columns, as text.
    `stats` is JSON: {"column": [least, greatest, nulls]}; empty if unknown. `path` is that in
    the repo, for people.
    """

    uri: str
    size: int
    values: tuple[str | None, ...] = ()
    stats: str = ""
    rows: int | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """Files of one table that are read alike. A table may need several (CSV with other headers).

    `schema` has the columns that are in the files; `path_columns` those that only the folders'
    names have. `result` is the table's schema, which every scan of it is brought to. The option
    `nanoseconds` is ours: a JSON list of the ways to values that count them since 1970, as pandas
    writes; a way is a list: the column, then fields, `key` and `value` of maps, "" for arrays.
    """

    name: str
    format: Format
    schema: Schema
    path_columns: Schema
    files: tuple[ScanFile, ...]
    options: tuple[tuple[str, str], ...] = ()
    result: Schema = Schema()

    @property
    def may_be_nan(self) -> frozenset[str]:
        """The folded names of columns of floats that may hold NaN, of which nothing is known above.

        A file's own bounds may leave it out. Engines to which it is the greatest of all numbers
        must not compare there: they would leave out its rows.
        """
        floats = {one.name.casefold() for one in self.schema if one.type in ("float", "double")}
        if not floats or self.format not in (Format.PARQUET, Format.ORC):
            return frozenset()
        found: set[str] = set()
        for stats in {file.stats for file in self.files}:
            told = json.loads(stats) if stats else {}
            known = {name.casefold() for name, bounds in told.items() if bounds[1] is not None}
            found |= floats - known
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Written:
    """A file that an engine wrote, and what it learned of it on the way.

    `folder` are the values of the partition columns, in order. `rule` is that of quarantined
    rows, else empty. `first` and `second` are sums over the hashes of the rows.
    """

    uri: str
    size: int
    rows: int
    first: int
    second: int
    folder: tuple[str | None, ...] = ()
    rule: str = ""
    stats: str = ""
