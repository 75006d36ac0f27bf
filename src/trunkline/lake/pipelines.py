"""Declaring pipelines: code, version, output repo and first job, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trunkline.errors import AlreadyExists, InUse, NotFound, Usage
from trunkline.lake.core import Core, repo_key
from trunkline.lake.flowkinds import check_flow, flow_of, has_own_clock
from trunkline.lake.propagation import end_job, output_branch
from trunkline.lake.transaction import Transaction
from trunkline.lake.triggering import catch_up
from trunkline.lake.versions import (
    SPEC_FILE,
    Declared,
    NextVersion,
    Reprocess,
    code_of,
    code_repo,
    next_version,
)
from trunkline.model.commits import DEFAULT_BRANCH, Origin, RepoKind, RepoName
from trunkline.model.entries import line_hash, line_path
from trunkline.model.inputs import Cron, Pfs, leaves
from trunkline.model.jobs import JobState
from trunkline.model.pipelines import PipelineSpec
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.pipelines.dag import order
from trunkline.pipelines.spec.codec import from_json
from trunkline.pipelines.triggers import check_trigger
from trunkline.storage.catalog import (
    Session,
    events,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
    timing,
)
from trunkline.storage.catalog.pipelines import Edge, PipelineRow, VersionRow

SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a declaration. `job` is the set in which it runs, if it does."""

    name: RepoName
    action: str
    version: int
    job: str | None

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name.repo,
            "project": self.name.project,
            "action": self.action,
            "version": self.version,
            "job": self.job,
        }


def cron_repos(spec: PipelineSpec) -> Iterator[tuple[RepoName, dict[str, Any]]]:
    """The repos whose ticks start the pipeline, with what their schedules are."""
    for leaf in leaves(spec.input):
        if isinstance(leaf, Cron):
            yield (
                leaf.repo,
                {
                    "cron": leaf.cron,
                    "timezone": leaf.timezone,
                    "start": leaf.start,
                    "overwrite": leaf.overwrite,
                    "catch_up": leaf.catch_up,
                },
            )
    if spec.schedule is not None:
        repo = RepoName(spec.name.project, f"{spec.name.repo}_{SCHEDULE}")
        yield repo, {**asdict(spec.schedule), "overwrite": True}


def apply(
    core: Core, declared: Sequence[Declared], author: str, reprocess: Reprocess = Reprocess.CHANGED
) -> list[Applied]:
    """Make or change pipelines, all or none, and start what must run."""
    with core.database.read() as session:
        sequence = check(session, declared)
    transaction = Transaction(core, author)
    with transaction:
        plans = declare(core, transaction, sequence, reprocess)
    done = []
    with core.database.read() as session:
        for plan in plans:
            repo = repo_key(session, plan.spec.name)
            row = pipelines.find(session, repo)
            job = jobs.find(session, repo, transaction.id)
            assert row is not None
            done.append(Applied(plan.spec.name, plan.action, row.version, job.id if job else None))
    return done


def restore(core: Core, name: RepoName, number: int, author: str) -> Applied:
    """Make an earlier version, spec and code, the newest one; its results are used again."""
    with core.database.read() as session:
        row = require(session, name)
        old = pipelines.version(session, row.repo, number)
    if old is None:
        raise NotFound(
            f"{name} has no version {number}.", hint=f"Its versions are 1 to {row.version}."
        )
    (applied,) = apply(core, [Declared(from_json(old.spec), restored=old)], author)
    return applied


def declare(
    core: Core, transaction: Transaction, checked: Sequence[Declared], reprocess: Reprocess
) -> list[_Application]:
    """Put pipelines into a transaction, whatever else it holds."""
    transaction.cause = "applied"
    plans = [_Application(core, transaction, one, reprocess) for one in checked]
    for plan in plans:
        plan.prepare()
    return plans


class _Application:
    """One declaration on its way into a transaction."""

    def __init__(
        self, core: Core, transaction: Transaction, declared: Declared, reprocess: Reprocess
    ) -> None:
        self.core = core
        self.transaction = transaction
        self.declared = declared
        self.spec = declared.spec
        self.reprocess = reprocess
        self.action = "created"

    def prepare(self) -> None:
        lines = [self._store(path, content) for path, content in self.declared.code]
        if self.declared.restored is not None:
            lines = code_of(self.core, self.spec.name, self.declared.restored.code)
        files = {line_path(line).decode(): line_hash(line).decode() for line in lines}
        version = next_version(self.core, self.declared, files, self.reprocess)
        if not version.is_new:
            self.action = "unchanged"
            return
        code = code_repo(self.spec.name)
        if version.before is None:
            self.transaction.create_repo(self.spec.name, self.spec.description, RepoKind.OUTPUT)
            self.transaction.create_repo(code, f"Code of {self.spec.name}", RepoKind.SYSTEM)
        else:
            self.action = "updated"
        draft = self.transaction.draft(
            Ref(code, DEFAULT_BRANCH),
            f"Code of {self.spec.name}",
            follow=True,
            origin=Origin.USER,
            kind=RepoKind.SYSTEM,
        )
        draft.changes.remove(b"/")
        draft.changes.put_all(lines)
        if self.declared.restored is not None:
            draft.requires.add((code, self.declared.restored.code))
        draft.changes.put_all([self._store(SPEC_FILE.decode(), _pretty(version.spec))])
        self.transaction.afterwards(partial(self._record, version))

    def _record(self, version: NextVersion, session: Session) -> list[int]:
        """In the transaction: rows for the version, and what hangs on it."""
        repo = repo_key(session, self.spec.name)
        code = repo_key(session, code_repo(self.spec.name))
        if pipelines.find(session, repo) is None:
            pipelines.add(session, repo, code)
        if (kind := flow_of(self.spec)) and flows.find(session, repo) is None:
            flows.add(session, repo, kind)
        row = pipelines.find(session, repo)
        assert row is not None
        number = row.version + 1
        for cron, schedule in cron_repos(self.spec):
            if repos.key_of(session, cron) is None:
                repos.add(session, cron, RepoKind.CRON, f"Ticks for {self.spec.name}")
            timing.set_cron(session, repo_key(session, cron), repo, schedule)
        self._drop_old_crons(session, repo)
        kept_triggers = {leaf.branch for leaf in leaves(self.spec.input) if leaf.trigger}
        _drop_triggers(session, repo, self.spec.name, kept_triggers)
        edges = list(self._edges(session, repo))
        commit, author = self.transaction.id, self.transaction.author
        made = VersionRow(
            repo,
            number,
            version.spec,
            version.digest,
            version.salt,
            commit,
            session.now(),
            author,
        )
        pipelines.add_version(session, made, edges)
        refs.add_tag(session, code, f"v{number}", commit, "", author)
        must_run = version.must_run
        for job in jobs.listed(session, repo=repo, unfinished=True):
            reason = f"version {number} was applied"
            end_job(session, repo, job.id, JobState.KILLED, reason)
            # What it was to do is still to be done.
            must_run = True
        events.emit(session, "pipeline", self.spec.name, {"version": number})
        return [repo] if must_run and not has_own_clock(self.spec) else []

    def _edges(self, session: Session, repo: int) -> Iterator[Edge]:
        waits = self.spec.schedule is not None or has_own_clock(self.spec)
        for leaf in leaves(self.spec.input):
            source = repo_key(session, leaf.repo)
            branch = leaf.branch
            if refs.branch(session, source, branch) is None:
                move = refs.Move(self.transaction.author, "pipeline")
                refs.add_branch(session, source, branch, None, move)
            if isinstance(leaf, Pfs) and leaf.trigger is not None:
                timing.set_trigger(session, source, branch, leaf.trigger)
                catch_up(session, source, leaf.trigger.branch, self.transaction.author)
            silent = (waits and isinstance(leaf, Pfs)) or bool(leaf.stream.static)
            propagates = leaf.propagation and not silent
            yield Edge(repo, leaf.name, source, branch, propagates, True)
        if self.spec.schedule is not None:
            tick = RepoName(self.spec.name.project, f"{self.spec.name.repo}_{SCHEDULE}")
            yield Edge(repo, SCHEDULE, repo_key(session, tick), DEFAULT_BRANCH, True, False)

    def _drop_old_crons(self, session: Session, repo: int) -> None:
        kept = {name for name, _ in cron_repos(self.spec)}
        for old in timing.crons(session, repo):
            if old.name not in kept:
                timing.remove_cron(session, old.repo)

    def _store(self, path: str, content: Path | bytes) -> bytes:
        intake = self.transaction.intake
        if isinstance(content, bytes):
            return intake.add_bytes(path, content)
        return intake.add_file(path, content)


def _pretty(spec: dict[str, Any]) -> bytes:
    import json

    return json.dumps(spec, indent=2, ensure_ascii=False).encode() + b"\n"


def check(
    session: Session, declared: Sequence[Declared], coming: Collection[RepoName] = ()
) -> list[Declared]:
    """Refuse what cannot be applied; what can, each after the pipelines it reads.

    `coming` are repos that will be there by then.
    """
    specs = {one.spec.name: one for one in declared}
    for one in declared:
        _check_names(session, one, {*specs, *coming})
    sequence = order(reading_graph(session, declared))
    return [specs[name] for name in sequence if name in specs]


def reading_graph(session: Session, declared: Sequence[Declared]) -> dict[RepoName, set[RepoName]]:
    """Which pipelines each pipeline reads, as it would be with these applied."""
    reads = _present_graph(session)
    for one in declared:
        reads[one.spec.name] = {leaf.repo for leaf in leaves(one.spec.input)}
    return {name: sources & reads.keys() for name, sources in reads.items()}


def _present_graph(session: Session) -> dict[RepoName, set[RepoName]]:
    rows = {row.repo: row for row in pipelines.all_pipelines(session)}
    graph: dict[RepoName, set[RepoName]] = {row.name: set() for row in rows.values()}
    for edge in pipelines.every_edge(session):
        source = rows.get(edge.source)
        if source is not None:
            graph[rows[edge.pipeline].name].add(source.name)
    return graph


def _check_names(session: Session, one: Declared, coming: Collection[RepoName]) -> None:
    spec = one.spec
    where = f"{one.where}: " if one.where else ""
    own = repos.find(session, spec.name)
    if own is not None and (row := pipelines.find(session, own.key)) is not None:
        check_flow(session, row, spec, where)
    elif own is not None:
        raise AlreadyExists(
            f"{where}There is a repo {spec.name} already, and it is no pipeline's.",
            hint="Give the pipeline another name.",
        )
    if not repos.has_project(session, spec.name.project):
        known = [project.name for project in repos.projects(session)]
        raise NotFound(
            f'{where}There is no project "{spec.name.project}".'
            f"{did_you_mean(spec.name.project, known)}",
            hint=f"Make it first: trunkline project create {spec.name.project}",
        )
    made = {cron for cron, _ in cron_repos(spec)}
    for leaf in leaves(spec.input):
        if leaf.repo in coming or leaf.repo in made:
            continue
        source = repos.key_of(session, leaf.repo)
        if source is None:
            known = [*repos.names(session, leaf.repo.project), *(n.repo for n in coming)]
            raise missing_input(one, leaf.repo, known)
        if leaf.trigger is not None:
            others = {row.branch: row.trigger for row in timing.triggers(session, source)}
            check_trigger(leaf.trigger, leaf.branch, others)
            if _is_output(session, source, leaf.branch):
                raise Usage(
                    f"{where}{leaf.repo}@{leaf.branch} is a pipeline's output and cannot follow.",
                    hint="Let another branch follow it.",
                )
    for cron in made:
        found = repos.find(session, cron)
        if found is not None and found.kind is not RepoKind.CRON:
            raise AlreadyExists(
                f"{where}The ticks of {spec.name} go to the repo {cron}, which exists already.",
                hint="Give the cron input another name.",
            )


def missing_input(one: Declared, repo: RepoName, known: Sequence[str]) -> NotFound:
    """What is said of a pipeline that reads what is not there; `known` are names that are."""
    where = f"{one.where}: " if one.where else ""
    return NotFound(
        f'{where}{one.spec.name} reads the repo "{repo}", which does not exist.'
        f"{did_you_mean(repo.repo, known)}",
        hint=f"Make it first: trunkline repo create {repo}",
    )


def _is_output(session: Session, repo: int, branch: str) -> bool:
    row = pipelines.find(session, repo)
    return row is not None and output_branch(session, row) == branch


def delete(core: Core, name: RepoName, force: bool, keep_repo: bool) -> None:
    """Remove a pipeline, with its output unless that is kept as a plain repo."""
    with core.database.write() as session:
        row = require(session, name)
        below = {edge.pipeline for edge in pipelines.readers(session, row.repo)}
        readers = sorted(str(repos.name_of(session, repo)) for repo in below)
        if readers and not force and not keep_repo:
            raise InUse(
                f"{name} is read by {', '.join(readers)}.",
                hint="Delete them first, keep its data with --keep-repo, or use --force.",
            )
        for job in jobs.listed(session, repo=row.repo, unfinished=True):
            end_job(session, row.repo, job.id, JobState.KILLED, "its pipeline was deleted")
        ticks = [cron.repo for cron in timing.crons(session, row.repo)]
        _drop_triggers(session, row.repo, name, ())
        pipelines.remove(session, row.repo)
        flows.remove(session, row.repo)
        if keep_repo:
            repos.set_kind(session, row.repo, RepoKind.USER)
        else:
            for repo in below:
                # What reads it cannot run until it is applied again without it.
                pipelines.set_paused(session, repo, True)
            session.execute(
                "DELETE FROM pipeline_inputs WHERE source_repo = :repo", {"repo": row.repo}
            )
            repos.remove(session, row.repo)
            repos.remove(session, row.code_repo)
        for tick in ticks:
            if not pipelines.readers(session, tick):
                repos.remove(session, tick)
        events.emit(session, "pipeline", name, {"deleted": True})


def _drop_triggers(session: Session, repo: int, name: RepoName, kept: Collection[str]) -> None:
    """Remove the triggers of branches that were made for this pipeline's inputs."""
    for edge in pipelines.reads(session, repo):
        if edge.branch.startswith(f"{name.repo}-trigger-") and edge.branch not in kept:
            timing.remove_trigger(session, edge.source, edge.branch)
            found = refs.branch(session, edge.source, edge.branch)
            others = [r for r in pipelines.readers(session, edge.source, edge.branch)
                      if r.pipeline != repo]  # fmt: skip
            if found is not None and not others:
                refs.remove_branch(session, edge.source, found, refs.Move("pipeline", "delete"))


def require(session: Session, name: RepoName) -> PipelineRow:
    repo = repos.key_of(session, name)
    row = pipelines.find(session, repo) if repo is not None else None
    if row is None:
        known = [one.name.repo for one in pipelines.all_pipelines(session, name.project)]
        raise NotFound(
            f'There is no pipeline "{name}".{did_you_mean(name.repo, known)}',
            hint="trunkline pipeline list shows all pipelines.",
        )
    return row
