"""What a source gives, made rows of one table; and why, where that cannot be done.

A row that does not fit stops nothing: it goes to `/_malformed/` with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trunkline.errors import SchemaClash, TrunklineError
from trunkline.ingests.columns import as_text, column, guessed, without
from trunkline.ingests.feeds.base import Columns, CsvText, JsonLines, Piece, Records, Refused
from trunkline.ingests.texts import AsCsv, AsJson, AsText, parsed
from trunkline.model.evolution import united
from trunkline.model.tables import Column, Schema
from trunkline.tables.types import from_arrow
from trunkline.tables.unite import settled
from trunkline.tables.writing.casting import arrow_schema, fitted
from trunkline.tables.writing.writing import check_schema

if TYPE_CHECKING:
    import pyarrow as pa

MOST_COLUMNS = 5_000


@dataclass(slots=True)
class Rows:
    """Rows that fit, as a table, and those that do not. `schema` is what the table has then."""

    table: pa.Table | None = None
    schema: Schema = field(default_factory=Schema)
    malformed: list[Refused] = field(default_factory=list)


class RowMaker:
    """Makes rows of pieces, one after the other; knows the table's columns, and learns new ones.

    With `declared` columns there are no others: what else a row has is left out, as Spark does
    with a schema. Else a row may bring new columns, and those that are known keep their types.
    """

    def __init__(self, known: Schema, declared: Schema | None) -> None:
        self._declared = declared is not None
        self.known = declared if declared is not None else known

    def make(self, piece: Piece) -> Rows:
        if isinstance(piece, JsonLines):
            return self._lines(piece)
        if isinstance(piece, Records):
            texts = AsJson(piece.rows)
            return self._records(piece.rows, texts, [piece.source] * len(piece.rows), None, {})
        if isinstance(piece, Columns):
            return self._table(piece)
        if isinstance(piece, CsvText):
            return self._csv(piece)
        assert isinstance(piece, Refused)
        return Rows(malformed=[piece])

    # -- JSON and dicts --------------------------------------------------------------------

    def _lines(self, piece: JsonLines) -> Rows:
        rows, bad = parsed(piece.lines)
        return self._records(rows, AsText(piece.lines), piece.sources, piece.extra, bad)

    def _records(
        self,
        rows: Sequence[Any],
        texts: Sequence[str],
        sources: Sequence[str],
        extra: pa.Table | None,
        bad: dict[int, str],
    ) -> Rows:
        import pyarrow as pa

        for place, row in enumerate(rows):
            if not isinstance(row, dict) and place not in bad:
                if isinstance(row, Mapping):
                    rows = [dict(one) if isinstance(one, Mapping) else one for one in rows]
                    break
                bad[place] = f"{as_text(row)[:60]} is no object"
        good = [{} if place in bad else row for place, row in enumerate(rows)] if bad else rows
        keys = self._keys(good, bad)
        fields, arrays = [], []
        for name, spelt in keys.items():
            values = _values(good, spelt, bad)
            known = self.known.find(name)
            if known is None:
                type_ = None if self._declared else guessed(values)
                if type_ is None:
                    continue  # null so far, or not asked for
                try:
                    check_schema(Schema((Column(name, type_),)), "")
                except TrunklineError as error:
                    bad |= {at: error.message for at, one in enumerate(values) if one is not None}
                    continue
                known = Column(name, type_)
            array, refused = column(values, known.type)
            if not known.nullable:
                refused |= {
                    at: f"{known.name} is null" for at, one in enumerate(values) if one is None
                }
            bad |= {at: f"{known.name}: {why}" for at, why in refused.items() if at not in bad}
            fields.append(known)
            arrays.append(array)
        for known in self.known:
            if not known.nullable and known.name.casefold() not in {
                f.name.casefold() for f in fields
            }:
                bad |= {at: f"{known.name} is missing" for at in range(len(rows)) if at not in bad}
        malformed = [Refused(texts[at], bad[at], sources[at]) for at in sorted(bad)]
        schema = Schema(tuple(fields))
        named = arrow_schema(schema)
        if extra is not None:
            schema = Schema((*schema, *from_arrow(extra.schema)))
            arrays = [*arrays, *(one.combine_chunks() for one in extra.columns)]
            named = arrow_schema(schema)
        if len(bad) == len(rows):
            return Rows(malformed=malformed)
        if not fields and extra is None:
            # Rows of which nothing is known: `{}`, or nulls alone.
            reason = "it has no column of the table" if len(self.known) else "it has no value"
            lost = [
                Refused(texts[at], reason, sources[at]) for at in range(len(rows)) if at not in bad
            ]
            return Rows(malformed=[*malformed, *lost])
        table = without(pa.Table.from_arrays(arrays, schema=named), bad)
        return self._fitted(table, schema, malformed)

    def _keys(self, rows: Sequence[dict[str, Any]], bad: dict[int, str]) -> dict[str, list[str]]:
        """The columns that rows bring, in the order they come; each with its spellings."""
        found: dict[str, list[str]] = {}
        spelt: dict[str, str] = {one.name.casefold(): one.name for one in self.known}
        for key in dict.fromkeys(key for row in rows for key in row):
            folded = str(key).casefold()
            name = spelt.setdefault(folded, str(key))
            if self._declared and self.known.find(name) is None:
                continue
            found.setdefault(name, []).append(key)
        if len(self.known) + len(found) > MOST_COLUMNS:
            fresh = {name for name in found if self.known.find(name) is None}
            for at, row in enumerate(rows):
                if any(spelt[str(key).casefold()] in fresh for key in row):
                    bad.setdefault(at, f"there would be more than {MOST_COLUMNS:,} columns")
            return {name: keys for name, keys in found.items() if name not in fresh}
        return found

    # -- tables ----------------------------------------------------------------------------

    def _table(self, piece: Columns) -> Rows:
        table = piece.table
        if not table.num_rows:
            return Rows()
        try:
            schema = from_arrow(table.schema)
            check_schema(schema, "")
            if self._declared:
                # Columns that are wanted, cast where nothing is lost.
                return self._fitted(table, self.known, [])
            return self._fitted(table, schema, [])
        except (TrunklineError, SchemaClash):
            # Not as a whole: row by row, each with its own reason.
            rows = table.to_pylist()
            texts = AsJson(rows)
            return self._records(rows, texts, [piece.source] * len(rows), None, {})

    def _csv(self, piece: CsvText) -> Rows:
        """Known columns are read as text and then made what they are, so that a bad value costs
        its row and no other.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        malformed: list[Refused] = []

        def skip(row: Any) -> str:
            reason = f"{row.actual_columns} values, not {row.expected_columns}"
            malformed.append(Refused(row.text, reason, piece.source))
            return "skip"

        if not piece.data.strip():
            return Rows()
        texts = {name: pa.string() for one in self.known for name in (one.name,)}
        try:
            table = arrow_csv.read_csv(
                pa.BufferReader(piece.data),
                # One block, or a long row is none of Arrow's.
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, block_size=len(piece.data) + 1
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=piece.delimiter, newlines_in_values=True, invalid_row_handler=skip
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=texts,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = f"not a CSV: {str(error).splitlines()[0]}"
            text = piece.data.decode(errors="backslashreplace")
            return Rows(malformed=[Refused(text, reason, piece.source)])
        arrays, names = [], []
        bad: dict[int, str] = {}
        for name, values in zip(table.column_names, table.columns, strict=True):
            known = self.known.find(name)
            array = values.combine_chunks()
            if known is not None:
                array, refused = _from_text(array, known.type)
                bad |= {at: f"{name}: {why}" for at, why in refused.items() if at not in bad}
                if not known.nullable:
                    nulls = [at for at, ok in enumerate(array.is_valid().to_pylist()) if not ok]
                    bad |= {at: f"{name} is null" for at in nulls if at not in bad}
            arrays.append(array)
            names.append(name)
        lines = AsCsv(table)
        malformed += [Refused(lines[at], why, piece.source) for at, why in sorted(bad.items())]
        made = without(pa.Table.from_arrays(arrays, names=names), bad)
        if not made.num_rows:
            return Rows(malformed=malformed)
        rest = self._table(Columns(made, piece.source))
        return Rows(rest.table, rest.schema, [*malformed, *rest.malformed])

    def _fitted(self, table: pa.Table, schema: Schema, malformed: list[Refused]) -> Rows:
        """The table as its columns will be stored. Raises SchemaClash or Usage."""
        import pyarrow as pa

        if self._declared:
            others = (one for one in schema if self.known.find(one.name) is None)
            schema = Schema((*self.known, *others))
        else:
            schema = settled(united(self.known, schema) if len(self.known) else schema)
        batches = list(fitted(table.to_batches(), schema))
        made = pa.Table.from_batches(batches, schema=arrow_schema(schema))
        if not self._declared:
            self.known = schema
        return Rows(made, schema, malformed)


def _from_text(array: pa.Array, type_: str) -> tuple[pa.Array, dict[int, str]]:
    """A column of text as another type."""
    import pyarrow as pa
    from pyarrow import compute

    from trunkline.tables.types import to_arrow_type

    wanted = to_arrow_type(type_)
    if array.type == wanted:
        return array, {}
    # Two quotes are an empty text, and no value of another type.
    array = compute.if_else(compute.equal(array, ""), pa.scalar(None, array.type), array)
    try:
        return compute.cast(array, wanted), {}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [_spoken(text, wanted) for text in array.to_pylist()]
        return column(values, type_)


def _spoken(text: str | None, wanted: pa.DataType) -> Any:
    """A text as what it says, where it says it."""
    import pyarrow as pa
    from pyarrow import compute

    if text is None:
        return None
    try:
        return compute.cast(pa.array([text.strip()]), wanted)[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return text


def _values(rows: Sequence[dict[str, Any]], keys: list[str], bad: dict[int, str]) -> list[Any]:
    first, *others = keys
    values = [row.get(first) for row in rows]
    for key in others:
        for at, row in enumerate(rows):
            if key not in row:
                continue
            if values[at] is not None and row[key] is not None:
                other = next(one for one in keys if row.get(one) is not None)
                bad.setdefault(at, f'"{other}" and "{key}" are one column')
            elif row[key] is not None:
                values[at] = row[key]
    return values
