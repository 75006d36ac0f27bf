"""Housekeeping, through a server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trunkline.model.commits import Commit
from trunkline.model.refs import Need
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.client import LONG
from trunkline.sdk.results import Status
from trunkline.sdk.upkeep import Upkeep
from trunkline.sdk.wire.upkeep import Collect, Erase, Examine, Forget

if TYPE_CHECKING:
    from trunkline.lake.erase import ErasureReport
    from trunkline.lake.fsck import FsckReport
    from trunkline.lake.gc import GcReport


class RemoteUpkeep(RemoteBase, Upkeep):
    def status(self) -> Status:
        found: Status = self._client.get(Status, "/status")
        return replace(found, location=self.location, project=self.project)

    def check(self) -> None:
        self._client.send("POST", "/check")

    def gc(self, dry_run: bool = False, grace: float | None = None) -> GcReport:
        from trunkline.lake.gc import GcReport

        body = Collect(dry_run, grace)
        done: GcReport = self._client.send("POST", "/gc", body, kind=GcReport, patience=LONG)
        return done

    def fsck(self, deep: bool = False) -> FsckReport:
        from trunkline.lake.fsck import FsckReport

        body = Examine(deep)
        found: FsckReport = self._client.send("POST", "/fsck", body, kind=FsckReport, patience=LONG)
        return found

    def forget(self, ref: str) -> Commit:
        body = Forget(self._whole(ref, path=Need.FORBIDDEN))
        done: Commit = self._client.send("POST", "/forget", body, kind=Commit)
        return done

    def erase(self, ref: str, reason: str = "") -> ErasureReport:
        from trunkline.lake.erase import ErasureReport

        body = Erase(self._whole(ref, path=Need.REQUIRED), reason)
        done: ErasureReport = self._client.send(
            "POST", "/erase", body, kind=ErasureReport, patience=LONG
        )
        return done
