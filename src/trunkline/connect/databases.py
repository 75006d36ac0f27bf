"""SQL databases by their URL: opened, asked, and what goes wrong there in one line.

Whatever SQLAlchemy has a dialect for can be read and written. A password comes apart from the URL
and is in no message. Names of tables and columns are always quoted, so they mean what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.errors import (
    Failed,
    NotAllowed,
    NotFound,
    Precondition,
    ReadOnly,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.model.clients import DatabaseUrl
from trunkline.model.suggest import did_you_mean, shown

if TYPE_CHECKING:
    from sqlalchemy import Connection as Connection
    from sqlalchemy import Engine
    from sqlalchemy.engine import URL

_PACKAGES = {
    "psycopg2": "psycopg2-binary",
    "MySQLdb": "mysqlclient",
    "mysql": "mysql-connector-python",
    "cx_Oracle": "cx-Oracle",
}
_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
"""Of these we have the driver ourselves."""
_DIALECTS = ("postgresql", "sqlite", "mysql", "mariadb", "oracle", "mssql")
_SNAPSHOTS = {
    "postgresql": "REPEATABLE READ",
    "mysql": "REPEATABLE READ",
    "mariadb": "REPEATABLE READ",
}
_ZONES = {
    "postgresql": "SET TIME ZONE 'UTC'",
    "mysql": "SET time_zone = '+00:00'",
    "mariadb": "SET time_zone = '+00:00'",
}
_SENDS_FILES = {
    "mysqldb": "local_infile",
    "pymysql": "local_infile",
    "mariadbconnector": "local_infile",
    "mysqlconnector": "allow_local_infile",
}
_CONNECT_SECONDS = 10
_name_part = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, with its schema where one is named. Spelt just as the database has it."""

    table: str
    schema: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableName:
        """`customers`, `public.customers`, or `public."a name with a . in it"`."""
        parts = [m[1].replace('""', '"') if m[1] else m[2] for m in _name_part.finditer(text)]
        if not 0 < len(parts) < 3 or _name_part.sub("", text) != "." * (len(parts) - 1):
            raise Usage(
                f"{shown(text)} is not the name of a table.",
                hint='Write customers, public.customers or public."a.b".',
            )
        return cls(parts[-1], parts[0] if len(parts) == 2 else None)

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table


class Database:
    """A database that can be reached, one connection at a time for each who asks."""

    def __init__(self, url: str, password: str | None = None, *, read_only: bool = False) -> None:
        self._hidden = password or ""
        self._read_only = read_only
        made = _url(url)
        if password:
            made = made.set(password=password)
        self.name = _without_password(made)
        self._file = _sqlite_file(made)
        self.engine = _engine(made)
        if read_only and self.engine.driver == "psycopg":
            _take_odd_times(self.engine)
        self.dialect = self.engine.dialect.name
        found: Any = self.engine.dialect.dbapi
        self._errors: type[Exception] = found.Error

    def quoted(self, name: str) -> str:
        """A column, or any name of one part."""
        dialect = self.engine.dialect
        found = dialect.identifier_preparer.quote_identifier(name)
        # Of a driver whose parameters have a % it is doubled; our text is so when it is sent.
        doubled = dialect.paramstyle in ("format", "pyformat")
        return found.replace("%%", "%") if doubled else found

    def quoted_table(self, table: TableName) -> str:
        schema = f"{self.quoted(table.schema)}." if table.schema else ""
        return f"{schema}{self.quoted(table.table)}"

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection in one transaction, which is committed at a clean end.

        To read only, it sees one state of the database where there is such a thing.
        """
        if self._read_only and self._file is not None and not self._file.exists():
            # SQLite would make it.
            raise NotFound(f"There is no database {self._file}.")
        with self.failing(), self.engine.connect() as connection:
            if self._read_only:
                self._hold_still(connection)
            yield connection
            # What was only read has nothing to commit; closing takes back what was not.
            if not self._read_only:
                connection.commit()

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Whatever the database says, as an error of ours."""
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        try:
            yield
        except DBAPIError as error:
            raise self._told(error.orig or error, error.connection_invalidated) from None
        except SQLAlchemyError as error:
            raise self._told(error, False) from None
        except self._errors as error:
            # COPY goes past SQLAlchemy.
            raise self._told(error, False) from None

    def close(self) -> None:
        self.engine.dispose()

    def _hold_still(self, connection: Connection) -> None:
        if self.dialect == "sqlite":
            connection.exec_driver_sql("PRAGMA query_only = ON")
            return
        options: dict[str, Any] = {}
        if self.dialect in _SNAPSHOTS:
            options["isolation_level"] = _SNAPSHOTS[self.dialect]
        if self.dialect == "postgresql":
            options["postgresql_readonly"] = True
        if options:
            connection.execution_options(**options)
        # Whatever the user's zone is: in UTC each hour is there once.
        if self.dialect in _ZONES:
            connection.exec_driver_sql(_ZONES[self.dialect])

    def _told(self, error: BaseException, lost: bool) -> TrunklineError:
        text = str(error)
        if self._hidden:
            # Before it is cut: a part of it is not to be seen either.
            text = text.replace(self._hidden, "***")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        said = lines[0][:300] if lines else type(error).__name__
        # Several addresses of one host fail with a line each; the last says what it was.
        if said.endswith("Multiple connection attempts failed. All failures were:"):
            said = lines[-1][:300]
        return _classed(self.name, said, getattr(error, "sqlstate", None) or "", lost, error)


def _classed(name: str, said: str, state: str, lost: bool, error: BaseException) -> TrunklineError:
    text = said.lower()
    if (
        state[:2] == "28"
        or "authentication failed" in text
        or "access denied" in text
        or ("role" in text and "does not exist" in text and not state)
        or "no password supplied" in text
    ):
        return NotAllowed(
            f"{name} does not let us in: {said}", hint="Look at the user and its secret."
        )
    if state == "42501" or "permission denied" in text:
        return NotAllowed(f"{name} refuses it: {said}")
    if state == "25006" or "readonly database" in text:
        return ReadOnly(f"{name} can only be read here: {said}")
    if state in ("42P01", "3D000", "3F000") or "no such table" in text:
        return NotFound(f"{name}: {said}")
    if "unable to open database file" in text:
        return NotFound(f"{name} cannot be opened: {said}")
    passing = state[:2] in ("08", "53", "57", "40", "55") or "database is locked" in text
    if lost or passing or (not state and type(error).__name__ == "OperationalError"
                           and "no such" not in text and "syntax error" not in text):  # fmt: skip
        return Unavailable(f"{name} cannot be reached: {said}", hint="It is tried again.")
    return Failed(f"{name}: {said}")


def _url(text: str) -> URL:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text may hold what must not be told.
        raise Usage(
            "The URL of a database cannot be read.",
            hint="Write it as postgresql+psycopg://user@host:5432/database.",
        ) from None
    told = DatabaseUrl.parse(text)
    seen = (url.drivername, url.host or "", url.database or "")
    if (
        told is None
        or (told.scheme, told.host, told.database) != seen
        or not set(url.query) <= {name for name, _ in told.query}
    ):
        # What was judged is what is opened.
        raise Usage("The URL of a database cannot be read.", hint="Write it without what is odd.")
    if (refusal := told.refusal) is not None:
        raise Usage(refusal.text, hint=refusal.hint)
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _without_password(url: URL) -> str:
    from sqlalchemy.engine import URL

    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database)
    return bare.render_as_string()


def _engine(url: URL) -> Engine:
    from sqlalchemy import NullPool, create_engine
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    arguments: dict[str, Any] = {}
    if url.drivername == "postgresql+psycopg":
        arguments = {"connect_timeout": _CONNECT_SECONDS, "application_name": "trunkline"}
        arguments = {name: value for name, value in arguments.items() if name not in url.query}
    elif url.get_backend_name() == "duckdb":
        # Its SQL would read any file.
        arguments = {"config": {"enable_external_access": "false", "lock_configuration": "true"}}
    elif url.get_backend_name() in ("mysql", "mariadb"):
        # A server may ask for any file of its client's machine.
        driver = url.get_driver_name()
        arguments = {_SENDS_FILES[driver]: False} if driver in _SENDS_FILES else {}
    elif url.get_backend_name() == "sqlite":
        arguments = {"timeout": 30.0, "check_same_thread": False}
    try:
        return create_engine(url, poolclass=NullPool, hide_parameters=True, connect_args=arguments)
    except NoSuchModuleError:
        name = url.drivername
        raise Usage(
            f"There is no kind of database {shown(name)}."
            f"{did_you_mean(name.partition('+')[0], _DIALECTS)}",
            hint="What SQLAlchemy has a dialect for can be used; some are packages of their own.",
        ) from None
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        raise Precondition(
            f"{url.drivername} needs the driver {module}, which is not installed.",
            hint=f"pip install {_PACKAGES.get(module, module)}",
        ) from None
    except (ArgumentError, TypeError) as error:
        raise Usage(f"The URL of a database cannot be used: {str(error)[:200]}") from None


def _take_odd_times(engine: Engine) -> None:
    """What PostgreSQL has and Python has not, such as infinity and years BC, comes as text.

    Else psycopg gives up at the first one, without a word on the column and the row.
    """
    from psycopg import DataError, adapters
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from sqlalchemy import event

    class OddTimes(Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            usual: Any = adapters.get_loader(oid, Format.TEXT)
            self._usual = usual(oid, context)

        def load(self, data: Any) -> Any:
            try:
                return self._usual.load(data)
            except DataError:
                return bytes(data).decode()

    def taught(connection: Any, _: Any) -> None:
        for name in ("date", "timestamp", "timestamptz"):
            connection.adapters.register_loader(name, OddTimes)

    event.listen(engine, "connect", taught)


def _sqlite_file(url: URL) -> Path | None:
    if url.get_backend_name() != "sqlite":
        return None
    path = url.database or ""
    if not path or path == ":memory:" or path.startswith("file:"):
        return None
    return Path(path)
