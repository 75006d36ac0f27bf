"""A table of Iceberg.

append     Rows that are new since the version before are added. If others changed or went, that
           is refused.
replace    The table has the rows of the newest version.
merge      Rows take the place of those with the same key; others stay, or are deleted.

Each version is one commit of the catalog, together with a property of the table that notes the
version for the sender: a second send finds it. Columns that are new are added to the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from trunkline.connect.lakehouse import iceberg_errors, open_catalog, open_table
from trunkline.egress.base import Berth, Sender, Sent, Shipment
from trunkline.egress.targets.rowsending import (
    Counter,
    in_words,
    keyed_changes,
    new_rows,
    since,
)
from trunkline.errors import NotFound
from trunkline.lake.this_machine import check_file

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

ATTEMPTS = 5
CHUNK_BYTES = 128 << 20
"""So much is held at once for a table with partitions, which is not written from a stream."""


class IcebergSender(Sender):
    def __init__(self, berth: Berth) -> None:
        super().__init__(berth)
        given = berth.options
        self._table = str(given["table"])
        self._mode = str(given.get("mode", "replace"))
        self.in_order = self._mode == "append"
        self._key = tuple(map(str, given.get("key") or ()))
        self._delete = bool(given.get("delete", False))
        self._create = bool(given.get("create", True))
        self._partition_by = [str(one) for one in given.get("partition_by") or ()]
        self._secrets = {name: given[name] for name, _ in berth.target.secrets}
        self._properties = dict(given.get("catalog") or {})
        self._catalog: Catalog | None = None
        self._noted = f"trunkline.delivered.{berth.id}"

    def send(self, shipment: Shipment) -> Sent:
        with iceberg_errors(f"The Iceberg table {self._table}", self._secrets):
            from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError

            if self._catalog is None:
                connection = self.berth.connection
                self._catalog = open_catalog(
                    self._properties,
                    self._secrets,
                    partial(check_file, connection, shipment.core),
                    configured=connection.is_configured_here,
                )
            for _ in range(ATTEMPTS - 1):
                try:
                    return self._try(self._catalog, shipment)
                except (CommitFailedException, TableAlreadyExistsError):
                    # Somebody else wrote to it: once more, on what is there now.
                    continue
            return self._try(self._catalog, shipment)

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None

    def _try(self, catalog: Catalog, shipment: Shipment) -> Sent:
        table = open_table(catalog, self._table) if catalog.table_exists(self._table) else None
        there = table.properties.get(self._noted, "") if table is not None else ""
        if there == shipment.commit.id:
            return Sent(f"{self._table} had it already", rows=0)
        shipment = since(shipment, there)
        counter = Counter(self.berth.progress)
        if table is None:
            note = self._made(catalog, shipment, counter)
        else:
            with table.transaction() as transaction:
                note = self._write(table, transaction, shipment, counter, there)
        return Sent(note, rows=counter.rows)

    def _made(self, catalog: Catalog, shipment: Shipment, counter: Counter) -> str:
        if not self._create:
            raise NotFound(
                f"The Iceberg table {self._table} is not there.",
                hint="Make it, or write create: true.",
            )
        if self._mode == "merge":
            keyed_changes(shipment, self._key)  # refuses keys that are none
        reader = counter.reader(shipment.batches(), shipment.schema())
        catalog.create_namespace_if_not_exists(self._table.rpartition(".")[0])
        # The table and its first rows are there together.
        with catalog.create_table_transaction(self._table, reader.schema) as transaction:
            if self._partition_by:
                with transaction.update_spec() as spec:
                    for name in self._partition_by:
                        spec.add_identity(name)
            self._append(transaction, reader, shipment)
        return f"made {self._table} with {in_words(counter.rows)}"

    def _write(
        self,
        table: Table,
        transaction: Transaction,
        shipment: Shipment,
        counter: Counter,
        there: str,
    ) -> str:
        wanted = counter.reader((), shipment.schema()).schema
        if set(wanted.names) - set(table.schema().column_names):
            with transaction.update_schema() as update:
                update.union_by_name(wanted)
        mode = self._mode
        if mode == "merge" and self._delete and shipment.before is None:
            # What else is there has no key of this version: all of it goes.
            keyed_changes(shipment, self._key)
            mode = "replace"
        if mode == "append":
            rows = new_rows(shipment, there, self._table)
            self._append(transaction, counter.reader(rows, shipment.schema()), shipment)
            return f"added {in_words(counter.rows)} to {self._table}"
        if mode == "merge":
            return self._merge(table, transaction, shipment, counter)
        if table.current_snapshot() is not None:
            from pyiceberg.expressions import AlwaysTrue

            transaction.delete(AlwaysTrue(), self._marks(shipment))
        reader = counter.reader(shipment.batches(), shipment.schema())
        self._append(transaction, reader, shipment)
        return f"replaced {self._table} by {in_words(counter.rows)}"

    def _merge(
        self, table: Table, transaction: Transaction, shipment: Shipment, counter: Counter
    ) -> str:
        from pyiceberg.table.upsert_util import create_match_filter

        changes = keyed_changes(shipment, self._key)
        if table.current_snapshot() is not None:
            for keys in (changes.keys, changes.gone if self._delete else None):
                if keys is not None and keys.num_rows:
                    found = create_match_filter(keys, list(keys.column_names))
                    transaction.delete(found, self._marks(shipment))
        reader = counter.reader(changes.rows(), shipment.schema())
        self._append(transaction, reader, shipment)
        more = ""
        if self._delete and changes.gone.num_rows:
            more = f", deleted {in_words(changes.gone.num_rows)}"
        return f"merged {in_words(counter.rows)} into {self._table}{more}"

    def _append(
        self, transaction: Transaction, reader: pa.RecordBatchReader, shipment: Shipment
    ) -> None:
        transaction.set_properties({self._noted: shipment.commit.id})
        marks = self._marks(shipment)
        if transaction.table_metadata.spec().is_unpartitioned():
            transaction.append(reader, marks)
            return
        for rows in _chunks(reader):
            transaction.append(rows, marks)

    def _marks(self, shipment: Shipment) -> dict[str, str]:
        return {"trunkline.commit": shipment.commit.id, "trunkline.sender": self.berth.id}


def _chunks(batches: Iterable[Any]) -> Iterator[pa.Table]:
    import pyarrow as pa

    held, size = [], 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= CHUNK_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)
