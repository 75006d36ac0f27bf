"""What has a text in its name, among the repos that somebody may read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from trunkline.storage.catalog.database import Row, Session

MOST = 200
"""So many of a kind are looked at; the shortest names, which fit best, come first."""


class HeadTree(NamedTuple):
    """The head of a repo's default branch, and where its tree is kept."""

    repo: int
    commit: str
    files: int
    root: str | None
    root_hash: str | None


def branches(session: Session, text: str, among: Collection[int]) -> Sequence[Row]:
    return session.all(
        f"""SELECT repo, name, head FROM branches
            WHERE repo IN ({_keys(among)}) AND {_like("name")}
            ORDER BY length(name), name, repo LIMIT :most""",
        _pattern(text),
    )


def tags(session: Session, text: str, among: Collection[int]) -> Sequence[Row]:
    return session.all(
        f"""SELECT repo, name, commit_id, message FROM tags
            WHERE repo IN ({_keys(among)}) AND ({_like("name")} OR {_like("message")})
            ORDER BY length(name), name, repo LIMIT :most""",
        _pattern(text),
    )


def messages(session: Session, text: str, among: Collection[int]) -> Sequence[Row]:
    """The newest commits whose message people wrote: those of pipelines name what they read."""
    return session.all(
        f"""SELECT repo, id, message, author FROM commits
            WHERE repo IN ({_keys(among)}) AND origin = 'user' AND {_like("message")}
            ORDER BY id DESC LIMIT :most""",
        _pattern(text),
    )


def commits_by_id(session: Session, prefix: str, among: Collection[int]) -> Sequence[Row]:
    return session.all(
        f"""SELECT repo, id, message, origin FROM commits
            WHERE id >= :low AND id < :high AND repo IN ({_keys(among)})
            ORDER BY id DESC, started LIMIT :most""",
        {"low": prefix, "high": f"{prefix}g", "most": MOST},
    )


def jobs_by_id(session: Session, prefix: str, among: Collection[int]) -> Sequence[Row]:
    return session.all(
        f"""SELECT repo, id, state FROM jobs
            WHERE id >= :low AND id < :high AND repo IN ({_keys(among)})
            ORDER BY id DESC, created LIMIT :most""",
        {"low": prefix, "high": f"{prefix}g", "most": MOST},
    )


def trees(session: Session, branch: str, among: Collection[int]) -> list[HeadTree]:
    """The heads of a branch in these repos, the newest first."""
    rows = session.all(
        f"""SELECT c.repo, c.id, c.files, c.root, c.root_hash FROM branches b
            JOIN commits c ON c.repo = b.repo AND c.id = b.head
            WHERE b.name = :branch AND b.repo IN ({_keys(among)}) AND c.forgotten IS NULL
            ORDER BY c.finished DESC, c.repo""",
        {"branch": branch},
    )
    return [HeadTree(*(row[name] for name in _TREE)) for row in rows]


_TREE = ("repo", "id", "files", "root", "root_hash")


def _pattern(text: str) -> dict[str, object]:
    plain = text.lower()
    for sign in ("!", "%", "_"):
        plain = plain.replace(sign, f"!{sign}")
    return {"pattern": f"%{plain}%", "most": MOST}


def _like(column: str) -> str:
    return f"lower({column}) LIKE :pattern ESCAPE '!'"


def _keys(keys: Iterable[int]) -> str:
    return ", ".join(str(int(key)) for key in sorted(keys)) or "NULL"
