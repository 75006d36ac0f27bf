"""What fsspec expects of every filesystem, by its own tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from fsspec.tests.abstract import (
    AbstractCopyTests,
    AbstractFixtures,
    AbstractGetTests,
    AbstractOpenTests,
    AbstractPipeTests,
    AbstractPutTests,
)

import trunkline as tl
from trunkline.filesystem import LakeFileSystem


class LakeFixtures(AbstractFixtures):  # type: ignore[misc]
    @pytest.fixture(scope="class")
    @classmethod
    def fs(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeFileSystem]:
        folder: Path = tmp_path_factory.mktemp("abstract")
        with tl.init(folder) as lake:
            lake.create_repo("orders")
        made = LakeFileSystem(str(folder), skip_instance_cache=True)
        yield made
        made.lake.close()

    @pytest.fixture
    def fs_join(self) -> Any:
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def fs_path(self) -> str:
        return "orders@main/data"

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        return False

    # Many small files to begin with: as one commit, since a hundred tests begin so.

    def _glob_edge_cases_files(self, fs: Any, *where: Any) -> Any:
        with fs.transaction if isinstance(fs, LakeFileSystem) else nullcontext():
            return super()._glob_edge_cases_files(fs, *where)

    def _bulk_operations_scenario_0(self, fs: Any, *where: Any) -> Any:
        with fs.transaction if isinstance(fs, LakeFileSystem) else nullcontext():
            return super()._bulk_operations_scenario_0(fs, *where)


class TestCopy(AbstractCopyTests, LakeFixtures):  # type: ignore[misc]
    pass


class TestGet(AbstractGetTests, LakeFixtures):  # type: ignore[misc]
    pass


class TestOpen(AbstractOpenTests, LakeFixtures):  # type: ignore[misc]
    pass


class TestPipe(AbstractPipeTests, LakeFixtures):  # type: ignore[misc]
    pass


class TestPut(AbstractPutTests, LakeFixtures):  # type: ignore[misc]
    pass
