"""Files of a table written anew, one by one: only those that change, in the order of their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from trunkline.errors import BranchMoved, Precondition
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core
from trunkline.lake.differences import differences
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, Origin, RepoKind
from trunkline.model.entries import Entry
from trunkline.model.refs import Ref
from trunkline.model.tables import Format, Schema, TableSpec, WriteMode
from trunkline.tables.describe import Table, describe
from trunkline.tables.layout import hive_values, is_data
from trunkline.tables.pathvalues import scalar_of
from trunkline.tables.reading.opening import arrow_source, open_parquet, unreadable
from trunkline.tables.reading.parquetrows import parquet_rows
from trunkline.tables.writing.arrowwrite import write_batches
from trunkline.tables.writing.casting import arrow_schema, fitted
from trunkline.tables.writing.storing import refuse_open_commit, table_name
from trunkline.tables.writing.writing import WritePlan, laid_out, moved, put_spec

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

ATTEMPTS = 5
ROW = "__tl_row"
TARGET = "__tl_target"
BATCH = 64 << 10
_STREAM = "__tl_stream"
_ORIGINS = {RepoKind.USER: Origin.USER, RepoKind.OUTPUT: Origin.PIPELINE}


@dataclass(frozen=True, slots=True)
class RowChange:
    """What a change of rows came to. Without a commit nothing had to be changed."""

    commit: Commit | None
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    files: int = 0
    """How many files were replaced."""


class NothingToDo(Exception):
    """Ends a transaction that has nothing to commit."""


@dataclass
class Rewrite:
    """A change of a table in the making: files that go, and those that come."""

    transaction: Transaction
    tree: Tree
    path: str
    name: str
    spec: TableSpec
    gone: list[Entry] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    alone: bool = False
    """Whether rows that somebody else adds meanwhile would have mattered."""

    @property
    def core(self) -> Core:
        return self.transaction.core

    def write(self, batches: Iterable[pa.RecordBatch], **more: Any) -> list[bytes]:
        lines = write_batches(
            self.transaction,
            batches,
            self.spec.schema,
            self.spec.partition_by,
            self.path,
            # Two files of one partition may become alike.
            suffix=f"{self.transaction.id[-8:]}-{len(self.gone)}",
            **more,
        )
        self.lines += lines
        return lines

    def replace(self, entry: Entry, batches: Iterable[pa.RecordBatch] | None) -> None:
        """Put other rows in the place of a file's; None if there are none left."""
        self.gone.append(entry)
        if batches is not None:
            self.write(batches)

    def changes(self, tree: Tree) -> Changes:
        changes = Changes()
        for entry in self.gone:
            changes.remove_file(entry.path.encode())
        changes.put_all(self.lines)
        plan = WritePlan(self.path, self.name, WriteMode.APPEND, self.spec, self.spec)
        put_spec(self.transaction, tree, changes, plan)
        return changes

    def rework(self, head: Tree) -> Changes:
        """The same on a head that was not seen, if what was read is still so there."""
        gone = {entry.path.encode() for entry in self.gone}
        prefix = self.path.rstrip("/").encode() + b"/"
        for found in differences(self.tree, head, prefix):
            rest = found.path[len(prefix) :].decode()
            if found.path in gone or rest == "_table.json" or (self.alone and is_data(rest)):
                raise moved(self.name, found.path.decode())
        changes = self.changes(head)
        self.transaction.intake.flush()
        return changes


Work = Callable[[Transaction, Tree, str, str], tuple[Rewrite, RowChange]]
"""Given the transaction, the head's tree, and the table's folder and name."""


def change_table(
    core: Core,
    author: str,
    target: Ref,
    message: str,
    work: Work,
    *,
    attempts: int = ATTEMPTS,
    kind: RepoKind = RepoKind.USER,
) -> RowChange:
    """One commit of what `work` does to the table at the branch's head.

    If somebody changed the same files meanwhile the work is done again, on what is there now.
    In a repo that is not of people it is upkeep, of which nobody is told.
    """
    path = target.path or "/"
    for attempt in range(attempts):
        try:
            with Transaction(core, author) as transaction:
                draft = transaction.draft(
                    Ref(target.repo, target.ref), message, kind=kind, origin=_ORIGINS[kind]
                )
                draft.quiet = kind is not RepoKind.USER
                refuse_open_commit(transaction, draft)
                tree = core.tree(draft.base)
                name = table_name(draft.target, path)
                rewrite, done = work(transaction, tree, path, name)
                if not rewrite.gone and not rewrite.lines:
                    raise NothingToDo
                draft.changes = rewrite.changes(tree)
                draft.rework = rewrite.rework
        except NothingToDo:
            return RowChange(None)
        except BranchMoved:
            if attempt + 1 == attempts:
                raise
        else:
            return replace(done, commit=draft.result, files=len(rewrite.gone))
    raise AssertionError


def parquet_table(core: Core, tree: Tree, path: str, name: str) -> Table:
    """The table, if rows of it can be changed."""
    table = describe(core, tree, path, name)
    if table.path != path:
        raise Precondition(f"{path} of {name} is a file.", hint="Name the folder it is in.")
    if table.spec.format is not Format.PARQUET:
        raise Precondition(
            f"{name} is a table of {table.spec.format} files, whose rows cannot be changed.",
            hint="Write it as Parquet first: lake.write_table(…, mode='overwrite').",
        )
    return laid_out(table)


def rows_of(
    core: Core, entry: Entry, path: str, spec: TableSpec, columns: Sequence[str] | None = None
) -> pa.RecordBatchReader:
    """The rows of a Parquet file of the table in `path`, in its columns or in some of them."""
    import pyarrow as pa

    schema = spec.schema
    if columns is not None:
        wanted = {name.casefold() for name in columns}
        schema = Schema(tuple(c for c in schema if c.name.casefold() in wanted))
    source = arrow_source(core, entry)
    try:
        file = open_parquet(source)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(core, entry, "the table", "Parquet", error) from None
    names = {column.name.casefold() for column in schema}
    has = [name for name in file.schema_arrow.names if name.casefold() in names]
    # A file that is older than all these columns still tells how many rows it has.
    some = has or file.schema_arrow.names[:1]
    told = _told(entry, path, spec, file.schema_arrow.names)
    batches = fitted(_with_folder(parquet_rows(source, file, some, BATCH), told), schema)
    return pa.RecordBatchReader.from_batches(arrow_schema(schema), batches)


def _told(entry: Entry, path: str, spec: TableSpec, inside: Sequence[str]) -> dict[str, pa.Scalar]:
    """What the names of a file's folders say of columns that it lacks."""
    held = {name.casefold() for name in inside}
    found = hive_values(entry.path[len(path.rstrip("/")) + 1 :])
    texts = {name.casefold(): text for name, text in found.items()}
    columns = map(spec.schema.find, spec.partition_by)
    return {
        one.name: scalar_of(texts[folded], one.type)
        for one in columns
        if one is not None and (folded := one.name.casefold()) in texts and folded not in held
    }


def _with_folder(
    batches: Iterable[pa.RecordBatch], told: dict[str, pa.Scalar]
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for batch in batches:
        for name, value in told.items():
            batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
        yield batch


def numbered(reader: pa.RecordBatchReader, name: str = ROW) -> pa.RecordBatchReader:
    """The same rows with their number, so that no engine can lose their order."""
    import pyarrow as pa

    whole = reader.schema.append(pa.field(name, pa.int64())).remove_metadata()

    def counted() -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in reader:
            stop = start + batch.num_rows
            numbers = pa.array(range(start, stop), pa.int64())
            yield pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=whole)
            start = stop

    return pa.RecordBatchReader.from_batches(whole, counted())


@contextmanager
def streaming(connection: DuckDBPyConnection, reader: pa.RecordBatchReader) -> Iterator[str]:
    """The name under which DuckDB reads a stream, once."""
    connection.register(_STREAM, reader)
    try:
        yield _STREAM
    finally:
        connection.unregister(_STREAM)


def load(connection: DuckDBPyConnection, reader: pa.RecordBatchReader, table: str) -> None:
    """A stream as a table of DuckDB, which moves to disk what memory does not hold."""
    with streaming(connection, reader) as stream:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM {stream}")


def load_file(
    core: Core, connection: DuckDBPyConnection, entry: Entry, path: str, spec: TableSpec
) -> None:
    load(connection, numbered(rows_of(core, entry, path, spec)), TARGET)


def count(connection: DuckDBPyConnection, query: str) -> tuple[int, ...]:
    (row,) = connection.execute(query).fetchall()
    return tuple(int(value or 0) for value in row)


def rows(connection: DuckDBPyConnection, query: str) -> Iterable[pa.RecordBatch]:
    """What a query gives, in pieces."""
    found: Any = connection.sql(query).to_arrow_reader(BATCH)
    batches: Iterable[pa.RecordBatch] = found
    return batches
