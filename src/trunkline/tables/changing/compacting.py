"""Many small files of a partition into few: other files, the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import TYPE_CHECKING

from trunkline.errors import BranchMoved, Failed
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, RepoKind
from trunkline.model.entries import Entry
from trunkline.model.refs import Ref
from trunkline.tables.changing.rewriting import (
    Rewrite,
    RowChange,
    change_table,
    parquet_table,
    rows_of,
    streaming,
)
from trunkline.tables.reading.duck import connect
from trunkline.tables.writing import fingerprint
from trunkline.tables.writing.arrowwrite import FILE_SIZE
from trunkline.tables.writing.casting import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

_SMALL = 0.75
"""A file below this share of the target is worth joining with others."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """What a compaction came to. Without a commit there was nothing to do, or it was dropped."""

    commit: Commit | None
    before: int = 0
    after: int = 0
    dropped: str = ""


def compact(
    core: Core,
    target: Ref,
    *,
    author: str,
    target_size: int = FILE_SIZE,
    partitions: Sequence[str] | None = None,
    message: str = "",
    kind: RepoKind = RepoKind.USER,
) -> Compaction:
    """Join the small files of each partition, or of those named as `day=2026-01-01`.

    Rows that are added meanwhile stay. If one of its files is rewritten meanwhile the compaction
    is dropped: the rewrite is what somebody wanted.
    """
    written: list[int] = []

    def work(
        transaction: Transaction, tree: Tree, path: str, name: str
    ) -> tuple[Rewrite, RowChange]:
        table = parquet_table(core, tree, path, name)
        rewrite = Rewrite(transaction, tree, path, name, table.spec)
        with connect(core, {}).connection as connection:
            for group in _groups(table.entries, path, target_size, partitions):
                _join(rewrite, connection, group, target_size)
        written.append(len(rewrite.lines))
        return rewrite, RowChange(None)

    words = message or f"Compact {target.path or '/'}"
    try:
        done = change_table(core, author, target, words, work, attempts=1, kind=kind)
    except BranchMoved as error:
        return Compaction(None, dropped=error.message)
    return Compaction(done.commit, done.files, written[-1] if done.commit else 0)


def _groups(
    entries: Sequence[Entry], path: str, target_size: int, partitions: Sequence[str] | None
) -> Iterator[list[Entry]]:
    """Small files of one folder that make a file of the size aimed at, two or more each."""
    start = len(path.rstrip("/")) + 1
    wanted = None if partitions is None else {part.strip("/") for part in partitions}
    for folder, found in groupby(entries, lambda entry: entry.path[start:].rpartition("/")[0]):
        if wanted is not None and folder not in wanted:
            continue
        group: list[Entry] = []
        size = 0
        for entry in found:
            if entry.size >= target_size * _SMALL:
                continue
            if group and size + entry.size > target_size:
                yield from [group] if len(group) > 1 else []
                group, size = [], 0
            group.append(entry)
            size += entry.size
        if len(group) > 1:
            yield group


def _join(
    rewrite: Rewrite, connection: DuckDBPyConnection, group: list[Entry], target_size: int
) -> None:
    first = len(rewrite.lines)
    rewrite.gone += group
    # All of a group in one file, though joined it may come out a little larger.
    rewrite.write(_all_rows(rewrite, group), file_size=2 * target_size)
    rewrite.transaction.intake.flush()
    fresh = [Entry.decode(line) for line in rewrite.lines[first:]]
    before, after = (_digest(rewrite, connection, files) for files in (group, fresh))
    if before != after:
        raise Failed(
            f"Compacting {group[0].path} and {len(group) - 1} more would have changed rows.",
            hint="Nothing was changed; please report this.",
        )
    rewrite.lines[first:] = [entry.encode() for entry in _with_fingerprint(group, fresh)]


def _all_rows(rewrite: Rewrite, files: Sequence[Entry]) -> Iterator[pa.RecordBatch]:
    core, path, spec = rewrite.core, rewrite.path, rewrite.spec
    return chain.from_iterable(rows_of(core, entry, path, spec) for entry in files)


def _digest(rewrite: Rewrite, connection: DuckDBPyConnection, files: Sequence[Entry]) -> object:
    """The number of rows and two sums over their hashes: the same whatever their order."""
    import pyarrow as pa

    schema = arrow_schema(rewrite.spec.schema)
    reader = pa.RecordBatchReader.from_batches(schema, _all_rows(rewrite, files))
    with streaming(connection, reader) as stream:
        return connection.execute(
            f"SELECT count(*), sum(CAST(hash(t) AS HUGEINT)), bit_xor(hash(t)) FROM {stream} t"
        ).fetchall()


def _with_fingerprint(group: Sequence[Entry], fresh: Sequence[Entry]) -> list[Entry]:
    """Fingerprints add up: that of the joined file is known if all of its rows had one."""
    totals = fingerprint.total(group)
    if totals is None or len(totals) != 1 or len(fresh) != 1:
        return list(fresh)
    (entry,), ((digest, total),) = fresh, totals.items()
    return [replace(entry, hash=fingerprint.shown(total, digest), byte_hash=entry.hash)]
