"""Text files of a stream's input: which are known to be in order, and how the others are written.

Batch pipelines stop at a row that cannot be read. A stream must go on, so a file whose rows do
not all fit the table's columns is not refused here, but told apart: it is doubtful.
"""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.engine.transform import Source
from trunkline.errors import Precondition
from trunkline.lake import files
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Format, Schema, TableSpec
from trunkline.model.types import parse_type
from trunkline.tables.discovery.csvfacts import aligned, written_as
from trunkline.tables.discovery.discover import facts_of, one_format
from trunkline.tables.discovery.facts import Fact, Shape
from trunkline.tables.pathcolumns import PathColumns
from trunkline.tables.physical import check_references
from trunkline.tables.scans import make_scans
from trunkline.tables.unite import wider

MOST_LOOKED_AT = 64 << 20
"""Bytes of JSON that are looked through here. Spark looks through more than that."""


def text_source(
    core: Core, lines: Sequence[bytes], folder: str, name: str, table: TableSpec
) -> tuple[Source, frozenset[str]]:
    """The files as Spark reads them, and the paths of those that may have malformed rows."""
    entries = [Entry.decode(line) for line in lines]
    if entries and (format_ := one_format(entries, name)) is not table.format:
        raise Precondition(
            f"{name} is recorded as {table.format}, but {entries[0].path} is {format_}.",
            hint="Remove the file, or record the table anew: trunkline table set.",
        )
    facts = _facts(core, entries, table, name)
    doubtful = frozenset(
        entry.path
        for entry, fact in zip(entries, facts, strict=True)
        if entry.size and (fact is None or not _fits(fact.shape.schema, table.schema))
    )
    reading = _reading(core, entries, facts, table, name)
    folders = PathColumns.of(entries, len(folder.rstrip("/")) + 1, table.partition_by)
    check_references(core, entries, publish=True)
    scans = make_scans(core, name, table, entries, reading, folders.only(table.schema))
    return Source(scans, table.schema), doubtful


def _facts(core: Core, entries: Sequence[Entry], table: TableSpec, name: str) -> list[Fact | None]:
    """What is in each file; None if it cannot be told, or not for little."""
    if table.format is Format.JSON and sum(one.size for one in entries) > MOST_LOOKED_AT:
        return [None] * len(entries)
    options = dict(table.options)
    try:
        return [*facts_of(core, entries, table.format, options, name)]
    except Precondition:
        return [_fact(core, entry, table, name) for entry in entries]


def _fact(core: Core, entry: Entry, table: TableSpec, name: str) -> Fact | None:
    try:
        return facts_of(core, [entry], table.format, dict(table.options), name)[0]
    except Precondition:
        return None


def _reading(
    core: Core,
    entries: Sequence[Entry],
    facts: Sequence[Fact | None],
    table: TableSpec,
    name: str,
) -> list[Fact | None]:
    """How each file is to be read."""
    if table.format is Format.JSON:
        # The table's columns count: a row that has none of them is a row of nulls.
        return [fact and Fact(Shape(Schema(), fact.shape.options), fact.rows) for fact in facts]
    known = [
        fact or Fact(_written(core, entry, table, name))
        for entry, fact in zip(entries, facts, strict=True)
    ]
    return aligned(known)


def _written(core: Core, entry: Entry, table: TableSpec, name: str) -> Shape:
    shape = written_as(core, entry, dict(table.options), name)
    options = dict(shape.options)
    # In quotes may be ends of lines. Without any quotes, a line is a row and stays one.
    quote = options.get("quote", '"').encode()
    quoted = any(quote in piece for piece in files.read(core, entry))
    options.setdefault("multiLine", "true" if quoted else "false")
    return Shape(shape.schema, tuple(sorted(options.items())))


def _fits(found: Schema, table: Schema) -> bool:
    """Whether all that was found in a file can be read as what the table says."""
    for column in found:
        wanted = table.find(column.name)
        if wanted is None:
            continue
        type_ = parse_type(wanted.type)
        if wider(type_, parse_type(column.type), lenient=True) != type_:
            return False
    return True
