"""Finding things by a part of their name, wherever in the lake they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from trunkline.errors import TrunklineError
from trunkline.lake import files
from trunkline.lake.core import Core, Sees
from trunkline.lake.flowkinds import flow_of
from trunkline.model.commits import DEFAULT_BRANCH, RepoKind, RepoName
from trunkline.model.entries import Entry, line_path
from trunkline.model.hidden import hidden
from trunkline.model.overview import Found, Hit
from trunkline.model.recent import Recent
from trunkline.model.tables import TABLE_FILE, TableSpec
from trunkline.pipelines.spec.codec import view_of
from trunkline.storage.catalog import Session
from trunkline.storage.catalog import overview as catalog
from trunkline.storage.catalog import search as rows
from trunkline.storage.catalog.search import HeadTree

MOST_ENTRIES = 50_000
"""So many lines of trees are read for one search."""
MOST_SECONDS = 2.0
"""So long trees are read, which may be far away."""
SHORTEST_ID = 6
KNOWN = 5000
"""So many tables' columns are kept in memory."""
WHOLE, START, PART, SAID, NOT = range(5)
"""How well something fits: by its whole name … by what else is said of it, or not at all."""
KINDS = (
    *("repo", "pipeline", "stream", "ingest", "table", "column"),
    *("branch", "tag", "commit", "job", "file"),
)
_HEX = frozenset("0123456789abcdef")


class Ranked(NamedTuple):
    """A hit, and how well it fits."""

    fit: int
    hit: Hit


def search(core: Core, text: str, limit: int, sees: Sees | None = None) -> Found:
    """The best hits: a whole name before the beginning of one, that before a part."""
    wanted = text.strip().lower()
    if not wanted:
        return Found(())
    with core.database.read() as session:
        names = {
            node.key: node.name
            for node in catalog.nodes(session)
            if sees is None or sees(node.name)
        }
        found = list(_named(session, wanted, names))
        heads = rows.trees(session, DEFAULT_BRANCH, names)
    inside = _Inside(core, wanted, names, limit)
    inside.look(heads)
    found += inside.found
    found.sort(key=lambda one: (one.fit, KINDS.index(one.hit.kind), len(one.hit.text)))
    return Found(tuple(one.hit for one in found[:limit]), inside.partial)


def _named(session: Session, text: str, names: Mapping[int, RepoName]) -> Iterator[Ranked]:
    """What the catalog knows by name."""
    versions = catalog.versions(session, None)
    for node in catalog.nodes(session):
        if node.key not in names:
            continue
        version = versions.get(node.key)
        kind = "repo" if version is None else (flow_of(view_of(version.spec)) or "pipeline")
        said = node.description if version is None else view_of(version.spec).description
        fit = min(_fit(text, node.name.repo), _fit(text, f"{node.name.project}/{node.name.repo}"))
        fit = min(fit, _said(text, said))
        if fit <= SAID:
            detail = said or ("ticks" if node.kind == RepoKind.CRON else "")
            yield Ranked(fit, Hit(kind, node.name, str(node.name), detail))
    for row in rows.branches(session, text, names):
        hit = Hit("branch", names[row["repo"]], row["name"], commit=row["head"])
        yield Ranked(_fit(text, row["name"]), hit)
    for row in rows.tags(session, text, names):
        hit = Hit("tag", names[row["repo"]], row["name"], row["message"], row["commit_id"])
        yield Ranked(min(_fit(text, row["name"]), _said(text, row["message"])), hit)
    for row in rows.messages(session, text, names):
        hit = Hit("commit", names[row["repo"]], row["message"], f"by {row['author']}", row["id"])
        yield Ranked(_said(text, row["message"]), hit)
    if len(text) >= SHORTEST_ID and _HEX.issuperset(text):
        for row in rows.commits_by_id(session, text, names):
            # What a pipeline says of its commits names what it reads.
            detail = row["message"] if row["origin"] == "user" else row["origin"]
            hit = Hit("commit", names[row["repo"]], row["id"], detail, row["id"])
            yield Ranked(_fit(text, row["id"]), hit)
        for row in rows.jobs_by_id(session, text, names):
            hit = Hit("job", names[row["repo"]], row["id"], row["state"], row["id"])
            yield Ranked(_fit(text, row["id"]), hit)


@dataclass(slots=True)
class _Inside:
    """Looks into trees for files, tables and columns, until it has seen enough."""

    core: Core
    text: str
    names: Mapping[int, RepoName]
    limit: int
    found: list[Ranked] = field(default_factory=list)
    partial: bool = False
    _left: int = MOST_ENTRIES
    _files: int = 0
    _until: float = 0.0

    def look(self, heads: list[HeadTree]) -> None:
        self._left, self._until = MOST_ENTRIES, monotonic() + MOST_SECONDS
        for head in heads:
            if self._left <= 0 or monotonic() > self._until:
                self.partial = True
                return
            try:
                self._look_into(head)
            except TrunklineError:
                # A tree that cannot be read is fsck's business; others can be searched.
                self.partial = True

    def _look_into(self, head: HeadTree) -> None:
        wanted, recorded = self.text.encode(), b"/" + TABLE_FILE.encode()
        for lines in self.core.manifests.read(head.root, head.root_hash).chunks():
            if self._left <= 0 or monotonic() > self._until:
                self.partial = True
                return
            self._left -= len(lines)
            for line in lines:
                path = line_path(line)
                if path.endswith(recorded):
                    self._look_at_table(head, line)
                elif self._fits(wanted, path) and not hidden(path.decode(), self.text):
                    self._add_file(head, path.decode())

    def _fits(self, wanted: bytes, path: bytes) -> bool:
        if wanted in path.lower():
            return True
        # Letters beyond ASCII have a lower case only as text.
        return not wanted.isascii() and self.text in path.decode().lower()

    def _add_file(self, head: HeadTree, path: str) -> None:
        fit = min(_fit(self.text, path.rpartition("/")[2]), _fit(self.text, path.lstrip("/")))
        if fit == PART:
            # Of thousands that hold the text in their path, no more than are shown are kept.
            self._files += 1
            if self._files > self.limit:
                return
        repo = self.names[head.repo]
        self.found.append(Ranked(fit, Hit("file", repo, path, commit=head.commit, path=path)))

    def _look_at_table(self, head: HeadTree, line: bytes) -> None:
        entry = Entry.decode(line)
        path = entry.path.rpartition("/")[0] or "/"
        repo = self.names[head.repo]
        name = path.rpartition("/")[2] or repo.repo
        fit = _fit(self.text, name)
        if fit <= PART:
            hit = Hit("table", repo, name, commit=head.commit, path=path)
            self.found.append(Ranked(fit, hit))
        for column, type_ in _columns(self.core, entry):
            fit = _fit(self.text, column)
            if fit <= PART:
                hit = Hit("column", repo, column, f"{type_} of {name}", head.commit, path, column)
                self.found.append(Ranked(fit, hit))


def _fit(text: str, name: str) -> int:
    name = name.lower()
    if name == text:
        return WHOLE
    return START if name.startswith(text) else PART if text in name else NOT


def _said(text: str, words: str) -> int:
    return SAID if text in words.lower() else NOT


_known: Recent[str, tuple[tuple[str, str], ...]] = Recent(KNOWN)


def _columns(core: Core, entry: Entry) -> tuple[tuple[str, str], ...]:
    """Names and types that a table's folder records; by the hash of the bytes, read once."""

    def read() -> tuple[tuple[str, str], ...]:
        spec = TableSpec.decode(b"".join(files.read(core, entry)))
        return tuple((one.name, str(one.type)) for one in spec.schema.columns)

    try:
        return _known.get(entry.checksum, read)
    except (ValueError, TrunklineError):
        return ()
