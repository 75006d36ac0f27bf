"""The versions of a table: the commits of a branch that changed its folder, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from trunkline.errors import TrunklineError, Usage
from trunkline.lake.core import Core, resolve
from trunkline.lake.differences import Difference, differences
from trunkline.lake.history import fetcher
from trunkline.lake.historypages import MOST_LOOKED_AT
from trunkline.model.commits import Commit
from trunkline.model.evolution import schema_diff
from trunkline.model.ids import is_id
from trunkline.model.refs import Ref
from trunkline.model.time import Moment
from trunkline.sdk.laketable import TableInfo
from trunkline.tables.describe import describe

FEW, MANY = 16, 256
"""Commits that are fetched at once: few first, as most callers want the newest."""


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A table as one commit left it.

    `changes` are those of its columns against the version before: `+ tip double`,
    `~ n int → string`. `error` says why it cannot be read there, or that it is gone.
    """

    commit: str
    at: Moment
    message: str
    author: str = ""
    rows: int | None = None
    size: int = 0
    files: int = 0
    changes: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Some versions with their commits, and the commit to go on from; None at the end."""

    versions: list[TableVersion]
    commits: list[Commit]
    rest: str | None


def versions_page(core: Core, ref: Ref, limit: int, after: str | None = None) -> VersionPage:
    """At most `limit` versions. A page may be short, or empty, though more come after it."""
    if after is not None and not is_id(after):
        raise Usage("This cursor is none of a table's.", hint="Leave it out to start anew.")
    path = ref.path or "/"
    with core.database.read() as session:
        found = resolve(session, replace(ref, path=None))
    start = after or (found.commit.id if found.commit else None)
    walk = _readable(core, found.repo, start) if start else iter(())
    changed: list[Commit] = []
    before: Commit | None = None
    for looked_at, (commit, before) in enumerate(pairwise(chain(walk, [None])), start=1):
        assert commit is not None
        if _differs(core, before, commit, path):
            changed.append(commit)
        if len(changed) == limit or looked_at == MOST_LOOKED_AT:
            break
    infos = [_described(core, one, path) for one in (*changed, before)]
    versions = [_version(*one) for one in zip(changed, infos, infos[1:], strict=False)]
    return VersionPage(versions, changed, before.id if before else None)


def _readable(core: Core, repo: int, start: str) -> Iterator[Commit]:
    """The commits along first parents whose data is there."""
    fetch = fetcher(core, repo)
    going_on: str | None = start
    size = FEW
    while going_on is not None and (commits := fetch(going_on, size)):
        for one in commits:
            if one.finished is not None and one.error is None and one.forgotten is None:
                yield one
        going_on, size = commits[-1].parent, MANY


def _differs(core: Core, before: Commit | None, commit: Commit, path: str) -> bool:
    """Whether anything at or below the path is another than in the commit before."""
    if before is not None and before.root_hash == commit.root_hash:
        return False
    old, new, name = core.tree(before), core.tree(commit), path.encode()
    own = Difference(name, old.find(name), new.find(name))
    if own.old != own.new and not own.same_content:
        return True
    return next(differences(old, new, name.rstrip(b"/") + b"/"), None) is not None


def _described(core: Core, commit: Commit | None, path: str) -> TableInfo:
    if commit is None:
        return TableInfo("", path, error="There is nothing before it.")
    place = f"{commit.repo}@{commit.short_id}"
    name = place if path == "/" else f"{place}:{path}"
    try:
        return TableInfo.of(describe(core, core.tree(commit), path, name))
    except TrunklineError as error:
        return TableInfo(name, path, error=error.message)


def _version(commit: Commit, new: TableInfo, old: TableInfo) -> TableVersion:
    known = not (new.error or old.error)
    return TableVersion(
        commit.id,
        commit.finished or commit.started,
        commit.message,
        commit.author,
        new.rows,
        new.size,
        new.files,
        tuple(schema_diff(old.columns, new.columns)) if known else (),
        new.error,
    )
