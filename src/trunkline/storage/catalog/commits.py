"""Commits: rows that never change once finished, linked to their parents.

Each row carries a jump pointer to a far ancestor (a skew-binary skip list), so that
`main~9000` takes a few look-ups, not nine thousand.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trunkline.model.commits import Commit, Origin, RepoCommit, RepoName
from trunkline.model.told import Kind, Told
from trunkline.storage.catalog import deletions
from trunkline.storage.catalog.database import Row, Session

_SELECT = """
    SELECT c.*, r.project AS project, r.name AS repo_name
    FROM commits c JOIN every_repo r ON r.key = c.repo
"""
# One round trip fetches this many links of a chain.
_PAGE = 256
# Of the first one fewer: most who ask want to see the newest commits only.
_FIRST_PAGE = 16


@dataclass(frozen=True, slots=True)
class Link:
    """What a walk through history needs of a commit."""

    id: str
    parent: str | None
    merged: tuple[str, ...]
    generation: int
    unreferenced: int | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent, *self.merged) if self.parent else self.merged


def find(session: Session, repo: int, commit_id: str) -> Commit | None:
    row = session.one(
        f"{_SELECT} WHERE c.repo = :repo AND c.id = :id", {"repo": repo, "id": commit_id}
    )
    return _commit(row) if row else None


def find_request(session: Session, repo: int, request: str) -> Commit | None:
    """The commit that an earlier call with this idempotency key made."""
    row = session.one(
        f"{_SELECT} WHERE c.repo = :repo AND c.request = :request",
        {"repo": repo, "request": request},
    )
    return _commit(row) if row else None


def ids_like(
    session: Session,
    prefix: str,
    repo: int | None = None,
    limit: int = 5,
    among: Iterable[int] | None = None,
) -> list[str]:
    """Ids that start with `prefix`, in one repo, `among` some or in all of them."""
    where = "SELECT key FROM repos" if repo is None else ":repo"
    if among is not None:
        where = ", ".join(str(int(key)) for key in among) or "NULL"
    rows = session.all(
        f"""SELECT DISTINCT id FROM commits WHERE id >= :low AND id < :high
            AND repo IN ({where}) ORDER BY id LIMIT :limit""",
        {"low": prefix, "high": prefix + "g", "repo": repo, "limit": limit},
    )
    return [row["id"] for row in rows]


def in_set(session: Session, commit_id: str) -> list[Commit]:
    rows = session.all(
        f"""{_SELECT} WHERE c.id = :id AND r.deleted IS NULL
            ORDER BY c.generation, r.project, r.name""",
        {"id": commit_id},
    )
    return [_commit(row) for row in rows]


def add(session: Session, repo: int, commit: Commit, request: str | None = None) -> None:
    """Insert a commit below its parent; depth, generation and jump are worked out here."""
    depth, generation, jump = _place(session, repo, commit.parent, commit.merged)
    session.execute(
        """INSERT INTO commits (repo, id, branch, parent, merged, message, author, started,
               finished, origin, error, root, root_hash, files, size, depth, generation, jump,
               request)
           VALUES (:repo, :id, :branch, :parent, :merged, :message, :author, :started,
               :finished, :origin, :error, :root, :root_hash, :files, :size, :depth, :generation,
               :jump, :request)""",
        {
            "repo": repo,
            "id": commit.id,
            "branch": commit.branch,
            "parent": commit.parent,
            "merged": " ".join(commit.merged),
            "message": commit.message,
            "author": commit.author,
            "started": commit.started,
            "finished": commit.finished,
            "origin": str(commit.origin),
            "error": commit.error,
            "root": commit.root,
            "root_hash": commit.root_hash,
            "files": commit.files,
            "size": commit.size,
            "depth": depth,
            "generation": generation,
            "jump": jump,
            "request": request,
        },
    )


def finish(session: Session, repo: int, commit: Commit) -> None:
    """Fill in what an open commit turned out to hold. Refuses to touch a finished one."""
    touched = session.execute(
        """UPDATE commits SET finished = :finished, message = :message, root = :root,
               root_hash = :root_hash, files = :files, size = :size, error = :error
           WHERE repo = :repo AND id = :id AND finished IS NULL""",
        {
            "repo": repo,
            "id": commit.id,
            "finished": commit.finished,
            "message": commit.message,
            "root": commit.root,
            "root_hash": commit.root_hash,
            "files": commit.files,
            "size": commit.size,
            "error": commit.error,
        },
    )
    if touched != 1:
        raise RuntimeError(f"commit {commit.id} was already finished")


def move_below(session: Session, repo: int, commit_id: str, parent: str | None) -> None:
    """Hang an open commit below another parent: the head may have moved since it was started."""
    depth, generation, jump = _place(session, repo, parent, ())
    session.execute(
        """UPDATE commits SET parent = :parent, depth = :depth, generation = :generation,
               jump = :jump WHERE repo = :repo AND id = :id AND finished IS NULL""",
        {
            "repo": repo,
            "id": commit_id,
            "parent": parent,
            "depth": depth,
            "generation": generation,
            "jump": jump,
        },
    )


def ancestor(session: Session, repo: int, commit_id: str, steps: int) -> str | None:
    """The commit `steps` first parents back, or None past the root."""
    row = session.one(
        "SELECT depth FROM commits WHERE repo = :repo AND id = :id", {"repo": repo, "id": commit_id}
    )
    return at_depth(session, repo, commit_id, row["depth"] - steps) if row else None


def at_depth(session: Session, repo: int, commit_id: str, depth: int) -> str | None:
    """The first-parent ancestor at `depth`; the first commit of a branch has depth 1."""
    if depth < 1:
        return None
    current: str | None = commit_id
    while current is not None:
        row = session.one(
            """SELECT c.depth, c.parent, c.jump, j.depth AS jump_depth FROM commits c
               LEFT JOIN commits j ON j.repo = c.repo AND j.id = c.jump
               WHERE c.repo = :repo AND c.id = :id""",
            {"repo": repo, "id": current},
        )
        if row is None or row["depth"] < depth:
            return None
        if row["depth"] == depth:
            return current
        far = row["jump_depth"]
        current = row["jump"] if far is not None and far >= depth else row["parent"]
    return None


def chain(session: Session, repo: int, head: str, limit: int) -> list[Commit]:
    """Up to `limit` commits from `head` along first parents, newest first."""
    # SQLite keeps the order of a CROSS JOIN; left to choose, it reads every commit of the repo.
    rows = session.all(
        """WITH RECURSIVE chain(id, parent, n) AS (
                SELECT id, parent, 1 FROM commits WHERE repo = :repo AND id = :head
                UNION ALL
                SELECT c.id, c.parent, chain.n + 1 FROM commits c
                JOIN chain ON c.repo = :repo AND c.id = chain.parent
                WHERE chain.n < :limit)
            SELECT c.*, r.project AS project, r.name AS repo_name
            FROM chain CROSS JOIN commits c JOIN every_repo r ON r.key = c.repo
            WHERE c.repo = :repo AND c.id = chain.id ORDER BY chain.n""",
        {"repo": repo, "head": head, "limit": limit},
    )
    return [_commit(row) for row in rows]


class Walk:
    """All ancestors of `heads` and themselves, newest first, children before parents.

    `fetch(id, n)` gives a piece of the first-parent chain, as `chain` does; no transaction
    is held while the caller looks at what it got.
    """

    def __init__(self, fetch: Callable[[str, int], Sequence[Commit]], heads: Iterable[str]) -> None:
        self._fetch = fetch
        self._fetched: dict[str, Commit] = {}
        self._queue: list[tuple[int, int, str]] = []
        self._seen: set[str] = set()
        self._waiting: tuple[str, ...] = ()
        self._page = _FIRST_PAGE
        for head in heads:
            self._push(head, is_head=True)

    def __iter__(self) -> Iterator[Commit]:
        return self

    def __next__(self) -> Commit:
        self._go_on()
        if not self._queue:
            raise StopIteration
        commit = self._fetched.pop(heapq.heappop(self._queue)[2])
        self._waiting = commit.parents
        return commit

    def ends(self) -> list[str]:
        """Where the walk has come to: another one from these heads would go on as this one."""
        self._go_on()
        return [commit_id for _, _, commit_id in sorted(self._queue)]

    def _go_on(self) -> None:
        waiting, self._waiting = self._waiting, ()
        for parent in waiting:
            self._push(parent)

    def _push(self, commit_id: str, is_head: bool = False) -> None:
        if commit_id in self._seen:
            return
        self._seen.add(commit_id)
        if commit_id not in self._fetched:
            self._fetched.update((one.id, one) for one in self._fetch(commit_id, self._page))
            if not is_head:
                # Who has looked at many will look at more.
                self._page = min(self._page * 2, _PAGE)
        if found := self._fetched.get(commit_id):
            heapq.heappush(self._queue, walk_order(found))


def walk_order(commit: Commit) -> tuple[int, int, str]:
    """Ids tell when work began; what was finished later may have begun before."""
    return -(commit.finished or 0), -commit.generation, commit.id


def links(session: Session, repo: int) -> dict[str, Link]:
    """Every commit of the repo, as links only."""
    rows = session.all(
        "SELECT id, parent, merged, generation, unreferenced FROM commits WHERE repo = :repo",
        {"repo": repo},
    )
    return {row["id"]: _link(row) for row in rows}


def children(session: Session, repo: int, commit_id: str, *, good: bool = False) -> list[str]:
    """The commits that build on one; with `good` without those that ended in error."""
    more = "AND error IS NULL" if good else ""
    rows = session.all(
        f"""SELECT id FROM commits WHERE repo = :repo
            AND (parent = :id OR merged LIKE :pattern) {more} ORDER BY id""",
        {"repo": repo, "id": commit_id, "pattern": f"%{commit_id}%"},
    )
    return [row["id"] for row in rows]


def reparent(session: Session, repo: int, old: str, new: str | None) -> None:
    """Hang the children of `old` below `new`, and work out their places again."""
    stack = children(session, repo, old)
    for child in stack:
        row = session.one(
            "SELECT parent, merged FROM commits WHERE repo = :repo AND id = :id",
            {"repo": repo, "id": child},
        )
        assert row is not None
        parent = new if row["parent"] == old else row["parent"]
        merged = dict.fromkeys(new if m == old else m for m in row["merged"].split())
        session.execute(
            "UPDATE commits SET parent = :parent, merged = :merged WHERE repo = :repo AND id = :id",
            {
                "repo": repo,
                "id": child,
                "parent": parent,
                "merged": " ".join(m for m in merged if m and m != parent),
            },
        )
    _replace_below(session, repo, stack)


def remove(session: Session, repo: int, commit_ids: Sequence[str]) -> None:
    for commit_id in commit_ids:
        one = {"repo": repo, "id": commit_id}
        session.execute(
            """DELETE FROM provenance WHERE (repo = :repo AND id = :id)
               OR (source_repo = :repo AND source_id = :id)""",
            one,
        )
        for table in ("staged", "batches"):
            session.execute(f"DELETE FROM {table} WHERE repo = :repo AND id = :id", one)
        deletions.remove_commit(session, repo, commit_id)
        # A job without a commit to fill has nothing left to do.
        session.execute(
            """UPDATE jobs SET state = 'killed', reason = :reason, finished = :now,
                   expires = 0 WHERE repo = :repo AND id = :id AND finished IS NULL""",
            {**one, "now": session.now(), "reason": Told(Kind.COMMIT_REMOVED).to_text()},
        )
        session.execute("DELETE FROM commits WHERE repo = :repo AND id = :id", one)


def mark_unreferenced(session: Session, repo: int, commit_id: str, at: int | None) -> None:
    session.execute(
        "UPDATE commits SET unreferenced = :at WHERE repo = :repo AND id = :id",
        {"repo": repo, "id": commit_id, "at": at},
    )


def pruning(session: Session, repo: int) -> tuple[int, ...]:
    """Numbers that change when history does while branches and tags stay: squashed, forgotten."""
    row = session.one(
        """SELECT count(*) AS finished, count(error) AS failed, count(forgotten) AS forgotten
           FROM commits WHERE repo = :repo AND finished IS NOT NULL""",
        {"repo": repo},
    )
    assert row is not None
    return row["finished"], row["failed"], row["forgotten"]


def with_error(session: Session) -> list[tuple[int, str]]:
    """Commits of jobs that failed: (repo, id)."""
    rows = session.all("SELECT repo, id FROM commits WHERE error IS NOT NULL")
    return [(row["repo"], row["id"]) for row in rows]


def unfinished_of(session: Session, origin: Origin) -> list[tuple[int, str]]:
    """Open commits of an origin: (repo, id)."""
    rows = session.all(
        "SELECT repo, id FROM commits WHERE finished IS NULL AND origin = :origin",
        {"origin": str(origin)},
    )
    return [(row["repo"], row["id"]) for row in rows]


def count(session: Session) -> int:
    found = session.one("SELECT count(*) AS n FROM commits")
    return int(found["n"]) if found else 0


def every(session: Session) -> dict[tuple[int, str], Row]:
    """All commits of the lake as they are stored, by repo and id."""
    return {(row["repo"], row["id"]): row for row in session.all("SELECT * FROM commits")}


def not_below_parent(session: Session, repo: int) -> list[str]:
    """Commits whose depth is not that of their parent and one more."""
    rows = session.all(
        """SELECT c.id FROM commits c JOIN commits p ON p.repo = c.repo AND p.id = c.parent
           WHERE c.repo = :repo AND c.depth <> p.depth + 1""",
        {"repo": repo},
    )
    return [row["id"] for row in rows]


def mark_forgotten(session: Session, repo: int, commit_id: str, at: int) -> None:
    session.execute(
        """UPDATE commits SET forgotten = :at, root = NULL, root_hash = NULL
           WHERE repo = :repo AND id = :id""",
        {"repo": repo, "id": commit_id, "at": at},
    )


def every_root(session: Session) -> list[Row]:
    """Where the tree of every commit in the lake is kept, also of deleted repos."""
    return list(
        session.all(
            """SELECT c.repo, c.id, c.root, c.root_hash, r.project, r.name FROM commits c
               JOIN every_repo r ON r.key = c.repo WHERE c.root IS NOT NULL ORDER BY c.repo, c.id"""
        )
    )


def replace_root(session: Session, old: str, root: str, root_hash: str) -> None:
    """Give all commits that have this tree another one, of the same files."""
    session.execute(
        "UPDATE commits SET root = :root, root_hash = :root_hash WHERE root = :old",
        {"old": old, "root": root, "root_hash": root_hash},
    )


def replace_error(session: Session, repo: int, commit_id: str, error: str) -> None:
    """Say something else in place of what a commit failed with."""
    session.execute(
        """UPDATE commits SET error = :error
           WHERE repo = :repo AND id = :id AND error IS NOT NULL""",
        {"repo": repo, "id": commit_id, "error": error},
    )


def add_provenance(
    session: Session, repo: int, commit_id: str, source: int, source_id: str
) -> None:
    session.execute(
        """INSERT INTO provenance (repo, id, source_repo, source_id)
           VALUES (:repo, :id, :source, :source_id) ON CONFLICT DO NOTHING""",
        {"repo": repo, "id": commit_id, "source": source, "source_id": source_id},
    )


def replace_provenance(
    session: Session, repo: int, commit_id: str, source_repo: int, source_id: str | None
) -> None:
    """Of all that a commit has from one repo, this is what it was made from."""
    session.execute(
        """DELETE FROM provenance
           WHERE repo = :repo AND id = :id AND source_repo = :source""",
        {"repo": repo, "id": commit_id, "source": source_repo},
    )
    if source_id is not None:
        add_provenance(session, repo, commit_id, source_repo, source_id)


def sources(session: Session, repo: int, commit_id: str) -> list[RepoCommit]:
    """The commits that this one was computed from."""
    return _edges(
        session,
        """SELECT r.project, r.name, p.source_id AS id FROM provenance p
           JOIN repos r ON r.key = p.source_repo
           WHERE p.repo = :repo AND p.id = :id ORDER BY r.project, r.name""",
        repo,
        commit_id,
    )


def source_places(session: Session, repo: int, commit_id: str) -> list[tuple[int, str]]:
    """As `sources`, also of deleted repos: (repo, id)."""
    rows = session.all(
        "SELECT source_repo, source_id FROM provenance WHERE repo = :repo AND id = :id",
        {"repo": repo, "id": commit_id},
    )
    return [(row["source_repo"], row["source_id"]) for row in rows]


def derived(session: Session, repo: int, commit_id: str) -> list[RepoCommit]:
    """The commits that were computed from this one."""
    return _edges(
        session,
        """SELECT r.project, r.name, p.id FROM provenance p JOIN repos r ON r.key = p.repo
           WHERE p.source_repo = :repo AND p.source_id = :id ORDER BY r.project, r.name""",
        repo,
        commit_id,
    )


def derived_places(session: Session, repo: int, commit_id: str) -> list[tuple[int, RepoCommit]]:
    """As `derived`, also those of deleted repos, each with the key of its repo."""
    rows = session.all(
        """SELECT p.repo, r.project, r.name, p.id FROM provenance p
           JOIN every_repo r ON r.key = p.repo
           WHERE p.source_repo = :repo AND p.source_id = :id ORDER BY r.project, r.name""",
        {"repo": repo, "id": commit_id},
    )
    return [
        (row["repo"], RepoCommit(RepoName(row["project"], row["name"]), row["id"])) for row in rows
    ]


def every_provenance(session: Session) -> Sequence[Row]:
    return session.all("SELECT repo, id, source_repo, source_id FROM provenance")


def stage(session: Session, repo: int, commit_id: str, key: str) -> None:
    """Remember an object that lists changes made to an open commit."""
    session.execute(
        """INSERT INTO staged (repo, id, position, key)
           SELECT :repo, :id, count(*), :key FROM staged WHERE repo = :repo AND id = :id""",
        {"repo": repo, "id": commit_id, "key": key},
    )


def staged(session: Session, repo: int, commit_id: str) -> list[str]:
    rows = session.all(
        "SELECT key FROM staged WHERE repo = :repo AND id = :id ORDER BY position",
        {"repo": repo, "id": commit_id},
    )
    return [row["key"] for row in rows]


def every_staged(session: Session) -> list[str]:
    return [row["key"] for row in session.all("SELECT key FROM staged")]


def unstage(session: Session, repo: int, commit_id: str) -> None:
    session.execute(
        "DELETE FROM staged WHERE repo = :repo AND id = :id", {"repo": repo, "id": commit_id}
    )


def _place(
    session: Session, repo: int, parent: str | None, merged: Iterable[str]
) -> tuple[int, int, str | None]:
    generation = 0
    for other in merged:
        row = session.one(
            "SELECT generation FROM commits WHERE repo = :repo AND id = :id",
            {"repo": repo, "id": other},
        )
        generation = max(generation, row["generation"] if row else 0)
    if parent is None:
        return 1, generation + 1, None
    row = session.one(
        """SELECT p.depth, p.generation, p.jump, j.depth AS jump_depth, j.jump AS far,
                  f.depth AS far_depth
           FROM commits p LEFT JOIN commits j ON j.repo = p.repo AND j.id = p.jump
           LEFT JOIN commits f ON f.repo = p.repo AND f.id = j.jump
           WHERE p.repo = :repo AND p.id = :id""",
        {"repo": repo, "id": parent},
    )
    if row is None:
        raise RuntimeError(f"the parent {parent} is gone")
    balanced = (
        row["far"] is not None
        and row["depth"] - row["jump_depth"] == row["jump_depth"] - row["far_depth"]
    )
    jump = row["far"] if balanced else parent
    return row["depth"] + 1, max(generation, row["generation"]) + 1, jump


def _replace_below(session: Session, repo: int, roots: Iterable[str]) -> None:
    """Recompute the place of commits and of all below them, parents first."""
    known = links(session, repo)
    below: dict[str, list[str]] = {}
    for link in known.values():
        for parent in link.parents:
            below.setdefault(parent, []).append(link.id)
    affected: set[str] = set()
    stack = list(roots)
    while stack:
        commit_id = stack.pop()
        if commit_id not in affected:
            affected.add(commit_id)
            stack.extend(below.get(commit_id, ()))
    for commit_id in sorted(affected, key=lambda i: known[i].generation):
        link = known[commit_id]
        depth, generation, jump = _place(session, repo, link.parent, link.merged)
        session.execute(
            """UPDATE commits SET depth = :depth, generation = :generation, jump = :jump
               WHERE repo = :repo AND id = :id""",
            {"repo": repo, "id": commit_id, "depth": depth, "generation": generation, "jump": jump},
        )


def _edges(session: Session, sql: str, repo: int, commit_id: str) -> list[RepoCommit]:
    rows = session.all(sql, {"repo": repo, "id": commit_id})
    return [RepoCommit(RepoName(row["project"], row["name"]), row["id"]) for row in rows]


def _link(row: Row) -> Link:
    merged = tuple(row["merged"].split())
    return Link(row["id"], row["parent"], merged, row["generation"], row["unreferenced"])


def _commit(row: Row) -> Commit:
    return Commit(
        id=row["id"],
        repo=RepoName(row["project"], row["repo_name"]),
        branch=row["branch"],
        parent=row["parent"],
        merged=tuple(row["merged"].split()),
        message=row["message"],
        author=row["author"],
        started=row["started"],
        finished=row["finished"],
        origin=Origin(row["origin"]),
        error=row["error"],
        root=row["root"],
        root_hash=row["root_hash"],
        files=row["files"],
        size=row["size"],
        depth=row["depth"],
        generation=row["generation"],
        forgotten=row["forgotten"],
    )
