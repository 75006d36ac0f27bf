"""A table or a query of a SQL database: whole, or by a column that grows.

As a whole it is read in one go, from one state of the database, and takes the place of what was
there; if nothing is different nothing is committed. By a column only rows are read that are not
in yet (see `sqlwindow`), in the column's order, and a batch never ends between two rows with one
value. The position goes by the rows that were read, so no clock is asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from trunkline.connect.databases import Database, TableName
from trunkline.connect.sqlreading import (
    Block,
    Origin,
    count,
    find_query,
    find_table,
    has_nulls,
    is_odd,
    read,
)
from trunkline.errors import Precondition, SchemaClash
from trunkline.ingests.feeds.base import Columns, Feed, Gathered, Piece, Site, Written
from trunkline.ingests.feeds.sqlcursor import Reading
from trunkline.ingests.feeds.sqlrows import Spill, pieces_of
from trunkline.ingests.feeds.sqlwindow import WINDOW, Window, behind, encoded, starting
from trunkline.model.evolution import united
from trunkline.model.streams import Position
from trunkline.model.tables import Column, Schema
from trunkline.tables.describe import recorded_spec
from trunkline.tables.types import from_arrow_type

if TYPE_CHECKING:
    from trunkline.connect.databases import Connection

_BLOCK = 20_000
_NULLS_EVERY = 3600.0


def sql_feed(site: Site) -> Feed:
    return GrowingFeed(site) if site.options.get("by") else WholeFeed(site)


class SqlFeed(Feed):
    """What both have: the database, and when to ask it next."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._every = float(given.get("every", 60.0))
        self._table = TableName.parse(str(given["table"])) if given.get("table") else None
        self._source = str(self._table) if self._table else "query"
        self._size = max(1, min(_BLOCK, site.source.rows))
        self._opened: Database | None = None
        self._due = 0.0
        self._drained = False
        # Told as it is when a batch is committed, not when it was gathered.
        self._facts: dict[str, Any] = {"read": 0, "behind": 0}

    @property
    def database(self) -> Database:
        if self._opened is None:
            given = self.site.options
            password = given.get("password")
            self._opened = Database(
                str(given["url"]), str(password) if password else None, read_only=True
            )
        return self._opened

    def refused(self, batch: Gathered, error: Exception) -> None:
        self.close()

    def facts(self) -> Mapping[str, Any]:
        return self._facts

    def close(self) -> None:
        self._due = 0.0
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _is_due(self, drain: bool) -> bool:
        if drain:
            return not self._drained
        left = self._due - time.monotonic()
        if left > 0:
            self.site.stop.wait(min(left, 1.0))
        return left <= 0

    def _asked(self) -> None:
        self._due = time.monotonic() + self._every
        self._drained = True

    def _origin(self, connection: Connection) -> Origin:
        if self._table is not None:
            return find_table(self.database, connection, self._table)
        return find_query(self.database, connection, str(self.site.options["query"]))

    def _in_parts(self, origin: Origin, before: Any = None) -> Iterator[Piece]:
        """The rows by Spark; with `before` those whose growing column is less."""
        from trunkline.ingests.feeds.sqlspark import parts_of

        return parts_of(self.site, self.database, origin, self._source, before)


class WholeFeed(SqlFeed):
    """All rows, again and again."""

    def gather(self, position: Position, *, drain: bool) -> Gathered | None:
        if not self._is_due(drain):
            return None
        spill = Spill()
        try:
            if not self._fill(spill):
                spill.close()
                return None
            end = {"fingerprint": f"{spill.fingerprint()}{self._declared()}", "rows": spill.rows}
        except BaseException:
            spill.close()
            raise
        self._asked()
        self._facts["read"] = spill.rows
        if position.get("fingerprint") == end["fingerprint"]:
            spill.close()
            return None
        pieces = spill.pieces(self._source)
        return Gathered(pieces, end, origin=lambda: self._source, replace=True, token=spill)

    def committed(self, batch: Gathered, written: Written) -> None:
        batch.token.close()

    def refused(self, batch: Gathered, error: Exception) -> None:
        batch.token.close()
        super().refused(batch, error)

    def _fill(self, spill: Spill) -> bool:
        """Whether it was read to the end."""
        with self.database.connect() as connection:
            origin = self._origin(connection)
            if self.site.options.get("parallel"):
                for piece in self._in_parts(origin):
                    spill.add(piece)
                return not self.site.stop.is_set()
            for block in read(self.database, connection, origin, size=self._size):
                if self.site.stop.is_set():
                    return False
                for piece in pieces_of(block, self._source):
                    spill.add(piece)
        return True

    def _declared(self) -> str:
        """What of the spec makes other rows of the same ones."""
        from hashlib import blake2b

        source = self.site.source
        what = (source.schema, source.folder, source.partition_by)
        return blake2b(repr(what).encode(), digest_size=4).hexdigest()


class GrowingFeed(SqlFeed):
    """Rows beyond those that are in, by a column that grows."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._by = str(given["by"])
        self._lag = float(given.get("lag", 0.0))
        self._key = tuple(map(str, given.get("key", ())))
        self._reading: Reading | None = None
        self._looked = 0.0

    def gather(self, position: Position, *, drain: bool) -> Gathered | None:
        reading = self._reading
        if reading is not None and (reading.over or reading.end != dict(position)):
            # Done, or what was read since then was not committed.
            self._stop_reading()
            reading = None
        if reading is None:
            if not self._is_due(drain):
                return None
            found = self._opened_at(position)
            if isinstance(found, Gathered):
                return found
            reading = self._reading = found
        blocks = reading.blocks(self.site.source.rows)
        first = next(blocks, None)
        if reading.over:
            self._asked()
        if first is None:
            self._stop_reading()
            return None
        end: dict[str, Any] = {}
        return Gathered(
            self._pieces(reading, first, blocks, end),
            end,
            origin=lambda: self._source,
            noted=lambda stored: self._noted(reading),
            key=self._key,
            token=reading,
        )

    def committed(self, batch: Gathered, written: Written) -> None:
        if self._reading is not None and self._reading.over:
            self._stop_reading()

    def close(self) -> None:
        self._stop_reading()
        super().close()

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def _opened_at(self, position: Position) -> Reading | Gathered:
        """A reading from there. A first one that Spark is to do is a batch of its own."""
        last = starting(position, self._by, self._key)
        database = self.database
        with ExitStack() as stack:
            connection = stack.enter_context(database.connect())
            origin = self._origin(connection)
            self._check(connection, origin)
            if last is None and self.site.options.get("parallel"):
                found = self._first_in_parts(connection, origin)
                if found is not None:
                    return found
            known = Window.of(self.site.core, self.site.head()) if last is not None else None
            if last is None:
                self._facts["behind"] = count(database, connection, origin)
            from_ = behind(last, self._lag)
            blocks = self._in_order(
                origin,
                read(database, connection, origin, size=self._size, by=self._by, after=from_),
            )
            identity = known.identity if known is not None else self._identity(origin)
            return Reading(
                blocks, self._by, self._lag, identity, last, known, stack.pop_all().close
            )

    def _first_in_parts(self, connection: Connection, origin: Origin) -> Gathered | None:
        """All but the newest rows: what may still be joined by others is read one by one."""
        from trunkline.connect.sqlreading import newest

        last = newest(self.database, connection, origin, self._by)
        if last is None:
            return None
        self._refuse_odd(origin, last, "")
        before = behind(last, self._lag)
        self._facts["behind"] = count(self.database, connection, origin)
        end = {"by": self._by, **encoded(before)}
        pieces = self._counted(self._in_parts(origin, before))
        return Gathered(pieces, end, origin=lambda: self._source, key=self._key)

    def _counted(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        for piece in pieces:
            self._count(piece.table.num_rows if isinstance(piece, Columns) else 1)
            yield piece

    def _count(self, rows: int) -> None:
        self._facts["read"] += rows
        self._facts["behind"] = max(0, self._facts["behind"] - rows)

    def _identity(self, origin: Origin) -> tuple[str, ...]:
        """With a key a row that changed is to be seen, so all of it counts."""
        if self._key or not origin.primary_key:
            return ()
        return tuple(dict.fromkeys((*origin.primary_key, self._by)))

    def _check(self, connection: Connection, origin: Origin) -> None:
        origin.require(self._by, "by")
        for column in self._key:
            origin.require(column, "key")
        now = time.monotonic()
        if not self._looked or now - self._looked > _NULLS_EVERY:
            if has_nulls(self.database, connection, origin, self._by):
                raise Precondition(
                    f"{origin.name} has rows whose {self._by} is null: they would never be read.",
                    hint=f"Fill it, or leave them out: query: SELECT … WHERE {self._by} IS NOT "
                    "NULL.",
                )
            self._looked = now
        if not self.site.source.schema:
            self._check_types(origin)

    def _in_order(self, origin: Origin, blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks, as long as their values can tell how far was read."""
        for block in blocks:
            for at, value in enumerate(block.of(self._by)):
                shown = [f"{one} = {block.of(one)[at]}" for one in self._key or origin.primary_key]
                self._refuse_odd(origin, value, f" ({', '.join(shown)})" if shown else "")
            yield block

    def _refuse_odd(self, origin: Origin, value: Any, where: str) -> None:
        (type_,) = (one.type for one in origin.columns if one.name == self._by)
        if is_odd(value, type_, self.database.dialect):
            raise Precondition(
                f"{origin.name} has a row whose {self._by} is {value}{where}: nothing comes after "
                "it, so what is new could not be told.",
                hint="Mend it, or leave it out: query: SELECT … WHERE …",
            )

    def _check_types(self, origin: Origin) -> None:
        """A column that changed its type would else be set apart, row by row."""
        site = self.site
        recorded = recorded_spec(site.core, site.head(), site.source.folder or "/")
        if recorded is None:
            return
        typed = [one for one in origin.columns if one.type is not None]
        now = Schema(tuple(Column(one.name, str(from_arrow_type(one.type))) for one in typed))
        try:
            united(recorded.schema, now, f"what {origin.name} had")
        except SchemaClash as error:
            raise SchemaClash(
                error.message.splitlines()[0],
                hint="Declare its columns with schema, or bring it in under another name.",
                diff=error.diff,
                table=error.table,
                given=error.given,
            ) from None

    def _pieces(
        self, reading: Reading, first: Block, rest: Iterator[Block], end: dict[str, Any]
    ) -> Iterator[Piece]:
        size = 0
        for block in _with(first, rest):
            for piece in pieces_of(block, self._source, self._key):
                size += piece.table.nbytes if isinstance(piece, Columns) else 0
                yield piece
            self._count(block.rows)
            reading.enough = size >= self.site.source.bytes
        if reading.over:
            self._asked()
        end |= {"by": self._by, **encoded(reading.last)}
        reading.end = dict(end)

    def _noted(self, reading: Reading) -> dict[str, bytes]:
        return {WINDOW: reading.window.data()}


def _with(first: Block, rest: Iterator[Block]) -> Iterator[Block]:
    yield first
    yield from rest
