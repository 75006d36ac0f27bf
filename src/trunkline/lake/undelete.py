"""Having back what was deleted: a branch, a tag, a repo, or a pipeline with all that it had."""

from __future__ import annotations

from trunkline.errors import AlreadyExists, InUse, NotFound, Precondition, Usage
from trunkline.lake.branches import started
from trunkline.lake.core import Core, repo_key
from trunkline.lake.deletions import BRANCH, PIPELINE, TAG, leaves_repo
from trunkline.lake.pipelines import FOR_PIPELINE
from trunkline.lake.versions import code_repo
from trunkline.model.access import Grant, Role
from trunkline.model.commits import RepoKind, RepoName
from trunkline.model.deletions import Reader, Undeleted
from trunkline.model.inputs import Trigger
from trunkline.model.paths import validate_name
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.storage.catalog import (
    Session,
    access,
    deletions,
    events,
    pipelines,
    refs,
    repos,
    timing,
)
from trunkline.storage.catalog.deletions import DeletionRow


def undelete(
    core: Core,
    name: RepoName,
    ref: str,
    author: str,
    *,
    as_: str | None = None,
    deletion: int | None = None,
) -> Undeleted:
    """Bring back what was deleted last under a name, or one deletion by its number; with `as_`
    under another name of the same repo or project.
    """
    with core.database.write() as session:
        row = _find(session, name, ref, deletion)
        if row.ref:
            done = _ref(session, row, as_ or row.ref, author)
        else:
            done = _repo(session, row, RepoName(name.project, as_ or row.name.repo), author)
        deletions.remove(session, row.position)
        return done


def _find(session: Session, name: RepoName, ref: str, deletion: int | None) -> DeletionRow:
    if ref:
        repo_key(session, name)
    known = deletions.listed(session, name=name)
    for row in known:
        if row.ref == ref and deletion in (None, row.position):
            return row
    # Only its own: who may have this repo back need not know of others.
    others = [f"{one.name}@{one.ref}" for one in known if one.ref]
    shown = f"{name}@{ref}" if ref else str(name)
    number = f" as number {deletion}" if deletion is not None else ""
    raise NotFound(
        f"Nothing was deleted as {shown}{number} that can still be had back."
        f"{did_you_mean(shown, others)}",
        hint="trunkline log --deleted lists what can be.",
    )


def _ref(session: Session, row: DeletionRow, name: str, author: str) -> Undeleted:
    target = Ref(row.name, name)
    validate_name(row.kind, name)
    taken = "branch" if refs.branch(session, row.repo, name) else ""
    taken = taken or ("tag" if refs.tag(session, row.repo, name) else "")
    if taken:
        raise AlreadyExists(
            f'{row.name} has a {taken} "{name}" by now.',
            hint=f"Have it back under another name: trunkline undelete {row.name}@{row.ref} "
            "--as OTHER",
        )
    if row.kind == TAG:
        assert row.commit is not None
        content = row.content
        refs.add_tag(session, row.repo, name, row.commit, content["message"], content["author"],
                     content["created"])  # fmt: skip
        return Undeleted(TAG, str(target))
    notes = _branch(session, row, name, author)
    events.emit(session, "branch", row.name, {"branch": name, "head": row.commit})
    started(session, target, author)
    return Undeleted(BRANCH, str(target), notes)


def _branch(session: Session, row: DeletionRow, name: str, author: str) -> tuple[str, ...]:
    refs.add_branch(session, row.repo, name, row.commit, refs.Move(author, "undelete"))
    follows = row.content["trigger"]
    if follows is None:
        return ()
    trigger = Trigger(**follows)
    if refs.branch(session, row.repo, trigger.branch) is None:
        return (f"It followed {trigger.branch}, which is not there, and now follows nothing.",)
    timing.set_trigger(session, row.repo, name, trigger)
    return ()


def _repo(session: Session, row: DeletionRow, name: RepoName, author: str) -> Undeleted:
    parts = deletions.parts(session, row.position)
    stays = leaves_repo(row)
    if (parts or stays) and name != row.name:
        raise Usage(
            f"{row.name} is a pipeline, whose repos go by its name: it cannot have another.",
            hint=f"Delete the {row.name} that is there now first.",
        )
    if not repos.has_project(session, name.project):
        raise NotFound(
            f'There is no project "{name.project}" any more.',
            hint=f"Make it first: trunkline project create {name.project}",
        )
    validate_name("repo", name.repo)
    if stays:
        _put_back(session, row)
    shown = [] if stays else [(row, name)]
    for one, its in [*shown, *((part, part.name) for part in parts if not part.ref)]:
        if repos.key_of(session, its) is not None:
            way = f"Delete it first: trunkline {row.kind} delete {its}"
            other = f"Have it back under another name: trunkline undelete {row.name} --as OTHER"
            raise AlreadyExists(f'There is a repo "{its}" by now.', hint=way if parts else other)
        repos.show(session, one.repo, its)
        deletions.rename(session, one.repo, its)
        _grant(session, one, its)
    for part in parts:
        if part.ref and refs.branch(session, part.repo, part.ref) is None:
            _branch(session, part, part.ref, author)
    if row.kind != PIPELINE:
        events.emit(session, "repo", name, {"created": True})
        return Undeleted(row.kind, str(name))
    readers = _pipeline(session, row, author)
    events.emit(session, "pipeline", name, {"paused": True})
    notes = (f"It is paused: trunkline pipeline resume {name}",)
    return Undeleted(row.kind, str(name), notes, readers)


def _put_back(session: Session, row: DeletionRow) -> None:
    """Make the repo that a pipeline left behind its output again, if it is as it was then."""
    rows, heads = row.content["rows"], row.content["heads"]
    repo, code = row.name, code_repo(row.name)
    for key, its in ((row.repo, repo), (rows["pipelines"][0]["code_repo"], code)):
        if repos.name_of(session, key) != its:
            raise Precondition(
                f"The pipeline {repo} needs its repo {its}, which is not there any more.",
                hint=f"If it was deleted, have it back first: trunkline undelete {its}",
            )
    now = {branch.name: branch.head for branch in refs.branches(session, row.repo)}
    for branch, head in heads.items():
        if now.get(branch) != head:
            where = f"{repo}@{head[:12]}" if head else "where it was"
            raise Precondition(
                f"{repo}@{branch} has changed since its pipeline was deleted, which could not go "
                "on from there.",
                hint=f"Keep what is there in another branch, and move this one back to {where}.",
            )
    repos.set_kind(session, row.repo, RepoKind.OUTPUT)
    pipelines.put_back(session, rows)


def _pipeline(session: Session, row: DeletionRow, author: str) -> tuple[Reader, ...]:
    """It is paused: whoever has it back says when it goes on, with one job for all it missed."""
    for edge in pipelines.reads(session, row.repo):
        source = repos.name_of(session, edge.source)
        if source is None:
            lost = next((one for one in deletions.listed(session) if one.repo == edge.source), None)
            raise InUse(
                f"{row.name} reads {'{by}' if lost else 'a repo'}, which is deleted too.",
                hint=f"Have that back first: trunkline undelete {lost.name if lost else 'NAME'}",
                by=[lost.name] if lost else (),
            )
        if refs.branch(session, edge.source, edge.branch) is None:
            made = refs.Move(author, FOR_PIPELINE)
            refs.add_branch(session, edge.source, edge.branch, None, made)
    pipelines.set_paused(session, row.repo, True)
    pipelines.set_pending(session, row.repo, True)
    readers = []
    above = _above(session, row.repo)
    for lost in row.content.get("readers", ()):
        name = repos.name_of(session, lost["repo"])
        again = lost["repo"] not in above and pipelines.read_again(session, lost)
        if name is None:
            continue  # deleted too, and will read it when it is had back
        how = "reads it again, and is paused." if again else "read it, and has changed since."
        readers.append(Reader(name, f"{name} {how}"))
    return tuple(dict.fromkeys(readers))


def _above(session: Session, repo: int) -> set[int]:
    """All that a pipeline is computed from, at any distance."""
    found: set[int] = set()
    waiting = [repo]
    while waiting:
        sources = {edge.source for edge in pipelines.reads(session, waiting.pop())} - found
        found |= sources
        waiting += sources
    return found


def _grant(session: Session, row: DeletionRow, name: RepoName) -> None:
    """Who had a role on it has it again."""
    for subject, role in row.content["grants"]:
        if access.user(session, subject) is not None:
            access.set_grant(session, Grant(subject, f"{name.project}/{name.repo}", Role(role)))
