"""Lineage of columns: from a column of an output up to columns of what nobody computed.

Jobs keep with their results which input columns each of their columns was made from, as Spark saw
it. Where none has run, or ran before this was kept, the text of a SQL pipeline tells the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
from trunkline.pipelines.plan import IndexLine
from trunkline.storage.catalog import flows, pipelines
from trunkline.tables.describe import describe

# Datums of one part are of one transform: their columns hardly differ.
MOST_SAMPLES = 20
_UNKNOWN = "its columns are not known"
_PLAIN = re.compile(r"[\w. -]+")


class _Table(NamedTuple):
    """A table at a commit; without one, as the newest version of its pipeline would make it."""

    repo: RepoName
    commit: str
    table: str


class _Made(NamedTuple):
    """What a table was made by: its columns, and the table that each input was."""

    pipeline: str
    columns: Columns | None
    inputs: Mapping[str, _Table]


def column_lineage(core: Core, ref: Ref, column: str | None = None) -> ColumnLineage:
    """What the columns of a table, or one of them, were made from."""
    with core.database.read() as session:
        found = resolve(session, ref)
    table = (ref.path or "/").strip("/")
    start = _Table(ref.repo, found.commit.id if found.commit else "", table)
    return _Walk(core).lineage(start, f"{ref.repo}@{ref.ref}", column)


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
            columns = columns_of(self.core, job, self.records).get(table.table)
        else:
            return _Made(name, None, inputs)
        return _Made(name, columns or self._static(version, inputs, table.table), inputs)

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
        transform = version.spec.transform
        if not transform.sql:
            return None
        where = str(version.name)
        try:
            sql = sqltext.fill(transform.sql, dict(transform.params), where)
            steps = sqltext.parse(sql, where=where).steps
        except TrunklineError:
            return None
        schemas = {name: self.schema(one) for name, one in inputs.items()}
        return (sql_columns(steps, schemas) or {}).get(table)

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
