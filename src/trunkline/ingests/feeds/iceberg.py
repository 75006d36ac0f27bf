"""A table of Iceberg, snapshot by snapshot.

The position is the snapshot that was read last. At first the whole table is read. Then snapshots
that only append bring the rows of their files; one that overwrites or deletes makes the table be
read anew, and replaces it in one commit. What compaction does changes no rows, and is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from trunkline.connect.lakehouse import iceberg_errors, open_catalog, open_table
from trunkline.errors import NotFound
from trunkline.ingests.feeds.base import Feed, Gathered, Site
from trunkline.ingests.feeds.pace import Pace, pieces
from trunkline.lake.this_machine import check_file
from trunkline.model.suggest import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

EVERY = 60.0


class IcebergFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._table = str(given["table"])
        self._ref = str(given.get("ref") or "")
        self._at: int | None = given.get("at")
        self._start = given.get("start", "all")
        self._changes = given.get("changes", "replace")
        self._key = tuple(given.get("key") or ())
        self._secrets = {name: given[name] for name, _ in site.source.secrets}
        self._properties = dict(given.get("catalog") or {})
        self._pace = Pace(site.stop, float(given.get("every", EVERY)))
        self._catalog: Catalog | None = None
        self._facts: dict[str, Any] = {}

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        if not self._pace.is_due(drain=drain):
            return None
        with self._errors():
            found = self._look(position)
        self._pace.asked()
        return found

    def facts(self) -> Mapping[str, Any]:
        """The newest snapshot that was seen."""
        return self._facts

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()
            self._catalog = None

    def _errors(self) -> Any:
        return iceberg_errors(f"The Iceberg table {self._table}", self._secrets)

    def _look(self, position: Mapping[str, Any]) -> Gathered | None:
        if self._catalog is None:
            connection = self.site.connection
            self._catalog = open_catalog(
                self._properties,
                self._secrets,
                partial(check_file, connection, self.site.core),
                configured=connection.is_configured_here,
            )
        table = open_table(self._catalog, self._table)
        head = self._head(table)
        if head is None:
            return None  # nothing was ever written to it
        here = {"table": str(table.metadata.table_uuid), "snapshot": str(head.snapshot_id)}
        self._facts = {"snapshot": here["snapshot"]}
        if dict(position) == here:
            return None
        if not position and self._start == "latest" and self._at is None:
            return Gathered([], here)
        if not position or self._at is not None or position["table"] != here["table"]:
            return self._whole(table, head, here, "")
        known = int(position["snapshot"])
        between = _between(table, head, known)
        if between is None:
            return self._whole(table, head, here, "its history does not reach back")
        return self._since(table, head, here, known, between)

    def _head(self, table: Table) -> Snapshot | None:
        if self._at is not None:
            found = table.snapshot_by_id(self._at)
            if found is None:
                raise NotFound(f"The Iceberg table {self._table} has no snapshot {self._at}.")
            return found
        if not self._ref or (self._ref == "main" and "main" not in table.refs()):
            return table.current_snapshot()
        found = table.snapshot_by_name(self._ref)
        if found is None:
            names = sorted(table.refs())
            raise NotFound(
                f'The Iceberg table {self._table} has no branch or tag "{self._ref}".'
                f"{did_you_mean(self._ref, names)}",
                hint=f"It has: {', '.join(names) or 'none'}.",
            )
        return found

    def _since(
        self,
        table: Table,
        head: Snapshot,
        here: Mapping[str, Any],
        known: int,
        between: list[Snapshot],
    ) -> Gathered:
        others = [one for one in between if _operation(one) not in ("append", "replace")]
        if others and self._changes == "replace":
            why = f"snapshot {others[0].snapshot_id} changed or removed some"
            return self._whole(table, head, here, why)
        key = self._key if self._changes == "upsert" else ()
        label = f"{self._table}, snapshot {head.snapshot_id}"
        if others and key:
            # Which rows of the files are new is not known: all are put in the place of theirs.
            return Gathered(pieces(self._all_rows(table, head), self._table), here,
                            origin=lambda: label, key=key)  # fmt: skip
        if all(_operation(one) != "append" for one in between):
            return Gathered([], here)
        rows = self._appended(table, known, head.snapshot_id)
        return Gathered(pieces(rows, self._table), here, origin=lambda: label, key=key)

    def _whole(self, table: Table, head: Snapshot, here: Mapping[str, Any], why: str) -> Gathered:
        reason = f": all rows replaced, as {why}" if why else ""
        return Gathered(
            pieces(self._all_rows(table, head), self._table),
            here,
            origin=lambda: f"{self._table}, snapshot {head.snapshot_id}{reason}",
            replace=True,
        )

    def _all_rows(self, table: Table, head: Snapshot) -> Iterator[pa.RecordBatch]:
        with self._errors():
            yield from table.scan(snapshot_id=head.snapshot_id).to_arrow_batch_reader()

    def _appended(self, table: Table, known: int, last: int) -> Iterator[pa.RecordBatch]:
        with self._errors():
            scan = table.incremental_append_scan(
                from_snapshot_id_exclusive=known, to_snapshot_id_inclusive=last
            )
            yield from scan.to_arrow_batch_reader()


def _between(table: Table, head: Snapshot, known: int) -> list[Snapshot] | None:
    """Snapshots after the known one, the newest first; None if it is not behind the head."""
    found = []
    one: Snapshot | None = head
    while one is not None and one.snapshot_id != known:
        found.append(one)
        parent = one.parent_snapshot_id
        one = table.snapshot_by_id(parent) if parent is not None else None
    return None if one is None else found


def _operation(snapshot: Snapshot) -> str:
    return snapshot.summary.operation.value if snapshot.summary is not None else ""
