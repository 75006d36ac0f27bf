"""Expectations: what became of each rule, job by job, and what was set aside."""

from __future__ import annotations

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
        from trunkline.lake.control import find_job
        from trunkline.lake.pipelines import require

        state = CheckState.FAILED if failed else None
        with self._core.database.read() as session:
            if job is not None:
                text = job if pipeline is None or "@" in job else f"{pipeline}@{job}"
                repo, found = find_job(session, text, self.project)
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
