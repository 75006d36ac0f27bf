"""Repos, branches and tags: made, moved and removed. None of it touches a commit's data."""

from __future__ import annotations

from trunkline.errors import (
    AlreadyExists,
    CommitFinished,
    InUse,
    NotAllowed,
    NotFound,
    Precondition,
    Usage,
)
from trunkline.lake.core import (
    Core,
    Resolved,
    expect_head,
    repo_key,
    require_project,
    resolve,
    resolve_commit,
)
from trunkline.lake.deletions import bury_branch, bury_repo, bury_tag
from trunkline.lake.flowguards import refuse_flow, way_back
from trunkline.lake.propagation import output_branch
from trunkline.lake.publish import Change, Moved, catch_up, move, spread
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit, RepoKind, RepoName, Tag
from trunkline.model.ids import is_id_prefix, new_id
from trunkline.model.inputs import Pfs, Trigger, leaves
from trunkline.model.paths import validate_name
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.model.told import NOTHING, Kind, of_place
from trunkline.pipelines.spec import view_of
from trunkline.pipelines.triggers import check_trigger
from trunkline.storage.catalog import (
    Session,
    commits,
    environments,
    events,
    leases,
    pipelines,
    refs,
    repos,
    timing,
)


def add_repo(
    session: Session, name: RepoName, description: str, kind: RepoKind, author: str
) -> None:
    validate_name("repo", name.repo)
    make = f"Make it first: trunkline project create {name.project}"
    require_project(session, name.project, hint=make)
    if repos.key_of(session, name) is not None:
        raise AlreadyExists(f'The repo "{name}" exists already.')
    key = repos.add(session, name, kind, description)
    refs.add_branch(session, key, DEFAULT_BRANCH, None, refs.Move(author, "create"))
    events.emit(session, "repo", name, {"created": True})


def add_branch(session: Session, target: Ref, source: Ref | None, author: str) -> Branch:
    """A new branch at a commit, which it shares; without a source, an empty one."""
    repo = repo_key(session, target.repo)
    validate_name("branch", target.ref)
    if refs.branch(session, repo, target.ref):
        raise AlreadyExists(
            f'{target.repo} has a branch "{target.ref}" already.',
            hint=f"To move it: trunkline branch move {target} REF. To let it follow another: "
            f"trunkline branch trigger {target} --on BRANCH.",
        )
    if refs.tag(session, repo, target.ref):
        raise AlreadyExists(f'{target.repo} has a tag "{target.ref}"; choose another name.')
    start = _start(session, repo, target, source) if source else None
    refs.add_branch(
        session, repo, target.ref, start.id if start else None, refs.Move(author, "create")
    )
    made = refs.branch(session, repo, target.ref)
    assert made is not None
    return made


def follow_branch(session: Session, target: Ref, trigger: Trigger, author: str) -> None:
    """Let a branch follow another, from now on and for what is there already."""
    repo = repo_key(session, target.repo)
    row = pipelines.find(session, repo)
    if row is not None and output_branch(session, row) == target.ref:
        raise Usage(f"{target} is a pipeline's output and cannot follow another branch.")
    require_branch(session, Ref(target.repo, trigger.branch))
    others = {one.branch: one.trigger for one in timing.triggers(session, repo)}
    check_trigger(trigger, target.ref, others)
    timing.set_trigger(session, repo, target.ref, trigger)
    catch_up(session, repo, trigger.branch, author)


def refollow_branch(session: Session, target: Ref, trigger: Trigger, author: str) -> None:
    """Let a branch that is there follow another; what reads it runs if that moves it at once."""
    repo, before = require_branch(session, target)
    _refuse_declared(session, repo, target)
    _, followed = require_branch(session, Ref(target.repo, trigger.branch))
    if before.open:
        refuse_open(before)
    if not _has(session, repo, followed.head, before.head):
        raise Precondition(
            f"{target} has commits that {trigger.branch} lacks, and would leave them behind.",
            hint=f"Merge them first: trunkline merge {target} {target.repo}@{trigger.branch}",
        )
    follow_branch(session, target, trigger, author)
    _, after = require_branch(session, target)
    if after.head != before.head:
        moved_by_hand(session, {(repo, target.ref): after.head}, author)


def unfollow_branch(session: Session, target: Ref) -> None:
    """Let a branch stay where it is until somebody moves it."""
    repo, _ = require_branch(session, target)
    _refuse_declared(session, repo, target)
    timing.remove_trigger(session, repo, target.ref)


def _refuse_declared(session: Session, repo: int, target: Ref) -> None:
    """A trigger that a spec has is changed there: the pipeline would never run again, and say
    that it does.
    """
    for edge in pipelines.readers(session, repo, target.ref):
        row = pipelines.find(session, edge.pipeline)
        version = pipelines.version(session, row.repo, row.version) if row else None
        if row is None or version is None:
            continue
        for leaf in leaves(view_of(version.spec).input):
            is_it = (leaf.repo, leaf.branch) == (target.repo, target.ref)
            if is_it and isinstance(leaf, Pfs) and leaf.trigger is not None:
                raise InUse(
                    f"{target} follows {leaf.trigger.branch} because the spec of {{by}} says so.",
                    hint="Change the trigger of its input and apply it, or pause the pipeline.",
                    by=[row.name],
                )


def _has(session: Session, repo: int, head: str | None, commit_id: str | None) -> bool:
    """Whether a commit is among those that lead to a head."""
    new = commits.find(session, repo, head) if head else None
    old = commits.find(session, repo, commit_id) if commit_id else None
    if new is None or old is None:
        return old is None
    steps = new.depth - old.depth
    return steps >= 0 and commits.ancestor(session, repo, new.id, steps) == old.id


def started(session: Session, target: Ref, author: str) -> None:
    """A branch is new: who reads it, and waited for it, runs."""
    repo, branch = require_branch(session, target)
    if branch.head is not None:
        moved_by_hand(session, {(repo, branch.name): branch.head}, author)


def delete_repo(core: Core, name: RepoName, force: bool, author: str) -> None:
    """Delete a repo with its history; refused while others' commits derive from it."""
    with core.database.write() as session:
        delete_repo_in(session, name, force, author)


def delete_repo_in(session: Session, name: RepoName, force: bool, author: str) -> None:
    key = repo_key(session, name)
    _refuse_in_graph(session, key, name)
    readers = repos.readers(session, key)
    if readers and not force:
        raise InUse(
            f"{name} has readers: {{by}} hold commits made from it.",
            hint="Delete them first, or use --force and lose their provenance.",
            by=readers,
        )
    bury_repo(session, key, name, author)
    events.emit(session, "repo", name, {"deleted": True})


def _refuse_in_graph(session: Session, key: int, name: RepoName) -> None:
    """What pipelines read, write or keep their code in goes with them, not before."""
    found = repos.find(session, name)
    readers = {edge.pipeline for edge in pipelines.readers(session, key)}
    if not readers:
        for environment, edge in environments.readers(session, key):
            reader = repos.name_of(session, edge.pipeline)
            raise InUse(
                f"{name} is read by the pipeline {{by}} in the environment {environment}.",
                hint=f"Delete it there first: trunkline pipeline delete {reader} "
                f"--env {environment}",
                by=[reader],
            )
    names = repos.names_of(session, readers)
    if names:
        raise InUse(
            f"{name} is read by {{by}}.",
            hint=f"Delete them first: trunkline pipeline delete {names[0]}",
            by=names,
        )
    if found is not None and found.kind is not RepoKind.USER:
        owner = name.repo.removesuffix(".code") if found.kind is RepoKind.SYSTEM else name.repo
        raise InUse(
            f"{name} {_OWNERS[found.kind].partition(':')[0]}.",
            hint=f"Delete that instead: trunkline pipeline delete {owner}",
        )


def delete_project(core: Core, name: str) -> None:
    with core.database.write() as session:
        delete_project_in(session, name)


def delete_project_in(session: Session, name: str) -> None:
    require_project(session, name)
    held = repos.names(session, name)
    if held:
        raise InUse(
            f'Project "{name}" still has {len(held)} repo(s), such as {held[0]}.',
            hint="Delete them first.",
        )
    for environment in environments.listed(session, name):
        environments.remove(session, environment)
    repos.remove_project(session, name)


def require_branch(session: Session, ref: Ref) -> tuple[int, Branch]:
    repo = repo_key(session, ref.repo)
    found = refs.branch(session, repo, ref.ref)
    if found is None:
        known = [branch.name for branch in refs.branches(session, repo)]
        raise NotFound(
            f'{ref.repo} has no branch "{ref.ref}".{did_you_mean(ref.ref, known)}',
            hint=f"trunkline branch list {ref.repo} shows its branches.",
        )
    return repo, found


_OWNERS = {
    RepoKind.OUTPUT: "is the output of a pipeline: only its jobs may write to it.",
    RepoKind.CRON: "belongs to a schedule: only its ticks write to it.",
    RepoKind.SYSTEM: "keeps the code of a pipeline: only `pipeline apply` writes to it.",
}


def writable_branch(session: Session, target: Ref, kind: RepoKind = RepoKind.USER) -> Branch | None:
    """The branch to write to, found by name or by the id of its open commit; None to make it."""
    repo = repo_key(session, target.repo)
    found = repos.find(session, target.repo)
    assert found is not None
    if found.kind is not kind:
        raise NotAllowed(
            f"{target.repo} {_OWNERS.get(found.kind, 'is written to by people.')}",
            hint=way_back(session, repo, target.repo)
            or "Write to one of the pipeline's inputs instead.",
        )
    if branch := refs.branch(session, repo, target.ref):
        return branch
    if refs.tag(session, repo, target.ref):
        raise CommitFinished(
            f'"{target.ref}" is a tag of {target.repo}, and tags never change.',
            hint=f"Write to a branch, such as {target.repo}@{DEFAULT_BRANCH}.",
        )
    if is_id_prefix(target.ref):
        resolved = resolve(session, target)
        if resolved.commit is not None and resolved.commit.finished is None:
            return refs.branch(session, repo, resolved.commit.branch)
        raise CommitFinished(
            f"Commit {target.ref[:12]} of {target.repo} is finished and never changes.",
            hint=f"Write to a branch, such as {target.repo}@{DEFAULT_BRANCH}.",
        )
    if not target.revision.is_name:
        raise CommitFinished(
            f"{target.repo}@{target.ref} names a finished commit, which never changes.",
            hint=f"Write to a branch, such as {target.repo}@{DEFAULT_BRANCH}.",
        )
    if target.ref == DEFAULT_BRANCH:
        return None
    known = [branch.name for branch in refs.branches(session, repo)]
    raise NotFound(
        f'{target.repo} has no branch "{target.ref}".{did_you_mean(target.ref, known)}',
        hint=f"Make it first: trunkline branch create {target.repo}@{target.ref}",
    )


def move_branch(core: Core, target: Ref, to: Ref, if_head: str | None, author: str) -> Branch:
    """Point a branch at another commit, which it then shares."""
    with core.database.write() as session:
        repo, branch = require_branch(session, target)
        refuse_flow(session, repo, target.repo, branch.name)
        found = _start(session, repo, target, to)
        if if_head is not None:
            expect_head(session, target, branch, if_head)
        refuse_open(branch)
        move(session, repo, branch, found.id, author, f"move to {to.ref}")
        moved_by_hand(session, {(repo, branch.name): found.id}, author)
        return require_branch(session, target)[1]


def moved_by_hand(session: Session, moved: Moved, author: str) -> None:
    """Heads that were moved start those who read the branches, as a set of their own."""
    causes = {
        (repo, branch): of_place(Kind.MOVED_BY_HAND, name, branch, head or "")
        for (repo, branch), head in moved.items()
        if (name := repos.name_of(session, repo)) is not None
    }
    spread(session, new_id(), Change(NOTHING, author, moved, causes=causes))


def refuse_open(branch: Branch) -> None:
    if branch.open:
        raise Precondition(
            f"{branch.repo}@{branch.name} has the unfinished commit {branch.open[:12]}.",
            hint=f"Finish it first: trunkline commit finish {branch.repo}@{branch.name}",
        )


def refuse_read(session: Session, repo: int, commit: Commit) -> None:
    """Somebody is reading this commit right now: its data must stay."""
    if (repo, commit.id) in leases.pinned(session):
        raise InUse(
            f"{commit.short_id} of {commit.repo} is being read right now.", hint="Try again later."
        )


def delete_branch(core: Core, target: Ref, force: bool, author: str) -> None:
    """Remove the name; its commits stay until gc. An unfinished commit goes only by force."""
    with core.database.write() as session:
        delete_branch_in(session, target, force, author)


def delete_branch_in(session: Session, target: Ref, force: bool, author: str) -> None:
    repo, branch = require_branch(session, target)
    refuse_flow(session, repo, target.repo, branch.name)
    if branch.open and not force:
        refuse_open(branch)
    owner = environments.owner(session, target.repo.project, branch.name)
    if owner is not None:
        raise InUse(
            f"{target} belongs to the environment {owner.name}.",
            hint=f"Delete all of it: trunkline env delete {owner.name}",
        )
    readers = {edge.pipeline for edge in pipelines.readers(session, repo, branch.name)}
    if readers:
        raise InUse(
            f"{target} is read by {{by}}.",
            hint="Delete or change them first.",
            by=repos.names_of(session, readers),
        )
    bury_branch(session, repo, branch, refs.Move(author, "delete"))
    if branch.open:
        commits.remove(session, repo, [branch.open])
    events.emit(session, "branch", target.repo, {"branch": branch.name, "deleted": True})


def create_tag(core: Core, target: Ref, source: Ref, message: str, author: str) -> Tag:
    with core.database.write() as session:
        repo = repo_key(session, target.repo)
        validate_name("tag", target.ref)
        if refs.tag(session, repo, target.ref):
            raise AlreadyExists(
                f'{target.repo} has a tag "{target.ref}" already, and tags never move.',
                hint="Choose another name.",
            )
        if refs.branch(session, repo, target.ref):
            raise AlreadyExists(f'{target.repo} has a branch "{target.ref}"; choose another name.')
        found, commit = resolve_commit(session, source)
        if found.repo != repo:
            raise Usage(f"A tag of {target.repo} cannot name a commit of {found.name}.")
        if commit.finished is None:
            raise Precondition(f"Commit {commit.short_id} is not finished.")
        refs.add_tag(session, repo, target.ref, commit.id, message, author)
        made = refs.tag(session, repo, target.ref)
        assert made is not None
        return made


def delete_tag(core: Core, target: Ref, author: str) -> None:
    with core.database.write() as session:
        delete_tag_in(session, target, author)


def delete_tag_in(session: Session, target: Ref, author: str) -> None:
    repo = repo_key(session, target.repo)
    found = refs.tag(session, repo, target.ref)
    if found is None:
        known = [tag.name for tag in refs.tags(session, repo)]
        raise NotFound(
            f'{target.repo} has no tag "{target.ref}".{did_you_mean(target.ref, known)}',
            hint=f"trunkline tag list {target.repo} shows its tags.",
        )
    bury_tag(session, repo, found, refs.Move(author, "delete"))


def _start(session: Session, repo: int, target: Ref, source: Ref) -> Resolved:
    """Where a branch is to point: a finished commit of its own repo, or nothing."""
    found = resolve(session, source)
    if found.repo != repo:
        raise Usage(f"A branch of {target.repo} cannot point into {found.name}.")
    if found.commit and found.commit.finished is None:
        raise Precondition(f"Commit {found.commit.short_id} is not finished.")
    return found
