"""Expectations: what became of each rule, job by job, and what was set aside."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.model.commits import RepoName
from trunkline.model.expectations import CheckRecord, CheckState
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import checks


class Checks(LakeBase):
    """What was expected of tables, and how they were."""

    def checks(
        self,
        pipeline: str | None = None,
        job: str | None = None,
        failed: bool = False,
        limit: int = 1,
        all_projects: bool = False,
    ) -> list[CheckRecord]:
        """What became of each rule in the last `limit` jobs of each pipeline, or in one job."""
        return self._checks(pipeline, job, failed, limit, all_projects)

    def _checks(
        self,
        pipeline: str | None,
        job: str | None,
        failed: bool,
        limit: int,
        all_projects: bool,
        sees: Callable[[RepoName], bool] | None = None,
    ) -> list[CheckRecord]:
        """As `checks`. With `sees` an id is looked for among the jobs of those pipelines."""
        from trunkline.lake.control import find_job
        from trunkline.lake.pipelines import require

        state = CheckState.FAILED if failed else None
        with self._core.database.read() as session:
            if job is not None:
                text = job if pipeline is None or "@" in job else f"{pipeline}@{job}"
                repo, found = find_job(session, text, self.project, sees=sees)
                return checks.listed(session, repo=repo, job=found.id, state=state)
            repo_of = require(session, self._repo(pipeline)).repo if pipeline else None
            project = None if all_projects or pipeline else self.project
            return checks.listed(
                session, repo=repo_of, project=project, state=state, jobs_each=limit
            )

    def replay(self, pipeline: str, rule: str | None = None) -> str:
        """Compute again what has quarantined rows, of all rules or of one; the id of the job."""
        from trunkline.lake import quarantine

        return quarantine.replay(self._core, self._repo(pipeline), rule, self.author)
