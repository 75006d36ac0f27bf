"""A lake with the repo orders, made once and copied for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sdk.conftest import copied, new_lake
from trunkline import Lake

__all__ = ["new_lake"]

# Tests of the interface run through a server too; all others are of what lies under it.
PUBLIC = (
    "test_changes.py",
    "test_compacting.py",
    "test_describe_sdk.py",
    "test_rowdiff_lake.py",
    "test_writing.py",
    "test_writing_branches.py",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = metafunc.fixturenames
    if "lake" in names and metafunc.definition.path.name in PUBLIC and "spark" not in names:
        metafunc.parametrize("lake", ["local", "http"], indirect=True)


@pytest.fixture
def lake(request: pytest.FixtureRequest, new_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    """The lake in its folder, and for some tests the same through a server."""
    with copied(new_lake, tmp_path / "lake", getattr(request, "param", "local")) as opened:
        yield opened
