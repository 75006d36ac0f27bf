"""What is built to be installed: the wheel has the console, the sdist what it is made from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.docs.console import ROOT

PARTS = ("src", "console", "examples", "scripts", "README.md", "LICENSE", "Makefile")
FILES = ("pyproject.toml", "hatch_build.py", "constraints.txt", ".gitignore")
PAGE = "trunkline/console/index.html"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of somebody who has built nothing yet, but has the packages of npm."""
    folder = tmp_path_factory.mktemp("clone")
    left_out = shutil.ignore_patterns("node_modules", "__pycache__")
    for name in (*PARTS, *FILES):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=left_out)
        else:
            shutil.copy(ROOT / name, folder / name)
    shutil.rmtree(folder / "src/trunkline/console", ignore_errors=True)
    (folder / "console/node_modules").symlink_to(ROOT / "console/node_modules")
    return folder


def built(clone: Path, *targets: str, **environ: str) -> tuple[set[str], str]:
    """The names of all files in what is built, and what was said."""
    shutil.rmtree(clone / "dist", ignore_errors=True)
    command = [sys.executable, "-m", "hatchling", "build"]
    for target in targets:
        command += ["-t", target]
    done = subprocess.run(
        command, cwd=clone, capture_output=True, text=True, env={**os.environ, **environ}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = set[str]()
    for wheel in (clone / "dist").glob("*.whl"):
        names.update(ZipFile(wheel).namelist())
    for sdist in (clone / "dist").glob("*.tar.gz"):
        with tarfile.open(sdist) as archive:
            names.update(name.partition("/")[2] for name in archive.getnames())
    return names, done.stdout + done.stderr


def test_without_node_there_is_no_console_and_a_line_says_so(clone, tmp_path):
    names, said = built(clone, "wheel", PATH=str(tmp_path))
    assert "trunkline/server/console.py" in names
    assert not any(name.startswith("trunkline/console/") for name in names)
    assert "this package has no console" in said


def test_who_wants_none_gets_none(clone):
    names, said = built(clone, "wheel", TRUNKLINE_SKIP_CONSOLE="1")
    assert not any(name.startswith("trunkline/console/") for name in names)
    assert "no console" not in said


def test_wheel_and_sdist_have_the_console(clone, tmp_path):
    node = subprocess.check_output([ROOT / "scripts/node.sh"], text=True).strip()
    names, _ = built(clone, "sdist", "wheel", PATH=f"{node}:{os.environ['PATH']}")
    assert {PAGE, f"src/{PAGE}", "trunkline/console/favicon.svg"} <= names
    scripts = {name for name in names if name.startswith("trunkline/console/assets/index-")}
    assert {Path(name).suffix for name in scripts} == {".js", ".css", ".br", ".gz"}
    assert {"console/package.json", "console/package-lock.json", "console/.npmrc"} <= names
    assert {"console/src/main.tsx", "console/index.html", "hatch_build.py"} <= names
    assert not any("node_modules" in name for name in names)
    # Who has no Node takes what is built already.
    names, said = built(clone, "wheel", PATH=str(tmp_path))
    assert PAGE in names
    assert "no console" not in said
