"""Pipelines, through a server. What is handed over is read here, and sent with its code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trunkline.errors import Usage
from trunkline.lake.pipelines import Applied
from trunkline.model.commits import Commit, RepoName
from trunkline.model.jobs import Backfill, DatumInfo
from trunkline.model.paths import validate_name
from trunkline.model.pipelines import PipelineInfo
from trunkline.model.refs import Need
from trunkline.schedule.outlook import NextTick
from trunkline.sdk.pipelines import ACTIONS, Pipelines, mode_of
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.following import lines_of
from trunkline.sdk.reports import ApplyReport, PlanReport
from trunkline.sdk.spectext import PipelineText
from trunkline.sdk.wire.pipelines import (
    DatumOf,
    Declaration,
    EnvironmentName,
    NewBackfill,
    Pool,
    PoolSlots,
    Restore,
    Started,
    Tick,
    bodies_of,
)
from trunkline.sdk.wire.values import Page, decode

if TYPE_CHECKING:
    from trunkline.sdk.specs import Thing


class RemotePipelines(RemoteBase, Pipelines):
    def apply(
        self,
        *things: Thing,
        reprocess: bool = False,
        no_reprocess: bool = False,
        args: Mapping[str, str] | None = None,
        env: str | None = None,
    ) -> ApplyReport:
        mode_of(reprocess, no_reprocess)
        body = self._gathered(things, args, reprocess, no_reprocess, env)
        done: ApplyReport = self._client.send("POST", "/pipelines", body, kind=ApplyReport)
        return done

    def plan(
        self,
        *things: Thing,
        reprocess: bool = False,
        no_reprocess: bool = False,
        args: Mapping[str, str] | None = None,
        env: str | None = None,
    ) -> PlanReport:
        found: PlanReport
        if not things:
            found = self._client.get(PlanReport, f"/projects/{self.project}/plan", environment=env)
            return found
        mode_of(reprocess, no_reprocess)
        body = self._gathered(things, args, reprocess, no_reprocess, env)
        found = self._client.send("POST", "/pipelines/plan", body, kind=PlanReport)
        return found

    def datums_of(
        self, *things: Thing, args: Mapping[str, str] | None = None
    ) -> Iterator[tuple[RepoName, DatumInfo]]:
        body = self._gathered(things, args)
        with self._client.stream("POST", "/pipelines/datums", body=body) as answer:
            for line in lines_of(answer):
                found: DatumOf = decode(DatumOf, line)
                yield found.pipeline, found.datum

    def pipelines(self, all_projects: bool = False, env: str | None = None) -> list[PipelineInfo]:
        project = None if all_projects and env is None else self.project
        return list(
            self._client.pages(PipelineInfo, "/pipelines", project=project, environment=env)
        )

    def pipeline(
        self, name: str, version: int | None = None, env: str | None = None
    ) -> PipelineInfo:
        found: PipelineInfo = self._client.get(
            PipelineInfo, self._pipeline_path(name), version=version, environment=env
        )
        return found

    def pipeline_versions(self, name: str) -> list[PipelineInfo]:
        return list(self._client.pages(PipelineInfo, f"{self._pipeline_path(name)}/versions"))

    def pipeline_text(self, name: str, version: int | None = None) -> PipelineText:
        found: PipelineText = self._client.get(
            PipelineText, f"{self._pipeline_path(name)}/text", version=version
        )
        return found

    def restore_pipeline(self, name: str, version: int) -> Applied:
        place = f"{self._pipeline_path(name)}/restore"
        done: Applied = self._client.send("POST", place, Restore(version), kind=Applied)
        return done

    def delete_pipeline(
        self, name: str, force: bool = False, keep_repo: bool = False, env: str | None = None
    ) -> None:
        place = self._pipeline_path(name)
        self._client.send("DELETE", place, force=force, keep_repo=keep_repo, environment=env)

    def pause_pipeline(self, name: str) -> None:
        self._client.send("POST", f"{self._pipeline_path(name)}/pause")

    def resume_pipeline(self, name: str) -> str | None:
        return self._started(f"{self._pipeline_path(name)}/resume")

    def run_pipeline(self, name: str, env: str | None = None) -> str:
        return self._started(f"{self._pipeline_path(name)}/run", environment=env) or ""

    def backfill(
        self, name: str, from_: str | None = None, to: str | None = None, branch: str = ""
    ) -> Backfill:
        start, end = (
            self._whole(text, path=Need.FORBIDDEN) if text else None for text in (from_, to)
        )
        place = f"{self._pipeline_path(name)}/backfills"
        made: Backfill = self._client.send(
            "POST", place, NewBackfill(start, end, branch), kind=Backfill
        )
        return made

    def backfills(self) -> list[Backfill]:
        return list(self._client.pages(Backfill, "/backfills"))

    def steer_backfill(self, backfill: str, action: str) -> Backfill:
        if action not in ACTIONS:
            raise Usage(f"A backfill cannot {action!r}.", hint="pause, resume or cancel.")
        place = f"/backfills/{quote(backfill, safe='')}/{action}"
        done: Backfill = self._client.send("POST", place, kind=Backfill)
        return done

    def tick(self, pipeline: str, name: str | None = None) -> list[Commit]:
        place = f"{self._pipeline_path(pipeline)}/ticks"
        done: Page[Commit] = self._client.send("POST", place, Tick(name), kind=Page[Commit])
        return done.items

    def next_ticks(self, pipeline: str, n: int = 5) -> list[NextTick]:
        if n < 1:
            return []
        place = f"{self._pipeline_path(pipeline)}/ticks"
        found: Page[NextTick] = self._client.get(Page[NextTick], place, limit=n)
        return found.items

    def pools(self) -> list[dict[str, Any]]:
        found = self._client.pages(Pool, "/pools")
        names = ("name", "slots", "running", "waiting")
        return [{name: getattr(one, name) for name in names} for one in found]

    def set_pool(self, name: str, slots: int) -> None:
        validate_name("pool", name)
        self._client.send("PUT", f"/pools/{name}", PoolSlots(slots))

    def delete_pool(self, name: str) -> None:
        self._client.send("DELETE", f"/pools/{quote(name, safe='')}")

    def _gathered(
        self,
        things: tuple[Thing, ...],
        args: Mapping[str, str] | None,
        reprocess: bool = False,
        no_reprocess: bool = False,
        env: str | None = None,
    ) -> Declaration:
        from trunkline.sdk.specs import gather

        found = gather(things, self.project, args or {}, self._lakeside)
        bodies = bodies_of(found.declared)
        where = None if env is None else EnvironmentName(self.project, env)
        return Declaration(bodies, tuple(found.ignored), reprocess, no_reprocess, where)

    def _pipeline_path(self, name: str) -> str:
        found = self._repo(name)
        return f"/pipelines/{found.project}/{found.repo}"

    def _started(self, place: str, environment: str | None = None) -> str | None:
        done: Started = self._client.send("POST", place, kind=Started, environment=environment)
        return done.job
