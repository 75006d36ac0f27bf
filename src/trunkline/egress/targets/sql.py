"""A table of a SQL database.

append     Rows that are new since the version before are added. If others changed or went, that
           is refused: the target would not be what the output is.
replace    The table has the rows of the newest version. All are deleted and inserted in one
           transaction: the table itself stays, with its grants, indexes and views, and who reads
           it sees the old rows until the new ones are there.
merge      Rows take the place of those with the same key; others stay, or are deleted.

Everything happens in one transaction, together with a note of the version (see `sqlledger`). Where
DDL is no part of transactions a table that is made stays, empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trunkline.connect.databases import Database, TableName
from trunkline.connect.sqlledger import Ledger
from trunkline.connect.sqlwriting import SqlTable
from trunkline.egress.base import Berth, Sender, Sent, Shipment
from trunkline.errors import Precondition
from trunkline.model.commits import Commit
from trunkline.storage.catalog import commits, repos
from trunkline.storage.crashpoints import crashpoint

if TYPE_CHECKING:
    from trunkline.connect.databases import Connection


class SqlSender(Sender):
    def __init__(self, berth: Berth) -> None:
        super().__init__(berth)
        given = berth.options
        self._mode = str(given.get("mode", "replace"))
        self.in_order = self._mode == "append"
        self._key = tuple(map(str, given.get("key", ())))
        self._delete = bool(given.get("delete", False))
        self._create = bool(given.get("create", True))
        self._name = TableName.parse(str(given["table"]))
        password = given.get("password")
        self._database = Database(str(given["url"]), str(password) if password else None)

    def send(self, shipment: Shipment) -> Sent:
        # A target that is turned to another table begins anew there.
        ledger = Ledger(self._database, self._name, f"{self.berth.id} {self._name}")
        schema = shipment.schema()
        ledger.prepare()
        self._prepare(shipment, ledger)
        with self._database.connect() as connection:
            table = SqlTable(self._database, connection, self._name)
            _begin(self._database, connection)
            there = ledger.lock(connection)
            self.refuse_if_stopped()
            if there == shipment.commit.id:
                return Sent(f"{self._name} had it already", rows=0)
            table.check(schema, self._key)
            since = self._since(shipment, there)
            match self._mode:
                case "append":
                    rows, note = self._append(table, since, there)
                case "replace":
                    rows, note = self._replace(table, since)
                case _:
                    rows, note = self._merge(table, since)
            crashpoint("egress.sending")
            ledger.note(connection, shipment.commit.id, rows)
        return Sent(note, rows=rows)

    def close(self) -> None:
        self._database.close()

    def _prepare(self, shipment: Shipment, ledger: Ledger) -> None:
        if not self._create:
            return
        with self._database.connect() as connection:
            table = SqlTable(self._database, connection, self._name)
            if table.exists():
                return
            ledger.forget(connection)
            if table.exists():  # Another made it while we waited for the ledger.
                connection.rollback()
                return
            table.create(shipment.schema(), self._key)

    def _since(self, shipment: Shipment, there: str) -> Shipment:
        """The shipment, compared with the version that the target itself says it has."""
        before: Commit | None = shipment.before
        if (before.id if before is not None else "") == there:
            return shipment
        return Shipment(shipment.core, shipment.commit, shipment.path, _find(shipment, there))

    def _append(self, table: SqlTable, shipment: Shipment, there: str) -> tuple[int, str]:
        names = shipment.schema().names
        changes = shipment.changes()
        if changes is None:
            if there:
                raise Precondition(
                    f"{self._name} has the version {there[:12]}, which the lake has no more: what "
                    "is new since then cannot be told.",
                    hint="Use mode: replace or merge.",
                )
            return self._counted(table.insert(shipment.batches(), names), "added {} to {}")
        if changes.removed_rows:
            raise Precondition(
                f"{_rows(changes.removed_rows)} changed or went since the version that "
                f"{self._name} has, and mode: append can only add.",
                hint="Use mode: merge with a key, or mode: replace.",
            )
        return self._counted(table.insert(changes.added, names), "added {} to {}")

    def _replace(self, table: SqlTable, shipment: Shipment) -> tuple[int, str]:
        table.clear()
        loaded = table.insert(shipment.batches(), shipment.schema().names)
        return self._counted(loaded, "replaced {1} by {0}")

    def _merge(self, table: SqlTable, shipment: Shipment) -> tuple[int, str]:
        names = shipment.schema().names
        changes = shipment.changes()
        batches = shipment.batches() if changes is None else changes.added
        rows, note = self._counted(table.merge(batches, names, self._key), "merged {} into {}")
        if self._delete:
            if changes is None:
                gone = table.delete_others(self._key)
            else:
                gone = table.delete(changes.removed, self._key)
            if gone > 0:
                note += f", deleted {_rows(gone)}"
        return rows, note

    def _counted(self, sent: Iterator[int], words: str) -> tuple[int, str]:
        rows = 0
        for rows in sent:
            self.berth.progress(rows)
        return rows, words.format(_rows(rows), self._name)


def _begin(database: Database, connection: Connection) -> None:
    """SQLite begins by itself only where a row changes, and then may find that others did.

    Others have a zone, in which they would take times that have none.
    """
    match database.dialect:
        case "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        case "postgresql":
            connection.exec_driver_sql("SET LOCAL TIME ZONE 'UTC'")
        case "mysql" | "mariadb":
            connection.exec_driver_sql("SET time_zone = '+00:00'")


def _find(shipment: Shipment, commit: str) -> Commit | None:
    if not commit:
        return None
    with shipment.core.database.read() as session:
        repo = repos.key_of(session, shipment.commit.repo)
        return commits.find(session, repo, commit) if repo is not None else None


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"
