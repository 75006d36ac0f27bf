"""What every test shares: a place, an order, and no settings of the person who runs it."""

import atexit
import compileall
import os
import shutil
import signal
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from hypothesis import settings

from tests.spark import shared_session
from trunkline.engine.session import Session

MEMORY = Path("/dev/shm")
ROOMY = 8 << 30  # more than all tests leave together, and Spark runs in memory as well
IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")

# How long something takes is no property of it.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")


def pytest_configure(config: pytest.Config) -> None:
    # Each process that a test starts has a Spark of its own, where the test does not say otherwise.
    os.environ["TRUNKLINE_SPARK_LINGER"] = "0"
    # Started in the background of a script we ignore Ctrl-C, and so would all that we start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(temporary_root()))
    # xdist would begin with the files of most tests; they come in the order given below.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    # With PYTHONDONTWRITEBYTECODE each of a thousand processes would compile all it imports.
    if os.environ.get("PYTHONDONTWRITEBYTECODE") and not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parent.parent / "src", quiet=2)


def temporary_root() -> Path:
    """In memory, where there is plenty: on a disk, half of a test's time is waiting for fsync.

    Never /tmp, of which commands see one of their own.
    """
    with suppress(OSError):
        runs = os.access(MEMORY, os.W_OK) and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
        if runs and shutil.disk_usage(MEMORY).free > ROOMY:
            return MEMORY
    place = Path(__file__).parent.parent / ".tmp"
    place.mkdir(exist_ok=True)
    return place


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == 0 and not hasattr(session.config, "workerinput"):
        base = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        if base.is_relative_to(MEMORY):
            DONE_WITH.append(base)


DONE_WITH: list[Path] = []


@atexit.register
def clear_memory() -> None:
    """Last of all, when Spark and servers have ended; what failed stays, to be looked at."""
    for folder in DONE_WITH:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Files with those that take long first: what is left then is small enough to share out evenly.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI nothing is skipped: what a test needs is there, or CI is broken."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        _, _, reason = cast(tuple[str, int, str], report.longrepr)
        report.longrepr = f"{reason} (CI has all that tests need: nothing is skipped there)"
    return report


@pytest.fixture(scope="session")
def spark() -> Session:
    """One Spark for all tests."""
    return shared_session()


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in list(os.environ):
        if name.startswith(("TRUNKLINE_", "AWS_")) or name in ("NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TRUNKLINE_SPARK_LINGER", "0")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
