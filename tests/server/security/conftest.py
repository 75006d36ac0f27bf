"""The world of `world`, served once for the tests of a file."""

from collections.abc import Iterator

import pytest

from tests.server.security.world import World, a_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with a_world(tmp_path_factory.mktemp("world")) as made:
        yield made
