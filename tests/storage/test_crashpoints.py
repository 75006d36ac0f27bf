"""Crash points themselves."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trunkline.storage import crashpoints
from trunkline.storage.crashpoints import CRASHPOINTS, crashpoint

SOURCE = str(Path(crashpoints.__file__).parents[2])


def test_an_unknown_name_is_an_error_also_when_nothing_is_armed():
    with pytest.raises(KeyError):
        crashpoint("no.such")


@pytest.mark.parametrize("name", CRASHPOINTS)
def test_each_is_described_and_passes_when_not_armed(name: str):
    assert CRASHPOINTS[name].endswith(".")
    crashpoint(name)


@pytest.mark.parametrize(("armed", "printed"), [("gc.half_deleted", 0), ("gc.half_deleted:3", 2)])
def test_it_kills_at_the_hit_asked_for(armed: str, printed: int):
    code = (
        "from trunkline.storage.crashpoints import crashpoint\n"
        "for _ in range(5): crashpoint('gc.half_deleted'); print('hit', flush=True)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": SOURCE, "TRUNKLINE_CRASH_AT": armed},
        capture_output=True,
        text=True,
    )
    assert run.returncode == -signal.SIGKILL
    assert run.stdout.count("hit") == printed
