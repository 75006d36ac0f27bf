"""The rows of a micro-batch as Spark reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.engine.transform import Source
from trunkline.jobs.streaming.changedrows import as_inserts, changes_of, with_change
from trunkline.jobs.streaming.step import Step
from trunkline.jobs.streaming.tablestate import TableStates, folder_of, name_of
from trunkline.jobs.streaming.textfiles import text_source
from trunkline.lake.core import Core
from trunkline.model.commits import Commit
from trunkline.model.entries import Entry
from trunkline.model.inputs import Pfs
from trunkline.model.streams import OnChangedRows
from trunkline.model.tables import Schema, TableSpec
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.describe import TEXT, describe_lines
from trunkline.tables.physical import check_references


@dataclass(frozen=True, slots=True)
class Given:
    """Rows of an input. `doubtful` are the paths of text files that may have malformed rows."""

    source: Source
    doubtful: frozenset[str] = frozenset()
    entries: tuple[Entry, ...] = ()
    """Those of the doubtful files."""


def source_of(
    core: Core, leaf: Pfs, lines: Sequence[bytes], table: TableSpec, folder: str = "/"
) -> Given:
    """Some files of a table, whatever else there is of it."""
    name = name_of(leaf, folder)
    if table.format in TEXT:
        source, doubtful = text_source(core, lines, folder, name, table)
        entries = map(Entry.decode, lines) if doubtful else ()
        return Given(source, doubtful, tuple(one for one in entries if one.path in doubtful))
    found = describe_lines(core, lines, folder, name, table)
    check_references(core, found.entries, publish=True)
    return Given(Source(found.scans, found.schema))


def given(core: Core, keys: KeyMaker, leaf: Pfs, steps: Sequence[Step]) -> Given | None:
    """All that some steps of one micro-batch bring; None if they bring nothing."""
    some = [one for one in steps if not one.is_empty]
    if not some:
        return None
    first = some[0]
    assert first.table is not None
    lines = [line for one in some for line in one.added]
    found = source_of(core, leaf, lines, first.table, first.folder)
    source = as_inserts(found.source) if first.marked else found.source
    scans = list(source.scans)
    name = name_of(leaf, first.folder)
    for one in some:
        if one.changed:
            scans += changes_of(core, keys, one, name, marked=one.marked).scans
    return Given(Source(tuple(scans), source.schema), found.doubtful, found.entries)


def schema_at(core: Core, leaf: Pfs, commit: Commit | None) -> Schema | None:
    """The columns that a stream gets of an input as it is at a commit; None without a table."""
    tree = core.tree(commit)
    folder = folder_of(tree, leaf)
    states = TableStates(core, folder, name_of(leaf, folder))
    table = states.at(tree, commit.root_hash if commit else None)
    if table is None or not len(table.schema):
        return None
    marked = leaf.stream.changes is OnChangedRows.ROWS
    return with_change(table.schema) if marked else table.schema
