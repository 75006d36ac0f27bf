"""What a job works on: its version, the trees it reads, and what it builds on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trunkline.errors import NotFound, Precondition
from trunkline.jobs.inputtypes import Retyped, retyped_inputs, same_types
from trunkline.lake.core import Core, repo_key
from trunkline.lake.environmentedges import branch_read
from trunkline.lake.manifests import EMPTY, Tree
from trunkline.lake.quarantine import owners_of_quarantined
from trunkline.model.commits import Commit, RepoName
from trunkline.model.environments import Environment
from trunkline.model.inputs import Leaf, leaves
from trunkline.model.jobs import Job, JobInput, JobState
from trunkline.model.pipelines import PipelineSpec, PipelineVersion
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import Session, commits, jobs, pipelines, refs, repos
from trunkline.storage.catalog.pipelines import VersionRow


@dataclass(frozen=True, slots=True)
class Base:
    """The last good output, and the job that made it: its index tells which datum wrote what.

    `salt` is that of the job's version.
    """

    commit: Commit | None
    job: Job | None
    index: Tree
    salt: str = ""

    @property
    def id(self) -> str | None:
        return self.commit.id if self.commit else None


@dataclass(frozen=True, slots=True)
class Context:
    """All that planning needs; nothing here changes while the job runs."""

    repo: int
    version: PipelineVersion
    branch: str
    leaves: tuple[Leaf, ...]
    inputs: tuple[JobInput, ...]
    trees: tuple[Tree, ...]
    base: Base
    results: Tree
    results_at: str | None
    last: Job | None
    last_index: Tree
    borrowed: tuple[str, ...] = ()
    """Killed jobs whose finished datums may be taken over."""
    retyped: tuple[Retyped, ...] = ()
    """For each input, the files that are read with other types than their own."""
    replay: frozenset[str] = frozenset()
    """Datums (ids) that run again whatever is known of them, since their rows are quarantined."""

    @property
    def spec(self) -> PipelineSpec:
        return self.version.spec


def load(core: Core, repo: int, job: Job) -> Context:
    """The context of a job that is about to run."""
    with core.database.read() as session:
        row = pipelines.version(session, repo, job.version)
        if row is None:
            raise NotFound(f"Version {job.version} of {job.pipeline} is gone.")
        version = declared(job.pipeline, row)
        inputs = job.inputs
        found = [_commit(session, one) for one in inputs]
    for one, commit in zip(inputs, found, strict=True):
        if commit is not None and commit.error is not None and not job.is_stream:
            raise Precondition(f"Its input {one.repo} has no good commit {commit.short_id}.")
    trees = tuple(core.tree(commit) for commit in found)
    found_context = _context(core, repo, version, job.branch, inputs, trees, job.id)
    if not job.replay:
        return found_context
    owners = owners_of_quarantined(core.tree(found_context.base.commit), job.replay)
    # What killed jobs left may be from before the rows' cause was mended.
    return replace(found_context, replay=owners, borrowed=())


def at_heads(
    core: Core, version: PipelineVersion, branch: str, environment: Environment | None = None
) -> Context:
    """The context that a job would have if it started now; the pipeline need not exist."""
    if environment is not None:
        branch = environment.branch(branch)
    inputs, found = [], []
    with core.database.read() as session:
        own = repos.key_of(session, version.name)
        for leaf in leaves(version.spec.input):
            source = repos.key_of(session, leaf.repo)
            name = branch_read(environment, leaf) if environment is not None else leaf.branch
            at = refs.branch(session, source, name) if source is not None else None
            if source is not None and at is None and leaf.trigger:
                at = refs.branch(session, source, leaf.trigger.branch)
            one = JobInput(leaf.name, leaf.repo, name, at.head if at else None)
            inputs.append(one)
            found.append(_commit(session, one) if source is not None else None)
    trees = tuple(core.tree(commit) for commit in found)
    return _context(core, own or -1, version, branch, tuple(inputs), trees, None)


def _context(
    core: Core,
    repo: int,
    version: PipelineVersion,
    branch: str,
    inputs: tuple[JobInput, ...],
    trees: tuple[Tree, ...],
    job_id: str | None,
) -> Context:
    with core.database.read() as session:
        pipeline = pipelines.find(session, repo)
        at = refs.branch(session, repo, branch)
        head = commits.find(session, repo, at.head) if at and at.head else None
        made = jobs.find(session, repo, head.id) if head else None
        before = pipelines.version(session, repo, made.version) if made else None
        others = [job for job in jobs.listed(session, repo=repo, limit=8) if job.id != job_id]
    last = _last_over(others, branch)
    borrowed = () if version.spec.every_job else _stopped(others, version)
    results = EMPTY
    if pipeline is not None and pipeline.results:
        results = core.manifests.read(pipeline.results, pipeline.results_hash)
    base = Base(head, made, index_of(core, made), before.salt if before else "")
    return Context(
        repo,
        version,
        branch,
        tuple(leaves(version.spec.input)),
        inputs,
        trees,
        base,
        results,
        pipeline.results if pipeline is not None else None,
        last,
        base.index if last and made and last.id == made.id else index_of(core, last),
        borrowed,
        retyped_inputs(core, version.spec.transform, tuple(leaves(version.spec.input)), trees),
    )


def types_stayed(core: Core, context: Context, trees_before: tuple[Tree, ...]) -> bool:
    """Whether what the last good job read is still read with the types that it had then."""
    before = retyped_inputs(core, context.spec.transform, context.leaves, trees_before)
    return same_types(before, trees_before, context.retyped, context.trees)


def index_of(core: Core, job: Job | None) -> Tree:
    if job is None or job.index is None:
        return EMPTY
    return core.manifests.read(job.index, job.index_hash)


def _last_over(others: Sequence[Job], branch: str) -> Job | None:
    """The job before this one, whatever became of it."""
    found = (job for job in others if job.branch == branch and job.index is not None)
    return next(found, None)


def _stopped(others: Sequence[Job], version: PipelineVersion) -> tuple[str, ...]:
    """Jobs of the same code that left results, but no index of them."""
    return tuple(
        job.id
        for job in others
        if job.state in (JobState.KILLED, JobState.FAILURE)
        and job.index is None
        and job.digest == version.digest
    )


def declared(name: RepoName, row: VersionRow) -> PipelineVersion:
    return PipelineVersion(
        name,
        row.version,
        from_json(row.spec),
        row.digest,
        row.salt,
        row.code,
        row.created,
        row.author,
    )


def _commit(session: Session, one: JobInput) -> Commit | None:
    if one.commit is None:
        return None
    return commits.find(session, repo_key(session, one.repo), one.commit)
