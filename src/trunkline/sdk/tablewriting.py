"""Tables: writing rows, changing them, and putting small files together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage
from trunkline.model.commits import Commit
from trunkline.model.refs import Ref
from trunkline.model.tables import WriteMode
from trunkline.sdk.base import LakeBase

if TYPE_CHECKING:
    from trunkline.tables.changing.compacting import Compaction
    from trunkline.tables.changing.rewriting import RowChange


class TableWriting(LakeBase):
    """Rows into tables. The path of a ref is the table's folder, by default the whole repo."""

    def write_table(
        self,
        ref: str,
        data: Any,
        *,
        mode: str = "append",
        partition_by: str | Sequence[str] | None = None,
        message: str = "",
        key: str | None = None,
        evolve: bool = True,
    ) -> Commit:
        """Write rows as Parquet, in one commit: append, overwrite or overwrite_partitions.

        `data` is a DataFrame of Spark, pandas or polars, an Arrow table or reader, a DuckDB
        relation, or a list of dicts. Columns may be added and types widened unless `evolve` is
        False; what does not fit raises `SchemaClash`.
        """
        from trunkline.lake.transaction import Transaction
        from trunkline.tables.writing.storing import write_rows

        target = self._ref(ref)
        how = as_mode(mode)
        with Transaction(self._core, self.author) as transaction:
            draft = transaction.draft(
                Ref(target.repo, target.ref),
                message or f"{_VERBS[how]} {target.path or '/'}",
                request=key,
            )
            write_rows(
                transaction,
                draft,
                target.path or "/",
                data,
                mode=how,
                partition_by=as_names(partition_by),
                evolve=evolve,
                spark=self._spark_session,
            )
        assert draft.result is not None
        return draft.result

    def merge_table(
        self,
        ref: str,
        source: Any,
        *,
        on: str | Sequence[str],
        delete_when: str | None = None,
        update: Sequence[str] | None = None,
        insert: bool = True,
        message: str = "",
    ) -> RowChange:
        """Upsert: rows of `source` replace those with the same key, others are added.

        Rows that meet `delete_when`, SQL on the source, delete instead. `update` names the
        columns that change, by default all that the source has. A null in a key matches nothing.
        Only files that hold a key are written anew.
        """
        from trunkline.tables.changing.merging import MergeRule, merge_table

        rule = MergeRule(
            tuple(as_names(on) or ()),
            delete_when,
            None if update is None else tuple(as_names(update) or ()),
            insert,
        )
        return merge_table(
            self._core, self._ref(ref), source, rule, author=self.author, message=message
        )

    def delete_from(self, ref: str, where: str, *, message: str = "") -> RowChange:
        """Delete the rows that meet a condition in SQL. Only files that hold any are rewritten."""
        from trunkline.tables.changing.rowchanges import delete_from

        return delete_from(self._core, self._ref(ref), where, author=self.author, message=message)

    def update_table(
        self, ref: str, set: Mapping[str, str], where: str | None = None, *, message: str = ""
    ) -> RowChange:
        """Give columns new values, SQL on the old ones, in rows that meet a condition."""
        from trunkline.tables.changing.rowchanges import update_table

        return update_table(
            self._core, self._ref(ref), set, where, author=self.author, message=message
        )

    def compact(
        self,
        ref: str,
        *,
        target_size: int = 128 << 20,
        partitions: str | Sequence[str] | None = None,
        message: str = "",
    ) -> Compaction:
        """Join the small files of each partition, named as `day=2026-01-01`. Rows stay as they are.

        If a file of it is rewritten meanwhile the compaction is dropped, and says so.
        """
        from trunkline.tables.changing.compacting import compact

        return compact(
            self._core,
            self._ref(ref),
            author=self.author,
            target_size=target_size,
            partitions=as_names(partitions),
            message=message,
        )


_VERBS = {
    WriteMode.APPEND: "Append to",
    WriteMode.OVERWRITE: "Overwrite",
    WriteMode.OVERWRITE_PARTITIONS: "Overwrite partitions of",
}


def as_mode(text: str) -> WriteMode:
    try:
        return WriteMode(text)
    except ValueError:
        raise Usage(
            f'"{text}" is no mode of writing.',
            hint=f"Use {', '.join(WriteMode)}.",
        ) from None


def as_names(given: str | Sequence[str] | None) -> list[str] | None:
    """Columns by name; a text alone is one of them."""
    if given is None:
        return None
    return [given] if isinstance(given, str) else list(given)
