"""Environments, through a server."""

from __future__ import annotations

from urllib.parse import quote

from trunkline.model.commits import DEFAULT_BRANCH
from trunkline.model.environments import (
    Environment,
    EnvironmentDiff,
    EnvironmentReport,
    EnvironmentStatus,
)
from trunkline.sdk.environments import Environments
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.environments import MergeEnvironment, NewEnvironment, SyncEnvironment


class RemoteEnvironments(RemoteBase, Environments):
    def create_environment(self, name: str, from_: str = DEFAULT_BRANCH) -> Environment:
        made: Environment = self._client.send(
            "POST",
            f"/projects/{self.project}/environments",
            NewEnvironment(name, from_),
            kind=Environment,
        )
        return made

    def environments(self, all_projects: bool = False) -> list[Environment]:
        project = None if all_projects else self.project
        return list(self._client.pages(Environment, "/environments", project=project))

    def environment_status(self, name: str) -> EnvironmentStatus:
        found: EnvironmentStatus = self._client.get(EnvironmentStatus, self._environment_path(name))
        return found

    def environment_diff(self, name: str, rows: int = 0) -> EnvironmentDiff:
        found: EnvironmentDiff = self._client.get(
            EnvironmentDiff, f"{self._environment_path(name)}/diff", rows=rows
        )
        return found

    def sync_environment(
        self, name: str, strategy: str | None = None, dry_run: bool = False
    ) -> EnvironmentReport:
        done: EnvironmentReport = self._client.send(
            "POST",
            f"{self._environment_path(name)}/sync",
            SyncEnvironment(strategy, dry_run),
            kind=EnvironmentReport,
        )
        return done

    def merge_environment(
        self, name: str, dry_run: bool = False, force: bool = False, delete: bool = False
    ) -> EnvironmentReport:
        done: EnvironmentReport = self._client.send(
            "POST",
            f"{self._environment_path(name)}/merge",
            MergeEnvironment(dry_run, force, delete),
            kind=EnvironmentReport,
        )
        return done

    def delete_environment(self, name: str, force: bool = False) -> None:
        self._client.send("DELETE", self._environment_path(name), force=force)

    def _environment_path(self, name: str) -> str:
        return f"/projects/{self.project}/environments/{quote(name, safe='')}"
