"""How the tests themselves are arranged: docs/design/tests.md."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WANTING = """
import pytest

@pytest.fixture
def broker():
    pytest.skip("there is no broker")

def test_by_a_fixture(broker): pass

@pytest.mark.skipif(True, reason="there is no wall")
def test_by_a_mark(): pass

def test_in_its_midst(): pytest.skip("there is no Maven")

@pytest.mark.xfail(reason="known")
def test_that_is_known_to_fail(): assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ci", "ending"), [("true", "1 failed, 1 xfailed, 2 errors"), ("", "3 skipped, 1 xfailed")]
)
def test_a_skip_is_a_failure_in_ci(tmp_path: Path, ci: str, ending: str):
    module = tmp_path / "test_wanting.py"
    module.write_text(WANTING)
    config = ["-c", str(ROOT / "pyproject.toml"), "-p", "tests.conftest", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", *config, str(module)],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
    )
    assert f"{ending} in" in ran.stdout.splitlines()[-1], ran.stdout
    for reason in ("no broker", "no wall", "no Maven"):
        assert f"there is {reason}" in ran.stdout
