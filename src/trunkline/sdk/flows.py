"""Streams and ingests: how they go, and where they go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.errors import NotFound, Usage
from trunkline.lake.core import repo_key
from trunkline.model.commits import Commit, RepoName
from trunkline.model.flowstatus import IngestStatus, StreamStatus
from trunkline.model.refs import Ref
from trunkline.model.streams import Batch
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import flows, repos

if TYPE_CHECKING:
    from trunkline.lake.rewinds import RewindPlan
    from trunkline.lake.savepoints import Savepoint
    from trunkline.lake.streams import Steered


class Flows(LakeBase):
    """What flows into the lake, and along it."""

    def streams(self, all_projects: bool = False) -> list[StreamStatus]:
        """Every stream pipeline, with how it goes."""
        from trunkline.jobs.streaming import status

        return status.streams(self._core, self._listed_project(all_projects))

    def stream(self, name: str) -> StreamStatus:
        """How a stream goes: its state, lag, watermark and speed."""
        from trunkline.jobs.streaming import status

        return status.stream(self._core, self._repo(name))

    def stream_batches(self, name: str, limit: int | None = 20) -> list[Batch]:
        """What each commit of a stream or an ingest read and wrote, newest first."""
        from trunkline.lake.pipelines import require

        with self._core.database.read() as session:
            row = require(session, self._repo(name))
            return flows.batches(session, row.repo, limit=limit)

    def commit_batch(self, commit: Commit) -> Batch | None:
        """What is known of the batch that made a commit; None if none did."""
        return self._batch_of(commit.repo, commit.id)

    def commit_batches(self, repo: str) -> dict[str, Batch]:
        """What is known of every commit of a stream or an ingest, by id; of others nothing."""
        with self._core.database.read() as session:
            key = repo_key(session, self._repo(repo))
            known = flows.batches(session, key) if flows.find(session, key) else []
        return {one.commit: one for one in known}

    def plan_rewind(self, name: str, to: str) -> RewindPlan:
        """What `rewind_stream` would undo, and who would be told. Nothing happens."""
        from trunkline.lake import rewinds

        return rewinds.plan(self._core, *self._own_ref(name, to))

    def rewind_stream(self, name: str, to: str) -> Steered:
        """Back to one of a stream's commits: output, offsets and state; what reads it is told."""
        from trunkline.lake import streams

        repo, ref = self._own_ref(name, to)
        return streams.rewind(self._core, repo, ref, self.author)

    def restart_stream(self, name: str, start: str = "start", keep_output: bool = False) -> Steered:
        """Begin anew without state, from the "start" of its inputs, from "now" or a ref of them.

        The first batch takes the place of all output; with `keep_output` it is added to it.
        """
        from trunkline.lake import streams

        return streams.restart(
            self._core, self._repo(name), start, self.author, keep_output=keep_output
        )

    def take_savepoint(self, name: str) -> Commit:
        """Keep the state after the newest batch as a commit, for as long as it is wanted."""
        from trunkline.lake import streams

        return streams.take_savepoint(self._core, self._repo(name), self.author)

    def savepoints(self, name: str) -> list[Savepoint]:
        """The savepoints of a stream, newest first."""
        from trunkline.lake import savepoints
        from trunkline.lake.streams import require_flow

        repo = self._repo(name)
        with self._core.database.read() as session:
            require_flow(session, repo)
        return savepoints.listed(self._core, repo)

    def ingests(self, all_projects: bool = False) -> list[IngestStatus]:
        """Every ingest, with how it goes."""
        from trunkline.jobs.streaming import status

        return status.ingests(self._core, self._listed_project(all_projects))

    def ingest(self, name: str) -> IngestStatus:
        """How an ingest goes: its state, speed, and what its source says of itself."""
        from trunkline.jobs.streaming import status

        return status.ingest(self._core, self._repo(name))

    def _batch_of(self, repo: RepoName, commit: str) -> Batch | None:
        with self._core.database.read() as session:
            return flows.batch_of(session, repo_key(session, repo), commit)

    def _listed_project(self, all_projects: bool) -> str | None:
        if all_projects:
            return None
        with self._core.database.read() as session:
            if not repos.has_project(session, self.project):
                raise NotFound(f'There is no project "{self.project}".')
        return self.project

    def _own_ref(self, name: str, to: str) -> tuple[RepoName, str]:
        """A stream, and one of its own commits: REF, or NAME@REF."""
        repo = self._repo(name)
        ref = self._revision_of(Ref(repo, to), to)
        if ref.repo != repo:
            raise Usage(
                f"{repo} cannot go back to a commit of {ref.repo}.",
                hint=f"trunkline stream batches {repo} lists its own.",
            )
        return repo, ref.ref
