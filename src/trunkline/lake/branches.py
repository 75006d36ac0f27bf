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
from trunkline.lake.core import Core, Resolved, expect_head, repo_key, resolve, resolve_commit
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit, RepoKind, RepoName, Tag
from trunkline.model.ids import is_id_prefix
from trunkline.model.paths import validate_name
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.storage.catalog import Session, commits, events, leases, refs, repos


def add_repo(
    session: Session, name: RepoName, description: str, kind: RepoKind, author: str
) -> None:
    validate_name("repo", name.repo)
    if not repos.has_project(session, name.project):
        known = [project.name for project in repos.projects(session)]
        raise NotFound(
            f'There is no project "{name.project}".{did_you_mean(name.project, known)}',
            hint=f"Make it first: trunkline project create {name.project}",
        )
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
            hint=f"To move it: trunkline branch move {target} REF.",
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


def delete_repo(core: Core, name: RepoName, force: bool) -> None:
    """Remove a repo and its history; refused while others' commits derive from it."""
    with core.database.write() as session:
        key = repo_key(session, name)
        readers = repos.readers(session, key)
        if readers and not force:
            raise InUse(
                f"{name} has readers: {', '.join(map(str, readers))} hold commits made from it.",
                hint="Delete them first, or use --force and lose their provenance.",
            )
        repos.remove(session, key)
        events.emit(session, "repo", name, {"deleted": True})


def delete_project(core: Core, name: str) -> None:
    with core.database.write() as session:
        if not repos.has_project(session, name):
            known = [project.name for project in repos.projects(session)]
            raise NotFound(f'There is no project "{name}".{did_you_mean(name, known)}')
        held = repos.names(session, name)
        if held:
            raise InUse(
                f'Project "{name}" still has {len(held)} repo(s), such as {held[0]}.',
                hint="Delete them first.",
            )
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


def writable_branch(session: Session, target: Ref) -> Branch | None:
    """The branch to write to, found by name or by the id of its open commit; None to make it."""
    repo = repo_key(session, target.repo)
    found = repos.find(session, target.repo)
    assert found is not None
    if found.kind is not RepoKind.USER:
        raise NotAllowed(
            f"{target.repo} is the output of a pipeline: only its jobs may write to it.",
            hint="Write to one of the pipeline's inputs instead.",
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
        found = _start(session, repo, target, to)
        if if_head is not None:
            expect_head(session, target, branch, if_head)
        refuse_open(branch)
        refs.swap_head(
            session,
            repo,
            branch.name,
            branch.head,
            found.id,
            refs.Move(author, f"move to {to.ref}"),
        )
        events.emit(session, "branch", target.repo, {"branch": branch.name, "head": found.id})
        return require_branch(session, target)[1]


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
        repo, branch = require_branch(session, target)
        if branch.open and not force:
            refuse_open(branch)
        refs.remove_branch(session, repo, branch, refs.Move(author, "delete"))
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
        repo = repo_key(session, target.repo)
        found = refs.tag(session, repo, target.ref)
        if found is None:
            known = [tag.name for tag in refs.tags(session, repo)]
            raise NotFound(
                f'{target.repo} has no tag "{target.ref}".{did_you_mean(target.ref, known)}',
                hint=f"trunkline tag list {target.repo} shows its tags.",
            )
        refs.remove_tag(session, repo, found, refs.Move(author, "delete"))


def _start(session: Session, repo: int, target: Ref, source: Ref) -> Resolved:
    """Where a branch is to point: a finished commit of its own repo, or nothing."""
    found = resolve(session, source)
    if found.repo != repo:
        raise Usage(f"A branch of {target.repo} cannot point into {found.name}.")
    if found.commit and found.commit.finished is None:
        raise Precondition(f"Commit {found.commit.short_id} is not finished.")
    return found
