"""SQLite through the standard library: no server, no import worth measuring."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trunkline.errors import CorruptObject, DiskFull, ReadOnly, TrunklineError, Unavailable, WrongFormat
from trunkline.model.time import now_micros
from trunkline.storage.catalog.database import NO_PARAMS, Params, Row, Session

BUSY_SECONDS = 60.0


class SqliteSession:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        return self._connection.execute(sql, params).rowcount

    def one(self, sql: str, params: Params = NO_PARAMS) -> Row | None:
        row: Row | None = self._connection.execute(sql, params).fetchone()
        return row

    def all(self, sql: str, params: Params = NO_PARAMS) -> Sequence[Row]:
        return self._connection.execute(sql, params).fetchall()

    def now(self) -> int:
        return now_micros()


class SqliteDatabase:
    """A catalog in one file, write-ahead logged. A connection for each thread that asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._translated(), self._transaction("BEGIN") as session:
            yield session

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        with self._translated():
            connection = self._connection()
            # In WAL mode NORMAL skips the fsync at commit; FULL makes an answer a promise.
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            with self._transaction("BEGIN IMMEDIATE") as session:
                yield session

    def close(self) -> None:
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Session]:
        connection = self._connection()
        if connection.in_transaction:
            raise RuntimeError("a catalog transaction was opened inside another")
        connection.execute(begin)
        try:
            yield SqliteSession(connection)
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection

    def _connect(self) -> sqlite3.Connection:
        uri = self.path.absolute().as_uri()
        connection = _connect(f"{uri}?mode=rw")
        try:
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise
            # A lake on a read-only medium has no place for the write-ahead index.
            connection = _connect(f"{uri}?mode=ro&immutable=1")
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            raise translate(error, self.path) from error


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some failures (a full disk) have ended the transaction already.
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def translate(error: sqlite3.Error, path: Path) -> TrunklineError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return Unavailable(
            f"the catalog {path} is busy: somebody has been writing for {BUSY_SECONDS:.0f} s",
            hint="try again",
        )
    if "full" in text:
        return DiskFull(f"no space left for the catalog {path}", hint="free some space, then retry")
    if "readonly" in text or "unable to open" in text:
        return ReadOnly(f"the catalog {path} cannot be written", hint="check its permissions")
    if "no such table" in text:
        return WrongFormat(f"{path} is not the catalog of a lake", hint="restore a backup")
    if "malformed" in text or "not a database" in text:
        return CorruptObject(f"the catalog {path} is damaged: {text}", hint="restore a backup")
    if "disk I/O error" in text:
        return Unavailable(f"the disk failed under the catalog {path}: {text}")
    raise error
