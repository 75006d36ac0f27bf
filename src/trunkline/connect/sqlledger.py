"""Which version a sender has brought to a database, noted there in the very same transaction.

So a delivery is in the target once, also if we die right after it was made durable: who comes
again finds it noted.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from trunkline.connect.databases import Database, TableName

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

LEDGER = "trunkline_deliveries"


class Ledger:
    """The table of deliveries beside a table that is delivered to."""

    def __init__(self, database: Database, beside: TableName, sender: str) -> None:
        self._database = database
        self._sender = sender
        self._beside = beside
        self._table = _table(beside.schema)

    def prepare(self) -> None:
        """Make sure that there is a row to lock, in a transaction of its own."""
        from sqlalchemy import insert, select
        from sqlalchemy.exc import IntegrityError, ProgrammingError

        table = self._table
        mine = select(table.c.commit_id).where(table.c.sender == self._sender)
        with self._database.failing(), self._database.engine.connect() as connection:
            # Another sender may be making it just now.
            with suppress(IntegrityError, ProgrammingError):
                table.create(connection, checkfirst=True)
                connection.commit()
            connection.rollback()
            if connection.execute(mine).first() is None:
                with suppress(IntegrityError):
                    first = {"sender": self._sender, "commit_id": "", "rows": 0}
                    connection.execute(insert(table).values(**first))
                    connection.commit()

    def forget(self, connection: Connection) -> None:
        """The table beside it is made anew: whatever was brought to it is gone."""
        from sqlalchemy import select, update

        table = self._table
        senders = connection.execute(select(table.c.sender)).scalars().all()
        of_it = [one for one in senders if one.partition(" ")[2] == str(self._beside)]
        mine = table.c.sender.in_(of_it)
        connection.execute(update(table).where(mine).values(commit_id="", rows=0))

    def lock(self, connection: Connection) -> str:
        """The newest version that was delivered, "" for none. No other gets past this until the
        transaction ends."""
        from sqlalchemy import select, update

        table = self._table
        mine = table.c.sender == self._sender
        connection.execute(update(table).where(mine).values(rows=table.c.rows))
        return str(connection.execute(select(table.c.commit_id).where(mine)).scalar() or "")

    def note(self, connection: Connection, commit: str, rows: int) -> None:
        from sqlalchemy import func, update

        table = self._table
        values = {"commit_id": commit, "rows": rows, "at": func.current_timestamp()}
        connection.execute(update(table).where(table.c.sender == self._sender).values(**values))


def _table(schema: str | None) -> Table:
    from sqlalchemy import BigInteger, Column, DateTime, MetaData, String, Table

    return Table(
        LEDGER,
        MetaData(),
        Column("sender", String(512), primary_key=True),
        Column("commit_id", String(64), nullable=False),
        Column("at", DateTime(timezone=True)),
        Column("rows", BigInteger, nullable=False),
        schema=schema,
    )
