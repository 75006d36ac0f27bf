"""Creating, opening and migrating a catalog. The format number is what the code can read."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from trunkline.errors import NotFound, Precondition, WrongFormat
from trunkline.storage.catalog.database import Database
from trunkline.storage.catalog.sqlite import SqliteDatabase, translate
from trunkline.storage.crashpoints import crashpoint

# Raised by one with each migration.
FORMAT = 9
# Alembic keeps the migration that runs in a module: two at once would write to each other's.
_ONE_AT_A_TIME = threading.Lock()


def is_file_url(url: str) -> bool:
    return "://" not in url or url.startswith("sqlite:")


def sqlite_path(url: str, base: Path) -> Path:
    return base / url.removeprefix("sqlite:///")


def open_database(url: str, base: Path) -> Database:
    """The catalog at `url` (a path is relative to `base`), whatever its format."""
    if is_file_url(url):
        path = sqlite_path(url, base)
        if not path.is_file():
            raise NotFound(f"The lake's catalog {path} is missing.", hint="Restore a backup.")
        return SqliteDatabase(path)
    from trunkline.storage.catalog.server import ServerDatabase

    return ServerDatabase(url)


def read_format(database: Database) -> int:
    with database.read() as session:
        row = session.one("SELECT value FROM meta WHERE name = 'format'")
    return int(row["value"]) if row else 0


def check_format(database: Database, location: str) -> None:
    found = read_format(database)
    if found > FORMAT:
        raise WrongFormat(
            f"{location} has format {found}; this Trunkline reads up to {FORMAT}.",
            hint="Upgrade Trunkline: pip install -U trunkline",
        )
    if found < FORMAT:
        raise WrongFormat(
            f"{location} has the older format {found}; this Trunkline writes {FORMAT}.",
            hint="Run: trunkline migrate",
        )


def create(url: str, base: Path) -> None:
    """Make an empty catalog of the current format. An existing one is left as it is."""
    if is_file_url(url):
        _make_file(sqlite_path(url, base))
    _upgrade(url, base)


def is_new(path: Path) -> bool:
    """Whether there is no catalog in a file yet. What is something else is left alone."""
    if not path.exists() or not path.stat().st_size:
        return True
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as there:
            tables = {row[0] for row in there.execute("SELECT name FROM sqlite_schema")}
    except sqlite3.OperationalError as error:
        raise translate(error, path) from error
    except sqlite3.DatabaseError:
        tables = {""}
    if tables and not {"meta", "alembic_version"} <= tables:
        raise Precondition(
            f"{path} is there already, and is no catalog of a lake.",
            hint="Move it away, or name another --catalog.",
        )
    return not tables


def _make_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    os.chmod(path, 0o600)


def migrate(url: str, base: Path) -> None:
    """Bring an older catalog to the current format, in one transaction."""
    crashpoint("migrate.before")
    _upgrade(url, base)
    crashpoint("migrate.after")


def upgrade_to(url: str, base: Path, revision: str, number: int) -> None:
    """Make a catalog, or bring it on, to one of the migrations and the format it has then."""
    if is_file_url(url):
        _make_file(sqlite_path(url, base))
    _upgrade(url, base, revision, number)


def _upgrade(url: str, base: Path, revision: str = "head", number: int | None = None) -> None:
    from trunkline.storage.catalog.server import driver_errors, server_errors

    if is_file_url(url):
        with driver_errors(lambda error: translate(error, sqlite_path(url, base))):
            _run_migrations(url, base, revision, number)
    else:
        with server_errors(url):
            _run_migrations(url, base, revision, number)


def _run_migrations(url: str, base: Path, revision: str, number: int | None) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine, event, text

    if is_file_url(url):
        engine = create_engine(f"sqlite:///{sqlite_path(url, base).absolute()}")
        # Left alone, the driver begins no transaction before DDL: half a migration could stay.
        event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        event.listen(engine, "begin", lambda begun: begun.exec_driver_sql("BEGIN IMMEDIATE"))
    else:
        from trunkline.storage.catalog.server import WRITER_LOCK, engine_for

        engine = engine_for(url)
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        with _ONE_AT_A_TIME, engine.begin() as connection:
            if not is_file_url(url):
                # Another that migrates is waited for, and so is who writes.
                lock = text(f"SELECT pg_advisory_xact_lock({WRITER_LOCK})")
                connection.execute(lock)
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            connection.execute(
                text("UPDATE meta SET value = :format WHERE name = 'format'"),
                {"format": str(FORMAT if number is None else number)},
            )
    finally:
        engine.dispose()
