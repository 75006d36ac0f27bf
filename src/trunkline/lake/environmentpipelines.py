"""Pipelines in environments: what may be applied there, what is kept of it, what it reads."""

from __future__ import annotations

from trunkline.errors import InUse, NotFound, Precondition, Usage
from trunkline.lake.core import repo_key
from trunkline.lake.environmentedges import edges_in, ensure_branch, ensure_ticks
from trunkline.lake.flowkinds import flow_of
from trunkline.lake.propagation import node_of
from trunkline.lake.publish import kill_job
from trunkline.lake.versions import Declared, code_repo
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.environments import Environment
from trunkline.model.inputs import leaves
from trunkline.model.pipelines import INGEST, PipelineSpec
from trunkline.model.suggest import did_you_mean
from trunkline.model.told import Kind, Told
from trunkline.storage.catalog import (
    Session,
    environments,
    events,
    jobs,
    pipelines,
    repos,
    timing,
)
from trunkline.storage.catalog.pipelines import PipelineRow, VersionRow


def require_environment(session: Session, project: str, name: str) -> Environment:
    found = environments.find(session, project, name)
    if found is None:
        known = [one.name for one in environments.listed(session, project)]
        raise NotFound(
            f'There is no environment "{name}" in the project {project}.',
            near=did_you_mean(name, known),
            project=project,
            hint="trunkline env list shows them; trunkline env create makes one.",
        )
    return found


def require_in(session: Session, name: RepoName, environment: str) -> PipelineRow:
    """A pipeline as it is in an environment."""
    require_environment(session, name.project, environment)
    repo = repos.key_of(session, name)
    node = node_of(session, repo, environment) if repo is not None else None
    if node is None:
        here = environments.present(session, name.project, environment)
        known = [found.repo for key in here if (found := repos.name_of(session, key))]
        raise NotFound(
            f'There is no pipeline "{name}" in the environment {environment}.',
            near=did_you_mean(name.repo, known),
            project=name.project,
            hint=f"trunkline pipeline list --env {environment} shows them.",
        )
    return node.pipeline


def check_place(session: Session, one: Declared, environment: Environment | None) -> None:
    """Refuse what cannot be applied there: flows in an environment, outputs into a foreign one."""
    spec, where = one.spec, f"{one.where}: " if one.where else ""
    if environment is None:
        taken = environments.owner(session, spec.name.project, spec.output_branch)
        if taken is not None:
            raise Usage(
                f"{where}{spec.name} cannot write to {spec.output_branch}: that branch belongs "
                f"to the environment {taken.name}.",
                hint="Choose another output_branch.",
            )
        _refuse_reading(session, spec, where)
        return
    if spec.name.project != environment.project:
        raise Usage(
            f"{where}{spec.name} is not of the project {environment.project}, whose environment "
            f"{environment.name} is.",
            hint=f"Make one there: trunkline -p {spec.name.project} env create {environment.name}",
        )
    if kind := flow_of(spec):
        what = "an ingest" if kind == INGEST else "a stream"
        raise Usage(
            f"{where}{spec.name} is {what}, and those do not run in an environment.",
            hint="There its branch holds what was there when the environment was made, or synced.",
        )


def _refuse_reading(session: Session, spec: PipelineSpec, where: str) -> None:
    """What is tried out in an environment does not start what is in none."""
    for leaf in leaves(spec.input):
        followed = [leaf.trigger.branch] if leaf.trigger else []
        for read in (leaf.branch, *followed):
            taken = environments.owner(session, leaf.repo.project, read)
            if taken is not None:
                raise Usage(
                    f"{where}{spec.name} cannot read {leaf.repo}@{read}: that branch belongs to "
                    f"the environment {taken.name}.",
                    hint=f"Read {taken.origin(read)}; what is applied with --env {taken.name} "
                    f"reads {read} for it.",
                )


def keep_in(
    session: Session, environment: Environment, version: VersionRow, spec: PipelineSpec
) -> None:
    """Keep a version, and make it the one that is present in an environment."""
    pipelines.keep_version(session, version)
    here = environments.present_in(session, version.repo, environment.name)
    row = pipelines.find(session, version.repo)
    base = here.base if here else row.version if row else 0
    enter(session, environment, version.repo, spec, version.version, base, version.author)


def enter(
    session: Session,
    environment: Environment,
    repo: int,
    spec: PipelineSpec,
    version: int,
    base: int,
    author: str,
) -> None:
    """Let a version of a pipeline be the one of an environment, with the branches it needs."""
    ensure_ticks(session, spec)
    ensure_branch(session, environment, repo, environment.branch(spec.output_branch), author)
    edges = list(edges_in(session, environment, repo, spec, author))
    environments.register(session, repo, environment.name, version, base, edges)


def graph_in(session: Session, environment: Environment) -> dict[RepoName, set[RepoName]]:
    """Which pipelines each pipeline of an environment reads there."""
    here = environments.present(session, environment.project, environment.name)
    names = {key: repos.name_of(session, key) for key, one in here.items() if one.version}
    graph: dict[RepoName, set[RepoName]] = {name: set() for name in names.values() if name}
    for edge in environments.edges(session, environment.project, environment.name):
        reader, source = names.get(edge.pipeline), names.get(edge.source)
        if reader is not None and source is not None and environment.owns(edge.branch):
            graph[reader].add(source)
    return graph


def refuse_in_environments(
    session: Session, row: PipelineRow, force: bool, keep_repo: bool
) -> None:
    """A pipeline that environments have is deleted with them in view, or by force."""
    below = environments.readers(session, row.repo) if not keep_repo else []
    if below:
        environment, edge = below[0]
        raise InUse(
            f"{row.name} is read by {{by}} in the environment {environment}.",
            hint="Delete that first, or keep its data with --keep-repo.",
            by=repos.names_of(session, [edge.pipeline]),
        )
    names = [one.environment for one in environments.of_pipeline(session, row.repo) if one.version]
    if names and not force:
        raise InUse(
            f"{row.name} is in the environment{'s' * (len(names) > 1)} {', '.join(names)}.",
            hint=f"Delete it there first: trunkline pipeline delete {row.name} --env {names[0]}; "
            "or use --force.",
        )


def leave(session: Session, environment: Environment, name: RepoName, force: bool) -> None:
    """Delete a pipeline in an environment only. What it made there stays, to be compared."""
    row = require_in(session, name, environment.name)
    below = {
        edge.pipeline
        for where, edge in environments.readers(session, row.repo)
        if where == environment.name and environment.owns(edge.branch)
    }
    if below and not force:
        raise InUse(
            f"{name} is read by {{by}} in the environment {environment.name}.",
            hint="Delete them there first, or use --force: they then go on with what is there.",
            by=repos.names_of(session, below),
        )
    end_jobs(session, environment, row.repo, Told(Kind.PIPELINE_DELETED))
    here = environments.present_in(session, row.repo, environment.name)
    assert here is not None
    if here.base:
        environments.register(session, row.repo, environment.name, 0, here.base, ())
    else:
        environments.unregister(session, row.repo, environment.name)
        drop_orphan(session, row.repo)
    events.emit(session, "pipeline", name, {"deleted": True, "environment": environment.name})


def end_jobs(session: Session, environment: Environment, repo: int, reason: Told) -> None:
    found = jobs.listed(session, repo=repo, unfinished=True, environment=environment.name)
    for job in found:
        kill_job(session, repo, job.id, reason)


def drop_orphan(session: Session, repo: int) -> None:
    """Remove a pipeline that was in environments only, and is in none any more."""
    row = pipelines.find(session, repo)
    if row is None or row.version or environments.of_pipeline(session, repo):
        return
    below = pipelines.readers(session, repo)
    if below or environments.readers(session, repo):
        raise Precondition(
            f"{row.name} would be deleted, and other pipelines read it.",
            hint="Delete these first.",
        )
    environments.forget_pipeline(session, repo)
    for job in jobs.listed(session, repo=repo, unfinished=True):
        kill_job(session, repo, job.id, Told(Kind.PIPELINE_DELETED))
    pipelines.remove(session, repo)
    repos.remove(session, repo)
    repos.remove(session, row.code_repo)
    _drop_ticks(session, row.name)


def _drop_ticks(session: Session, name: RepoName) -> None:
    """Repos for ticks that nothing reads, and that no clock writes to."""
    clocks = {cron.repo for cron in timing.crons(session)}
    for repo in repos.all_repos(session, name.project):
        is_own = repo.kind == "cron" and repo.name.repo.startswith(f"{name.repo}_")
        used = pipelines.readers(session, repo.key) or environments.readers(session, repo.key)
        if is_own and repo.key not in clocks and not used:
            repos.remove(session, repo.key)


def code_branch(session: Session, environment: Environment, name: RepoName, author: str) -> None:
    """Make the branch for a pipeline's code in an environment."""
    code = repo_key(session, code_repo(name))
    ensure_branch(session, environment, code, environment.branch(DEFAULT_BRANCH), author)
