"""PostgreSQL (or another server) through SQLAlchemy, for lakes that many machines share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from trunkline.errors import (
    CommitUnknown,
    DiskFull,
    ReadOnly,
    TrunklineError,
    Unavailable,
    Usage,
    WrongFormat,
)
from trunkline.storage.catalog.bell import bell_of
from trunkline.storage.catalog.database import NO_PARAMS, Params, Row, Seat, Session, not_text

WAIT_SECONDS = 60
# One lock for the whole catalog: the same promise that SQLite's single writer gives.
WRITER_LOCK = 0x7472756E6B


def engine_for(url: str, **options: Any) -> Engine:
    """An engine with the driver we ship, so that users need not name it. Connects to nothing."""
    scheme, _, rest = url.partition("://")
    driven = f"postgresql+psycopg://{rest}" if scheme in ("postgresql", "postgres") else url
    try:
        return create_engine(driven, **options)
    except (ArgumentError, ValueError, ImportError) as error:
        raise Usage(
            f"{_shown(url)} is not the address of a database.",
            hint="postgresql://user@host/database.",
        ) from error


class ServerSession:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.rings = False

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        return int(self._connection.execute(text(sql), dict(params)).rowcount)

    def one(self, sql: str, params: Params = NO_PARAMS) -> Row | None:
        return self._connection.execute(text(sql), dict(params)).mappings().first()

    def all(self, sql: str, params: Params = NO_PARAMS) -> Sequence[Row]:
        return self._connection.execute(text(sql), dict(params)).mappings().all()

    def now(self) -> int:
        clock = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS now"
        row = self.one(clock)
        assert row is not None
        return int(row["now"])

    def ring(self) -> None:
        self.rings = True


class ServerDatabase:
    """A catalog on a database server, over a small pool of connections."""

    def __init__(self, url: str) -> None:
        self.url = _shown(url)
        self._engine = engine_for(
            url,
            pool_pre_ping=True,
            pool_size=4,
            # A server answers as many requests at once as it has threads.
            max_overflow=44,
            connect_args={"connect_timeout": 10},
        )

        @event.listens_for(self._engine, "connect")
        def _limits(connection: Any, _record: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
                cursor.execute(f"SET idle_in_transaction_session_timeout = '{WAIT_SECONDS}s'")
            connection.commit()

    @contextmanager
    def read(self) -> Iterator[Session]:
        with server_errors(self.url), self._engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield ServerSession(connection)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        with server_errors(self.url), self._engine.connect() as connection:
            begun = connection.begin()
            try:
                if not durable:
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": WRITER_LOCK}
                )
                session = ServerSession(connection)
                yield session
            except BaseException:
                if begun.is_active:
                    begun.rollback()
                raise
            try:
                begun.commit()
            except DBAPIError as error:
                raise CommitUnknown(
                    f"The connection to {self.url} broke during a commit: it may have happened.",
                    hint="Look for it before you retry, or retry with the same --key.",
                ) from error
            finally:
                if session.rings:
                    bell_of(self.url).ring()

    def seat(self, session: Session) -> Seat:
        row = session.one(
            """SELECT d.oid, CASE WHEN has_function_privilege('pg_control_system()', 'execute')
                   THEN (SELECT system_identifier FROM pg_control_system()) END AS cluster
               FROM pg_database d WHERE datname = current_database()"""
        )
        assert row is not None
        one = f"{row['cluster']}/{row['oid']}"
        return one, one, one

    def damage(self) -> list[str]:
        return []

    def close(self) -> None:
        self._engine.dispose()


@contextmanager
def server_errors(url: str) -> Iterator[None]:
    """Say in our words what the database or its driver has to say."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise not_text(error) from error
    except DBAPIError as error:
        raise _translate(error, _shown(url)) from error
    except PoolTimeout as error:
        raise Unavailable(f"Too many wait for the database {_shown(url)}.") from error


@contextmanager
def driver_errors(translate: Callable[[Any], TrunklineError]) -> Iterator[None]:
    """As `server_errors`, for what another driver says through SQLAlchemy."""
    try:
        yield
    except DBAPIError as error:
        raise translate(error.orig) from error


def _translate(error: DBAPIError, url: str) -> TrunklineError:
    state = getattr(error.orig, "sqlstate", None) or ""
    reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else state
    if isinstance(error, DataError):
        return Usage(f"The database does not take this text: {reason}.")
    if state == "53100":
        return DiskFull(f"The database server {url} has no space left.")
    if state in ("25006", "42501"):
        return ReadOnly(f"The database {url} only allows reading.")
    if state == "42P01":
        return WrongFormat(f"{url} is not the catalog of a lake.", hint="Restore a backup.")
    if state == "55P03":
        return Unavailable(f"Another writer held {url} for {WAIT_SECONDS} s.", hint="Try again.")
    if isinstance(error, OperationalError) or error.connection_invalidated:
        return Unavailable(f"The database {url} does not answer: {reason}.", hint="Is it running?")
    raise error


def _shown(url: str) -> str:
    """The URL without its password, also when it is malformed."""
    return re.sub(r"(//[^/:@]*):[^/]*@", r"\1:***@", url)
