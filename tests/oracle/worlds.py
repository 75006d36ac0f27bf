"""Where cases happen: one lake, one Spark, and one server with all its doors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import trunkline as tl
from tests.server.iceberg.catalogs import OpenCatalog, open_catalog
from tests.spark import shared_session
from trunkline import Lake
from trunkline.filesystem import LakeFileSystem
from trunkline.model.jobs import JobState

# Each case is planned once and has a handful of rows: compiling it takes longer than running it.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


class World:
    def __init__(self, lake: Lake, folder: Path, opened: OpenCatalog) -> None:
        self.lake = lake
        self.folder = folder
        self.opened = opened
        self._repos = self._folders = 0

    def new_repo(self) -> str:
        self._repos += 1
        name = f"r{self._repos}"
        self.lake.create_repo(name)
        return name

    def new_folder(self) -> Path:
        """Outside of the lake."""
        self._folders += 1
        made = self.folder / f"out{self._folders}"
        made.mkdir()
        return made

    def run(self) -> str:
        """Run the pipelines until nothing is left; why the first job failed, if one did."""
        failed = [job for job in self.lake.run().jobs if job.state is not JobState.SUCCESS]
        return (
            f"{failed[0].pipeline}: {failed[0].state}: {failed[0].reason[:400]}" if failed else ""
        )

    @cached_property
    def spark(self) -> Any:
        """A session of Spark beside those of the lake, which plans quickly."""
        session = shared_session().spark.newSession()
        for name, value in INTERPRETED.items():
            session.conf.set(name, value)
        return session

    @cached_property
    def catalog(self) -> Any:
        return self.opened.connect()

    @cached_property
    def files(self) -> LakeFileSystem:
        return LakeFileSystem(self.lake.location, skip_instance_cache=True)

    @property
    def s3(self) -> str:
        """The address of the S3 door."""
        return self.opened.service.s3_address


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    shared_session()
    with tl.init(folder / "lake") as made:
        place = made.location
    with tl.open(place, author="ada") as lake, open_catalog(lake) as opened:
        yield World(lake, folder, opened)
