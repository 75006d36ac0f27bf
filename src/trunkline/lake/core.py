"""An open lake: its catalog, its objects, and what a ref means in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trunkline.errors import AmbiguousId, BranchMoved, CommitUnfinished, NotFound
from trunkline.lake.manifests import EMPTY, ManifestStore, Tree
from trunkline.model.commits import Branch, Commit, RepoCommit, RepoName
from trunkline.model.ids import ID_LENGTH, is_id_prefix
from trunkline.model.refs import Ancestor, Ref, Step
from trunkline.model.suggest import did_you_mean
from trunkline.model.time import to_rfc3339
from trunkline.storage.catalog import Database, Session, commits, deletions, refs, repos
from trunkline.storage.objects.port import ObjectStore

Sees = Callable[[RepoName], bool]
"""Which repos somebody may know of."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the lake writes. Sizes in bytes; no workers means one for each core."""

    author: str
    pack_limit: int = 1024 * 1024
    pack_size: int = 64 * 1024 * 1024
    workers: int | None = None
    gc_grace_seconds: float = 86_400.0
    keep_results_seconds: float = 30 * 86_400.0
    keep_logs_seconds: float = 30 * 86_400.0
    sandbox_required: bool = False
    sandbox_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a ref stands for: a repo and a commit of it, or None on a branch without any."""

    repo: int
    name: RepoName
    commit: Commit | None

    @property
    def id(self) -> str | None:
        return self.commit.id if self.commit else None


class Core:
    """The two stores of a lake and the rules that join them."""

    def __init__(self, database: Database, objects: ObjectStore, options: Options) -> None:
        self.database = database
        self.objects = objects
        self.options = options
        self.manifests = ManifestStore(objects)
        self.joined = False
        """Whether its folder was only now joined to a lake that was there before."""
        self.checked = False
        """Whether the store is known to be that of the lake (`identity`)."""

    def close(self) -> None:
        self.database.close()

    def tree(self, commit: Commit | None) -> Tree:
        if commit is None:
            return EMPTY
        if commit.finished is None:
            raise CommitUnfinished(
                f"Commit {commit.short_id} of {commit.repo} is not finished, so it cannot be read.",
                hint=f"Finish it: trunkline commit finish {commit.repo}@{commit.branch}",
            )
        if commit.forgotten is not None:
            raise NotFound(
                f"The data of commit {commit.short_id} of {commit.repo} was forgotten on "
                f"{to_rfc3339(commit.forgotten)[:10]}; only its record is left."
            )
        return self.manifests.read(commit.root, commit.root_hash)

    def tree_of(self, ref: Ref) -> Tree:
        with self.database.read() as session:
            found = resolve(session, ref)
        return self.tree(found.commit)


def require_project(session: Session, name: str, *, where: str = "", hint: str = "") -> None:
    """Refuse a project that is not there; `where` it is named, and what to do instead."""
    if not repos.has_project(session, name):
        known = [project.name for project in repos.projects(session)]
        near = did_you_mean(name, known)
        raise NotFound(f'{where}There is no project "{name}".', near=near, hint=hint)


def repo_key(session: Session, name: RepoName) -> int:
    key = repos.key_of(session, name)
    if key is not None:
        return key
    require_project(session, name.project, hint="trunkline project list shows all projects")
    if any(not row.ref for row in deletions.listed(session, name=name)):
        raise NotFound(
            f'There is no repo "{name}" any more: it was deleted.',
            hint=f"It can be had back: trunkline undelete {name}",
        )
    raise NotFound(
        f'There is no repo "{name}".',
        near=did_you_mean(name.repo, repos.names(session, name.project)),
        project=name.project,
        hint="trunkline repo list shows all repos",
    )


def resolve(session: Session, ref: Ref) -> Resolved:
    """The commit a ref stands for. A branch or tag of exactly that name wins over a suffix."""
    repo = repo_key(session, ref.repo)
    for name, steps in ref.revision.candidates():
        found = _named(session, repo, ref.repo, name)
        if found is None:
            continue
        (start,) = found
        commit_id = start
        for step in steps:
            commit_id = _step(session, repo, ref, commit_id, step)
        commit = commits.find(session, repo, commit_id) if commit_id else None
        return Resolved(repo, ref.repo, commit)
    known = [b.name for b in refs.branches(session, repo)]
    known += [t.name for t in refs.tags(session, repo)]
    raise NotFound(
        f'{ref.repo} has no branch, tag or commit "{ref.ref}".{did_you_mean(ref.ref, known)}',
        hint=f"trunkline branch list {ref.repo} shows its branches.",
    )


def resolve_commit(session: Session, ref: Ref) -> tuple[Resolved, Commit]:
    """As `resolve`, for those who cannot do without a commit."""
    found = resolve(session, ref)
    if found.commit is None:
        raise NotFound(f"{ref.repo}@{ref.ref} has no commits yet.")
    return found, found.commit


def expect_head(session: Session, target: Ref, branch: Branch | None, expected: str) -> None:
    """Refuse unless the branch's head is the expected commit ("none" for no commit yet)."""
    head = branch.head if branch else None
    if expected == "none":
        if head is None:
            return
    else:
        wanted = resolve(session, Ref(target.repo, expected))
        if wanted.id == head:
            return
    raise BranchMoved(
        f"{target.repo}@{target.ref} is at {head[:12] if head else 'no commit'}, "
        f"not at {expected[:12]} as expected.",
        hint="Nothing was changed; look at the new head, then try again.",
    )


def resolve_set(session: Session, text: str, sees: Sees | None = None) -> str:
    """The whole id of a commit set named by its first digits; with `sees` of those of its repos."""
    if is_id_prefix(text):
        ids = commits.ids_like(session, text, among=seen_keys(session, sees))
        if len(ids) == 1:
            return ids[0]
        if ids:
            members = [one for set_id in ids for one in commits.in_set(session, set_id)]
            raise _ambiguous(text, ((one.repo, one.id) for one in members), unknown_set(text))
    raise unknown_set(text)


def seen_keys(session: Session, sees: Sees | None) -> list[int] | None:
    """The keys of the repos that somebody may know of; None for all of them."""
    if sees is None:
        return None
    return [key for key, name in repos.keys(session) if sees(name)]


def unknown_set(text: str) -> NotFound:
    return NotFound(
        f'No commit has the id "{text}".', hint="An id is 32 hex digits; 8 of them suffice."
    )


def _named(session: Session, repo: int, name: RepoName, text: str) -> tuple[str | None] | None:
    """The head of the branch, the tag's commit or the id's; a tuple, as a head may be None."""
    if branch := refs.branch(session, repo, text):
        return (branch.head,)
    if tag := refs.tag(session, repo, text):
        return (tag.commit,)
    if not is_id_prefix(text):
        return None
    ids = commits.ids_like(session, text, repo)
    if len(ids) == 1:
        return (ids[0],)
    if ids:
        raise _ambiguous(text, ((name, one) for one in ids))
    used = _used_by_set(session, name, text)
    return (used,) if used else None


def _used_by_set(session: Session, name: RepoName, text: str) -> str | None:
    """The commit of a repo that the members of a set were computed from, the fewest steps away.

    A pipeline may read two branches of one repo: then it must be said which of them is meant.
    """
    ids = commits.ids_like(session, text)
    if len(ids) != 1 or (len(text) < ID_LENGTH and not ids):
        return None
    level = [RepoCommit(member.repo, member.id) for member in commits.in_set(session, ids[0])]
    seen = set(level)
    while level:
        used = sorted({edge.id for edge in level if edge.repo == name})
        if len(used) > 1:
            some = ", ".join(commit_id[:12] for commit_id in used)
            raise AmbiguousId(
                f"What was made in {text[:12]} read {len(used)} commits of {name}: {some}.",
                hint=f"Say which: {name}@{used[0][:12]}. trunkline job inspect tells their inputs.",
            )
        if used:
            return used[0]
        below: list[RepoCommit] = []
        for edge in level:
            key = repos.key_of(session, edge.repo)
            for source in commits.sources(session, key, edge.id) if key is not None else ():
                if source not in seen:
                    seen.add(source)
                    below.append(source)
        level = below
    return None


def _step(session: Session, repo: int, ref: Ref, start: str | None, step: Step) -> str:
    found = None
    if start is not None:
        if isinstance(step, Ancestor):
            found = commits.ancestor(session, repo, start, step.n)
        else:
            found = commits.at_depth(session, repo, start, step.n)
    if found is None:
        where = "before its first" if isinstance(step, Ancestor) else "beyond its last"
        raise NotFound(
            f'"{ref.repo}@{ref.ref}" goes {where} commit.',
            hint=f"trunkline log {ref.repo} shows how far its history goes.",
        )
    return found


def _ambiguous(
    text: str, found: Iterable[tuple[RepoName, str]], missing: NotFound | None = None
) -> AmbiguousId:
    return AmbiguousId(
        f'The id "{text}" is not unique: {{among}}.',
        hint="Give more digits.",
        among=((repo, commit_id[: len(text) + 4]) for repo, commit_id in found),
        missing=missing,
    )
