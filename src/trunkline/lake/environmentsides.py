"""What both a merge and a sync of an environment need: how the sides are, and what is to do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trunkline.errors import BranchMoved, MergeConflict
from trunkline.lake.core import Core
from trunkline.lake.environmentpipelines import enter, require_environment
from trunkline.lake.environments import branch_states, pipeline_states
from trunkline.lake.merge import Prepared, prepare
from trunkline.lake.threeway import Resolver
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import RepoName
from trunkline.model.environments import (
    BranchState,
    CodeState,
    DataState,
    Environment,
    EnvironmentReport,
    PipelineState,
    Step,
)
from trunkline.model.jobs import JobState
from trunkline.model.refs import Ref
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import Session, environments, jobs, pipelines, refs, repos


@dataclass(frozen=True, slots=True)
class Seen:
    """Both sides as they were when it was worked out what to do."""

    environment: Environment
    pipelines: tuple[PipelineState, ...]
    branches: tuple[BranchState, ...]
    heads: dict[Ref, str | None]

    def in_state(self, *states: CodeState) -> list[PipelineState]:
        return [one for one in self.pipelines if one.state in states]

    def inputs(self, *states: DataState) -> list[BranchState]:
        """Branches that no pipeline of the environment writes."""
        return [one for one in self.branches if one.kind != "output" and one.state in states]


@dataclass
class Work:
    """What is to be done, and what stands against it."""

    steps: list[Step] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    forward: list[BranchState] = field(default_factory=list)
    merges: list[Prepared] = field(default_factory=list)
    versions: list[PipelineState] = field(default_factory=list)
    kept: list[PipelineState] = field(default_factory=list)
    deleted: list[RepoName] = field(default_factory=list)


def look(core: Core, project: str, name: str) -> Seen:
    with core.database.read() as session:
        found = require_environment(session, project, name)
        branches = tuple(branch_states(session, found))
        heads = {ref: head_of(session, ref) for one in branches for ref in both_refs(found, one)}
        return Seen(found, tuple(pipeline_states(core, session, found)), branches, heads)


def both_refs(environment: Environment, branch: BranchState) -> tuple[Ref, Ref]:
    """The branch in the environment, and the one it stands for."""
    return Ref(branch.repo, branch.branch), Ref(branch.repo, branch.base)


def head_of(session: Session, ref: Ref) -> str | None:
    repo = repos.key_of(session, ref.repo)
    found = refs.branch(session, repo, ref.ref) if repo is not None else None
    return found.head if found else None


def both_changed(environment: Environment, one: PipelineState) -> str:
    if not one.version:
        return f"pipeline {one.name}: deleted in {environment.name}, changed in {environment.base}"
    return f"pipeline {one.name}: changed both in {environment.name} and in {environment.base}"


def moved_forward(branch: BranchState, count: int) -> Step:
    words = f"{count} commit{'s' * (count != 1)}"
    return Step("repo", branch.repo, "forwarded", words)


def prepare_merge(core: Core, work: Work, source: Ref, target: Ref, resolver: Resolver) -> None:
    """Work out a merge of two branches that have both moved."""
    made = prepare(core, source, target, resolver)
    if made.report.unresolved:
        paths = [one.path for one in made.report.unresolved]
        more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
        work.conflicts.append(f"repo {target.repo}: both changed {', '.join(paths[:5])}{more}")
    elif made.is_needed:
        work.merges.append(made)
        work.steps.append(Step("repo", target.repo, "merged", made.report.sentence))


def refuse_moved(session: Session, seen: Seen, transaction: Transaction) -> None:
    """Nobody has changed either side since it was looked at, but for this transaction."""
    environment = require_environment(session, seen.environment.project, seen.environment.name)
    own = {draft.target for draft in transaction.drafts}
    moved = [str(ref) for ref, head in seen.heads.items() if ref not in own
             and head_of(session, ref) != head]  # fmt: skip
    here = environments.present(session, environment.project, environment.name)
    for one in seen.pipelines:
        repo = repos.key_of(session, one.name)
        present = here.get(repo) if repo is not None else None
        every = pipelines.versions(session, repo) if repo is not None else []
        of_base = (v.version for v in every if not v.environment and v.code != transaction.id)
        held = (present.version if present else 0, next(of_base, 0))
        if held != (one.version, one.base_version):
            moved.append(f"pipeline {one.name}")
    if moved:
        raise BranchMoved(
            f"{', '.join(moved[:5])} changed in the meantime.",
            hint="Nothing was changed; try again.",
        )


def enter_both(
    session: Session, environment: Environment, repo: int, number: int, author: str
) -> None:
    """Both sides have this version from now on."""
    version = pipelines.version(session, repo, number)
    if version is None:  # the base has none: it is deleted here too
        environments.unregister(session, repo, environment.name)
        return
    enter(session, environment, repo, from_json(version.spec), number, number, author)


def not_done(environment: Environment, action: str, work: Work, dry_run: bool) -> EnvironmentReport:
    report = EnvironmentReport(
        environment, action, tuple(work.steps), tuple(work.conflicts), dry_run=dry_run
    )
    if not work.conflicts or dry_run:
        return report
    raise MergeConflict(
        f"Cannot {action} {environment.name}: {'; '.join(work.conflicts)}.",
        conflicts=(),
        hint=f"Choose in the environment: trunkline env sync {environment.name} "
        "--strategy ours|theirs; ours is what the environment has.",
    )


def done(
    core: Core, transaction: Transaction, environment: Environment, action: str, work: Work
) -> EnvironmentReport:
    with core.database.read() as session:
        found = jobs.listed(session, id_prefix=transaction.id)
    over = sum(job.state is JobState.SUCCESS for job in found)
    return replace(
        EnvironmentReport(environment, action, tuple(work.steps)),
        set_id=transaction.id,
        published=over,
        started=len(found) - over,
    )
