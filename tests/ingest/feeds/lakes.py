"""Ingests of a lake under test: declared, run, and looked at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trunkline import Lake
from trunkline.ingests.keeper import Drained, Keeper
from trunkline.lake.pipelines import apply
from trunkline.lake.versions import Declared
from trunkline.model.commits import Commit, RepoName
from trunkline.model.inputs import Union
from trunkline.model.jobs import RunEvent
from trunkline.model.pipelines import PipelineSpec, Transform
from trunkline.model.streams import Batch, Flow, IngestSource
from trunkline.storage.catalog import flows, repos


class Ingests:
    def __init__(self, lake: Lake, folder: Path) -> None:
        self.lake = lake
        self.folder = folder
        self.core = lake._core
        self.events: list[RunEvent] = []
        self.secrets: dict[str, str] = {}
        self._keepers: list[Keeper] = []

    def declare(
        self,
        name: str,
        kind: str,
        options: Mapping[str, Any],
        *,
        code: Mapping[str, str] | None = None,
        secrets: tuple[tuple[str, str], ...] = (),
        transform: Transform | None = None,
        **fields: Any,
    ) -> None:
        source = IngestSource(kind, options, secrets, **{"interval": 0.1, **fields})
        spec = PipelineSpec(
            RepoName("default", name), Union(()), transform or Transform(), source=source
        )
        files = tuple((f"/{path}", text.encode()) for path, text in (code or {}).items())
        apply(self.core, [Declared(spec, code=files)], "ada")

    def keeper(self, **options: Any) -> Keeper:
        keeper = Keeper(
            self.core,
            secrets=self.secrets.get,
            listener=self.events.append,
            **{"lease_seconds": 5.0, **options},
        )
        self._keepers.append(keeper)
        return keeper

    def start(self, **options: Any) -> Keeper:
        keeper = self.keeper(**options)
        keeper.start()
        return keeper

    def stop(self) -> None:
        for keeper in self._keepers:
            keeper.stop()
        self._keepers.clear()

    def drain(self) -> list[Drained]:
        return self.keeper().drain()

    def rows(self, ref: str, order: str = "") -> list[dict[str, Any]]:
        """The rows of a table, of a repo that may have none."""
        if not self.commits(ref.partition("@")[0].partition(":")[0]):
            return []
        found: list[dict[str, Any]] = self.lake.table(ref).arrow().to_pylist()
        return sorted(found, key=lambda row: row[order]) if order else found

    def malformed(self, name: str) -> list[dict[str, Any]]:
        if not any(f.path.startswith("/_malformed/") for f in self.files(name)):
            return []
        return self.rows(f"{name}@main:/_malformed")

    def files(self, name: str) -> list[Any]:
        if not self.commits(name):
            return []
        return list(self.lake.ls(f"{name}@main", recursive=True, hidden=True))

    def commits(self, name: str) -> list[Commit]:
        return list(self.lake.log(name))

    def flow(self, name: str) -> Flow:
        key = self.key(name)
        with self.core.database.read() as session:
            found = flows.find(session, key)
        assert found is not None
        return found

    def key(self, name: str) -> int:
        with self.core.database.read() as session:
            found = repos.key_of(session, RepoName("default", name))
        assert found is not None
        return found

    def batches(self, name: str) -> list[Batch]:
        """The oldest first."""
        key = self.key(name)
        with self.core.database.read() as session:
            return flows.batches(session, key)[::-1]
