"""Environments: made, looked at and removed. No data is copied, and nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.errors import AlreadyExists, NotFound, Precondition, Usage
from trunkline.lake.branches import refuse_open
from trunkline.lake.core import Core, repo_key, require_project
from trunkline.lake.deletions import bury_branch
from trunkline.lake.environmentpipelines import (
    code_branch,
    drop_orphan,
    end_jobs,
    enter,
    leave,
    require_environment,
)
from trunkline.lake.history import reachable
from trunkline.lake.versions import SPEC_FILE, code_repo
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit, Repo, RepoKind, RepoName
from trunkline.model.entries import line_hash, line_path
from trunkline.model.environments import (
    BranchState,
    CodeState,
    DataState,
    Environment,
    EnvironmentStatus,
    PipelineState,
)
from trunkline.model.paths import validate_name
from trunkline.model.told import Kind, Told
from trunkline.pipelines.spec.codec import from_json
from trunkline.storage.catalog import (
    Session,
    commits,
    environments,
    flows,
    jobs,
    pipelines,
    refs,
    repos,
)
from trunkline.storage.catalog.environments import Present

SHOWN = 5


def create(core: Core, project: str, name: str, base: str, author: str) -> Environment:
    """A branch of every repo of a project where its base is, and its pipelines on them."""
    validate_name("environment", name)
    if base != DEFAULT_BRANCH:
        raise Usage(
            f"An environment starts from {DEFAULT_BRANCH}, not from {base}.",
            hint="It is where the pipelines run that are in no environment.",
        )
    with core.database.write() as session:
        made = Environment(project, name, base, session.now(), author)
        _refuse_taken(session, made)
        environments.add(session, made)
        for repo in branched(session, project):
            _branch_all(session, made, repo, author)
        for row in pipelines.all_pipelines(session, project):
            if flows.find(session, row.repo) is not None:
                continue  # what it had written by now is there; it does not go on
            version = pipelines.version(session, row.repo, row.version)
            assert version is not None
            code_branch(session, made, row.name, author)
            spec = from_json(version.spec)
            enter(session, made, row.repo, spec, row.version, row.version, author)
        return made


def _refuse_taken(session: Session, made: Environment) -> None:
    require_project(session, made.project)
    if made.name == made.base:
        raise Usage(f"{made.name} is where everything is that is in no environment.")
    others = environments.listed(session, made.project)
    if any(one.name == made.name for one in others):
        raise AlreadyExists(
            f"The project {made.project} has an environment {made.name} already.",
            hint="Choose another name, or see it: trunkline env status " + made.name,
        )
    if other := next((o for o in others if o.owns(made.name) or made.owns(o.name)), None):
        raise AlreadyExists(
            f"The branches of {made.name} and of the environment {other.name} would be the same.",
            hint="Choose a name without that dot.",
        )
    taken = [
        f"{repo.name}@{name}"
        for repo in repos.all_repos(session, made.project)
        for name in (
            *(one.name for one in refs.branches(session, repo.key)),
            *(one.name for one in refs.tags(session, repo.key)),
        )
        if made.owns(name)
    ]
    if taken:
        more = f" and {len(taken) - SHOWN} more" if len(taken) > SHOWN else ""
        raise AlreadyExists(
            f"There are branches or tags of that name already: {', '.join(taken[:SHOWN])}{more}.",
            hint="Choose another name, or delete these.",
        )


def branched(session: Session, project: str) -> list[Repo]:
    """The repos that have a branch in each environment: those with data of people or pipelines."""
    kinds = (RepoKind.USER, RepoKind.OUTPUT)
    return [repo for repo in repos.all_repos(session, project) if repo.kind in kinds]


def _branch_all(session: Session, made: Environment, repo: Repo, author: str) -> None:
    """The base's branch. Others that pipelines use are made where they are read or written."""
    base = refs.branch(session, repo.key, made.base)
    head = base.head if base else None
    refs.add_branch(session, repo.key, made.name, head, refs.Move(author, "environment"))


# -- looking -----------------------------------------------------------------------------------


def listed(core: Core, project: str | None) -> list[Environment]:
    with core.database.read() as session:
        if project is not None and not repos.has_project(session, project):
            raise NotFound(f'There is no project "{project}".')
        return environments.listed(session, project)


def status(core: Core, project: str, name: str) -> EnvironmentStatus:
    """Where an environment is not as its base: code, and branches."""
    with core.database.read() as session:
        found = require_environment(session, project, name)
        unfinished = jobs.listed(session, project=project, unfinished=True, environment=name)
        return EnvironmentStatus(
            found,
            tuple(pipeline_states(core, session, found)),
            tuple(branch_states(session, found)),
            len(unfinished),
        )


def pipeline_states(
    core: Core, session: Session, environment: Environment
) -> Iterator[PipelineState]:
    """Every pipeline of the environment or its base, by name."""
    here = environments.present(session, environment.project, environment.name)
    base = {row.repo: row for row in pipelines.all_pipelines(session, environment.project)}
    names = {repo: repos.name_of(session, repo) for repo in {*here, *base}}
    for repo, name in sorted(names.items(), key=lambda one: str(one[1])):
        if name is None or (repo not in here and flows.find(session, repo)):
            continue
        number = base[repo].version if repo in base else 0
        present = here.get(repo) or Present(repo, environment.name, 0, 0)
        state = _code_state(core, session, name, present, number, repo in here)
        if state is None:
            continue
        last = next(
            iter(jobs.listed(session, repo=repo, environment=environment.name, limit=1)), None
        )
        yield PipelineState(
            name,
            state,
            present.version,
            number,
            last.id if last else None,
            str(last.state) if last else None,
        )


def _code_state(
    core: Core, session: Session, name: RepoName, here: Present, number: int, is_here: bool
) -> CodeState | None:
    def same(left: int, right: int) -> bool:
        return left == right or _same(core, session, name, here.repo, left, right)

    if not is_here:
        return CodeState.BEHIND
    if not here.version and not number:
        return None
    if here.version and number and same(here.version, number):
        return CodeState.SAME
    moved = number != here.base and not (number and here.base and same(number, here.base))
    if not here.base:
        return CodeState.CONFLICT if number else CodeState.NEW
    if here.version and same(here.version, here.base):
        return CodeState.BEHIND
    if moved:
        return CodeState.CONFLICT
    return CodeState.CHANGED if here.version else CodeState.DELETED


def _same(core: Core, session: Session, name: RepoName, repo: int, left: int, right: int) -> bool:
    """Whether two versions are the same but for their number."""
    one, other = (pipelines.version(session, repo, number) for number in (left, right))
    if one is None or other is None or (one.spec, one.digest) != (other.spec, other.digest):
        return False
    if one.code == other.code:
        return True
    # Not `code_of`, which would open a second transaction of the catalog.
    code = repo_key(session, code_repo(name))
    mine, theirs = (commits.find(session, code, version.code) for version in (one, other))
    return _files(core, mine) == _files(core, theirs)


def _files(core: Core, commit: Commit | None) -> list[tuple[bytes, bytes]]:
    lines = core.tree(commit).scan()
    files = ((line_path(line), line_hash(line)) for line in lines)
    return [(path, digest) for path, digest in files if path != SPEC_FILE]


def branch_states(session: Session, environment: Environment) -> Iterator[BranchState]:
    """Every branch of the environment, by repo."""
    for repo in branched(session, environment.project):
        flow = flows.find(session, repo.key)
        kind = flow.kind if flow is not None else str(repo.kind)
        for branch in refs.branches(session, repo.key):
            if environment.owns(branch.name):
                yield _branch_state(session, environment, repo, branch, kind)


def _branch_state(
    session: Session, environment: Environment, repo: Repo, branch: Branch, kind: str
) -> BranchState:
    origin = environment.origin(branch.name)
    base = refs.branch(session, repo.key, origin)
    own, theirs = branch.head, base.head if base else None
    made = BranchState(repo.name, branch.name, origin, DataState.SAME, kind)
    if own == theirs or holds_same(session, repo.key, own, theirs):
        return made
    links = commits.links(session, repo.key)
    mine = reachable(links, {own} if own else set())
    other = reachable(links, {theirs} if theirs else set())
    ahead, behind = len(mine - other), len(other - mine)
    state = DataState.DIVERGED
    if not behind or not ahead:
        state = DataState.AHEAD if ahead else DataState.BEHIND
    return BranchState(repo.name, branch.name, origin, state, kind, ahead, behind)


def holds_same(session: Session, repo: int, left: str | None, right: str | None) -> bool:
    """Whether two commits hold the same files."""
    found = [commits.find(session, repo, one) if one else None for one in (left, right)]
    one, other = (commit.root_hash or "" if commit else "" for commit in found)
    return one == other


# -- removing ----------------------------------------------------------------------------------


def delete_pipeline(core: Core, name: RepoName, environment: str, force: bool) -> None:
    """Delete a pipeline in an environment; elsewhere it goes on."""
    with core.database.write() as session:
        leave(session, require_environment(session, name.project, environment), name, force)


def delete(core: Core, project: str, name: str, force: bool, author: str) -> None:
    """Remove an environment with its branches. Its commits stay until gc."""
    refuse_unmerged(core, project, name, force)
    with core.database.write() as session:
        delete_in(session, project, name, force, author)


def refuse_unmerged(core: Core, project: str, name: str, force: bool) -> None:
    found = status(core, project, name)
    if found.changed and not force:
        own = [str(one.name) for one in found.pipelines if one.state.is_own]
        own += [
            f"{b.repo}@{b.branch}" for b in found.branches if b.kind == "user" and b.state.is_own
        ]
        raise Precondition(
            f"{name} has what {found.environment.base} has not: {', '.join(own[:SHOWN])}.",
            hint=f"Merge it: trunkline env merge {name}; or throw it away with --force.",
        )


def delete_in(session: Session, project: str, name: str, force: bool, author: str) -> None:
    gone = require_environment(session, project, name)
    for one in repos.all_repos(session, project) if not force else ():
        for branch in refs.branches(session, one.key):
            if gone.owns(branch.name):
                refuse_open(branch)
    here = environments.present(session, project, name)
    for repo in here:
        end_jobs(session, gone, repo, Told(Kind.ENVIRONMENT_DELETED, what=name))
    environments.remove(session, gone)
    for repo in here:
        drop_orphan(session, repo)
    for one in repos.all_repos(session, project):
        for branch in refs.branches(session, one.key):
            if gone.owns(branch.name):
                _remove_branch(session, one.key, branch, author)


def _remove_branch(session: Session, repo: int, branch: Branch, author: str) -> None:
    bury_branch(session, repo, branch, refs.Move(author, "environment deleted"))
    if branch.open:
        commits.remove(session, repo, [branch.open])
