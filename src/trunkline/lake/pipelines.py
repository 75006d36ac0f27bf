"""Declaring pipelines: code, version, output repo and first job, in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trunkline.errors import InUse, InvalidSpec, NotFound
from trunkline.lake import this_machine
from trunkline.lake.core import Core, repo_key
from trunkline.lake.declarations import SCHEDULE, check, cron_repos
from trunkline.lake.deletions import PIPELINE, bury_branch, bury_pipeline, bury_repo
from trunkline.lake.environmentpipelines import (
    keep_in,
    refuse_in_environments,
)
from trunkline.lake.flowkinds import flow_of, has_own_clock
from trunkline.lake.publish import catch_up, kill_job
from trunkline.lake.transaction import Transaction
from trunkline.lake.versions import (
    SPEC_FILE,
    Declared,
    NextVersion,
    Reprocess,
    code_of,
    code_repo,
    next_version,
    present_version,
)
from trunkline.model.commits import DEFAULT_BRANCH, Origin, RepoKind, RepoName
from trunkline.model.entries import line_hash, line_path
from trunkline.model.environments import Environment
from trunkline.model.inputs import Pfs, leaves
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.model.told import Kind, Told
from trunkline.pipelines.confinement import INSTEAD, unconfined
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import (
    Session,
    environments,
    events,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
    timing,
)
from trunkline.storage.catalog.pipelines import Edge, PipelineRow, VersionRow

FOR_PIPELINE = "pipeline"
"""Why a branch is there that nobody made: a pipeline reads it."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a declaration. `job` is the set in which it runs, if it does."""

    name: RepoName
    action: str
    version: int
    job: str | None


def apply(
    core: Core,
    declared: Sequence[Declared],
    author: str,
    reprocess: Reprocess = Reprocess.CHANGED,
    environment: Environment | None = None,
) -> list[Applied]:
    """Make or change pipelines, all or none, and start what must run; in an environment, there."""
    with core.database.read() as session:
        sequence = check(session, declared, environment=environment)
    transaction = Transaction(core, author)
    with transaction:
        plans = declare(core, transaction, sequence, reprocess, environment)
    done = []
    with core.database.read() as session:
        for plan in plans:
            repo = repo_key(session, plan.spec.name)
            version = present_version(session, repo, environment.name if environment else "")
            job = jobs.find(session, repo, transaction.id)
            number = version.version if version else 0
            done.append(Applied(plan.spec.name, plan.action, number, job.id if job else None))
    return done


def restore(core: Core, name: RepoName, number: int, author: str) -> Applied:
    """Make an earlier version, spec and code, the newest one; its results are used again."""
    with core.database.read() as session:
        row = require(session, name)
        old = pipelines.version(session, row.repo, number)
        last = pipelines.last_number(session, row.repo)
    if old is None:
        raise NotFound(f"{name} has no version {number}.", hint=f"Its versions are 1 to {last}.")
    if old.environment:
        raise NotFound(
            f"Version {number} of {name} was applied in the environment {old.environment} only.",
            hint="Merge the environment, or apply its files here.",
        )
    (applied,) = apply(core, [Declared(from_json(old.spec), restored=old)], author)
    return applied


def declare(
    core: Core,
    transaction: Transaction,
    checked: Sequence[Declared],
    reprocess: Reprocess,
    environment: Environment | None = None,
) -> list[_Application]:
    """Put pipelines into a transaction, whatever else it holds."""
    for one in checked:
        _check_confinement(core, one)
    transaction.cause = Told(Kind.APPLIED)
    transaction.environment = environment.name if environment else ""
    plans = [_Application(core, transaction, one, reprocess, environment) for one in checked]
    for plan in plans:
        plan.prepare()
    return plans


def _check_confinement(core: Core, declared: Declared) -> None:
    where = f"{declared.where}: " if declared.where else ""
    for connection in this_machine.connections(declared.spec):
        this_machine.check(connection, core, where)
    if core.options.sandbox_required and (why := unconfined(declared.spec)):
        raise InvalidSpec(
            f"{where}{declared.spec.name} cannot be applied: this lake runs code in sandboxes "
            f"only (sandbox.required), and {why}.",
            hint=INSTEAD,
        )


class _Application:
    """One declaration on its way into a transaction."""

    def __init__(
        self,
        core: Core,
        transaction: Transaction,
        declared: Declared,
        reprocess: Reprocess,
        environment: Environment | None = None,
    ) -> None:
        self.core = core
        self.transaction = transaction
        self.declared = declared
        self.spec = declared.spec
        self.reprocess = reprocess
        self.environment = environment
        self.action = "created"

    def prepare(self) -> None:
        lines = [self._store(path, content) for path, content in self.declared.code]
        if self.declared.restored is not None:
            lines = code_of(self.core, self.spec.name, self.declared.restored.code)
        files = {line_path(line).decode(): line_hash(line).decode() for line in lines}
        where = self.environment.name if self.environment else ""
        version = next_version(self.core, self.declared, files, self.reprocess, where)
        if not version.is_new:
            self.action = "unchanged"
            return
        if version.before is not None:
            self.action = "updated"
        code = code_repo(self.spec.name)
        if not version.last:
            self.transaction.create_repo(self.spec.name, self.spec.description, RepoKind.OUTPUT)
            self.transaction.create_repo(code, f"Code of {self.spec.name}", RepoKind.SYSTEM)
        draft = self.transaction.draft(
            Ref(code, self._code_branch(code, is_new=not version.last)),
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

    def _code_branch(self, code: RepoName, is_new: bool) -> str:
        """Where the code goes: in an environment to a branch of its own, which is then there."""
        if self.environment is None:
            return DEFAULT_BRANCH
        target = Ref(code, self.environment.name)
        with self.core.database.read() as session:
            repo = repos.key_of(session, code)
            if repo is None or refs.branch(session, repo, target.ref) is None:
                source = None if is_new else Ref(code, DEFAULT_BRANCH)
                self.transaction.create_branch(target, source)
        return target.ref

    def _record(self, version: NextVersion, session: Session) -> list[int]:
        """In the transaction: rows for the version, and what hangs on it."""
        repo = repo_key(session, self.spec.name)
        code = repo_key(session, code_repo(self.spec.name))
        if pipelines.find(session, repo) is None:
            pipelines.add(session, repo, code)
        number = pipelines.last_number(session, repo) + 1
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
            self.environment.name if self.environment else "",
        )
        refs.add_tag(session, code, f"v{number}", commit, "", author)
        if self.environment is not None:
            keep_in(session, self.environment, made, self.spec)
        else:
            self._make_present(session, made)
        must_run, cut_off = version.must_run, []
        for job in jobs.listed(session, repo=repo, unfinished=True, environment=made.environment):
            reason = Told(Kind.REPLACED, what=str(number))
            cut_off += kill_job(session, repo, job.id, reason)
            # What it was to do is still to be done, and what others waited for it to do.
            must_run = True
        events.emit(session, "pipeline", self.spec.name, {"version": number})
        return [repo, *cut_off] if must_run and not has_own_clock(self.spec) else []

    def _make_present(self, session: Session, made: VersionRow) -> None:
        repo = made.repo
        if (kind := flow_of(self.spec)) and flows.find(session, repo) is None:
            flows.add(session, repo, kind)
        for cron, schedule in cron_repos(self.spec):
            if repos.key_of(session, cron) is None:
                repos.add(session, cron, RepoKind.CRON, f"Ticks for {self.spec.name}")
            timing.set_cron(session, repo_key(session, cron), repo, schedule)
        self._drop_old_crons(session, repo)
        read = list(leaves(self.spec.input))
        kept_triggers = {leaf.branch for leaf in read if leaf.trigger}
        _drop_triggers(session, repo, self.spec.name, kept_triggers)
        _drop_empty_branches(session, repo, {(leaf.repo, leaf.branch) for leaf in read})
        pipelines.add_version(session, made, list(self._edges(session, repo)))

    def _edges(self, session: Session, repo: int) -> Iterator[Edge]:
        waits = self.spec.schedule is not None or has_own_clock(self.spec)
        for leaf in leaves(self.spec.input):
            source = repo_key(session, leaf.repo)
            branch = leaf.branch
            if refs.branch(session, source, branch) is None:
                move = refs.Move(self.transaction.author, FOR_PIPELINE)
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


def delete(core: Core, name: RepoName, force: bool, keep_repo: bool, author: str) -> None:
    """Delete a pipeline, with its output unless that is kept as a plain repo."""
    with core.database.write() as session:
        delete_in(session, name, force, keep_repo, author)


def delete_in(session: Session, name: RepoName, force: bool, keep_repo: bool, author: str) -> None:
    """As `delete`, in a transaction that does more."""
    row = require(session, name)
    refuse_in_environments(session, row, force, keep_repo)
    below = {edge.pipeline for edge in pipelines.readers(session, row.repo)}
    readers = repos.names_of(session, below)
    if readers and not force and not keep_repo:
        raise InUse(
            f"{name} is read by {{by}}.",
            hint="Delete them first, keep its data with --keep-repo, or use --force.",
            by=readers,
        )
    for job in jobs.listed(session, repo=row.repo, unfinished=True):
        kill_job(session, row.repo, job.id, Told(Kind.PIPELINE_DELETED))
    ticks = {cron.repo: cron.name for cron in timing.crons(session, row.repo)}
    if keep_repo:
        part_of = bury_pipeline(session, row.repo, name, author)
        _drop_triggers(session, row.repo, name, (), part_of)
        _drop_empty_branches(session, row.repo, ())
        pipelines.remove(session, row.repo)
        repos.set_kind(session, row.repo, RepoKind.USER)
    else:
        for repo in below:
            # What reads it cannot run until it is applied again without it.
            pipelines.set_paused(session, repo, True)
        lost = pipelines.stop_reading(session, row.repo)
        part_of = bury_repo(session, row.repo, name, author, kind=PIPELINE, readers=lost)
        _drop_triggers(session, row.repo, name, (), part_of)
        _drop_empty_branches(session, row.repo, ())
        bury_repo(session, row.code_repo, code_repo(name), author, part_of=part_of)
    for tick, its_name in ticks.items():
        if not pipelines.readers(session, tick) and not environments.readers(session, tick):
            bury_repo(session, tick, its_name, author, part_of=part_of)
    events.emit(session, "pipeline", name, {"deleted": True})


def _drop_triggers(
    session: Session,
    repo: int,
    name: RepoName,
    kept: Collection[str],
    part_of: int | None = None,
) -> None:
    """Remove the triggers of branches that were made for this pipeline's inputs."""
    for edge in pipelines.reads(session, repo):
        if edge.branch.startswith(f"{name.repo}-trigger-") and edge.branch not in kept:
            found = refs.branch(session, edge.source, edge.branch)
            others = [r for r in pipelines.readers(session, edge.source, edge.branch)
                      if r.pipeline != repo]  # fmt: skip
            if found is not None and not others:
                move = refs.Move("pipeline", "delete")
                if part_of is None:
                    refs.remove_branch(session, edge.source, found, move)
                else:
                    bury_branch(session, edge.source, found, move, part_of)
            timing.remove_trigger(session, edge.source, edge.branch)


def _drop_empty_branches(
    session: Session, repo: int, kept: Collection[tuple[RepoName, str]]
) -> None:
    """Remove branches that only this pipeline reads, were made because it does, and hold nothing.

    Whoever names a branch that is not there gets an empty one; so it goes with the mistake. A
    repo's own first branch is none, nor is that of a clock's ticks.
    """
    for edge in pipelines.reads(session, repo):
        if edge.branch == DEFAULT_BRANCH:
            continue
        source = repos.name_of(session, edge.source)
        found = refs.branch(session, edge.source, edge.branch)
        if source is None or found is None or (source, edge.branch) in kept:
            continue
        readers = {one.pipeline for one in pipelines.readers(session, edge.source, edge.branch)}
        elsewhere = environments.readers(session, edge.source, edge.branch)
        rows = timing.triggers(session, edge.source)
        follows = any(edge.branch in (row.branch, row.trigger.branch) for row in rows)
        in_use = found.head or found.open or readers - {repo} or elsewhere or follows
        made = refs.last_reason(session, edge.source, edge.branch) == FOR_PIPELINE
        if made and not in_use:
            refs.remove_branch(session, edge.source, found, refs.Move("pipeline", "delete"))


def require(session: Session, name: RepoName, anywhere: bool = False) -> PipelineRow:
    """The pipeline of this name; with `anywhere` also one that only environments have."""
    repo = repos.key_of(session, name)
    row = pipelines.find(session, repo) if repo is not None else None
    if row is not None and not row.version and not anywhere:
        known = [one.environment for one in environments.of_pipeline(session, row.repo)]
        raise NotFound(
            f'The pipeline "{name}" is only in the environment {", ".join(known)}.',
            hint=f"Say so: --env {known[0] if known else 'NAME'}",
        )
    if row is None:
        known = [one.name.repo for one in pipelines.all_pipelines(session, name.project)]
        raise NotFound(
            f'There is no pipeline "{name}".',
            near=did_you_mean(name.repo, known),
            project=name.project,
            hint="trunkline pipeline list shows all pipelines.",
        )
    return row
