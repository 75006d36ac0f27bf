"""Jobs: listed, watched, stopped, tried again; their datums and what they printed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from trunkline.errors import NotFound, TimedOut, Usage
from trunkline.model.commits import RepoName
from trunkline.model.ids import is_id_prefix
from trunkline.model.jobs import DatumInfo, DatumState, Job, JobState, LogLine
from trunkline.model.suggest import did_you_mean
from trunkline.model.told import Kind, Told, said
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import jobs, repos
from trunkline.storage.catalog.bell import bell_of

LOOK_SECONDS = 0.25
State = TypeVar("State", JobState, DatumState)


@dataclass(frozen=True)
class JobHandle:
    """A job, and what can be done with it. `info` is how it was when it was asked for."""

    lake: Jobs
    info: Job

    @property
    def ref(self) -> str:
        return f"{self.info.pipeline.project}/{self.info.pipeline.repo}@{self.info.id}"

    def wait(self, timeout: float | None = None) -> Job:
        """Wait until it is over. Somebody must run jobs: `lake.run()`, or a worker."""
        return self.lake.wait(self.ref, timeout)[0]

    def cancel(self, reason: str = "") -> Job:
        return self.lake.cancel_job(self.ref, reason)

    def logs(self, datum: str | None = None, follow: bool = False) -> Iterator[LogLine]:
        return self.lake.logs(self.ref, datum, follow)

    def datums(self, state: str | None = None) -> Iterator[DatumInfo]:
        return self.lake.datums(self.ref, state)


class Jobs(LakeBase):
    """What ran, what runs, what waits."""

    def jobs(
        self,
        pipeline: str | None = None,
        state: str | None = None,
        limit: int | None = None,
        all_projects: bool = False,
    ) -> list[Job]:
        """Jobs, newest first."""
        found, _ = self._listed(pipeline, state, limit, None if all_projects else self.project)
        return found

    def job(self, job: str) -> JobHandle:
        """One job: by its id, by PIPELINE@ID where pipelines share the id, or the newest of a
        PIPELINE."""
        return JobHandle(self, self._find(job)[1])

    def wait(
        self,
        job: str,
        timeout: float | None = None,
        on_change: Callable[[list[Job]], None] | None = None,
    ) -> list[Job]:
        """Wait until a job (PIPELINE@ID, or PIPELINE for its newest), or all jobs of a set (ID),
        are over."""
        until = None if timeout is None else time.monotonic() + timeout
        if not is_id_prefix(job):
            job = self.job(job).ref  # the newest now, not one that comes meanwhile
        bell = bell_of(self._core.database.url)
        before: list[Job] = []
        while True:
            seen = bell.count()
            found = self._found(job)
            if found != before and on_change is not None:
                on_change(found)
            before = found
            if all(one.state.is_over for one in found):
                return found
            if until is not None and time.monotonic() > until:
                raise not_over(job, timeout)
            bell.wait(seen, LOOK_SECONDS)

    def cancel_job(self, job: str, reason: str = "") -> Job:
        """Stop a job and all that waits for it."""
        from trunkline.lake import control

        why = said(reason) or Told(Kind.CANCELLED, who=self.author)
        return control.cancel(self._core, job, self.project, why)

    def rerun_job(self, job: str) -> str:
        """Try again what failed in a job's set, as a new set; its id."""
        from trunkline.lake import control

        return control.rerun(self._core, job, self.project, self.author)

    def datums(self, job: str, state: str | None = None) -> Iterator[DatumInfo]:
        """The datums of a job, with what became of each and why."""
        return self._datums(*self._find(job), state)

    def _datums(self, repo: int, found: Job, state: str | None) -> Iterator[DatumInfo]:
        from trunkline.jobs.listing import of_job

        wanted = member(DatumState, state, "datum") if state is not None else None
        for info in of_job(self._core, repo, found):
            if wanted is None or info.state is wanted:
                yield info

    def logs(self, job: str, datum: str | None = None, follow: bool = False) -> Iterator[LogLine]:
        """What the datums of a job printed; with `follow` until the job is over."""
        from trunkline.jobs import logs

        repo, found = self._find(job)
        return logs.lines(self._core, repo, found, datum, follow)

    def why(self, name: str) -> list[str]:
        """In words: why a job (PIPELINE@ID) ran and ended as it did, or why a pipeline does
        not run now."""
        from trunkline.sdk.why import why_job, why_pipeline

        if "@" in name:
            return why_job(self._core, *self._find(name))
        return why_pipeline(self._core, self._repo(name))

    def _listed(
        self,
        pipeline: str | None,
        state: str | None,
        limit: int | None,
        project: str | None,
        *,
        id_prefix: str | None = None,
        before: tuple[int, str, RepoName] | None = None,
        shows: Callable[[RepoName], bool] | None = None,
    ) -> tuple[list[Job], bool]:
        """The first jobs after the one `before`, and whether there are more.

        With `shows` those of the repos that it lets through.
        """
        from trunkline.lake.pipelines import require

        wanted = member(JobState, state, "job") if state is not None else None
        with self._core.database.read() as session:
            repo = require(session, self._repo(pipeline), True).repo if pipeline else None
            among = None
            if shows is not None:
                every = repos.all_repos(session, project if repo is None else None)
                among = [one.key for one in every if shows(one.name)]
            last = None
            if before is not None:
                last = (before[0], before[1], repos.key_of(session, before[2]) or 0)
            found = jobs.listed(
                session,
                repo=repo,
                state=wanted,
                project=project if repo is None else None,
                id_prefix=id_prefix,
                before=last,
                among=among,
                limit=None if limit is None else limit + 1,
            )
        more = limit is not None and len(found) > limit
        return found[:limit], more

    def _find(self, job: str) -> tuple[int, Job]:
        from trunkline.lake.control import find_job

        with self._core.database.read() as session:
            return find_job(session, job, self.project)

    def _found(self, job: str, sees: Callable[[RepoName], bool] | None = None) -> list[Job]:
        from trunkline.lake.core import resolve_set

        if not is_id_prefix(job):
            return [self._find(job)[1]]
        with self._core.database.read() as session:
            found = jobs.listed(session, id_prefix=resolve_set(session, job, sees))
        if not found:
            raise NotFound(f'There is no job "{job}".', hint="trunkline job list shows all jobs.")
        return found


def not_over(job: str, timeout: float | None) -> TimedOut:
    return TimedOut(
        f"{job} is not over after {timeout or 0:g} s.",
        hint="Does anybody run jobs? trunkline run does.",
    )


def member(states: type[State], text: str, kind: str) -> State:
    try:
        return states(text)
    except ValueError:
        known = [str(one) for one in states]
        raise Usage(
            f"{text!r} is no state of a {kind}.{did_you_mean(text, known)}",
            hint=f"One of {', '.join(known)}.",
        ) from None
