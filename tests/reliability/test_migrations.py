"""A migration that is killed half-way is as if it had not begun, and two make one."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.jobs.test_older_lake import ARCHIVE
from tests.postgres import postgres
from trunkline.storage.catalog import FORMAT, dump
from trunkline.storage.catalog.open import upgrade_to

FIRST, LAST = 4, 13
"""Of its statements, in SQLite: the first that changes something, and the last but one."""

MIGRATE = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from trunkline.storage.catalog.open import migrate

url, base, left = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

@event.listens_for(Engine, "after_cursor_execute")
def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

migrate(url, base)
"""


def migrating(url: str, base: Path, kill_after: int = 0) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", MIGRATE, url, str(base), str(kill_after)])


def rows(url: str, base: Path) -> list[bytes]:
    """All of a catalog but its own address."""
    return sorted(line for line in dump.dump(url, base) if not line.startswith(b'["store"'))


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The folder of a catalog of an older format."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / ".trunkline"


@pytest.fixture
def older_url(request: pytest.FixtureRequest, older: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same catalog, in SQLite or PostgreSQL."""
    if request.param == "sqlite":
        return "catalog.db"
    url = postgres().url(postgres().empty_database())

    def stay(url: str, base: Path, revision: str, number: int) -> None:
        upgrade_to(url, base, "0007", 7)

    monkeypatch.setattr(dump, "upgrade_to", stay)
    dump.load(dump.dump("catalog.db", older), url, older, "objects")
    return url


@pytest.mark.parametrize("older_url", ["sqlite", "postgres"], indirect=True)
def test_a_migration_that_is_killed_and_run_again_gives_the_same(older: Path, older_url: str):
    before = rows(older_url, older)
    for statement in (FIRST, LAST):
        assert migrating(older_url, older, statement).wait() == -9
        assert rows(older_url, older) == before
    assert migrating(older_url, older).wait() == 0
    after = rows(older_url, older)
    # As one that nobody killed: what jobs were told is the one thing that is written anew.
    whole = older.with_name("whole")
    older.rename(whole)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(whole.parent, filter="data")
    assert migrating("catalog.db", older).wait() == 0
    assert after == rows("catalog.db", older)
    assert f'["format","{FORMAT}"]\n'.encode() in after


@pytest.mark.parametrize("older_url", ["sqlite", "postgres"], indirect=True)
def test_of_two_migrations_at_once_one_waits(older: Path, older_url: str):
    both = [migrating(older_url, older) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
