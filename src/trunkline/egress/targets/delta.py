"""A table of Delta.

append     Rows that are new since the version before are added. If others changed or went, that
           is refused.
replace    The table has the rows of the newest version.
merge      Rows take the place of those with the same key; others stay, or are deleted.

Each version is one transaction of Delta. It also notes the version for the sender (`txn` in the
log), so that a second send finds it. Older versions of the table stay readable, as Delta has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.connect.lakehouse import delta_errors, deltalake, open_delta, storage_options
from trunkline.egress.base import Berth, Sender, Sent, Shipment
from trunkline.egress.targets.rowsending import (
    Counter,
    commit_number,
    id_start,
    in_words,
    keyed_changes,
    new_rows,
    since,
)

if TYPE_CHECKING:
    from deltalake import DeltaTable

ATTEMPTS = 5
_GONE = "__tl_gone"


class DeltaSender(Sender):
    def __init__(self, berth: Berth) -> None:
        super().__init__(berth)
        given = berth.options
        self._url = str(given["url"])
        self._mode = str(given.get("mode", "replace"))
        self.in_order = self._mode == "append"
        self._key = tuple(map(str, given.get("key") or ()))
        self._delete = bool(given.get("delete", False))
        self._partition_by = [str(one) for one in given.get("partition_by") or ()]
        self._secrets = {name: given[name] for name, _ in berth.target.secrets}
        self._storage = storage_options(given.get("options") or {}, self._secrets)
        self._name = self._url.rstrip("/").rpartition("/")[2]

    def send(self, shipment: Shipment) -> Sent:
        library = deltalake()
        with delta_errors(self._url, self._secrets):
            for _ in range(ATTEMPTS - 1):
                try:
                    return self._try(library, shipment)
                except library.exceptions.CommitFailedError:
                    # Somebody else wrote to it: once more, on what is there now.
                    continue
            return self._try(library, shipment)

    def _try(self, library: Any, shipment: Shipment) -> Sent:
        table = self._open(library)
        number = commit_number(shipment.commit)
        noted = table.transaction_version(self.berth.id) if table is not None else None
        if noted == number:
            return Sent(f"{self._name} had it already", rows=0)
        there = id_start(noted) if noted is not None else ""
        shipment = since(shipment, there)
        properties = library.CommitProperties(
            custom_metadata={
                "trunkline.commit": shipment.commit.id,
                "trunkline.sender": self.berth.id,
            },
            app_transactions=[library.Transaction(self.berth.id, number)],
        )
        counter = Counter(self.berth.progress)
        if table is None or self._mode == "replace":
            note = self._replace(library, table, shipment, properties, counter)
        elif self._mode == "append":
            note = self._append(library, table, shipment, properties, counter, there)
        else:
            note = self._merge(library, table, shipment, properties, counter)
        return Sent(note, rows=counter.rows)

    def _open(self, library: Any) -> DeltaTable | None:
        if not library.DeltaTable.is_deltatable(self._url, self._storage or None):
            return None
        return open_delta(self._url, self._storage)

    def _replace(
        self,
        library: Any,
        table: DeltaTable | None,
        shipment: Shipment,
        properties: Any,
        counter: Counter,
    ) -> str:
        if self._mode == "merge":
            keyed_changes(shipment, self._key)  # refuses keys that are none
        parts = self._partition_by
        if table is not None:
            parts = list(table.metadata().partition_columns)
        library.write_deltalake(
            table if table is not None else self._url,
            counter.reader(shipment.batches(), shipment.schema()),
            mode="overwrite" if table is not None else "error",
            schema_mode="overwrite" if table is not None else None,
            partition_by=parts or None,
            storage_options=self._storage or None,
            commit_properties=properties,
        )
        if table is None:
            return f"made {self._name} with {in_words(counter.rows)}"
        return f"replaced {self._name} by {in_words(counter.rows)}"

    def _append(
        self,
        library: Any,
        table: DeltaTable,
        shipment: Shipment,
        properties: Any,
        counter: Counter,
        there: str,
    ) -> str:
        library.write_deltalake(
            table,
            counter.reader(new_rows(shipment, there, self._name), shipment.schema()),
            mode="append",
            schema_mode="merge",
            storage_options=self._storage or None,
            commit_properties=properties,
        )
        return f"added {in_words(counter.rows)} to {self._name}"

    def _merge(
        self,
        library: Any,
        table: DeltaTable,
        shipment: Shipment,
        properties: Any,
        counter: Counter,
    ) -> str:
        changes = keyed_changes(shipment, self._key)
        if self._delete and shipment.before is None:
            # What else is there has no key of this version: all of it goes.
            return self._replace(library, table, shipment, properties, counter)
        names = shipment.schema().names
        source = _marked(counter.reader(changes.rows(), shipment.schema()),
                         changes.gone if self._delete else None)  # fmt: skip
        set_to = {_quoted(name): f"s.{_quoted(name)}" for name in names}
        on = " AND ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in self._key)
        merger = table.merge(source, on, "s", "t", merge_schema=True, commit_properties=properties)
        done = (
            merger.when_matched_delete(f"s.{_GONE}")
            .when_matched_update(set_to, f"NOT s.{_GONE}")
            .when_not_matched_insert(set_to, f"NOT s.{_GONE}")
            .execute()
        )
        deleted = int(done.get("num_target_rows_deleted", 0))
        more = f", deleted {in_words(deleted)}" if deleted else ""
        return f"merged {in_words(counter.rows)} into {self._name}{more}"


def _marked(reader: Any, gone: Any) -> Any:
    """Rows, and behind them the keys of rows that go, with a mark."""
    import pyarrow as pa

    schema = reader.schema.append(pa.field(_GONE, pa.bool_()))

    def batches() -> Any:
        for batch in reader:
            mark = pa.repeat(pa.scalar(False), batch.num_rows)
            yield pa.RecordBatch.from_arrays([*batch.columns, mark], schema=schema)
        for batch in gone.to_batches() if gone is not None else ():
            columns = [
                batch.column(field.name)
                if field.name in batch.schema.names
                else pa.nulls(batch.num_rows, field.type)
                for field in reader.schema
            ]
            mark = pa.repeat(pa.scalar(True), batch.num_rows)
            yield pa.RecordBatch.from_arrays([*columns, mark], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`" if not name.isidentifier() else f'"{name}"'
