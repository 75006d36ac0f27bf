"""Calls the command: in this process for speed, in one of its own where that matters."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from trunkline.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """`cli("ls", "orders@main")` in the current folder."""

    def __init__(self, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        self._captured = capfdbinary

    def __call__(self, *args: str | Path) -> Result:
        self._captured.readouterr()
        code = main([str(arg) for arg in args])
        sys.stdout.flush()
        out, err = self._captured.readouterr()
        return Result(code, out.decode(), err.decode())

    def ok(self, *args: str | Path) -> str:
        result = self(*args)
        assert result.code == 0, result.err
        return result.out

    def json(self, *args: str | Path) -> Any:
        return json.loads(self.ok(*args, "--json"))


def home_of(folder: Path) -> Path:
    """Where the lake is that commands typed in a folder mean: there, or behind a server."""
    return folder.parent / "lake" if folder.name == "away" else folder


def process(*args: str | Path, stdin: bytes = b"", **environ: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "trunkline", *map(str, args)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environ},
        timeout=120,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())
