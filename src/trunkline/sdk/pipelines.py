"""Pipelines: declared, listed, planned, started and stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.errors import NotFound, Usage
from trunkline.model.commits import Commit, RepoName
from trunkline.model.inputs import leaves
from trunkline.model.jobs import DatumInfo
from trunkline.model.overview import PAUSED
from trunkline.model.pipelines import PipelineInfo, PipelineVersion
from trunkline.model.refs import Need
from trunkline.pipelines.spec.codec import view_of
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import (
    Session,
    backfills,
    environments,
    jobs,
    pipelines,
    repos,
    timing,
)

if TYPE_CHECKING:
    from trunkline.jobs.listing import PipelinePlan
    from trunkline.lake.pipelines import Applied
    from trunkline.lake.versions import Declared, Reprocess
    from trunkline.model.environments import Environment
    from trunkline.model.jobs import Backfill
    from trunkline.schedule.outlook import NextTick
    from trunkline.sdk.declarative import Lakeside
    from trunkline.sdk.reports import ApplyReport, PlanReport
    from trunkline.sdk.specs import Thing
    from trunkline.sdk.spectext import PipelineText


ACTIONS = ("pause", "resume", "cancel")
"""What can be done with a backfill."""


class Pipelines(LakeBase):
    """What runs when data changes."""

    def apply(
        self,
        *things: Thing,
        reprocess: bool = False,
        no_reprocess: bool = False,
        args: Mapping[str, str] | None = None,
        env: str | None = None,
    ) -> ApplyReport:
        """Make or change pipelines, all or none: files (YAML, JSON, jsonnet, Python), functions
        decorated with `@tl.pipeline`, dicts, or a project's spark-pipeline.yml.

        Changed code or inputs start one job. `reprocess` runs everything again;
        `no_reprocess` keeps old results though the code changed. With `env` they are applied
        in an environment only, and run there.
        """
        from trunkline.sdk.specs import gather

        mode = mode_of(reprocess, no_reprocess)
        found = gather(things, self.project, args or {}, self._lakeside)
        return self._apply(found.declared, tuple(found.ignored), mode, env)

    def plan(
        self,
        *things: Thing,
        reprocess: bool = False,
        no_reprocess: bool = False,
        args: Mapping[str, str] | None = None,
        env: str | None = None,
    ) -> PlanReport:
        """What `apply` would do, and why; without arguments, what is due for every pipeline."""
        from trunkline.sdk.specs import gather

        if not things:
            return self._due(env=env)
        mode = mode_of(reprocess, no_reprocess)
        found = gather(things, self.project, args or {}, self._lakeside)
        return self._planned(found.declared, tuple(found.ignored), mode, env)

    def datums_of(
        self, *things: Thing, args: Mapping[str, str] | None = None
    ) -> Iterator[tuple[RepoName, DatumInfo]]:
        """The datums of specs that need never have run, at the present heads."""
        from trunkline.sdk.specs import gather

        found = gather(things, self.project, args or {}, self._lakeside)
        yield from self._datums_of(found.declared)

    def pipelines(self, all_projects: bool = False, env: str | None = None) -> list[PipelineInfo]:
        """The pipelines of the project, or of all; with `env` as they are in an environment."""
        with self._core.database.read() as session:
            if env is not None:
                return [
                    _info(session, row, env=env) for row in _rows_in(session, self.project, env)
                ]
            if not all_projects and not repos.has_project(session, self.project):
                raise NotFound(f'There is no project "{self.project}".')
            rows = pipelines.all_pipelines(session, None if all_projects else self.project)
            return [_info(session, row) for row in rows]

    def pipeline(
        self, name: str, version: int | None = None, env: str | None = None
    ) -> PipelineInfo:
        """A pipeline as it is, was at a version, or is in an environment."""
        from trunkline.lake.environmentpipelines import require_in
        from trunkline.lake.pipelines import require

        with self._core.database.read() as session:
            if env is not None:
                row = require_in(session, self._repo(name), env)
                return _info(session, row, version, env)
            return _info(session, require(session, self._repo(name)), version)

    def pipeline_versions(self, name: str) -> list[PipelineInfo]:
        """Every version that was applied here, not in an environment; newest first."""
        from trunkline.lake.pipelines import require

        with self._core.database.read() as session:
            row = require(session, self._repo(name))
            every = pipelines.versions(session, row.repo)
            numbers = [one.version for one in every if not one.environment]
            return [_info(session, row, number) for number in numbers]

    def pipeline_text(self, name: str, version: int | None = None) -> PipelineText:
        """A pipeline as it can be edited and applied again: YAML, and its files of code."""
        from trunkline.lake.pipelines import require
        from trunkline.sdk.spectext import text_of

        repo = self._repo(name)
        with self._core.database.read() as session:
            row = require(session, repo)
            found = _version(session, row, version)
        return text_of(self._core, repo, found)

    def restore_pipeline(self, name: str, version: int) -> Applied:
        """Make an earlier version the newest: its spec, its code, and what it computed."""
        from trunkline.lake import pipelines as declaring

        return declaring.restore(self._core, self._repo(name), version, self.author)

    def delete_pipeline(
        self, name: str, force: bool = False, keep_repo: bool = False, env: str | None = None
    ) -> None:
        """Remove a pipeline and its output; `keep_repo` leaves the data as a plain repo.

        With `env` it is removed in an environment only.
        """
        from trunkline.lake import environments
        from trunkline.lake import pipelines as declaring

        if env is not None:
            if keep_repo:
                raise Usage("In an environment there is no repo to keep: its data stays as it is.")
            environments.delete_pipeline(self._core, self._repo(name), env, force)
            return
        declaring.delete(self._core, self._repo(name), force, keep_repo, self.author)

    def pause_pipeline(self, name: str) -> None:
        """No new jobs; running ones are stopped."""
        from trunkline.lake import control

        control.pause(self._core, self._repo(name))

    def resume_pipeline(self, name: str) -> str | None:
        """Go on; the id of the one job for all that was missed, if anything was."""
        from trunkline.lake import control

        return control.resume(self._core, self._repo(name), self.author)

    def run_pipeline(self, name: str, env: str | None = None) -> str:
        """Start a job at the present heads, or at those of an environment; its id."""
        from trunkline.lake import control

        return control.run(self._core, self._repo(name), self.author, environment=env or "")

    def backfill(
        self, name: str, from_: str | None = None, to: str | None = None, branch: str = ""
    ) -> Backfill:
        """Jobs for past commits of an input, each under that commit's id, on a branch apart."""
        from trunkline.lake import control

        first, last = (
            self._ref(text, path=Need.FORBIDDEN) if text else None for text in (from_, to)
        )
        return control.backfill(self._core, self._repo(name), first, last, self.author, branch)

    def backfills(self) -> list[Backfill]:
        with self._core.database.read() as session:
            return backfills.listed(session)

    def steer_backfill(self, backfill: str, action: str) -> Backfill:
        """Pause, resume or cancel a backfill."""
        from trunkline.lake import control

        if action not in ACTIONS:
            raise Usage(f"A backfill cannot {action!r}.", hint="pause, resume or cancel.")
        return control.steer_backfill(self._core, backfill, action)

    def tick(self, pipeline: str, name: str | None = None) -> list[Commit]:
        """Tick by hand the schedule of a pipeline, or one of its cron inputs."""
        from trunkline.schedule.ticks import tick

        return tick(self._core, self._repo(pipeline), name, self.author)

    def next_ticks(self, pipeline: str, n: int = 5) -> list[NextTick]:
        """When the schedule and the cron inputs of a pipeline tick next."""
        from trunkline.schedule.outlook import next_ticks

        return next_ticks(self._core, self._repo(pipeline), n)

    def pools(self) -> list[dict[str, Any]]:
        """Limits on how many jobs run at once, with what runs and waits in each."""
        with self._core.database.read() as session:
            rows = pipelines.pools(session)
            names = ("name", "slots", "running", "waiting")
            return [{name: row[name] for name in names} for row in rows]

    def set_pool(self, name: str, slots: int) -> None:
        """Let at most `slots` jobs of the pipelines with this `pool` run at once."""
        from trunkline.model.paths import validate_name

        validate_name("pool", name)
        if slots < 0:
            raise Usage(f"A pool cannot have {slots} slots.", hint="0 stops its jobs.")
        with self._core.database.write() as session:
            pipelines.set_pool(session, name, slots)
            session.ring()

    def delete_pool(self, name: str) -> None:
        with self._core.database.write() as session:
            if not pipelines.remove_pool(session, name):
                raise NotFound(f'There is no pool "{name}".')
            session.ring()

    # -- with what was gathered, here or by a server's client --------------------------------

    def _apply(
        self,
        declared: Sequence[Declared],
        ignored: tuple[str, ...],
        mode: Reprocess,
        env: str | None = None,
    ) -> ApplyReport:
        from trunkline.lake import pipelines as declaring
        from trunkline.sdk.declarative import started
        from trunkline.sdk.reports import ApplyReport

        where = self._environment(env)
        notes = self._remarks(declared, where)
        applied = declaring.apply(self._core, declared, self.author, mode, where)
        if where is None:  # nothing ticks in an environment
            applied = started(self._core, declared, applied, self.author)
        return ApplyReport(tuple(applied), ignored, notes)

    def _remarks(
        self, declared: Sequence[Declared], environment: Environment | None
    ) -> tuple[str, ...]:
        """What is hardly meant. In an environment the branches are its own."""
        from trunkline.lake.declarations import remarks
        from trunkline.sdk.secrets import secret_reader

        if environment is not None:
            return ()
        with self._core.database.read() as session:
            return tuple(remarks(session, declared, secret_reader(self._folder)))

    def _planned(
        self,
        declared: Sequence[Declared],
        ignored: tuple[str, ...],
        mode: Reprocess,
        env: str | None = None,
    ) -> PlanReport:
        from trunkline.lake.declarations import check
        from trunkline.lake.flowkinds import flow_of
        from trunkline.sdk.reports import PlanReport

        where = self._environment(env)
        with self._core.database.read() as session:
            ordered = check(session, declared, environment=where)
        graph = self._readers({one.spec.name for one in ordered}, ordered, where)
        plans: list[PipelinePlan] = []
        busy: list[RepoName] = []
        for one in ordered:
            version, action = self._would_be(one, mode, env or "")
            note = _waits_for(one, busy)
            plan = self._plan(version, action, graph[one.spec.name], note, where)
            plans.append(plan)
            if plan.run or note or flow_of(one.spec):
                busy.append(plan.name)
        return PlanReport(tuple(plans), ignored, self._remarks(ordered, where))

    def _environment(self, name: str | None) -> Environment | None:
        """The environment of this name in the lake's project."""
        from trunkline.lake.environmentpipelines import require_environment

        if name is None:
            return None
        with self._core.database.read() as session:
            return require_environment(session, self.project, name)

    def _datums_of(self, declared: Sequence[Declared]) -> Iterator[tuple[RepoName, DatumInfo]]:
        from trunkline.jobs.listing import of_spec
        from trunkline.lake.declarations import check
        from trunkline.lake.flowkinds import flow_of
        from trunkline.lake.versions import Reprocess

        with self._core.database.read() as session:
            ordered = check(session, declared)
        for one in ordered:
            version, _ = self._would_be(one, Reprocess.CHANGED)
            for info in of_spec(self._core, version) if not flow_of(one.spec) else ():
                yield one.spec.name, info

    @property
    def _lakeside(self) -> Lakeside:
        from trunkline.sdk.declarative import Lakeside

        return Lakeside(self, self._settings, self.project)

    def _due(
        self, shows: Callable[[RepoName], bool] | None = None, env: str | None = None
    ) -> PlanReport:
        """What the next job of each pipeline would do now, of those that `shows` lets through."""
        from trunkline.jobs.context import declared
        from trunkline.sdk.reports import PlanReport

        where = self._environment(env)
        with self._core.database.read() as session:
            if env is not None:
                rows = _rows_in(session, self.project, env)
            else:
                rows = pipelines.all_pipelines(session, self.project)
            rows = [row for row in rows if shows is None or shows(row.name)]
            versions = [(row, pipelines.version(session, row.repo, row.version)) for row in rows]
        graph = self._readers({row.name for row in rows}, [], where)
        plans = []
        for row, version in versions:
            assert version is not None
            note = PAUSED if row.paused else ""
            present = declared(row.name, version)
            plans.append(self._plan(present, "unchanged", graph[row.name], note, where))
        return PlanReport(tuple(plans))

    def _plan(
        self,
        version: PipelineVersion,
        action: str,
        readers: tuple[str, ...],
        note: str,
        environment: Environment | None = None,
    ) -> PipelinePlan:
        """What it would do. A stream or an ingest has no datums: it goes on from where it is."""
        from trunkline.jobs.listing import PipelinePlan, plan_of
        from trunkline.lake.flowkinds import flow_of

        if not (kind := flow_of(version.spec)):
            return plan_of(self._core, version, action, readers, note, environment)
        told = f"{kind}: goes on from where it is"
        note = f"{told}, {note}" if note else told
        return PipelinePlan(version.name, action, version.version, downstream=readers, note=note)

    def _would_be(
        self, one: Declared, mode: Reprocess, environment: str = ""
    ) -> tuple[PipelineVersion, str]:
        """The version that applying would make, without making it."""
        from blake3 import blake3

        from trunkline.lake.versions import next_version

        files = {
            path: blake3(data if isinstance(data, bytes) else data.read_bytes()).hexdigest()
            for path, data in one.code
        }
        made = next_version(self._core, one, files, mode, environment)
        action = "create" if made.before is None else "update" if made.is_new else "unchanged"
        version = PipelineVersion(
            one.spec.name, made.number, one.spec, made.digest, made.salt, "", 0, ""
        )
        return version, action

    def _readers(
        self,
        names: set[RepoName],
        declared: list[Declared],
        environment: Environment | None = None,
    ) -> dict[RepoName, tuple[str, ...]]:
        """Who follows each pipeline, directly or not, with what is about to be applied."""
        from trunkline.lake.declarations import reading_graph
        from trunkline.pipelines.dag import Dag

        with self._core.database.read() as session:
            dag = Dag.of(reading_graph(session, declared, environment))
        return {name: tuple(map(str, dag.downstream(name))) for name in names}


def _waits_for(one: Declared, busy: list[RepoName]) -> str:
    """What is planned here is only what is there now: inputs that run first may change it."""
    reads = {leaf.repo for leaf in leaves(one.spec.input)}
    first = [name for name in busy if name in reads]
    return f"waits for {', '.join(map(str, first))}" if first else ""


def mode_of(reprocess: bool, no_reprocess: bool) -> Reprocess:
    from trunkline.lake.versions import Reprocess

    if reprocess and no_reprocess:
        raise Usage("Everything cannot be both processed again and kept.")
    if reprocess:
        return Reprocess.ALL
    return Reprocess.NOTHING if no_reprocess else Reprocess.CHANGED


def _version(
    session: Session, row: pipelines.PipelineRow, version: int | None
) -> pipelines.VersionRow:
    found = pipelines.version(session, row.repo, version or row.version)
    if found is None:
        raise NotFound(f"{row.name} has no version {version}.")
    return found


def _rows_in(session: Session, project: str, env: str) -> list[pipelines.PipelineRow]:
    """The pipelines of an environment, each with the version that it has there."""
    from trunkline.lake.environmentpipelines import require_environment
    from trunkline.lake.propagation import node_of

    require_environment(session, project, env)
    found = (node_of(session, repo, env) for repo in environments.present(session, project, env))
    return [node.pipeline for node in found if node is not None]


def _info(
    session: Session,
    row: pipelines.PipelineRow,
    version: int | None = None,
    env: str | None = None,
) -> PipelineInfo:
    declared = _version(session, row, version)
    spec = view_of(declared.spec)
    found = jobs.listed(session, repo=row.repo, limit=1, environment=env or "")
    edges = (
        environments.reads(session, row.repo, env) if env else pipelines.reads(session, row.repo)
    )
    sources = dict.fromkeys(edge.source for edge in edges)
    inputs = tuple(name for s in sources if (name := repos.name_of(session, s)))
    if declared.version != row.version:
        inputs = tuple(dict.fromkeys(leaf.repo for leaf in leaves(spec.input)))
    words = ""
    if not env and timing.crons(session, row.repo):
        from trunkline.schedule.outlook import in_words

        words = in_words(session, row.name)
    return PipelineInfo(
        name=row.name,
        version=declared.version,
        paused=row.paused,
        created=row.created,
        updated=declared.created,
        description=spec.description,
        inputs=inputs,
        kind=spec.transform.kind,
        schedule=words,
        last_job=found[0].id if found else None,
        last_state=str(found[0].state) if found else None,
        pending=row.pending,
        spec=declared.spec,
    )
