"""Files of a commit: listed, described, compared; commits that stay open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from fastapi import Query

from trunkline.errors import NotFound, Usage
from trunkline.lake import files
from trunkline.lake.branches import writable_branch
from trunkline.lake.core import Core, Resolved, expect_head, repo_key, resolve
from trunkline.lake.differences import differences
from trunkline.lake.manifests import Tree
from trunkline.model.access import Permission
from trunkline.model.commits import Commit, RepoName
from trunkline.model.entries import line_hash, line_size
from trunkline.model.files import Change, FileInfo
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Ref, parse_ref
from trunkline.sdk.wire.files import AskKnown, Found, Known, Opening
from trunkline.sdk.wire.values import Page
from trunkline.sdk.writer import lines_at
from trunkline.server.calls import READ_REPO, WRITE_REPO, Call, Caller, Needs, On, Routes
from trunkline.server.paging import Cursor, Limit, decoded, page_in_order
from trunkline.server.uploads.ending import author_of
from trunkline.storage.catalog import commits

routes = Routes(tags=["files"])
At = Annotated[str, Query(description="A branch, a tag or an id, with steps such as ~2.")]
Place = Annotated[str, Query(alias="path", description="A path from the root.")]
_NONE = "-"
_DIFF = Needs(On.REFS, Permission.READ, ("old", "new"))


@routes.GET("/repos/{project}/{repo}/files", READ_REPO, quick="files")
def list_files(
    call: Caller,
    project: str,
    repo: str,
    at: At = "main",
    path: Place = "/",
    recursive: bool = False,
    hashes: bool = True,
    hidden: Annotated[
        bool, Query(description="Also what the lake keeps beside the files: _table.json and so on.")
    ] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[FileInfo]:
    """What is in a folder, or every file below it. All pages are of the same commit."""
    seen = _Seen(call, RepoName(project, repo), at, cursor)
    name, where = normalize_path(path), f"{seen.ref.repo}@{at}"
    if recursive:
        found = files.everything(seen.tree, name, where, seen.after, hidden_too=hidden)
    else:
        found = files.children(seen.tree, name, where, hashes, seen.after, hidden_too=hidden)
    return seen.page(found, limit)


@routes.GET("/repos/{project}/{repo}/files/stat", READ_REPO)
def stat_file(
    call: Caller, project: str, repo: str, at: At = "main", path: Place = "/"
) -> FileInfo:
    seen = _Seen(call, RepoName(project, repo), at)
    return files.stat(seen.tree, normalize_path(path), f"{seen.ref.repo}@{at}")


@routes.GET("/repos/{project}/{repo}/glob", READ_REPO)
def glob_files(
    call: Caller,
    project: str,
    repo: str,
    pattern: str,
    at: At = "main",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[FileInfo]:
    """Files and folders whose whole path matches a pattern."""
    seen = _Seen(call, RepoName(project, repo), at, cursor)
    return seen.page(files.matching(seen.tree, pattern, seen.after), limit)


@routes.GET("/repos/{project}/{repo}/resolve", READ_REPO)
def resolve_revision(
    call: Caller, project: str, repo: str, at: At = "main", path: str | None = None
) -> Found:
    """The commit that a revision stands for; with a path, one that has it."""
    seen = _Seen(call, RepoName(project, repo), at)
    if path is not None:
        if seen.found.commit is None:
            raise NotFound(f"{seen.ref.repo}@{at} has no commits yet.")
        files.stat(seen.tree, normalize_path(path), f"{seen.ref.repo}@{at}")
    return Found(seen.found.id)


@routes.GET("/repos/{project}/{repo}/base", WRITE_REPO)
def base_of_branch(
    call: Caller,
    project: str,
    repo: str,
    branch: str = "main",
    if_head: str | None = None,
    key: str | None = None,
) -> Found:
    """The head that a commit on a branch begins from, which need not be there yet."""
    target = Ref(RepoName(project, repo), branch)
    with call.lake._core.database.read() as session:
        found = writable_branch(session, target)
        repo_id = repo_key(session, target.repo)
        known = commits.find_request(session, repo_id, key) if key is not None else None
        if if_head is not None and known is None:
            expect_head(session, target, found, if_head)
    return Found(found.head if found else None)


@routes.POST("/repos/{project}/{repo}/known", READ_REPO)
def known_files(call: Caller, project: str, repo: str, body: AskKnown) -> Known:
    """Which files need not be sent again: the hash that each path of the same size has."""
    core = call.lake._core
    with core.database.read() as session:
        commit = resolve(session, Ref(RepoName(project, repo), body.at)).commit
    if commit is None or commit.finished is None or not commit.files:
        return Known(None, [None] * len(body.files))
    paths = [normalize_path(path).encode() for path, _ in body.files]
    found = lines_at(core, commit, paths) if paths else {}
    hashes: list[str | None] = []
    for path, (_, size) in zip(paths, body.files, strict=True):
        line = found.get(path)
        same = line is not None and line_size(line) == size
        hashes.append(line_hash(line).decode() if same and line is not None else None)
    return Known(commit.id, hashes)


@routes.GET("/diff", _DIFF)
def diff_files(
    call: Caller, old: str, new: str, limit: Limit = 100, cursor: Cursor = None
) -> Page[Change]:
    """What differs between two commits, below the path of the refs if they have one."""
    before, after = parse_ref(old), parse_ref(new)
    if (before.path or "/") != (after.path or "/"):
        raise Usage(
            "The two refs name different paths.", hint="Diff compares one path at two commits."
        )
    core = call.lake._core
    sides, start = _cursor(cursor, 2)
    left, right = (
        _resolved(core, ref) if sides is None else _held(core, ref.repo, sides[number])
        for number, ref in enumerate((before, after))
    )
    return _changes(core, left, right, before.path or "/", start, limit)


@routes.GET("/repos/{project}/{repo}/commits/{commit}/changes", READ_REPO)
def list_changes(
    call: Caller,
    project: str,
    repo: str,
    commit: str,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Change]:
    """What a commit changed, compared with its first parent."""
    core, name = call.lake._core, RepoName(project, repo)
    _, start = _cursor(cursor, 2)
    found = _resolved(core, Ref(name, commit))
    if found.commit is None:
        raise NotFound(f"{name}@{commit} has no commits yet.")
    parent = found.commit.parent
    before = _held(core, name, parent or _NONE)
    return _changes(core, before, found, "/", start, limit)


@routes.POST("/repos/{project}/{repo}/branches/{branch}/start", WRITE_REPO, status_code=201)
def start_commit(call: Caller, project: str, repo: str, branch: str, body: Opening) -> Commit:
    """Open a commit that gathers many calls until it is finished."""
    lake = call.lake.bound(author=author_of(call, body.author))
    return lake.start_commit(f"{project}/{repo}@{branch}", body.message or "")


@routes.POST("/repos/{project}/{repo}/branches/{branch}/finish", WRITE_REPO)
def finish_commit(call: Caller, project: str, repo: str, branch: str, body: Opening) -> Commit:
    lake = call.lake.bound(author=author_of(call, body.author))
    return lake.finish_commit(f"{project}/{repo}@{branch}", body.message)


class _Seen:
    """A tree that is read page by page: the cursor holds on to the commit of the first."""

    def __init__(self, call: Call, repo: RepoName, at: str, cursor: str | None = None) -> None:
        commit, self.after = _cursor(cursor, 1)
        core = call.lake._core
        self.ref = Ref(repo, commit[0] if commit else at)
        self.found = _resolved(core, self.ref)
        self.tree: Tree = core.tree(self.found.commit)

    def page(self, found: Iterable[FileInfo], limit: int) -> Page[FileInfo]:
        return page_in_order(found, _key([self.found.id], lambda one: one.path), limit)


def _key(commit_ids: list[str | None], path: Callable[..., str]) -> Callable[..., str]:
    head = " ".join(one or _NONE for one in commit_ids)
    return lambda one: f"{head} {path(one)}"


def _cursor(cursor: str | None, count: int) -> tuple[list[str] | None, str | None]:
    """The commits and the path that a cursor stands for."""
    told = decoded(cursor)
    if told is None:
        return None, None
    parts = told.split(" ", count)
    if len(parts) != count + 1:
        raise Usage("This cursor is none of this list's.", hint="Leave it out to start anew.")
    return parts[:count], normalize_path(parts[count])


def _resolved(core: Core, ref: Ref) -> Resolved:
    with core.database.read() as session:
        return resolve(session, ref)


def _held(core: Core, repo: RepoName, commit_id: str) -> Resolved:
    """The commit of an earlier page."""
    if commit_id != _NONE:
        return _resolved(core, Ref(repo, commit_id))
    with core.database.read() as session:
        return Resolved(repo_key(session, repo), repo, None)


def _changes(
    core: Core, old: Resolved, new: Resolved, path: str, after: str | None, limit: int
) -> Page[Change]:
    prefix = path.encode()
    below = prefix.rstrip(b"/") + b"/"
    start = b"" if after is None else after.encode() + b"\t\xff"
    # Neighbours such as /a.csv start with /a too, but lie outside of it.
    found = (
        one.to_change()
        for one in differences(core.tree(old.commit), core.tree(new.commit), prefix, start)
        if one.path == prefix or one.path.startswith(below)
    )
    return page_in_order(found, _key([old.id, new.id], lambda one: one.path), limit)
