"""What goes out of the lake, through a server: it sends, from where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trunkline.model.egress import Delivery, Target
from trunkline.sdk.egress import Egress, Exported, Progress
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.egress import Deliver, Export, Settle

LONGEST_SECONDS = 6 * 3600.0


class RemoteEgress(RemoteBase, Egress):
    def deliveries(
        self,
        pipeline: str | None = None,
        *,
        target: str | None = None,
        job: str | None = None,
        failed: bool = False,
        limit: int | None = None,
        all_projects: bool = False,
    ) -> list[Delivery]:
        name = self._repo(pipeline) if pipeline is not None else None
        project = name.project if name else None if all_projects else self.project
        found = self._client.pages(
            Delivery,
            "/deliveries",
            limit=limit,
            project=project,
            pipeline=name.repo if name else None,
            target=target,
            job=job,
            failed=failed or None,
        )
        return list(found)

    def deliver(self, pipeline: str, target: str | None = None) -> list[Delivery]:
        return self._sent(pipeline, "", Deliver(target))

    def retry_deliveries(
        self, pipeline: str, target: str | None = None, *, job: str | None = None
    ) -> list[Delivery]:
        return self._sent(pipeline, "/retry", Settle(target, job))

    def skip_deliveries(
        self, pipeline: str, target: str | None = None, *, job: str | None = None
    ) -> list[Delivery]:
        return self._sent(pipeline, "/skip", Settle(target, job))

    def _exported(
        self,
        ref: str,
        target: Target,
        given: Mapping[str, str],
        progress: Progress | None = None,
    ) -> Exported:
        from trunkline.pipelines.spec.codec import target_to

        body = Export(self._whole(ref), target_to(target), next(iter(given.values()), None))
        made: Exported = self._client.send(
            "POST", "/export", body, kind=Exported, patience=LONGEST_SECONDS
        )
        return made

    def _sent(self, pipeline: str, place: str, body: Any) -> list[Delivery]:
        name = self._repo(pipeline)
        path = f"/pipelines/{name.project}/{name.repo}/deliveries{place}"
        found: list[Delivery] = self._client.send("POST", path, body, kind=list[Delivery])
        return found
