"""One world for all cases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.oracle.worlds import World, open_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_world(tmp_path_factory.mktemp("oracle")) as found:
        yield found
