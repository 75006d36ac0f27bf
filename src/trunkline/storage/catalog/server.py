"""PostgreSQL (or another server) through SQLAlchemy, for lakes that many machines share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import create_engine, event, make_url, text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, OperationalError

from trunkline.errors import CommitUnknown, DiskFull, ReadOnly, TrunklineError, Unavailable
from trunkline.storage.catalog.database import NO_PARAMS, Params, Row, Session

WAIT_SECONDS = 60
# One lock for the whole catalog: the same promise that SQLite's single writer gives.
WRITER_LOCK = 0x7472756E6B


def driver_url(url: str) -> str:
    """The URL with the driver we ship, so that users need not name it."""
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in ("postgresql", "postgres") else url


class ServerSession:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

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


class ServerDatabase:
    """A catalog on a database server, over a small pool of connections."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url).render_as_string(hide_password=True)
        self._engine = create_engine(
            driver_url(url), pool_pre_ping=True, pool_size=4, connect_args={"connect_timeout": 10}
        )

        @event.listens_for(self._engine, "connect")
        def _limits(connection: Any, _record: Any) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
                cursor.execute(f"SET idle_in_transaction_session_timeout = '{WAIT_SECONDS}s'")
            connection.commit()

    @contextmanager
    def read(self) -> Iterator[Session]:
        with self._translated(), self._engine.connect() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield ServerSession(connection)

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Session]:
        with self._translated(), self._engine.connect() as connection:
            begun = connection.begin()
            try:
                if not durable:
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                connection.execute(
                    text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": WRITER_LOCK}
                )
                yield ServerSession(connection)
            except BaseException:
                if begun.is_active:
                    begun.rollback()
                raise
            try:
                begun.commit()
            except DBAPIError as error:
                raise CommitUnknown(
                    f"the connection to {self.url} broke during a commit: it may have happened",
                    hint="look for it before you retry, or retry with the same --key",
                ) from error

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise self._translate(error) from error

    def _translate(self, error: DBAPIError) -> TrunklineError:
        state = getattr(error.orig, "sqlstate", None) or ""
        reason = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else state
        if state == "53100":
            return DiskFull(f"the database server {self.url} has no space left")
        if state == "25006":
            return ReadOnly(f"the database {self.url} only allows reading")
        if state == "55P03":
            return Unavailable(
                f"another writer has held {self.url} for {WAIT_SECONDS} s", hint="try again"
            )
        if isinstance(error, OperationalError) or error.connection_invalidated:
            return Unavailable(
                f"the database {self.url} does not answer: {reason}",
                hint="is it running?",
            )
        raise error
