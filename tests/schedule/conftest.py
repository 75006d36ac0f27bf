"""An empty lake, and a clock that tests set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.schedule.declared import micros
from trunkline import Lake


class Clock:
    """The time that the catalog sees. It stands still until it is set."""

    def __init__(self) -> None:
        self.micros = micros("2026-01-10T12:10:00Z")

    def set(self, text: str) -> None:
        self.micros = micros(text)


@pytest.fixture(scope="session")
def new_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schedule")
    tl.init(folder).close()
    return folder


@pytest.fixture
def lake(new_lake: Path, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    copy_lake(new_lake, folder)
    with tl.open(folder, author="ada") as opened:
        yield opened


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("trunkline.storage.catalog.sqlite.now_micros", lambda: made.micros)
    return made
