"""Jobs, through a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from urllib.parse import quote

from trunkline.lake.control import only_job, read_job
from trunkline.model.commits import RepoName
from trunkline.model.ids import is_id_prefix
from trunkline.model.jobs import DatumInfo, DatumState, Job, JobState, LogLine
from trunkline.sdk.jobs import JobHandle, Jobs, member, not_over
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.following import followed, lines_of
from trunkline.sdk.wire.jobs import WAIT_SECONDS, Cancel, Waited, Why
from trunkline.sdk.wire.pipelines import Started
from trunkline.sdk.wire.values import decode


class RemoteJobs(RemoteBase, Jobs):
    def jobs(
        self,
        pipeline: str | None = None,
        state: str | None = None,
        limit: int | None = None,
        all_projects: bool = False,
    ) -> list[Job]:
        if state is not None:
            member(JobState, state, "job")
        name = _text(self._repo(pipeline)) if pipeline else None
        project = None if all_projects or pipeline else self.project
        return list(
            self._client.pages(
                Job, "/jobs", limit=limit, pipeline=name, project=project, state=state
            )
        )

    def job(self, job: str) -> JobHandle:
        return JobHandle(self, self._job(job))

    def wait(
        self,
        job: str,
        timeout: float | None = None,
        on_change: Callable[[list[Job]], None] | None = None,
    ) -> list[Job]:
        until = None if timeout is None else time.monotonic() + timeout
        is_set = is_id_prefix(job)
        place = f"/sets/{quote(job, safe='')}/wait" if is_set else f"{self._place(job)}/wait"
        before: list[Job] = []
        seen = None
        while True:
            left = WAIT_SECONDS if until is None else max(until - time.monotonic(), 0)
            found: Waited = self._client.get(
                Waited, place, timeout=min(left, WAIT_SECONDS), seen=seen
            )
            if found.jobs != before and on_change is not None:
                on_change(found.jobs)
            before, seen = found.jobs, found.seen
            if all(one.state.is_over for one in before):
                return before
            if until is not None and time.monotonic() > until:
                raise not_over(job, timeout)

    def cancel_job(self, job: str, reason: str = "") -> Job:
        place = f"{self._place(job, unfinished=True)}/cancel"
        done: Job = self._client.send("POST", place, Cancel(reason), kind=Job)
        return done

    def rerun_job(self, job: str) -> str:
        set_id = job if is_id_prefix(job) else self._job(job).id
        place = f"/sets/{quote(set_id, safe='')}/rerun"
        done: Started = self._client.send("POST", place, kind=Started)
        return done.job or ""

    def datums(self, job: str, state: str | None = None) -> Iterator[DatumInfo]:
        if state is not None:
            member(DatumState, state, "datum")
        with self._client.stream("GET", f"{self._place(job)}/datums/all", state=state) as answer:
            for line in lines_of(answer):
                yield decode(DatumInfo, line)

    def logs(self, job: str, datum: str | None = None, follow: bool = False) -> Iterator[LogLine]:
        return followed(self._client, f"{self._place(job)}/logs/events", datum, follow)

    def why(self, name: str) -> list[str]:
        place = self._place(name) if "@" in name else f"/pipelines/{_text(self._repo(name))}"
        found: Why = self._client.get(Why, f"{place}/why")
        return found.lines

    def _job(self, text: str, unfinished: bool = False) -> Job:
        """The job that a name means, as far as the caller may know of jobs."""
        name, job_id = read_job(text, self.project)
        pipeline = _text(name) if name else None
        found = list(
            self._client.pages(Job, "/jobs", limit=50, pipeline=pipeline, id=job_id or None)
        )
        if not job_id:
            going = [one for one in found if not one.state.is_over] if unfinished else []
            found = going or found[:1]
        return only_job(text, found)

    def _place(self, text: str, unfinished: bool = False) -> str:
        found = self._job(text, unfinished)
        return f"/jobs/{_text(found.pipeline)}/{found.id}"


def _text(name: RepoName) -> str:
    return f"{name.project}/{name.repo}"
