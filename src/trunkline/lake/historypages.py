"""History in pages: each reads about as many commits as it shows, however long history is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import dropwhile

from trunkline.errors import Conflict, Usage
from trunkline.lake.core import Core, repo_key, resolve
from trunkline.lake.history import changed, every_head, fetcher
from trunkline.model.commits import Commit
from trunkline.model.ids import is_id
from trunkline.model.refs import Ref
from trunkline.storage.catalog import commits, refs

# A page that looks for what changed a path ends after so many commits, found or not.
MOST_LOOKED_AT = 1000
# With more ends than this a cursor would not fit into an address: the walk is done again.
MOST_ENDS = 100


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a walk has come to: the commits to go on from, or the last one it passed."""

    ends: tuple[str, ...] = ()
    passed: tuple[int, int, str] | None = None

    def __str__(self) -> str:
        if self.passed is not None:
            return "p" + ".".join(map(str, self.passed))
        return "e" + ".".join(self.ends)

    @classmethod
    def parse(cls, text: str) -> Cursor:
        kind, parts = text[:1], text[1:].split(".")
        if kind == "e" and all(map(is_id, parts)):
            return cls(tuple(parts))
        if kind == "p" and len(parts) == 3 and is_id(parts[2]):
            try:
                return cls(passed=(int(parts[0]), int(parts[1]), parts[2]))
            except ValueError:
                pass
        raise Usage("This cursor is none of a history's.", hint="Leave it out to start anew.")


@dataclass(frozen=True, slots=True)
class CommitPage:
    """Some commits of a history, and where it goes on; None at its end."""

    commits: list[Commit]
    rest: Cursor | None


def log_page(core: Core, ref: Ref, limit: int, after: Cursor | None) -> CommitPage:
    """As `log`, of the ref's path if it has one.

    Then a page may be short, or empty, though more comes after it.
    """
    with core.database.read() as session:
        found = resolve(session, ref)
    heads = [found.commit.id] if found.commit else []
    return _page(core, found.repo, heads, limit, ref.path, after)


def whole_page(core: Core, ref: Ref, limit: int, after: Cursor | None) -> CommitPage:
    """As `whole_history`."""
    with core.database.read() as session:
        repo = repo_key(session, ref.repo)
        heads = every_head(session, repo)
    return _page(core, repo, heads, limit, None, after)


def first_parents_page(core: Core, ref: Ref, limit: int, after: Cursor | None) -> CommitPage:
    """As `first_parents`."""
    with core.database.read() as session:
        found = resolve(session, ref)
        first: list[Commit] = []
        start = found.commit.id if found.commit else None
        if after is not None:
            start = after.ends[0] if after.ends else None
        elif (branch := refs.branch(session, found.repo, ref.ref)) and branch.open:
            opened = commits.find(session, found.repo, branch.open)
            first = [opened] if opened else []
        chain = commits.chain(session, found.repo, start, limit) if start else []
    if after is not None and not chain:
        raise _rewritten()
    shown = [*first, *chain][:limit]
    rest = shown[-1].parent if shown else None
    if first and len(shown) == 1 and chain:
        rest = chain[0].id
    return CommitPage(shown, Cursor((rest,)) if rest else None)


def _page(
    core: Core, repo: int, heads: list[str], limit: int, path: str | None, after: Cursor | None
) -> CommitPage:
    starts = list(after.ends) if after and after.ends else heads
    walk = commits.Walk(fetcher(core, repo), starts)
    if after and len(walk.ends()) < len(after.ends):
        raise _rewritten()
    passed = after.passed if after else None
    coming = dropwhile(lambda one: passed and commits.walk_order(one) <= passed, walk)
    shown: list[Commit] = []
    last: Commit | None = None
    for looked_at, last in enumerate(coming, start=1):
        if path is None or changed(core, repo, last, path):
            shown.append(last)
        if len(shown) == limit or (path is not None and looked_at == MOST_LOOKED_AT):
            break
    ends = tuple(walk.ends())
    if not ends or last is None:
        return CommitPage(shown, None)
    if len(ends) > MOST_ENDS:
        return CommitPage(shown, Cursor(passed=commits.walk_order(last)))
    return CommitPage(shown, Cursor(ends))


def _rewritten() -> Conflict:
    return Conflict("History was changed while it was listed.", hint="List it again.")
