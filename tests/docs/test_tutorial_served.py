"""What the tutorial does, done by somebody who has only the address of a server and a token."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import trunkline as tl
from tests.docs.console import ROOT, Ids, Shell, Step, compare, perform, steps
from tests.serving import Serving, serving
from tests.spark import SHORT_LIVED_CONF

pytestmark = pytest.mark.slow

TUTORIAL = ROOT / "docs/tutorial.md"
LEFT_OUT = {
    "trunkline init": "the lake is there",
    "trunkline gc": "for admins",
    "trunkline fsck --deep": "for admins",
}
WITHOUT = " && trunkline init"
"""The second lake of the page is the same one here."""
SERVES_ITSELF = "## Share it with a team"
NOT_COMPARED = {
    "trunkline run": "the server's worker may have been faster",
    "trunkline pipeline apply": "does not ask for trunkline run",
    "trunkline pipeline list": "shows a job that waits",
    "trunkline draw": "shows a job that waits",
    "trunkline plan\n": "shows jobs that wait",
}
# What workers make of commits is there soon; everything else is there at once.
SOON = tuple(
    f"trunkline {word} " for word in ("sql", "cat", "ls", "lineage", "checks", "datum", "job")
)
PATIENCE = 120.0


@pytest.fixture
def server(tmp_path: Path):
    with tl.init(tmp_path / "lake") as lake:
        lake.create_user("ada", roles={"lake": "maintainer"})
        token = lake.create_token(owner="ada").token
    environ = {"TRUNKLINE_SPARK_MASTER": "local[2]", "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF}
    args = ("--auth", "--workers", "1")
    with serving(tmp_path / "lake", *args, environ=environ) as running:
        yield running, token
        running.stop()


@pytest.mark.timeout(600)
def test_tutorial(server: tuple[Serving, str], tmp_path: Path):
    running, token = server
    shell = Shell(tmp_path / "away")
    ids = Ids()
    try:
        shell.run(f"export TRUNKLINE_LAKE={running.url} TRUNKLINE_TOKEN={token}")
        left_out = section(TUTORIAL, SERVES_ITSELF)
        for step in steps(TUTORIAL):
            if step.command in LEFT_OUT or step.line in left_out:
                continue
            if WITHOUT in step.command:
                step.command, step.expected = step.command.replace(WITHOUT, ""), []
            ids = done(shell, step, ids)
    finally:
        shell.close()


def section(page: Path, heading: str) -> range:
    """The lines of a section."""
    lines = page.read_text(encoding="utf-8").splitlines()
    first = lines.index(heading) + 1
    after = (number for number in range(first, len(lines)) if lines[number].startswith("## "))
    return range(first, next(after, len(lines)))


def done(shell: Shell, step: Step, ids: Ids) -> Ids:
    """Do it, until it shows what the page shows; the ids as they are known then."""
    end = time.monotonic() + PATIENCE
    while True:
        code, actual = perform(shell, step, ids)
        if f"{step.command}\n".startswith(tuple(NOT_COMPARED)):
            assert code == 0, (step.where, actual)
            return ids
        found = compare(step.expected, actual, ids)
        if found is not None and code == 0:
            return found
        if not step.command.startswith(SOON) or time.monotonic() > end:
            pytest.fail("\n".join([step.where, step.command, f"exit code {code}", *actual]))
        time.sleep(0.2)
