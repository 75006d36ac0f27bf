"""Flows of declarative projects, run with names of tables answered by us.

A flow reads by name: `spark.table`, `spark.read.table`, `spark.readStream.table`, `spark.sql`.
While one is run those four ask an `Evaluation`, in this thread only. Before anything has run, it
answers with empty tables of the right columns and notes what was asked for: so it is known what a
flow reads, without guessing from its text. In a job it answers with what the job reads.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession, functions
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from trunkline.engine.sparktypes import columns_of
from trunkline.errors import InvalidSpec, TrunklineError
from trunkline.model.tables import Schema
from trunkline.pipelines.declarative import Kind, Output, Project, Read, input_name
from trunkline.pipelines.declarative_plan import STREAMS_LATER
from trunkline.pipelines.declarative_sql import Flow, read_query

Answer = Callable[[str, bool], DataFrame]
"""The table of a name; the second tells whether as a stream."""

_OURS = "__lake_stream"
_MOST_NAMES = 100
_STATEFUL = {
    "Aggregate": "a group or aggregate",
    "Distinct": "distinct",
    "Deduplicate": "dropDuplicates",
    "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark",
    "GlobalLimit": "limit",
    "Sort": "a sort",
    "Window": "a window function",
}
_current: ContextVar[Evaluation | None] = ContextVar("evaluation", default=None)
_patching = threading.Lock()


@dataclass
class Definitions:
    """What the files of a project define; functions by target and name of their flow."""

    project: Project
    outputs: list[Output] = field(default_factory=list)
    flows: list[Flow] = field(default_factory=list)
    functions: dict[tuple[str, str], Callable[[], DataFrame]] = field(default_factory=dict)

    def find(self, name: str) -> Output | None:
        """The output of that name; as in Spark, upper and lower case are the same."""
        folded = name.casefold()
        return next((one for one in self.outputs if one.name.casefold() == folded), None)

    def output(self, name: str) -> Output:
        found = self.find(name)
        if found is None:
            raise InvalidSpec(f"The project does not define {name}.")
        return found

    def flows_of(self, output: Output) -> list[Flow]:
        return [one for one in self.flows if one.target == output.name]


class Evaluation:
    """Runs flows; views are computed for whoever reads them, tables come from `tables`."""

    def __init__(self, defined: Definitions, spark: SparkSession, tables: Answer) -> None:
        _patch()
        self.defined = defined
        self.spark = spark
        self.tables = tables
        self.reads: list[dict[str, bool]] = []
        self._views: dict[str, DataFrame] = {}
        self._running: list[str] = []

    def result(self, output: Output) -> DataFrame:
        """The rows of all flows into an output, with the columns that it declares."""
        frames = [self.run(flow) for flow in self.defined.flows_of(output)]
        if not frames:
            raise InvalidSpec(f"{output.where}: nothing writes to {output.name}.")
        if output.schema:
            wanted = declared_schema(output, self.spark)
            frames = [_with_columns(frame, wanted, output) for frame in frames]
        try:
            return functools.reduce(lambda one, other: one.unionByName(other), frames)
        except AnalysisException as error:
            raise _refusal(output.where, error) from None

    def run(self, flow: Flow) -> DataFrame:
        """What a flow returns. What it reads is in the last of `reads` meanwhile."""
        function = self.defined.functions.get((flow.target, flow.name))
        token = _current.set(self)
        try:
            if flow.query is not None:
                for read in flow.query.reads:
                    self.bind(read.name, read.stream)
                return _SQL(self.spark, flow.query.sql)
            assert function is not None
            found: object = function()
        except TrunklineError:
            raise
        except PySparkException as error:
            raise _refusal(flow.where, error) from error
        except Exception as error:
            text = " ".join(str(error).split())
            raise InvalidSpec(f"{flow.where}: {type(error).__name__}: {text}") from error
        finally:
            _current.reset(token)
        if not isinstance(found, DataFrame):
            kind = type(found).__name__
            raise InvalidSpec(f"{flow.where}: {flow.name} returned {kind}, not a DataFrame.")
        return found

    def answer(self, name: str, stream: bool) -> DataFrame:
        name = self.defined.project.name_of(name)
        output = self.defined.find(name)
        if output is not None:
            name = output.name
        if self.reads and self.reads[-1].setdefault(name, stream) is not stream:
            raise InvalidSpec(f"{name} is read both as a stream and whole.")
        if output is not None and output.kind is Kind.VIEW:
            return self._view(output)
        return self.tables(name, stream)

    def bind(self, name: str, stream: bool) -> None:
        """Let SQL read the table by the name of its input."""
        self.answer(name, stream).createOrReplaceTempView(f"`{input_name(name)}`")

    def sql(self, text: str, args: Any, named: dict[str, Any]) -> DataFrame:
        try:
            query = None if named else read_query(text, "SQL", self.defined.project)
        except InvalidSpec:
            query = None
        if query is not None:
            for read in query.reads:
                self.bind(read.name, read.stream)
            return _SQL(self.spark, query.sql, args)
        # Not a query that we can read. Spark can: it says which tables it misses.
        for _ in range(_MOST_NAMES):
            try:
                return _SQL(self.spark, text, args, **named)
            except AnalysisException as error:
                if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                    raise
                self.bind(str((error.getMessageParameters() or {})["relationName"]), False)
        raise InvalidSpec("This SQL reads too many tables.")

    def _view(self, output: Output) -> DataFrame:
        if output.name in self._running:
            chain = " → ".join([*self._running, output.name])
            raise InvalidSpec(f"{output.where}: these views read each other: {chain}.")
        if output.name not in self._views:
            (flow, *_) = self.defined.flows_of(output)
            self._running.append(output.name)
            self.reads.append({})
            try:
                self._views[output.name] = self.run(flow)
            finally:
                self.reads.pop()
                self._running.pop()
        return self._views[output.name].alias(input_name(output.name))


@dataclass
class Examination:
    """What the flows of a project read and give, found by running them on empty tables.

    `known` tells the columns of a table of the lake, or raises.
    """

    defined: Definitions
    spark: SparkSession
    known: Callable[[str, str], Schema]
    schemas: dict[str, Schema] = field(default_factory=dict)
    _flows: dict[tuple[str, str], Flow] = field(default_factory=dict)
    _under_way: list[str] = field(default_factory=list)

    def flows(self) -> list[Flow]:
        """All flows with their reads; `InvalidSpec` on the first that cannot run."""
        for output in self.defined.outputs:
            self._examine(output)
        return [self._flows.get((one.target, one.name), one) for one in self.defined.flows]

    def _examine(self, output: Output) -> Schema:
        if output.name in self.schemas:
            return self.schemas[output.name]
        if output.name in self._under_way:
            chain = " → ".join([*self._under_way, output.name])
            raise InvalidSpec(f"{output.where}: these read each other: {chain}.")
        self._under_way.append(output.name)
        evaluation = _Noting(self.defined, self.spark, self._empty(output))
        frames = [self._note(evaluation, flow) for flow in self.defined.flows_of(output)]
        if output.schema:
            declared = declared_schema(output, self.spark)
            for frame in frames:
                _with_columns(frame, declared, output)
            schema = schema_of(declared)
        else:
            schema = schema_of(frames[0].schema) if frames else Schema()
        self._under_way.pop()
        self.schemas[output.name] = schema
        return schema

    def _note(self, evaluation: _Noting, flow: Flow) -> DataFrame:
        frame, reads = evaluation.noted(flow)
        if frame.isStreaming:
            refuse_memory(frame._jdf.queryExecution().analyzed(), flow)
        self._flows[(flow.target, flow.name)] = replace(flow, reads=reads)
        return frame

    def _empty(self, reader: Output) -> Answer:
        def answer(name: str, stream: bool) -> DataFrame:
            output = self.defined.find(name)
            schema = self._examine(output) if output else self.known(name, reader.where)
            return empty(self.spark, name, schema, stream)

        return answer


class _Noting(Evaluation):
    def noted(self, flow: Flow) -> tuple[DataFrame, tuple[Read, ...]]:
        self.reads.append({})
        try:
            frame = self.run(flow)
            return frame, tuple(Read(name, how) for name, how in self.reads[-1].items())
        finally:
            self.reads.pop()


def empty(spark: SparkSession, name: str, schema: Schema, stream: bool) -> DataFrame:
    """A table of those columns without rows; a stream of nothing."""
    columns = [functions.lit(None).cast(one.type).alias(one.name) for one in schema]
    if not stream:
        return spark.range(0).select(columns).alias(input_name(name))
    nothing = spark.readStream.format("rate").load().select(columns)
    return nothing.alias(_OURS).alias(input_name(name))


def schema_of(given: StructType) -> Schema:
    columns = zip(columns_of(given), given.fields, strict=True)
    return Schema(tuple(replace(one, nullable=field.nullable) for one, field in columns))


def declared_schema(output: Output, spark: SparkSession) -> StructType:
    """The columns that an output is declared with, as Spark reads them."""
    from pyspark.sql.types import _parse_datatype_string

    try:
        found = _parse_datatype_string(output.schema)
    except PySparkException as error:
        raise _refusal(output.where, error) from None
    assert isinstance(found, StructType)
    return found


def refuse_memory(plan: Any, flow: Flow) -> None:
    """Refuse streams that need to remember rows, and streams from elsewhere."""
    name = str(plan.nodeName())
    if not plan.isStreaming():
        return
    if name == "SubqueryAlias" and str(plan.alias()) == _OURS:
        return
    children = [plan.children().apply(number) for number in range(plan.children().size())]
    if not children:
        raise InvalidSpec(
            f"{flow.where}: {flow.name} reads a stream that is not a table of the lake.",
            hint="Such sources come with stream pipelines.",
        )
    what = _STATEFUL.get(name, "state" if "State" in name else "")
    if name in ("Join", "Intersect", "Except") and all(one.isStreaming() for one in children):
        what = "a join of two streams"
    if what:
        raise InvalidSpec(
            f"{flow.where}: {flow.name} does {what} over a stream.", hint=STREAMS_LATER
        )
    for child in children:
        refuse_memory(child, flow)


def _with_columns(frame: DataFrame, wanted: StructType, output: Output) -> DataFrame:
    """The frame with the declared columns, in their order."""
    found = {one.name.casefold(): one.dataType.simpleString() for one in frame.schema.fields}
    for one in wanted.fields:
        kind, given = one.dataType.simpleString(), found.pop(one.name.casefold(), None)
        if given != kind:
            has = f"has {given}" if given else "does not give it"
            raise InvalidSpec(
                f"{output.where}: {output.name} declares {one.name} {kind}, but its query {has}."
            )
    if found:
        more = ", ".join(sorted(found))
        raise InvalidSpec(f"{output.where}: {output.name} does not declare {more}.")
    return frame.select([functions.col(f"`{one.name}`") for one in wanted.fields])


def _refusal(where: str, error: PySparkException) -> InvalidSpec:
    text = str(error).partition("\n")[0].partition(" SQLSTATE")[0].strip()
    return InvalidSpec(f"{where}: {text}")


_SQL = SparkSession.sql


def _patch() -> None:
    """Let the four ways to read by name ask the evaluation of their thread, if there is one."""
    with _patching:
        if getattr(SparkSession.table, "asks_the_lake", False):
            return
        _wrap(SparkSession, stream=False)
        _wrap(DataFrameReader, stream=False)
        _wrap(DataStreamReader, stream=True)

        @functools.wraps(_SQL)
        def sql(self: SparkSession, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:  # noqa: N803
            current = _current.get()
            if current is None:
                return _SQL(self, sqlQuery, args, **kwargs)
            return current.sql(sqlQuery, args, kwargs)

        SparkSession.sql = sql  # type: ignore[method-assign]


def _wrap(owner: Any, stream: bool) -> None:
    original = owner.table

    @functools.wraps(original)
    def table(self: Any, tableName: str) -> Any:  # noqa: N803
        current = _current.get()
        return original(self, tableName) if current is None else current.answer(tableName, stream)

    table.asks_the_lake = True  # type: ignore[attr-defined]
    owner.table = table
