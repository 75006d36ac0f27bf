"""Streams and ingests, through a server."""

from __future__ import annotations

from trunkline.lake.rewinds import RewindPlan
from trunkline.lake.savepoints import Savepoint
from trunkline.lake.streams import Steered
from trunkline.model.commits import Commit
from trunkline.model.flowstatus import IngestStatus, StreamStatus
from trunkline.model.streams import Batch
from trunkline.sdk.flows import Flows
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.flows import Restart, Rewind


class RemoteFlows(RemoteBase, Flows):
    def streams(self, all_projects: bool = False) -> list[StreamStatus]:
        project = None if all_projects else self.project
        return list(self._client.pages(StreamStatus, "/streams", project=project))

    def stream(self, name: str) -> StreamStatus:
        found: StreamStatus = self._client.get(StreamStatus, self._flow_path("streams", name))
        return found

    def stream_batches(self, name: str, limit: int | None = 20) -> list[Batch]:
        place = f"{self._flow_path('streams', name)}/batches"
        return list(self._client.pages(Batch, place, limit=limit))

    def commit_batch(self, commit: Commit) -> Batch | None:
        place = f"{self._repo_path(commit.repo)}/batches/{commit.id}"
        found: Batch | None = self._client.get(Batch | None, place)
        return found

    def commit_batches(self, repo: str) -> dict[str, Batch]:
        found = self._client.pages(Batch, f"{self._repo_path(repo)}/batches")
        return {one.commit: one for one in found}

    def plan_rewind(self, name: str, to: str) -> RewindPlan:
        _, ref = self._own_ref(name, to)
        place = f"{self._flow_path('streams', name)}/rewind"
        found: RewindPlan = self._client.get(RewindPlan, place, to=ref)
        return found

    def rewind_stream(self, name: str, to: str) -> Steered:
        _, ref = self._own_ref(name, to)
        place = f"{self._flow_path('streams', name)}/rewind"
        done: Steered = self._client.send("POST", place, Rewind(ref), kind=Steered)
        return done

    def restart_stream(self, name: str, start: str = "start", keep_output: bool = False) -> Steered:
        place = f"{self._flow_path('streams', name)}/restart"
        done: Steered = self._client.send("POST", place, Restart(start, keep_output), kind=Steered)
        return done

    def take_savepoint(self, name: str) -> Commit:
        place = f"{self._flow_path('streams', name)}/savepoints"
        made: Commit = self._client.send("POST", place, kind=Commit)
        return made

    def savepoints(self, name: str) -> list[Savepoint]:
        place = f"{self._flow_path('streams', name)}/savepoints"
        return list(self._client.pages(Savepoint, place))

    def ingests(self, all_projects: bool = False) -> list[IngestStatus]:
        project = None if all_projects else self.project
        return list(self._client.pages(IngestStatus, "/ingests", project=project))

    def ingest(self, name: str) -> IngestStatus:
        found: IngestStatus = self._client.get(IngestStatus, self._flow_path("ingests", name))
        return found

    def _flow_path(self, kind: str, name: str) -> str:
        found = self._repo(name)
        return f"/{kind}/{found.project}/{found.repo}"
