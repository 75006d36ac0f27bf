"""What tables of other people get: rows that are new, or changed by key, since what they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.egress.base import Shipment
from trunkline.errors import Precondition
from trunkline.model.commits import Commit
from trunkline.model.suggest import did_you_mean
from trunkline.storage.catalog import commits, repos

if TYPE_CHECKING:
    import pyarrow as pa


def commit_number(commit: Commit) -> int:
    """The time in a commit's id: a number that grows, for targets that keep no text."""
    return int(commit.id[:12] + commit.id[13:16], 16)


def id_start(number: int) -> str:
    """What the id of the commit with that number begins with."""
    digits = f"{number:015x}"
    return f"{digits[:12]}7{digits[12:]}"


def since(shipment: Shipment, there: str) -> Shipment:
    """The shipment, compared with the version that the target itself says it has."""
    before = shipment.before
    if there and before is not None and before.id.startswith(there):
        return shipment
    return Shipment(shipment.core, shipment.commit, shipment.path, _find(shipment, there))


def _find(shipment: Shipment, start: str) -> Commit | None:
    if not start:
        return None
    with shipment.core.database.read() as session:
        repo = repos.key_of(session, shipment.commit.repo)
        found = commits.ids_like(session, start, repo) if repo is not None else []
        return commits.find(session, repo, found[0]) if repo and len(found) == 1 else None


def new_rows(shipment: Shipment, there: str, name: str) -> Iterator[pa.RecordBatch]:
    """Rows to append. Refuses what appending cannot tell: rows that changed or went."""
    changes = shipment.changes()
    if changes is None:
        if there:
            raise Precondition(
                f"{name} has the version {there[:12]}, which the lake has no more: what is new "
                "since then cannot be told.",
                hint="Use mode: replace or merge.",
            )
        return shipment.batches()
    if changes.removed_rows:
        raise Precondition(
            f"{in_words(changes.removed_rows)} changed or went since the version that {name} has, "
            "and mode: append can only add.",
            hint="Use mode: merge with a key, or mode: replace.",
        )
    return changes.added


@dataclass(frozen=True, slots=True)
class Keyed:
    """Changes by key: rows that are there now, and the keys of those that went."""

    keys: pa.Table
    gone: pa.Table
    rows: Callable[[], Iterator[pa.RecordBatch]]

    @property
    def is_empty(self) -> bool:
        return not self.keys.num_rows and not self.gone.num_rows


def keyed_changes(shipment: Shipment, key: tuple[str, ...]) -> Keyed:
    """What changed since the version before, or all rows. A key is there, and there once."""
    import pyarrow as pa

    schema = shipment.schema()
    columns = [_column(schema, name) for name in key]
    only = pa.schema([schema.field(name).with_nullable(True) for name in columns])
    changes = shipment.changes()
    added: Iterable[pa.RecordBatch] = shipment.batches(columns)
    gone = pa.table({name: [] for name in columns}, schema=only)
    if changes is not None:
        added = changes.added
    keys = _keys(added, only)
    if changes is not None:
        removed = _keys(changes.removed, only)
        gone = removed.join(keys, columns, join_type="left anti") if removed.num_rows else gone
    _refuse_unfit(keys, columns)

    def rows() -> Iterator[pa.RecordBatch]:
        again = shipment.changes() if changes is not None else None
        return again.added if again is not None else shipment.batches()

    return Keyed(keys, gone, rows)


def _column(schema: pa.Schema, name: str) -> str:
    for one in schema.names:
        if one.casefold() == name.casefold():
            return str(one)
    raise Precondition(
        f'The output has no column "{name}", which is its key.{did_you_mean(name, schema.names)}',
        hint=f"It has: {', '.join(schema.names[:20])}.",
    )


def _keys(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    found = [pa.table(batch).select(schema.names).cast(schema) for batch in batches]
    return pa.concat_tables(found) if found else schema.empty_table()


def _refuse_unfit(keys: pa.Table, columns: list[str]) -> None:
    for name in columns:
        if keys.column(name).null_count:
            raise Precondition(
                f"{in_words(keys.column(name).null_count)} of the output have no {name}, which is "
                "their key.",
                hint="Leave them out, or use another key.",
            )
    counted = keys.group_by(columns).aggregate([([], "count_all")])
    if counted.num_rows < keys.num_rows:
        twice = next(row for row in counted.to_pylist() if row["count_all"] > 1)
        shown = ", ".join(f"{name} = {twice[name]}" for name in columns)
        raise Precondition(
            f"The output has the key {shown} more than once, so it is not clear which row is "
            "meant.",
            hint="Keep one row for each key, such as the newest.",
        )


def json_rows(rows: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """Rows as values of Python, for JSON."""
    try:
        found: list[dict[str, Any]] = rows.to_pylist()
        return found
    except (ValueError, OverflowError):
        name = next(one for one in rows.schema.names if not _is_listed(rows.column(one)))
        raise Precondition(
            f"{name} has a time outside the years 1 to 9999, which JSON cannot hold.",
            hint="Nothing was delivered. Write null in its place, or a text.",
        ) from None


def _is_listed(column: pa.Array) -> bool:
    try:
        column.to_pylist()
    except (ValueError, OverflowError):
        return False
    return True


def in_words(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


class Counter:
    """Counts rows on their way, and tells of them."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self.rows = 0
        self._progress = progress

    def reader(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatchReader:
        """The batches in columns that may all be null: what is not so now may be so later."""
        import pyarrow as pa

        wanted = pa.schema([field.with_nullable(True) for field in schema])

        def counted() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                table = pa.table(batch).select(wanted.names).cast(wanted)
                self.rows += table.num_rows
                yield from table.to_batches()
                self._progress(self.rows)

        return pa.RecordBatchReader.from_batches(wanted, counted())
