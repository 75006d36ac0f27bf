"""The tables of a lake as a catalog, and the files that were made for readers, kept a while."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from trunkline.errors import NotFound, Precondition
from trunkline.lake.core import Core, Sees
from trunkline.model.commits import DEFAULT_BRANCH, Commit, Project, Repo, RepoName
from trunkline.model.recent import Recent
from trunkline.query.rights import everything
from trunkline.server.iceberg.keys import METADATA, Virtual
from trunkline.server.iceberg.metadata import Heads, History, Json, history_of, metadata_of
from trunkline.server.iceberg.names import Place
from trunkline.server.iceberg.shapes import Seen, Shape, parquet_tables, shape_of
from trunkline.server.iceberg.versions import Walk
from trunkline.server.s3.names import bucket_of, reading
from trunkline.settings import Settings
from trunkline.storage.catalog import Session, commits, refs, repos

T = TypeVar("T")
KEPT_TABLES = 64
KEPT_LISTS = 1024
KEPT_SHAPES = 20_000
KEPT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Found:
    """A table that is there: what it is known by for all time, and its versions."""

    place: Place
    identity: str
    head: str
    history: History

    def metadata(
        self, message_of: Callable[[Commit], str] | None = None, only_refs: bool = False
    ) -> Json:
        return metadata_of(self.place, self.identity, self.history, message_of, only_refs)


class Catalog:
    """What is asked for by name, by those who may: rights are looked at before."""

    def __init__(self, core: Core, settings: Settings) -> None:
        self._core = core
        self._most = max(settings.number("server.iceberg.snapshots"), 1)
        self._lists: Kept[tuple[str, ...]] = Kept(KEPT_LISTS)
        self._shapes: Kept[Shape | None] = Kept(KEPT_SHAPES)
        self._seen = Seen()
        self._tables: Kept[Found] = Kept(KEPT_TABLES)
        self._objects: Kept[dict[str, bytes]] = Kept(
            KEPT_BYTES, KEPT_BYTES, lambda made: min(KEPT_BYTES, sum(map(len, made.values())))
        )

    def projects(self) -> list[Project]:
        with self._core.database.read() as session:
            return repos.projects(session)

    def repos(self, project: str) -> list[RepoName]:
        """The repos of a project that people see. Those of the system are such as orders.code."""
        with self._core.database.read() as session:
            names = repos.names(session, project)
        return [RepoName(project, name) for name in names if "." not in name]

    def places(self, repo: RepoName) -> list[Place]:
        """The tables of a repo, as main has them."""
        with self._core.database.read() as session:
            key = repos.key_of(session, repo)
            branch = refs.branch(session, key, DEFAULT_BRANCH) if key is not None else None
            head = branch.head if branch else None
            commit = commits.find(session, key, head) if key is not None and head else None
        if commit is None or commit.root_hash is None:
            return []
        paths = self._lists.get(
            commit.root_hash, lambda: parquet_tables(self._core, self._core.tree(commit))
        )
        return [Place(repo, path) for path in paths]

    def table(self, place: Place, sees: Sees = everything) -> Found:
        """A table with its history as the refs have it now; NotFound if main has none there."""
        with self._core.database.read() as session:
            known = repos.find(session, place.repo)
            if known is None:
                raise NotFound(f'There is no table "{place}".')
            _require_bucket(session, place.repo, sees)
            branches = refs.branches(session, known.key)
            tags = refs.tags(session, known.key)
            pruned = commits.pruning(session, known.key)
        heads = Heads(
            tuple((one.name, one.head) for one in branches if one.head),
            tuple((one.name, one.commit) for one in tags),
        )
        identity = _identity(known, place.path)
        return self._tables.get(
            (identity, heads, pruned), lambda: self._found(place, known.key, identity, heads)
        )

    def _found(self, place: Place, key: int, identity: str, heads: Heads) -> Found:
        walk = Walk(self._core, key, place.path, lambda commit: self._shape(commit, place))
        history = history_of(walk, heads, self._most, place)
        return Found(place, identity, history.current.commit.id, history)

    def _shape(self, commit: Commit, place: Place) -> Shape | None:
        name = f"{place.repo}@{commit.short_id}:{place.path}"
        return self._shapes.get(
            (commit.root_hash, place.path),
            lambda: shape_of(self._core, self._core.tree(commit), place.path, name, self._seen),
        )

    # -- files that are made ---------------------------------------------------------------------

    def made(self, repo: RepoName, asked: Virtual) -> bytes | None:
        """The bytes of a file about a table; None if there is none such."""
        with self._core.database.read() as session:
            known = repos.find(session, repo)
            commit = commits.find(session, known.key, asked.commit) if known else None
            parent = commit.parent if commit else None
            before = commits.find(session, known.key, parent) if known and parent else None
        if known is None or commit is None or commit.finished is None or commit.error is not None:
            return None
        if before is not None and (before.finished is None or before.forgotten is not None):
            before = None
        place = Place(repo, asked.path)
        identity = _identity(known, place.path)

        def make() -> dict[str, bytes]:
            from trunkline.server.iceberg.avrofiles import avro_files

            if asked.name != METADATA:
                return avro_files(self._core, place, commit, before)
            heads = Heads(((DEFAULT_BRANCH, commit.id),))
            found = self._found(place, known.key, identity, heads)
            return {METADATA: json.dumps(found.metadata()).encode()}

        kind = "metadata" if asked.name == METADATA else "avro"
        try:
            self._core.tree(commit)  # what was forgotten is not told of from memory
            return self._objects.get((identity, commit.root_hash, commit.id, kind), make).get(
                asked.name
            )
        except NotFound:
            return None


def _identity(repo: Repo, path: str) -> str:
    """What a table is known by for all time: a repo that is made anew has other tables."""
    return f"trunkline:{repo.key}:{repo.created}:{path}"


def _require_bucket(session: Session, repo: RepoName, sees: Sees) -> None:
    """That the S3 door has this repo where readers will look: see `s3.names`."""
    bucket = bucket_of(repo)
    if reading(bucket, lambda one: sees(one) and repos.key_of(session, one) is not None) != repo:
        raise Precondition(
            f"{repo} cannot be read here: at the S3 door, the name {bucket} is taken.",
            hint="Ask an admin.",
        )


class Kept(Recent[Hashable, T]):
    """Who asks for the same at once waits: clients that lose their patience ask again."""

    def __init__(self, *bounds: Any) -> None:
        super().__init__(*bounds)
        self._gates: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        gate = self._gates.setdefault(key, threading.Lock())
        try:
            with gate:
                return super().get(key, make)
        finally:
            self._gates.pop(key, None)
