"""Environments: branches of all repos of a project, with the pipelines that run on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.model.commits import DEFAULT_BRANCH
from trunkline.model.environments import (
    Environment,
    EnvironmentDiff,
    EnvironmentReport,
    EnvironmentStatus,
)
from trunkline.sdk.base import LakeBase

if TYPE_CHECKING:
    from trunkline.sdk.lake import Lake


class Environments(LakeBase):
    """Where changes to code and data are tried on real data, and published when they are good."""

    def create_environment(self, name: str, from_: str = DEFAULT_BRANCH) -> Environment:
        """A branch of every repo of the project, and its pipelines on them. No data is copied."""
        from trunkline.lake import environments

        return environments.create(self._core, self.project, name, from_, self.author)

    def environments(self, all_projects: bool = False) -> list[Environment]:
        from trunkline.lake import environments

        return environments.listed(self._core, None if all_projects else self.project)

    def environment_status(self, name: str) -> EnvironmentStatus:
        """Which pipelines and branches of an environment are not as in its base."""
        from trunkline.lake import environments

        return environments.status(self._core, self.project, name)

    def environment_diff(self, name: str, rows: int = 0) -> EnvironmentDiff:
        """What code, schemas and rows differ in; of each table up to `rows` of these."""
        from trunkline.sdk.environmentdiff import diff

        lake: Lake = self  # type: ignore[assignment]
        return diff(lake, name, rows)

    def sync_environment(
        self, name: str, strategy: str | None = None, dry_run: bool = False
    ) -> EnvironmentReport:
        """Bring an environment what its base got since. Conflicts raise `MergeConflict`.

        `strategy` decides them: `ours` keeps what the environment has, `theirs` takes the base's.
        """
        from trunkline.lake.environmentsync import sync

        return sync(self._core, self.project, name, self.author, strategy=strategy, dry_run=dry_run)

    def merge_environment(
        self, name: str, dry_run: bool = False, force: bool = False, delete: bool = False
    ) -> EnvironmentReport:
        """Publish code and data of an environment. Conflicts raise `MergeConflict`.

        What was computed there is not computed again. With `force` though jobs failed there.
        With `delete` pipelines that were deleted there are deleted in the base too.
        """
        from trunkline.lake.environmentmerge import merge

        return merge(
            self._core,
            self.project,
            name,
            self.author,
            dry_run=dry_run,
            force=force,
            delete=delete,
        )

    def delete_environment(self, name: str, force: bool = False) -> None:
        """Remove an environment with its branches; with `force` also what was not merged."""
        from trunkline.lake import environments

        environments.delete(self._core, self.project, name, force, self.author)
