"""What a write makes of a table: its schema, its partitions, the files that go.

Planning reads the table as a commit has it and stores nothing. If the branch moves meanwhile,
the same is planned again on the new head, with the files that are written already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from trunkline.errors import BranchMoved, Precondition, SchemaClash, Usage
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core
from trunkline.lake.differences import differences
from trunkline.lake.drafts import Draft
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.entries import line_path
from trunkline.model.evolution import clash, united
from trunkline.model.paths import join
from trunkline.model.suggest import did_you_mean, shown
from trunkline.model.tables import (
    FOLDER_TYPES,
    TABLE_FILE,
    Format,
    Schema,
    TableSpec,
    WriteMode,
)
from trunkline.model.types import parse_type
from trunkline.tables.describe import Table, describe, recorded_spec
from trunkline.tables.layout import is_data
from trunkline.tables.pathvalues import Values, folder_of
from trunkline.tables.unite import settled

RESERVED = "__tl_"


@dataclass(frozen=True, slots=True)
class WritePlan:
    """A write worked out on a tree: `old` is the table that is there, `spec` what it becomes."""

    path: str
    name: str
    mode: WriteMode
    spec: TableSpec
    old: TableSpec | None

    @property
    def schema(self) -> Schema:
        return self.spec.schema

    @property
    def table_file(self) -> str:
        return join(self.path, TABLE_FILE)


def plan_write(
    core: Core,
    tree: Tree,
    path: str,
    incoming: Schema,
    *,
    name: str,
    mode: WriteMode = WriteMode.APPEND,
    partition_by: Sequence[str] | None = None,
    evolve: bool = True,
    checked: bool = False,
) -> WritePlan:
    """What rows with the schema `incoming` make of the table at `path`.

    `partition_by` None means: as it is. With `checked` the writer refuses values that a double
    does not hold, so that whole numbers fit into a column of doubles. Raises SchemaClash,
    Precondition or Usage.
    """
    check_schema(incoming, name)
    if tree.find(path.encode()) is not None and path != "/":
        raise Usage(f"{path} of {name} is a file.", hint="A table is a folder: name that.")
    overwrite = mode is WriteMode.OVERWRITE
    old = _existing(core, tree, path, name, for_overwrite=overwrite)
    if old is None or overwrite:
        spec = _new_spec(old, settled(incoming), partition_by, name)
        if old is not None and not evolve and old.schema.columns:
            _refuse_change(old.schema, spec.schema, name)
        _refuse_no_partitions(mode, spec, name)
        return WritePlan(path, name, mode, spec, old)
    if old.format is not Format.PARQUET:
        raise Precondition(
            f"{name} is a table of {old.format} files; rows are written as Parquet.",
            hint='Replace it by a Parquet table: mode "overwrite" with all its rows.',
        )
    parts = _checked_partitions(old, partition_by, name)
    if checked:
        incoming = _as_doubles(incoming, old.schema)
    schema = settled(united(old.schema, incoming, name))
    if not evolve:
        _refuse_change(old.schema, schema, name)
    _refuse_no_partitions(mode, old, name)
    evolved = old.evolved or not _same_columns(schema, old.schema)
    return WritePlan(
        path, name, mode, replace(old, schema=schema, partition_by=parts, evolved=evolved), old
    )


def check_schema(schema: Schema, name: str) -> None:
    """Columns that every engine can read back."""
    if not schema.columns:
        raise Usage(f"There is no column to write to {name}.", hint="A table has one or more.")
    seen: dict[str, str] = {}
    for column in schema:
        other = seen.setdefault(column.name.casefold(), column.name)
        if other is not column.name:
            raise Usage(
                f'"{other}" and "{column.name}" are one column to Spark.',
                hint="Give one of them another name.",
            )
        if not column.name or not column.name.isprintable():
            raise Usage(
                f"{shown(column.name)} cannot be the name of a column.",
                hint="Use letters, digits and underscores.",
            )
        if column.name.startswith(RESERVED):
            raise Usage(
                f'The column "{column.name}" has a reserved name.',
                hint=f"Names that begin with {RESERVED} are Trunkline's own.",
            )


def stage(transaction: Transaction, draft: Draft, plan: WritePlan, lines: Sequence[bytes]) -> None:
    """Make files that are in the store, and `_table.json`, the changes of a draft."""
    core, base = transaction.core, transaction.core.tree(draft.base)
    draft.changes = _changes(transaction, base, plan, lines)

    def rework(head: Tree) -> Changes:
        _refuse_lost(core, base, head, plan, lines)
        found = _replanned(core, head, plan)
        changes = _changes(transaction, head, found, lines)
        transaction.intake.flush()
        return changes

    draft.rework = rework


def data_lines(tree: Tree, path: str) -> Iterator[bytes]:
    """The lines of the data files of a table's folder."""
    prefix = path.rstrip("/").encode() + b"/"
    for line in tree.scan(prefix):
        if is_data(line_path(line)[len(prefix) :].decode()):
            yield line


def put_spec(transaction: Transaction, tree: Tree, changes: Changes, plan: WritePlan) -> None:
    """Record the table, if it is not recorded just so."""
    data = plan.spec.encode()
    recorded = recorded_spec(transaction.core, tree, plan.path)
    if recorded is None or recorded.encode() != data:
        changes.put_all([transaction.intake.add_bytes(plan.table_file, data)])


def _changes(
    transaction: Transaction, tree: Tree, plan: WritePlan, lines: Sequence[bytes]
) -> Changes:
    changes = Changes()
    for line in _replaced(tree, plan, lines):
        changes.remove_file(line_path(line))
    changes.put_all(lines)
    put_spec(transaction, tree, changes, plan)
    return changes


def _replaced(tree: Tree, plan: WritePlan, lines: Sequence[bytes]) -> Iterator[bytes]:
    """The files that the new ones stand in for."""
    if plan.mode is WriteMode.APPEND:
        return
    folders = {_partition(line_path(line), plan) for line in lines}
    for line in data_lines(tree, plan.path):
        if plan.mode is WriteMode.OVERWRITE or _partition(line_path(line), plan) in folders:
            yield line


def _partition(path: bytes, plan: WritePlan) -> Values:
    """By values: others may have spelled its folders otherwise."""
    parts = (plan.schema.find(one) for one in plan.spec.partition_by)
    columns = Schema(tuple(one for one in parts if one is not None))
    return folder_of(path[len(plan.path.rstrip("/").encode()) + 1 :].decode(), columns)


def _refuse_lost(
    core: Core, base: Tree, head: Tree, plan: WritePlan, lines: Sequence[bytes]
) -> None:
    """An overwrite must not take away rows that its author never saw."""
    if plan.mode is WriteMode.APPEND:
        return
    prefix = plan.path.rstrip("/").encode() + b"/"
    folders = {_partition(line_path(line), plan) for line in lines}
    for found in differences(base, head, prefix):
        mine = plan.mode is WriteMode.OVERWRITE or _partition(found.path, plan) in folders
        if mine and is_data(found.path[len(prefix) :].decode()):
            raise moved(plan.name, found.path.decode())
    if plan.mode is WriteMode.OVERWRITE and recorded_spec(core, base, plan.path) != recorded_spec(
        core, head, plan.path
    ):
        raise moved(plan.name, plan.table_file)


def _replanned(core: Core, head: Tree, plan: WritePlan) -> WritePlan:
    """The plan on a head that it was not made for, for files that are as they are."""
    if plan.mode is WriteMode.OVERWRITE:
        return plan
    found = plan_write(core, head, plan.path, plan.schema, name=plan.name, mode=plan.mode)
    if found.spec.partition_by != plan.spec.partition_by:
        raise moved(plan.name, plan.table_file)
    if plan.old is not None:
        try:
            grown = found.old is not None and united(plan.old.schema, found.old.schema)
        except SchemaClash:
            grown = False
        if not grown or found.old is None or not _same_columns(grown, found.old.schema):
            raise moved(plan.name, plan.table_file)
    evolved = found.spec.evolved or not _same_columns(found.schema, plan.schema)
    return replace(found, spec=replace(found.spec, evolved=evolved))


def moved(name: str, path: str) -> BranchMoved:
    return BranchMoved(
        f"{name} moved while you worked: {path} changed on both sides.",
        hint="Nothing was changed; look at the new head, then try again.",
    )


def _existing(
    core: Core, tree: Tree, path: str, name: str, *, for_overwrite: bool
) -> TableSpec | None:
    """The table that is there, recorded or found, or None."""
    recorded = recorded_spec(core, tree, path)
    first = next(data_lines(tree, path), None)
    if first is None or for_overwrite:
        return recorded
    if recorded is not None and recorded.format is not Format.PARQUET:
        return recorded
    start = len(path.rstrip("/").encode()) + 1
    flat = all(b"/" not in line_path(line)[start:] for line in data_lines(tree, path))
    if recorded is not None and recorded.schema.columns and (recorded.partition_by or flat):
        return recorded
    return laid_out(describe(core, tree, path, name)).spec


def laid_out(table: Table) -> Table:
    """The table with the columns of its folders as those that it is partitioned by."""
    found = {one.name.casefold(): one for scan in table.scans for one in scan.path_columns}
    known = {one.casefold() for one in table.spec.partition_by}
    more = tuple(one.name for name, one in found.items() if name not in known)
    return replace(table, spec=replace(table.spec, partition_by=table.spec.partition_by + more))


def _new_spec(
    old: TableSpec | None, schema: Schema, partition_by: Sequence[str] | None, name: str
) -> TableSpec:
    kept = partition_by is None and old is not None
    if partition_by is None:
        partition_by = old.partition_by if old is not None else ()
        partition_by = [one for one in partition_by if schema.find(one)] if kept else ()
    columns = []
    for one in partition_by:
        column = schema.find(one)
        if column is None:
            raise Usage(
                f'There is no column "{one}" to partition {name} by.'
                f"{did_you_mean(one, schema.names)}",
                hint=f"There are: {', '.join(schema.names[:20])}.",
            )
        if parse_type(column.type).name not in FOLDER_TYPES:
            raise Usage(
                f'{name} cannot be partitioned by "{column.name}", which is {column.type}.',
                hint="Partition by text, numbers, dates, times or booleans.",
            )
        columns.append(column.name)
    if len(set(columns)) < len(columns):
        raise Usage(f"A column is named twice to partition {name} by.")
    if columns and len(columns) == len(schema):
        raise Usage(
            f"{name} cannot be partitioned by all of its columns: its files would have none.",
            hint="Leave one of them out of partition_by.",
        )
    key = tuple(one for one in old.key if schema.find(one)) if old is not None else ()
    return TableSpec(Format.PARQUET, schema, tuple(columns), key=key)


def _checked_partitions(
    old: TableSpec, partition_by: Sequence[str] | None, name: str
) -> tuple[str, ...]:
    if partition_by is not None:
        given = [one.casefold() for one in partition_by]
        if given != [one.casefold() for one in old.partition_by]:
            now = ", ".join(old.partition_by) or "nothing"
            raise Precondition(
                f"{name} is partitioned by {now}, not by {', '.join(partition_by) or 'nothing'}.",
                hint='Leave partition_by out, or write all rows anew with mode "overwrite".',
            )
    return old.partition_by


def _refuse_no_partitions(mode: WriteMode, spec: TableSpec, name: str) -> None:
    """Without partitions all rows would go, which the mode does not say."""
    if mode is WriteMode.OVERWRITE_PARTITIONS and not spec.partition_by:
        raise Precondition(
            f"{name} has no partitions that could be overwritten.",
            hint='Use mode "overwrite" to replace all its rows.',
        )


def _as_doubles(incoming: Schema, old: Schema) -> Schema:
    """Whole numbers are doubles where the table has those: Python writes 9 for 9.0."""
    return Schema(
        tuple(
            replace(column, type="double")
            if column.type == "bigint"
            and (there := old.find(column.name))
            and there.type == "double"
            else column
            for column in incoming
        )
    )


def _refuse_change(old: Schema, new: Schema, name: str) -> None:
    if not _same_columns(old, new):
        raise clash(old, new, "its schema would change, and evolve is off", name)


def _same_columns(one: Schema, other: Schema) -> bool:
    return [(c.name, c.type) for c in one] == [(c.name, c.type) for c in other]
