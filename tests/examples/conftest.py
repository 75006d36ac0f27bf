"""The tour of an example is made once, by its README: then its lake is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.examples.touring import Tour, follow


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.slow)  # a whole tour for each example


@pytest.fixture(scope="module")
def tour(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tour:
    field = request.path.stem.removeprefix("test_")
    return follow(field, tmp_path_factory.mktemp(field))


@pytest.fixture(scope="module")
def place(tour: Tour) -> Path:
    return tour.place


@pytest.fixture(scope="module")
def lake(place: Path) -> Iterator[tl.Lake]:
    with tl.open(place) as lake:
        yield lake
