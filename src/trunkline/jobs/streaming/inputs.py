"""What a job of a stream reads: streams from where the flow stands, and tables beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline.engine.streaming.task import StreamSource
from trunkline.engine.transform import Source
from trunkline.errors import Precondition, TransformFailed
from trunkline.jobs.context import Context
from trunkline.jobs.streaming.cutting import Micro, cut
from trunkline.jobs.streaming.malformed import diverted
from trunkline.jobs.streaming.positions import commit_of
from trunkline.jobs.streaming.results import Results
from trunkline.jobs.streaming.sources import given, schema_at
from trunkline.jobs.streaming.steps import steps
from trunkline.jobs.tableinputs import TableInputs
from trunkline.lake.core import Core, repo_key, resolve
from trunkline.model.commits import Commit
from trunkline.model.inputs import Pfs
from trunkline.model.jobs import JobInput
from trunkline.model.refs import Ref
from trunkline.model.streams import Flow, Static
from trunkline.model.tables import Schema
from trunkline.storage.catalog import commits
from trunkline.storage.objects.keys import KeyMaker

if TYPE_CHECKING:
    from trunkline.engine.session import Session


class StreamInputs:
    """The inputs of one job."""

    def __init__(self, core: Core, context: Context, flow: Flow, keys: KeyMaker) -> None:
        self._core = core
        self._keys = keys
        self._flow = flow
        self._name = str(context.version.name)
        self._leaves = [leaf for leaf in context.leaves if isinstance(leaf, Pfs)]
        self._until = {one.name: one.commit for one in context.inputs}
        self._static = {leaf.name: self._fixed(leaf) for leaf in self._leaves if leaf.stream.static}
        self._schemas: dict[str, Schema] = {
            name: Schema.from_list(columns)
            for name, columns in flow.facts.get("schemas", {}).items()
        }
        self.inputs = tuple(
            replace(one, commit=self._static.get(one.name, one.commit)) for one in context.inputs
        )
        self._tables = TableInputs(core, self._at_fixed(context))

    # -- streams -----------------------------------------------------------------------------

    def micros(self) -> Iterator[Micro]:
        """What is new, in micro-batches. Those without rows only move the position on."""
        streams = [leaf for leaf in self._leaves if leaf.name not in self._static]
        found = {
            leaf.name: steps(
                self._core,
                leaf,
                self._flow.position.get(leaf.name),
                self._until.get(leaf.name),
                self._name,
                snapshot=leaf.stream.limit.commits is None,
            )
            for leaf in streams
        }
        yield from cut(found, {leaf.name: leaf.stream.limit for leaf in streams})

    def rows(self, micro: Micro, session: Session, results: Results) -> dict[str, Source]:
        """The rows of a micro-batch by input; those that cannot be read go to the results."""
        found = {}
        for leaf in self._leaves:
            if leaf.name not in micro.steps:
                continue
            there = given(self._core, self._keys, leaf, micro.steps[leaf.name])
            if there is None:
                continue
            divided = diverted(self._core, session, self._keys, there)
            if divided.malformed is not None:
                results.add_malformed(leaf.name, divided.malformed)
            found[leaf.name] = divided.source
        return found

    def sources(self, micro: Micro | None) -> dict[str, StreamSource]:
        """The inputs as the query is told of them. Their columns are those of the newest rows."""
        if micro is not None:
            self._schemas.update(micro.schemas)
        return {
            leaf.name: StreamSource(self._schema(leaf), leaf.stream.watermark, self._whole(leaf))
            for leaf in self._leaves
        }

    def _schema(self, leaf: Pfs) -> Schema:
        if leaf.name in self._static:
            return Schema()
        if leaf.name not in self._schemas:
            found = schema_at(self._core, leaf, self._commit(leaf, self._until.get(leaf.name)))
            if found is None:
                raise NothingYet(
                    f"{leaf.repo} has no table yet, so nobody knows the columns of {leaf.name}."
                )
            self._schemas[leaf.name] = found
        return self._schemas[leaf.name]

    @property
    def schemas(self) -> dict[str, Any]:
        """What is known of the columns, to be remembered with the flow."""
        return {name: schema.to_list() for name, schema in self._schemas.items()}

    # -- tables beside them ------------------------------------------------------------------

    def _fixed(self, leaf: Pfs) -> str | None:
        """The commit that a table is read at."""
        how = leaf.stream.static
        if how == Static.MOVING:
            return self._until.get(leaf.name)
        if how == Static.PINNED:
            found: str | None = self._flow.position.get(leaf.name) or self._until.get(leaf.name)
            return found
        with self._core.database.read() as session:
            return resolve(session, Ref(leaf.repo, how)).id

    def _at_fixed(self, context: Context) -> Context:
        """The same context, its tables at the commits that they are read at."""
        trees = list(context.trees)
        for number, leaf in enumerate(context.leaves):
            if leaf.name in self._static and isinstance(leaf, Pfs):
                trees[number] = self._core.tree(self._commit(leaf, self._static[leaf.name]))
        return replace(context, trees=tuple(trees))

    def _whole(self, leaf: Pfs) -> Source | None:
        if leaf.name not in self._static:
            return None
        if self._static[leaf.name] is None:
            raise TransformFailed(
                f"{leaf.repo}@{leaf.branch} has no commit yet, and {self._name} reads it as a "
                "table."
            )
        return self._tables.whole(self._leaves.index(leaf))

    # -- how far -----------------------------------------------------------------------------

    def pinned(self) -> dict[str, str]:
        """The commits that tables stay at until the stream is restarted."""
        return {
            leaf.name: commit
            for leaf in self._leaves
            if leaf.stream.static == Static.PINNED and (commit := self._static[leaf.name])
        }

    def read(self, position: Mapping[str, str]) -> tuple[JobInput, ...]:
        """The commits that were read, up to a position."""
        return tuple(
            one
            if one.name in self._static or one.name not in position
            else replace(one, commit=commit_of(position[one.name]))
            for one in self.inputs
        )

    def beyond(self, position: Mapping[str, str]) -> dict[str, str]:
        """The commits that the job was to read up to and did not come to."""
        return {
            name: commit
            for name, commit in self._until.items()
            if name not in self._static and commit and position.get(name) != commit
        }

    def _commit(self, leaf: Pfs, commit_id: str | None) -> Commit | None:
        if commit_id is None:
            return None
        with self._core.database.read() as session:
            return commits.find(session, repo_key(session, leaf.repo), commit_id)


class NothingYet(Precondition):
    """An input has never had rows: there is nothing to do, and nothing wrong."""
