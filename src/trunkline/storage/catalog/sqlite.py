"""SQLite through the standard library: no server, no import worth measuring."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from trunkline.errors import (
    CorruptObject,
    DiskFull,
    ReadOnly,
    TrunklineError,
    Unavailable,
    WrongFormat,
)
from trunkline.model.time import now_micros
from trunkline.storage.catalog.bell import bell_of
from trunkline.storage.catalog.database import NO_PARAMS, Params, Row, Seat, Session, not_text

BUSY_SECONDS = 60.0


class SqliteSession:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.rings = False

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        return self._connection.execute(sql, params).rowcount

    def one(self, sql: str, params: Params = NO_PARAMS) -> Row | None:
        row: Row | None = self._connection.execute(sql, params).fetchone()
        return row

    def all(self, sql: str, params: Params = NO_PARAMS) -> Sequence[Row]:
        return self._connection.execute(sql, params).fetchall()

    def now(self) -> int:
        return now_micros()

    def ring(self) -> None:
        self.rings = True


class _Held:
    """A thread's connection. It is closed when its thread is no more, and with the database; but
    never under the hands of who uses it, which SQLite does not survive.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


class SqliteDatabase:
    """A catalog in one file, write-ahead logged. A connection for each thread that asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self._local = threading.local()
        # The same thread may come twice: then its second transaction says what is wrong.
        self._turn = threading.RLock()

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._translated(), self._connected() as connection:
            with _transaction(connection, "BEGIN") as session:
                yield session

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        with self._translated(), self._in_turn(), self._connected() as connection:
            # In WAL mode NORMAL skips the fsync at commit; FULL makes an answer a promise.
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            with _transaction(connection, "BEGIN IMMEDIATE") as session:
                yield session
        if session.rings:
            bell_of(self.url).ring()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """One writer of this process at a time: SQLite's own way to wait is to sleep and try
        again, and who has waited longest sleeps longest.
        """
        if not self._turn.acquire(timeout=BUSY_SECONDS):
            raise sqlite3.OperationalError("database is locked")
        try:
            yield
        finally:
            self._turn.release()

    def seat(self, session: Session) -> Seat:
        where = os.path.realpath(self.path)
        return os.uname().nodename, where, str(os.stat(where).st_ino)

    def damage(self) -> list[str]:
        with self.read() as session:
            found = [row["integrity_check"] for row in session.all("PRAGMA integrity_check")]
        return [text for text in found if text != "ok"]

    def close(self) -> None:
        # What nobody uses any more is closed by this, and the rest when its user is done.
        self._local = threading.local()

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, or one for this time only where no lasting one can be had."""
        held: _Held | None = getattr(self._local, "held", None)
        if held is None:
            try:
                held = _Held(self._connect("mode=rw"))
            except sqlite3.OperationalError as error:
                with closing(self._connect_without_index(error)) as connection:
                    yield connection
                return
            self._local.held = held
        yield held.connection

    def _connect(self, mode: str, locking: str = "NORMAL") -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute(f"PRAGMA locking_mode={locking}")
            connection.execute("PRAGMA foreign_keys=ON")
            # Some builds do anyway, others leave in the file what was erased from it.
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_without_index(self, error: sqlite3.OperationalError) -> sqlite3.Connection:
        """Where there is no place for the index of the write-ahead log, do without one."""
        if _is_no_room(error):
            return self._connect("mode=rw", locking="EXCLUSIVE")
        if "unable to open" not in str(error) and "readonly" not in str(error):
            raise error
        log = Path(f"{self.path}-wal")
        if log.exists() and log.stat().st_size:
            raise ReadOnly(
                f"The catalog {self.path} cannot be read: it has a log that was not worked in.",
                hint="Open the lake once where it can be written.",
            ) from error
        return self._connect("mode=ro&immutable=1")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeEncodeError as error:
            raise not_text(error) from error
        except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            raise translate(error, self.path) from error


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Iterator[SqliteSession]:
    if connection.in_transaction:
        raise RuntimeError("a catalog transaction was opened inside another")
    connection.execute(begin)
    try:
        yield SqliteSession(connection)
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some failures (a full disk) have ended the transaction already.
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _is_no_room(error: sqlite3.Error) -> bool:
    """A full disk, met where the index of the write-ahead log is mapped into memory."""
    return getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE"


def translate(error: sqlite3.Error, path: Path) -> TrunklineError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return Unavailable(
            f"The catalog {path} is busy: somebody has been writing for {BUSY_SECONDS:.0f} s.",
            hint="Try again.",
        )
    if "full" in text or _is_no_room(error):
        return DiskFull(f"No space left for the catalog {path}.", hint="Free some space.")
    if "readonly" in text or "unable to open" in text:
        return ReadOnly(f"The catalog {path} cannot be written.", hint="Check its permissions.")
    if "no such table" in text:
        return WrongFormat(f"{path} is not the catalog of a lake.", hint="Restore a backup.")
    if any(sign in text for sign in ("malformed", "not a database")):
        return CorruptObject(f"The catalog {path} is damaged: {text}.", hint="Restore a backup.")
    if "disk I/O error" in text:
        return Unavailable(f"The disk failed under the catalog {path}: {text}.")
    raise error
