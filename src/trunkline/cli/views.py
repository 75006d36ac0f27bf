"""How each noun looks as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trunkline.cli.output import Column, Style
from trunkline.cli.text import aligned, count, duration, fields, human_size, local_time, printable
from trunkline.model.shape import as_json
from trunkline.settings import Kind, Scalar, Value, setting

if TYPE_CHECKING:
    from trunkline.model.commits import Branch, Commit, Repo, Tag
    from trunkline.model.files import Change, FileInfo
    from trunkline.model.streams import Batch

SHORT = 12
MARKS = {"added": "+", "removed": "-", "modified": "~"}


def short(commit_id: str | None) -> str:
    return commit_id[:SHORT] if commit_id else "-"


def first_line(message: str) -> str:
    return message.partition("\n")[0]


PROJECTS = (
    Column("NAME", lambda p: p.name),
    Column("REPOS", lambda p: str(p.repos), right=True),
    Column("CREATED", lambda p: local_time(p.created)),
    Column("DESCRIPTION", lambda p: p.description),
)

REPOS = (
    Column("NAME", lambda r: str(r.name)),
    Column("FILES", lambda r: f"{r.files:,}", right=True),
    Column("SIZE", lambda r: human_size(r.size), right=True),
    Column("BRANCHES", lambda r: ", ".join(r.branches) or "-"),
    Column("CREATED", lambda r: local_time(r.created)),
    Column("DESCRIPTION", lambda r: r.description),
)

BRANCHES = (
    Column("NAME", lambda b: b.name),
    Column("HEAD", lambda b: short(b.head)),
    Column("OPEN", lambda b: short(b.open)),
    Column("CREATED", lambda b: local_time(b.created)),
)


def trigger_columns(triggers: Mapping[str, Mapping[str, Any]]) -> tuple[Column, Column]:
    """What moves a branch, and how far that is; `triggers` by the branch they move."""
    return (
        Column("FOLLOWS", lambda b: trigger_text(triggers[b.name]) if b.name in triggers else "-"),
        Column("TRIGGER STATE", lambda b: triggers.get(b.name, {}).get("verdict") or "-"),
    )


def trigger_text(trigger: Mapping[str, Any]) -> str:
    """`main after 1 GB or 10 commits`, `main every 6 seconds`."""
    from trunkline.pipelines.cron import in_words
    from trunkline.pipelines.triggers import size_words

    parts = []
    if trigger["size"]:
        parts.append(f"after {size_words(trigger['size'], trigger['size'])}")
    if trigger["commits"]:
        parts.append(f"after {count(trigger['commits'], 'commit')}")
    if trigger["rate_limit"]:
        parts.append(f"at most {in_words(trigger['rate_limit'], trigger['timezone'])}")
    if trigger["cron"]:
        parts.append(in_words(trigger["cron"], trigger["timezone"]))
    return f"{trigger['on']} " + (" and " if trigger["all"] else " or ").join(parts)


TAGS = (
    Column("NAME", lambda t: t.name),
    Column("COMMIT", lambda t: short(t.commit)),
    Column("CREATED", lambda t: local_time(t.created)),
    Column("MESSAGE", lambda t: first_line(t.message)),
)

DELETED = (
    Column("ID", lambda d: str(d.id), right=True),
    Column("KIND", lambda d: d.kind),
    Column("NAME", lambda d: d.name),
    Column("COMMIT", lambda d: short(d.commit)),
    Column("DELETED", lambda d: local_time(d.at)),
    Column("BY", lambda d: d.author),
    Column("UNTIL", lambda d: local_time(d.until)),
)

COMMITS = (
    Column("ID", lambda c: short(c.id)),
    Column("FINISHED", lambda c: local_time(c.finished) if c.finished else "(open)"),
    Column("FILES", lambda c: f"{c.files:,}", right=True),
    Column("SIZE", lambda c: human_size(c.size), right=True),
    Column("AUTHOR", lambda c: c.author),
    Column("MESSAGE", lambda c: first_line(c.message)),
)

SETTINGS = (
    Column("NAME", lambda v: v.name),
    Column("VALUE", lambda v: setting_text(v)),
    Column("ORIGIN", lambda v: v.where),
)


def setting_text(value: Value) -> str:
    return scalar_text(value.value, setting(value.name).kind)


def scalar_text(value: Scalar, kind: Kind) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if kind is Kind.SIZE:
        return human_size(float(value))
    return duration(float(value)) if kind is Kind.DURATION else str(value)


def file_line(long: bool, exact: bool) -> Callable[[FileInfo], Iterable[str]]:
    def path(file: FileInfo) -> str:
        folder = file.type == "folder" and not file.path.endswith("/")
        return printable(file.path) + ("/" if folder else "")

    def in_short(file: FileInfo) -> Iterable[str]:
        return (path(file),)

    def in_full(file: FileInfo) -> Iterable[str]:
        size = f"{file.size:>14}" if exact else f"{human_size(file.size):>10}"
        return (f"{file.type:<6} {size}  {file.hash[:SHORT]:<{SHORT}}  {path(file)}",)

    return in_full if long else in_short


def change_line(style: Style) -> Callable[[Change], Iterable[str]]:
    def line(change: Change) -> Iterable[str]:
        mark = MARKS[change.change]
        return (style(mark, f"{mark} {printable(change.path)}") + f"  {sizes(change)}",)

    return line


def sizes(change: Change) -> str:
    known = [size for size in (change.old_size, change.new_size) if size is not None]
    return f"({' → '.join(map(human_size, known))})"


def stat_line(added: int, removed: int, modified: int) -> str:
    if not added + removed + modified:
        return "no differences"
    parts = [(added, "added"), (removed, "removed"), (modified, "modified")]
    return ", ".join(f"{number:,} {word}" for number, word in parts if number)


def commit_header(
    commit: Commit, style: Style, names: Sequence[str] = (), batch: Batch | None = None
) -> Iterator[str]:
    """A commit as `git log` shows one, with where its branches and tags point.

    `batch` is that of a stream or an ingest which made it.
    """
    at = f" ({', '.join(names)})" if names else ""
    yield style("id", f"commit {commit.id}") + style("head", at)
    pairs = [("Repo", f"{commit.repo}@{commit.branch}")]
    if commit.merged:
        pairs.append(("Merge", " ".join(short(parent) for parent in commit.parents)))
    pairs.append(("Author", printable(commit.author)))
    when = local_time(commit.finished) if commit.finished else "not finished"
    pairs.append(("Date", when))
    pairs.append(("Tree", f"{count(commit.files, 'file')}, {human_size(commit.size)}"))
    if commit.origin != "user":
        pairs.append(("Origin", str(commit.origin)))
    if batch is not None:
        from trunkline.cli.streamviews import batch_fields

        pairs += batch_fields(batch)
    if commit.error:
        pairs.append(("Error", printable(commit.error)))
    if commit.forgotten:
        pairs.append(("Forgotten", local_time(commit.forgotten)))
    yield from fields(pairs)
    if commit.message:
        yield ""
        for line in commit.message.splitlines():
            yield f"    {printable(line)}".rstrip()


def with_batch(commit: Commit, batch: Batch | None) -> Mapping[str, Any]:
    """The commit as JSON has it, with the facts of the batch that made it."""
    return {**as_json(commit), **({"batch": batch} if batch is not None else {})}


def commit_oneline(commit: Commit, style: Style, names: Sequence[str] = ()) -> str:
    at = style("head", f" ({', '.join(names)})") if names else ""
    text = printable(first_line(commit.message)) or "(no message)"
    return f"{style('id', short(commit.id))}{at} {text}"


def repo_page(repo: Repo, branches: Sequence[Branch], tags: Sequence[Tag]) -> Iterator[str]:
    yield from fields([
        ("Repo", str(repo.name)),
        ("Description", printable(repo.description) or "-"),
        ("Kind", str(repo.kind)),
        ("Created", local_time(repo.created)),
        ("Size", f"{human_size(repo.size)} in {count(repo.files, 'file')}"),
    ])  # fmt: skip
    yield from _section("Branches", BRANCHES, branches)
    yield from _section("Tags", TAGS, tags)


def _section(title: str, columns: Sequence[Column], items: Sequence[object]) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield f"{title}:"
    rows = [[printable(column.text(item)) for column in columns] for item in items]
    for line in aligned(rows, [column.right for column in columns]):
        yield f"  {line}"


def committed(commit: Commit) -> str:
    if commit.finished is None:
        return f"Added to the open commit {short(commit.id)} of {commit.repo}@{commit.branch}."
    tree = f"{count(commit.files, 'file')}, {human_size(commit.size)}"
    return f"{commit.repo}@{commit.branch} is now {short(commit.id)} ({tree})."
