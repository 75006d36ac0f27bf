"""The PostgreSQL of tests: what one test does to it is not felt by the next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest

from tests.postgres import own_postgres


def processes_of(folder: Path) -> list[str]:
    shown = ["ps", "-A", "-ww", "-o", "args="]
    found = subprocess.run(shown, capture_output=True, text=True, check=True)
    return [line for line in found.stdout.splitlines() if f"postgres -D {folder}" in line]


@pytest.mark.slow
def test_a_server_that_others_restarted_stops_and_starts_and_leaves_nothing_behind():
    with own_postgres() as server:
        subprocess.run(server.restart_command(), shell=True, check=True)
        server.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url())
        server.start()
        psycopg.connect(server.url()).close()
        subprocess.run(server.restart_command(), shell=True, check=True)
        assert len(processes_of(server.folder)) == 1
    assert processes_of(server.folder) == []
    assert not server.folder.exists()
