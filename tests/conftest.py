"""What every test shares: an order, and no settings of the person who runs it."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.spark import shared_session
from trunkline.engine.session import Session

# Without a store, a database or a process: these answer in seconds, so they go first.
PURE = ("model", "pipelines", "test_settings.py")


# How long something takes is no property of it.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")


def pytest_configure(config: pytest.Config) -> None:
    # Started in the background of a script we ignore Ctrl-C, and so would all that we start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(here).parts[0] not in PURE)


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
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
