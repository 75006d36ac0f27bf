"""What deleting something would take, who reads it, and whether it would be refused.

Whether it would be is found out by doing it, in a transaction that is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from trunkline.errors import InUse, NotAllowed, Precondition, TrunklineError
from trunkline.lake import branches, environments, erase, pipelines
from trunkline.lake.core import Core, repo_key, resolve_commit
from trunkline.lake.environmentpipelines import require_environment
from trunkline.lake.reach import needed_commits, new_ranges
from trunkline.model.commits import RepoName
from trunkline.model.deletions import Deletion, Reader
from trunkline.model.entries import Entry, line_object
from trunkline.model.refs import Ref
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import (
    Session,
    commits,
    deletions,
    refs,
    repos,
    timing,
)
from trunkline.storage.catalog import environments as present
from trunkline.storage.catalog import pipelines as declared
from trunkline.storage.catalog.erasures import Place, place_of
from trunkline.storage.objects.outside import is_outside

Places = set[tuple[int, str]]
"""Commits, or refs, each with the key of its repo."""
_NOBODY = "dry-run"


def of_repo(core: Core, name: RepoName, force: bool) -> Deletion:
    with core.database.read() as session:
        key = repo_key(session, name)
        takes = [f"branch {one.name}" for one in refs.branches(session, key)]
        takes += [f"tag {one.name}" for one in refs.tags(session, key)]
        readers = [*_readers(session, key), *_derived(session, key)]
        doomed = _all_of(session, [key])
    found = Deletion("repo", str(name), takes=tuple(takes), readers=tuple(readers))
    return _judged(
        core, found, doomed, lambda s: branches.delete_repo_in(s, name, force, _NOBODY), True
    )


def of_branch(core: Core, target: Ref, force: bool) -> Deletion:
    with core.database.read() as session:
        repo, branch = branches.require_branch(session, target)
        readers = list(_readers(session, repo, branch.name))
        readers += [
            Reader(target.repo, f"{target.repo}@{row.branch} follows it")
            for row in timing.triggers(session, repo)
            if row.trigger.branch == branch.name
        ]
        takes = [f"unfinished commit {branch.open[:12]}, for good"] if branch.open else []
        doomed = _only_by(session, {(repo, branch.name)})
    found = Deletion("branch", str(target), takes=tuple(takes), readers=tuple(readers))
    return _judged(
        core, found, doomed, lambda s: branches.delete_branch_in(s, target, force, _NOBODY), True
    )


def of_tag(core: Core, target: Ref) -> Deletion:
    with core.database.read() as session:
        repo = repo_key(session, target.repo)
        doomed = _only_by(session, {(repo, target.ref)})
    found = Deletion("tag", str(target))
    return _judged(core, found, doomed, lambda s: branches.delete_tag_in(s, target, _NOBODY), True)


def of_pipeline(core: Core, name: RepoName, force: bool, keep_repo: bool) -> Deletion:
    with core.database.read() as session:
        row = pipelines.require(session, name)
        ticks = [(cron.repo, cron.name) for cron in timing.crons(session, row.repo)]
        takes = [] if keep_repo else [f"repo {name}, its output"]
        takes += [] if keep_repo else [f"repo {repos.name_of(session, row.code_repo)}, its code"]
        takes += [f"repo {tick}, its schedule" for _, tick in ticks]
        version = declared.version(session, row.repo, row.version)
        for target in view_of(version.spec).egress if version else ():
            takes.append(f"egress {target.name}: what was delivered stays, nothing more is")
        takes += [f"environment {one.environment}: it is there too"
                  for one in present.of_pipeline(session, row.repo) if one.version]  # fmt: skip
        keys = [] if keep_repo else [row.repo, row.code_repo]
        readers = [] if keep_repo else [*_readers(session, row.repo), *_derived(session, row.repo)]
        doomed = _all_of(session, keys)
    notes = [f"Its data stays in the repo {name}, its code in {name}.code."] if keep_repo else []
    if keep_repo:
        notes.append("Another pipeline of its name cannot be made while that repo is there.")
    found = Deletion(
        "pipeline", str(name), takes=tuple(takes), readers=tuple(readers), notes=tuple(notes)
    )

    def act(session: Session) -> None:
        pipelines.delete_in(session, name, force, keep_repo, _NOBODY)

    return _judged(core, found, doomed, act, True)


def of_environment(core: Core, project: str, name: str, force: bool) -> Deletion:
    with core.database.read() as session:
        gone = require_environment(session, project, name)
        owned = {
            (repo.key, branch.name): f"branch {repo.name}@{branch.name}"
            for repo in repos.all_repos(session, project)
            for branch in refs.branches(session, repo.key)
            if gone.owns(branch.name)
        }
        only_here = present.only_there(session, project) & set(
            present.present(session, project, name)
        )
        takes = [f"pipeline {repos.name_of(session, repo)}, which is only there, for good"
                 for repo in sorted(only_here)]  # fmt: skip
        takes += owned.values()
        doomed = _only_by(session, set(owned)) | _all_of(session, only_here)

    def act(session: Session) -> None:
        environments.delete_in(session, project, name, force, _NOBODY)

    found = Deletion("env", name, takes=tuple(takes))
    notes = ("Its branches can be had back one by one, the environment not.",)
    try:
        environments.refuse_unmerged(core, project, name, force)
    except Precondition as error:
        return replace(_held_by(core, found, doomed), refused=_said(error))
    return replace(_judged(core, found, doomed, act, True), notes=notes)


def of_project(core: Core, name: str) -> Deletion:
    with core.database.read() as session:
        takes = [f"environment {one.name}" for one in present.listed(session, name)]
        takes += [f"{row.kind} {row.name}, which is deleted: it stays, and can be had back once "
                  "there is a project of this name"
                  for row in deletions.listed(session, name)]  # fmt: skip
    found = Deletion("project", name, takes=tuple(takes))
    return _judged(core, found, set(), lambda s: branches.delete_project_in(s, name), False)


def of_commit(core: Core, ref: Ref) -> Deletion:
    """What forgetting a commit would take: its data, for good."""
    with core.database.read() as session:
        found, commit = resolve_commit(session, ref)
        readers = [
            Reader(one.repo, f"{one.repo}@{one.id[:12]} was made from it")
            for one in commits.derived(session, found.repo, commit.id)
        ]
        doomed = {(found.repo, commit.id)} if commit.forgotten is None else set()
    told = Deletion("commit", f"{commit.repo}@{commit.short_id}", readers=tuple(readers))
    return _judged(core, told, doomed, lambda s: erase.forget_in(s, ref), False)


# -- who reads it --------------------------------------------------------------------------------


def _readers(session: Session, repo: int, branch: str | None = None) -> Iterator[Reader]:
    for edge in declared.readers(session, repo, branch):
        name = repos.name_of(session, edge.pipeline)
        if name is not None:
            yield Reader(name, f"pipeline {name} reads its branch {edge.branch}")
    for environment, edge in present.readers(session, repo, branch):
        name = repos.name_of(session, edge.pipeline)
        if name is not None:
            how = f"pipeline {name} reads its branch {edge.branch} in the environment {environment}"
            yield Reader(name, how)


def _derived(session: Session, repo: int) -> Iterator[Reader]:
    for name in repos.readers(session, repo):
        yield Reader(name, f"repo {name} holds commits made from it")


# -- what goes -----------------------------------------------------------------------------------


def _all_of(session: Session, keys: Iterable[int]) -> Places:
    return {(key, one) for key in keys for one in commits.links(session, key)}


def _only_by(session: Session, gone: Collection[tuple[int, str]]) -> Places:
    """The commits that only these refs lead to."""
    links = {repo: commits.links(session, repo) for repo in repos.every(session)}
    before = needed_commits(session, links)
    after = needed_commits(session, links, gone)
    return {(repo, one) for repo, some in before.items() for one in some - after[repo]}


class _GivenUp(Exception):
    """Nothing of it is to be kept."""


def _judged(
    core: Core,
    found: Deletion,
    doomed: Places,
    act: Callable[[Session], object],
    is_restorable: bool,
) -> Deletion:
    grace = core.options.gc_grace_seconds if is_restorable else None
    found = replace(_held_by(core, found, doomed), restorable_seconds=grace)
    try:
        with core.database.write() as session:
            act(session)
            raise _GivenUp
    except _GivenUp:
        return found
    except (InUse, Precondition, NotAllowed) as error:
        return replace(found, refused=_said(error))


def _said(error: TrunklineError) -> str:
    return f"{error.message} {error.hint}".strip()


def _held_by(core: Core, found: Deletion, doomed: Places) -> Deletion:
    """With the files, and their bytes in the lake, that no other commit has."""
    with core.database.read() as session:
        rows = commits.every_root(session)
    held: dict[Place, int] = {}
    seen: set[str] = set()
    for row in rows:
        if (row["repo"], row["id"]) in doomed:
            for lines in new_ranges(core.manifests.read(row["root"], row["root_hash"]), seen):
                entries = map(Entry.decode, lines)
                held |= {place_of(one): one.size for one in entries if not is_outside(one.key)}
    keys = {key.encode() for key, _, _ in held}
    others: set[str] = set()
    for row in rows:
        if not held or (row["repo"], row["id"]) in doomed:
            continue
        for lines in new_ranges(core.manifests.read(row["root"], row["root_hash"]), others):
            for line in lines:
                if line_object(line) in keys:
                    held.pop(place_of(Entry.decode(line)), None)
    return replace(found, commits=len(doomed), files=len(held), bytes=sum(held.values()))
