"""Lineage of columns: from a column up to columns of what nobody computed, and down to all uses.

Jobs keep with their results which input columns each of their columns was made from, as Spark saw
it. Where none has run, or ran before this was kept, the text of a SQL pipeline tells the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from trunkline.engine.runner.task import DatumResult, read_lines
from trunkline.errors import NotFound, Precondition, TrunklineError
from trunkline.jobs.context import declared
from trunkline.jobs.records import Records
from trunkline.jobs.tracing import MOST_PARTS
from trunkline.lake.core import Core, repo_key, resolve
from trunkline.model.columns import ColumnLineage, ColumnNode
from trunkline.model.commits import Commit, RepoName
from trunkline.model.inputs import leaves
from trunkline.model.jobs import Job
from trunkline.model.pipelines import PipelineVersion
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import Column, Schema
from trunkline.pipelines import sqltext
from trunkline.pipelines.columns import Columns, sql_columns
from trunkline.pipelines.datums_lines import IndexLine
from trunkline.storage.catalog import flows, pipelines, repos
from trunkline.tables.describe import describe

# Datums of one part are of one transform: their columns hardly differ.
MOST_SAMPLES = 20
MOST_USES = 1_000
"""Columns that are followed downwards from one table; of more it is said that there are."""
_UNKNOWN = "its columns are not known"
_PLAIN = re.compile(r"[\w. -]+")


class _Table(NamedTuple):
    """A table at a commit; without one, as the newest version of its pipeline would make it."""

    repo: RepoName
    commit: str
    table: str


_Place = tuple[RepoName, str]
"""A table whatever its commit: its repo and folder."""


class _Made(NamedTuple):
    """What a table was made by: its columns, and the table that each input was."""

    pipeline: str
    columns: Columns | None
    inputs: Mapping[str, _Table]


def column_lineage(core: Core, ref: Ref, column: str | None = None) -> ColumnLineage:
    """What the columns of a table, or one of them, were made from, and what is made from them."""
    with core.database.read() as session:
        found = resolve(session, ref)
    table = (ref.path or "/").strip("/")
    start = _Table(ref.repo, found.commit.id if found.commit else "", table)
    walk = _Walk(core)
    up = walk.lineage(start, f"{ref.repo}@{ref.ref}", column)
    return replace(up, down=_Uses(walk).of(start, [one.column for one in up.columns]))


def columns_of(core: Core, job: Job, records: Records) -> dict[str, Columns]:
    """By output table, what a job and those whose results it kept know of their columns."""
    lines: dict[str, list[IndexLine]] = {}
    for line in records.index(job).scan(b""):
        one = IndexLine.decode(line)
        lines.setdefault(one.part, []).append(one)
        if len(lines) > MOST_PARTS:
            break
    found: dict[str, Columns] = {}
    for part, members in lines.items():
        texts = read_lines(core.objects.get(part))
        for one in members[:MOST_SAMPLES]:
            for table, columns in DatumResult.decode(texts[one.number]).columns.items():
                into = found.setdefault(table, {})
                for column, pairs in columns.items():
                    known = into.setdefault(column, [])
                    known += [(a, b) for a, b in pairs if (a, b) not in known]
    return found


class _Walk:
    """One question. Every table is looked at once."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.records = Records(core)
        self._made: dict[_Table, _Made | None] = {}
        self._told: set[tuple[_Table, str]] = set()
        self._kept: dict[tuple[RepoName, str], dict[str, Columns]] = {}

    def lineage(self, start: _Table, name: str, column: str | None) -> ColumnLineage:
        made = self.made(start)
        schema = self.schema(start)
        names = list(schema.names) if schema else list((made.columns or {}) if made else ())
        if not names:
            if made is None and not start.commit:
                raise NotFound(f"{name} has no commits yet.")
            raise Precondition(
                f"The columns of {name} are not known.",
                hint="Columns are followed through sql, spark and stream pipelines.",
            )
        if column is not None:
            exact = _find(column, names)
            if exact is None:
                raise NotFound(f"{name} has no column {column!r}.{did_you_mean(column, names)}")
            names = [exact]
        return ColumnLineage(name, tuple(self.node(start, one) for one in names))

    def node(self, table: _Table, column: str) -> ColumnNode:
        made = self.made(table)
        pipeline = made.pipeline if made else ""
        if (table, column) in self._told:
            goes_on = made is not None and bool(made.columns)
            return ColumnNode(*table, column, pipeline=pipeline, seen=goes_on)
        self._told.add((table, column))
        if made is None:
            return ColumnNode(*table, column)
        exact = _find(column, made.columns or ())
        if made.columns is None or exact is None:
            return ColumnNode(*table, column, pipeline=pipeline, note=_UNKNOWN)
        below = tuple(
            self.node(made.inputs[name], source)
            for name, source in made.columns[exact]
            if name in made.inputs
        )
        note = "" if below else "made from no column"
        return ColumnNode(*table, column, below, pipeline, note)

    def made(self, table: _Table) -> _Made | None:
        """What made a table; None if people did."""
        if table not in self._made:
            self._made[table] = self._by_job(table) if table.commit else self._by_text(table)
        return self._made[table]

    def _by_job(self, table: _Table) -> _Made | None:
        commit = self.records.commit(table.repo, table.commit)
        job = self._job(commit)
        version = self.records.version(job) if job else None
        if job is None or version is None:
            return None
        name = f"{job.pipeline} v{job.version}"
        folders = {leaf.name: _folder(leaf.glob) for leaf in leaves(version.spec.input)}
        inputs = {
            one.name: _Table(one.repo, one.commit, folders.get(one.name, ""))
            for one in job.inputs
            if one.commit
        }
        if version.spec.transform.streaming is not None:
            columns = self._of_stream(job, version) if not table.table else None
        elif version.spec.transform.makes_tables:
            columns = self._columns_of(job).get(table.table)
        else:
            return _Made(name, None, inputs)
        return _Made(name, columns or self._static(version, inputs, table.table), inputs)

    def newest_tables(self, repo: RepoName) -> list[_Table]:
        """What a pipeline makes, as its last job left it: those whose columns may be known."""
        version = self._newest(repo)
        if version is None:
            return []
        head = self._head(repo, version.spec.output_branch)
        transform = version.spec.transform
        if transform.streaming is not None:
            return [_Table(repo, head, "")]
        job = self._job(self.records.commit(repo, head)) if head else None
        names = self._columns_of(job) if job and transform.makes_tables else {}
        return [_Table(repo, head, one) for one in names or self._named(version)]

    def _named(self, version: PipelineVersion) -> list[str]:
        """The tables of a SQL text, "" for its result."""
        try:
            steps = self._steps(version)
        except TrunklineError:
            return []
        return [step.name for step in steps if step.kind != "view"]

    def _columns_of(self, job: Job) -> dict[str, Columns]:
        key = (job.pipeline, job.id)
        if key not in self._kept:
            self._kept[key] = columns_of(self.core, job, self.records)
        return self._kept[key]

    def _of_stream(self, job: Job, version: PipelineVersion) -> Columns | None:
        """As Spark told of the query that runs, if it is the one that made the commit."""
        with self.core.database.read() as session:
            flow = flows.find(session, repo_key(session, job.pipeline))
        if flow is None or flow.facts.get("version") != f"{version.name}:{version.digest}":
            return None
        found: dict[str, list[list[str]]] = flow.facts.get("columns", {})
        return {name: [(one, two) for one, two in sources] for name, sources in found.items()}

    def _job(self, commit: Commit | None) -> Job | None:
        """The job whose output a commit has; an older one's, if it failed or people added to it."""
        if commit is None or self._newest(commit.repo) is None:
            return None
        while commit is not None:
            job = self.records.job(commit.repo, commit.id)
            if job is not None and commit.error is None:
                return job
            commit = self.records.commit(commit.repo, commit.parent) if commit.parent else None
        return None

    def _by_text(self, table: _Table) -> _Made | None:
        version = self._newest(table.repo)
        if version is None:
            return None
        inputs = {
            leaf.name: _Table(leaf.repo, self._head(leaf.repo, leaf.branch), _folder(leaf.glob))
            for leaf in leaves(version.spec.input)
        }
        name = f"{version.name} v{version.version}"
        return _Made(name, self._static(version, inputs, table.table), inputs)

    def _newest(self, repo: RepoName) -> PipelineVersion | None:
        with self.core.database.read() as session:
            row = pipelines.find(session, repo_key(session, repo))
            found = pipelines.version(session, row.repo, row.version) if row else None
        return declared(repo, found) if found else None

    def _head(self, repo: RepoName, branch: str) -> str:
        with self.core.database.read() as session:
            found = resolve(session, Ref(repo, branch))
        return found.commit.id if found.commit else ""

    def _static(
        self, version: PipelineVersion, inputs: Mapping[str, _Table], table: str
    ) -> Columns | None:
        try:
            steps = self._steps(version)
        except TrunklineError:
            return None
        if not steps:
            return None
        schemas = {name: self.schema(one) for name, one in inputs.items()}
        return (sql_columns(steps, schemas) or {}).get(table)

    def _steps(self, version: PipelineVersion) -> Sequence[sqltext.Step]:
        transform, where = version.spec.transform, str(version.name)
        if not transform.sql:
            return ()
        sql = sqltext.fill(transform.sql, dict(transform.params), where)
        return sqltext.parse(sql, where=where).steps

    def schema(self, table: _Table) -> Schema | None:
        """The columns of a table, as far as its files or the text that makes it tell."""
        if not table.commit:
            made = self.made(table)
            return _untyped(made.columns) if made and made.columns else None
        commit = self.records.commit(table.repo, table.commit)
        tree = self.records.tree(commit) if commit else None
        if tree is None:
            return None
        try:
            return describe(self.core, tree, f"/{table.table}", str(table.repo)).schema
        except TrunklineError:
            return None


class _Uses:
    """What is made from columns, by the newest versions of the pipelines that read them."""

    def __init__(self, walk: _Walk) -> None:
        self.walk = walk
        self._uses: dict[_Place, dict[str, list[tuple[_Table, str]]]] = {}
        self._told: set[tuple[_Place, str]] = set()

    def of(self, table: _Table, columns: Iterable[str]) -> tuple[ColumnNode, ...]:
        return tuple(self._node(table, one, "") for one in columns)

    def _node(self, table: _Table, column: str, pipeline: str) -> ColumnNode:
        place = (table.repo, table.table)
        users = self._users(place).get(column.casefold(), [])
        if (place, column) in self._told:
            return ColumnNode(*table, column, pipeline=pipeline, seen=bool(users))
        if users and len(self._told) >= MOST_USES:
            return ColumnNode(*table, column, pipeline=pipeline, note="more follows")
        self._told.add((place, column))
        below = tuple(self._node(made, one, self._pipeline(made)) for made, one in users)
        return ColumnNode(*table, column, below, pipeline)

    def _pipeline(self, table: _Table) -> str:
        made = self.walk.made(table)
        return made.pipeline if made else ""

    def _users(self, place: _Place) -> dict[str, list[tuple[_Table, str]]]:
        """By column of a table, in small letters, the columns that are made from it."""
        if place not in self._uses:
            found: dict[str, list[tuple[_Table, str]]] = {}
            for source, made, column in self._made_from(place):
                if (made, column) not in found.setdefault(source.casefold(), []):
                    found[source.casefold()].append((made, column))
            self._uses[place] = found
        return self._uses[place]

    def _made_from(self, place: _Place) -> Iterator[tuple[str, _Table, str]]:
        for reader in self._readers(place[0]):
            for table in self.walk.newest_tables(reader):
                made = self.walk.made(table)
                for column, sources in (made.columns or {}).items() if made else ():
                    for name, source in sources:
                        read = made.inputs.get(name) if made else None
                        if read is not None and (read.repo, read.table) == place:
                            yield source, table, column

    def _readers(self, repo: RepoName) -> list[RepoName]:
        with self.walk.core.database.read() as session:
            edges = pipelines.readers(session, repo_key(session, repo))
            found = (repos.name_of(session, edge.pipeline) for edge in edges)
            return sorted({name for name in found if name is not None})


def _untyped(columns: Columns) -> Schema:
    return Schema(tuple(Column(name, "string") for name in columns))


def _find(name: str, among: Iterable[str]) -> str | None:
    """As in Spark, upper and lower case are the same."""
    folded = name.casefold()
    return next((one for one in among if one.casefold() == folded), None)


def _folder(glob: str) -> str:
    """The table that an input's glob looks into: its first part, if that is a plain name."""
    first, _, rest = glob.strip("/").partition("/")
    return first if _PLAIN.fullmatch(first) and (rest or glob.endswith("/")) else ""
