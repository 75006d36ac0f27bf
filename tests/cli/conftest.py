"""A command to call, and a lake to call it in."""

from pathlib import Path

import pytest

from tests.cli.run import Cli


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    return Cli(capfdbinary)


@pytest.fixture
def lake(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a lake and the repo orders: /a.csv and /day=1/b.csv on main."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "day=1").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("a\n")
    (tmp_path / "in" / "day=1" / "b.csv").write_text("one,two\n")
    cli.ok("init")
    cli.ok("repo", "create", "orders", "-d", "What is sold")
    cli.ok("put", "-r", "orders@main:/", "in", "-m", "first")
    return tmp_path
