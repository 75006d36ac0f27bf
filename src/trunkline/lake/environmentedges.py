"""What a pipeline reads in an environment: branches of its own, where its project has them.

A spec is not rewritten for an environment: it says `main`, and what stands for `main` is read.
So a datum is the same datum there, and what was computed for it is found.
"""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.lake.core import repo_key
from trunkline.model.commits import RepoKind
from trunkline.model.environments import Environment
from trunkline.model.inputs import Cron, Leaf, leaves
from trunkline.model.pipelines import PipelineSpec
from trunkline.storage.catalog import Session, refs, repos
from trunkline.storage.catalog.pipelines import Edge


def branch_read(environment: Environment, leaf: Leaf) -> str:
    """The branch that an input reads in an environment.

    Of a branch that follows another by conditions, the other: they are for jobs that run by
    themselves. What is not of the project, or has a clock, is read where it is.
    """
    if leaf.repo.project != environment.project or isinstance(leaf, Cron):
        return leaf.branch
    return environment.branch(leaf.trigger.branch if leaf.trigger else leaf.branch)


def edges_in(
    session: Session, environment: Environment, repo: int, spec: PipelineSpec, author: str
) -> Iterator[Edge]:
    """The edges of a pipeline in an environment. Branches that it needs there are made."""
    for leaf in leaves(spec.input):
        source, branch = repo_key(session, leaf.repo), branch_read(environment, leaf)
        is_own = environment.owns(branch) and leaf.repo.project == environment.project
        if is_own:
            ensure_branch(session, environment, source, branch, author)
        starts = is_own and leaf.propagation and spec.schedule is None
        yield Edge(repo, leaf.name, source, branch, starts, True)


def ensure_branch(
    session: Session, environment: Environment, repo: int, branch: str, author: str
) -> None:
    """Make a branch of the environment where the one is that it stands for."""
    if refs.branch(session, repo, branch) is None:
        origin = refs.branch(session, repo, environment.origin(branch))
        head = origin.head if origin else None
        refs.add_branch(session, repo, branch, head, refs.Move(author, "environment"))


def ensure_ticks(session: Session, spec: PipelineSpec) -> None:
    """The repos of cron inputs are there, though nothing ticks in an environment."""
    for leaf in leaves(spec.input):
        if isinstance(leaf, Cron) and repos.key_of(session, leaf.repo) is None:
            repos.add(session, leaf.repo, RepoKind.CRON, f"Ticks for {spec.name}")
