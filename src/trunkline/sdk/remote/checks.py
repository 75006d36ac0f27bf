"""Expectations, through a server."""

from __future__ import annotations

from trunkline.model.expectations import CheckRecord
from trunkline.sdk.checks import Checks
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.pipelines import Started
from trunkline.sdk.wire.tables import Replay


class RemoteChecks(RemoteBase, Checks):
    def checks(
        self,
        pipeline: str | None = None,
        job: str | None = None,
        failed: bool = False,
        limit: int = 1,
        all_projects: bool = False,
    ) -> list[CheckRecord]:
        found = self._client.pages(
            CheckRecord,
            "/checks",
            project=None if all_projects else self.project,
            pipeline=None if pipeline is None else self._full(pipeline),
            job=job,
            failed=failed,
            jobs=limit,
        )
        return list(found)

    def replay(self, pipeline: str, rule: str | None = None) -> str:
        body = Replay(self._full(pipeline), rule)
        started: Started = self._client.send("POST", "/checks/replay", body, kind=Started)
        assert started.job is not None
        return started.job

    def _full(self, pipeline: str) -> str:
        found = self._repo(pipeline)
        return f"{found.project}/{found.repo}"
