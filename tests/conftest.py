"""What every test shares: an order, and no settings of the person who runs it."""

import compileall
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.spark import shared_session
from trunkline.engine.session import Session

# Without a store, a database or a process: these answer in seconds, so they go first.
PURE = ("model", "pipelines", "test_settings.py")
# These take minutes each: crashes at every place, a browser, all pages of the documentation, whole
# tours. They go next: what is left then is small enough to share out evenly.
LONG = (
    "docs/test_console_blocks.py",
    "docs/test_tutorial_served.py",
    "docs/test_sh_blocks.py",
    "examples",
    "console",
    "reliability",
    "abuse/test_abuse.py",
    "abuse/test_minute.py",
    "nexmark",
    "integrations",
    "cli/test_demo.py",
    "cli/test_journey.py",
    "server/test_schemathesis.py",
    "server/test_second_user.py",
    "deploy/test_package.py",
    "engine/test_checkpoints_spark.py",
    "engine/test_cluster.py",
    "engine/test_tables_cluster.py",
    "oracle/test_long.py",
    "query/test_judging_long.py",
    "oracle/test_types.py",
    "query/test_spark_readings_long.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--short", action="store_true", help="without the tests that take minutes (`LONG`)"
    )


# How long something takes is no property of it.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")


def pytest_configure(config: pytest.Config) -> None:
    # Started in the background of a script we ignore Ctrl-C, and so would all that we start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Commands have a /tmp of their own, and tests look at what they leave elsewhere.
    place = Path(__file__).parent.parent / ".tmp"
    place.mkdir(exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))
    # xdist would begin with the files of most tests; they come in the order given below.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    # With PYTHONDONTWRITEBYTECODE each of a thousand processes would compile all it imports.
    if os.environ.get("PYTHONDONTWRITEBYTECODE") and not hasattr(config, "workerinput"):
        compileall.compile_dir(Path(__file__).parent.parent / "src", quiet=2)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        path = item.path.relative_to(here)
        if path.parts[0] in PURE:
            return 0
        names = (str(path), path.parts[0])
        found = (number for number, one in enumerate(LONG) if one in names)
        return 1 + next(found, len(LONG))

    def is_long(item: pytest.Item) -> bool:
        return 0 < place(item) <= len(LONG)

    items.sort(key=place)
    if config.getoption("--short"):
        config.hook.pytest_deselected(items=[item for item in items if is_long(item)])
        items[:] = [item for item in items if not is_long(item)]


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
    # Each test has the Spark that it starts; those of a Spark that stays ask for it.
    monkeypatch.setenv("TRUNKLINE_SPARK_LINGER", "0")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
