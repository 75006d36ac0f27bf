"""What is refused before anything is applied, and in which order the rest is.

Names that are taken or missing, circles, branches that cannot follow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from trunkline.errors import AlreadyExists, NotFound, Usage
from trunkline.lake.core import require_project
from trunkline.lake.environmentpipelines import check_place, graph_in
from trunkline.lake.flowkinds import check_flow
from trunkline.lake.propagation import output_branch
from trunkline.lake.versions import Declared
from trunkline.model.commits import DEFAULT_BRANCH, RepoKind, RepoName
from trunkline.model.environments import Environment
from trunkline.model.inputs import Cron, Pfs, leaves
from trunkline.model.pipelines import PipelineSpec
from trunkline.model.suggest import did_you_mean
from trunkline.model.words import count
from trunkline.pipelines.dag import order
from trunkline.pipelines.triggers import check_trigger
from trunkline.storage.catalog import Session, commits, pipelines, refs, repos, timing

SCHEDULE = "schedule"


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


def check(
    session: Session,
    declared: Sequence[Declared],
    coming: Collection[RepoName] = (),
    environment: Environment | None = None,
) -> list[Declared]:
    """Refuse what cannot be applied; what can, each after the pipelines it reads.

    `coming` are repos that will be there by then.
    """
    specs = {one.spec.name: one for one in declared}
    for one in declared:
        check_place(session, one, environment)
        _check_names(session, one, {*specs, *coming}, environment)
    sequence = order(reading_graph(session, declared, environment))
    return [specs[name] for name in sequence if name in specs]


def reading_graph(
    session: Session, declared: Sequence[Declared], environment: Environment | None = None
) -> dict[RepoName, set[RepoName]]:
    """Which pipelines each pipeline reads, as it would be with these applied."""
    reads = graph_in(session, environment) if environment else _present_graph(session)
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


def _check_names(
    session: Session,
    one: Declared,
    coming: Collection[RepoName],
    environment: Environment | None = None,
) -> None:
    spec = one.spec
    where = f"{one.where}: " if one.where else ""
    own = repos.find(session, spec.name)
    if own is not None and (row := pipelines.find(session, own.key)) is not None:
        check_flow(session, row, spec, where)
    elif own is not None:
        raise AlreadyExists(
            f"{where}A plain repo named {spec.name} exists, and a pipeline writes to the repo of "
            "its name.",
            hint="Give the pipeline another name; or, if the repo was made by mistake: "
            f"trunkline repo delete {spec.name}",
        )
    make = f"Make it first: trunkline project create {spec.name.project}"
    require_project(session, spec.name.project, where=where, hint=make)
    made = {cron for cron, _ in cron_repos(spec)}
    for leaf in leaves(spec.input):
        if leaf.repo in coming or leaf.repo in made:
            continue
        source = repos.key_of(session, leaf.repo)
        if source is None:
            known = [*repos.names(session, leaf.repo.project), *(n.repo for n in coming)]
            raise missing_input(one, leaf.repo, known)
        if leaf.trigger is not None and environment is None:
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


def remarks(
    session: Session, declared: Sequence[Declared], secret: Callable[[str], str | None]
) -> list[str]:
    """What can be applied but is hardly meant: inputs without data beside others that have some,
    pools that limit nothing, secrets that are not set, folders of an image."""
    writes = {one.spec.name: one.spec.output_branch for one in declared}
    pools = {str(row["name"]) for row in pipelines.pools(session)}
    found: dict[str, None] = {}
    for one in declared:
        for leaf in leaves(one.spec.input):
            if isinstance(leaf, Pfs) and leaf.trigger is None:
                said = _without_data(session, leaf, writes)
                found |= (
                    {f"{one.spec.name} reads {leaf.repo}@{leaf.branch}, {said}": None}
                    if said
                    else {}
                )
        pool = one.spec.pool
        if pool and pool not in pools:
            found[
                f"{one.spec.name} is in the pool {pool}, which does not exist and limits nothing: "
                f"trunkline pool set {pool} SLOTS"
            ] = None
        transform = one.spec.transform
        for _, name in transform.secrets:
            if secret(name) is None:
                said = f"{one.spec.name} needs the secret {name}, which is not set"
                found[f"{said}: trunkline secret set {name}"] = None
        if transform.working_dir.startswith("/"):
            said = f"{one.spec.name} works in {transform.working_dir} of the datum's folder"
            found[f"{said}, where pfs/ and its code are; there are no images here."] = None
    return list(found)


def _without_data(session: Session, leaf: Pfs, writes: Mapping[RepoName, str]) -> str:
    """What is odd about the branch of an input, if it has no data."""
    repo = repos.key_of(session, leaf.repo)
    known = {one.name: one for one in refs.branches(session, repo)} if repo is not None else {}
    own = known.get(leaf.branch)
    if own is not None and (own.head or own.open):
        return ""
    what = "which has no commits" if own else "a branch that does not exist and is made empty"
    row = pipelines.find(session, repo) if repo is not None else None
    written = writes.get(leaf.repo) or (row and row.version and output_branch(session, row))
    if written:
        return "" if written == leaf.branch else f"{what}; {leaf.repo} writes to {written}."
    if repo is None or any(row.branch == leaf.branch for row in timing.triggers(session, repo)):
        return ""
    others = sorted(known.values(), key=lambda one: (not one.head, one.name != DEFAULT_BRANCH))
    if others and others[0].head and (head := commits.find(session, repo, others[0].head)):
        return f"{what}; {leaf.repo}@{others[0].name} has {count(head.files, 'file')}."
    return "" if own else f"{what}; {leaf.repo} has {', '.join(one.name for one in others)}."


def missing_input(one: Declared, repo: RepoName, known: Sequence[str]) -> NotFound:
    """What is said of a pipeline that reads what is not there; `known` are names that are, of
    which whoever asks may know."""
    where = f"{one.where}: " if one.where else ""
    return NotFound(
        f'{where}{one.spec.name} reads the repo "{repo}", which does not exist.'
        f"{did_you_mean(repo.repo, known)}",
        hint=f"If a pipeline makes it, apply that one first, or both together. If it is for files "
        f"of yours: trunkline repo create {repo}",
    )


def _is_output(session: Session, repo: int, branch: str) -> bool:
    row = pipelines.find(session, repo)
    return row is not None and output_branch(session, row) == branch
