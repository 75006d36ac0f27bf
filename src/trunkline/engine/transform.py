"""A pipeline's transform on tables: DataFrames in, DataFrames out, files written.

SQL runs statement by statement over views named as the inputs. A Python function is called with
the inputs it names. Both see a session of their own: neither views nor settings leak.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.engine import fetching, promises, sqlerrors, statements, tables
from trunkline.engine.driver import load_function, user_error, using
from trunkline.engine.expectations import NO_RULES, row_rules
from trunkline.engine.sessions import own_session
from trunkline.engine.sparktypes import refuse_types
from trunkline.errors import TransformFailed
from trunkline.model.expectations import Expectation
from trunkline.model.pipelines import Param
from trunkline.model.recent import Recent
from trunkline.model.tables import FOLDER_TYPES, Scan, Schema
from trunkline.pipelines.declarative import defines_flows
from trunkline.pipelines.sqltext import Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from trunkline.engine.session import Session

Lineage = Mapping[str, Sequence[tuple[str, str]]]
_known_lineage: Recent[Hashable, Lineage] = Recent(500)


@dataclass(frozen=True, slots=True)
class Source:
    """A table to be read: its files as scans, and its columns."""

    scans: tuple[Scan, ...]
    schema: Schema

    @property
    def rows(self) -> int | None:
        """How many there are, if every file says so."""
        counts = [file.rows for scan in self.scans for file in scan.files]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None


@dataclass(frozen=True, slots=True)
class TableTask:
    """One call of a transform. `steps` are those of `sql`; `function` is "file.py:name" in `code`.

    `previous` and `kept` are by output table: what the last good job left, and that part of it
    which stays as it is whatever this call gives.
    """

    pipeline: str
    job: str
    inputs: Mapping[str, Source]
    stem: str
    sql: str = ""
    steps: tuple[Step, ...] = ()
    function: str = ""
    code: str = ""
    partition_by: tuple[str, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    params: Mapping[str, Param] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    conf: Mapping[str, str] = field(default_factory=dict)
    commits: Mapping[str, str] = field(default_factory=dict)
    previous: Callable[[str], Source | None] = lambda table: None
    kept: Mapping[str, Source] = field(default_factory=dict)
    mode: str = ""
    parts: promises.Parts = field(default_factory=dict)
    """The inputs of which it sees only a part, and the columns that tell which."""
    version: str = ""
    """Equal for calls of the same code."""


@dataclass(frozen=True, slots=True)
class TableResult:
    """One output table: its columns, what was written, and which columns it was made from."""

    schema: Schema
    report: tables.WriteReport
    rules: tuple[str, ...] = ()
    """Those that the report counts, in its order."""
    lineage: Lineage = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class TransformContext:
    """What a function may ask for as `ctx`."""

    pipeline: str
    job: str
    commit: str
    params: Mapping[str, Param]
    inputs: Mapping[str, str]
    """The commit that each input is read at."""
    spark: SparkSession
    env: Mapping[str, str] = field(repr=False)
    """What the spec gives as `env` and `secrets`. This process's own environment has neither."""
    _previous: Callable[[str], DataFrame | None] = field(repr=False)

    def previous(self, table: str = "") -> DataFrame | None:
        """What the last good job left in the output, or None if there was none."""
        return self._previous(table)


def run(session: Session, task: TableTask) -> dict[str, TableResult]:
    """Call it and write what it gives; by output table, "" being the one at the root."""
    began = time.perf_counter()
    with (
        own_session(session, task.version, task.conf, judged=bool(task.steps)) as spark,
        sqlerrors.in_words(task.inputs),
    ):
        frames = {
            name: tables.read(session, source.scans, source.schema, spark)
            for name, source in task.inputs.items()
        }
        found = outputs(session, spark, task, frames)
        done = {}
        for name, frame in found.items():
            rules = [
                one
                for one in task.expectations
                if one.kind.of_rows and (one.table == name or (not one.table and len(found) == 1))
            ]
            result = write(session, spark, task, name, frame, frames, rules)
            now = time.perf_counter()
            done[name] = replace(result, seconds=now - began)
            began = now
    return done


def outputs(
    session: Session, spark: SparkSession, task: TableTask, frames: Mapping[str, DataFrame]
) -> Mapping[str, DataFrame]:
    """What the transform gives for these inputs, by output table; nothing is computed yet."""
    if task.steps:
        _add_views(frames)
        steps = _run_sql(session, spark, task, frames)
        found: Mapping[str, DataFrame] = {
            step.name if step.kind == "table" else "": frame
            for step, frame in steps
            if step.kind in ("table", "result")
        }
        _check_promise(session, task, frames, found, steps)
        return found
    context = TransformContext(
        task.pipeline,
        task.job,
        task.job,
        task.params,
        task.commits,
        spark,
        task.env,
        partial(_previous, session, spark, task),
    )
    found = _call(session, task, frames, context)
    _check_promise(session, task, frames, found)
    return found


def _check_promise(
    session: Session,
    task: TableTask,
    frames: Mapping[str, DataFrame],
    found: Mapping[str, DataFrame],
    steps: Sequence[tuple[Step, DataFrame]] = (),
) -> None:
    if task.parts and not session.is_connect:
        promises.check(task.mode, task.parts, frames, found, task.sql, steps)


def _nothing_fetched(
    session: Session, task: TableTask, frames: Mapping[str, DataFrame], spark: SparkSession
) -> contextlib.AbstractContextManager[None]:
    if not task.parts or session.is_connect:
        return contextlib.nullcontext()
    return fetching.refused(spark, task.mode, task.parts, frames, task.code)


def _previous(
    session: Session, spark: SparkSession, task: TableTask, table: str
) -> DataFrame | None:
    source = task.previous(table)
    return tables.read(session, source.scans, source.schema, spark) if source else None


def _run_sql(
    session: Session, spark: SparkSession, task: TableTask, frames: Collection[str]
) -> list[tuple[Step, DataFrame]]:
    made: list[tuple[Step, DataFrame]] = []
    # Spark Connect tells no plan: there the words that were looked at have to do.
    java = None if session.is_connect else tables.classes(session).Statement
    for step in task.steps:
        # A query that goes on has its inputs as frames alone.
        known = [*frames, *(one.name for one, _ in made)]
        with sqlerrors.at(step, task.sql):
            frame = (
                statements.run_step(spark, java, step.sql, known) if java else spark.sql(step.sql)
            )
            frame.schema  # noqa: B018  what is wrong with the text is said here, with its place
        if step.kind != "result":
            frame.createOrReplaceTempView(f"`{step.name}`")
        made.append((step, frame))
    return made


def _call(
    session: Session,
    task: TableTask,
    frames: Mapping[str, DataFrame],
    context: TransformContext,
) -> Mapping[str, DataFrame]:
    from pyspark.sql import DataFrame

    with using(task.code), user_error(task.pipeline, task.function):
        flow = _flow(task, context.spark)
        function = flow or load_function(task.code, task.function)
        given: dict[str, Any] = dict(frames)
        if "ctx" in inspect.signature(function).parameters:
            given.setdefault("ctx", context)
        if flow or "ctx" in given:
            # Only they have a session to look for tables in, and views take Spark a while.
            _add_views(frames)
        with _nothing_fetched(session, task, frames, context.spark):
            found: Any = function(**given)
    outputs = found if isinstance(found, dict) else {"": found}
    if not outputs:
        raise TransformFailed(f"{task.function} returned no table: its dict is empty.")
    for name, frame in outputs.items():
        if not isinstance(frame, DataFrame):
            raise TransformFailed(
                f"{task.function} returned {_kind(frame)}"
                + (f" for {name!r}" if name else "")
                + ", not a DataFrame.",
                hint="Return a Spark DataFrame, or a dict of table name to DataFrame.",
            )
        if name and not _is_name(name):
            raise TransformFailed(f"{task.function}: {name!r} cannot be the name of a table.")
    return outputs


def _add_views(frames: Mapping[str, DataFrame]) -> None:
    for name, frame in frames.items():
        frame.createOrReplaceTempView(f"`{name}`")


def _flow(task: TableTask, spark: SparkSession) -> Callable[..., Any] | None:
    """Of a declarative project, what writes the table that a task names."""
    file, _, name = task.function.rpartition(":")
    path = Path(task.code) / file
    if path.is_file() and defines_flows(file, path.read_text(encoding="utf-8", errors="replace")):
        from trunkline.engine.declarative import load_flow

        flow = load_flow(path, name, spark)
        return lambda **frames: flow(frames, None)
    return None


def _kind(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__module__}.{type(value).__name__}"


def _is_name(name: object) -> bool:
    return (
        isinstance(name, str)
        and name.replace("_", "a").replace("-", "a").isalnum()
        and name[0] not in "_-"
    )


def write(
    session: Session,
    spark: SparkSession,
    task: TableTask,
    name: str,
    frame: DataFrame,
    frames: Mapping[str, DataFrame],
    expected: Sequence[Expectation],
) -> TableResult:
    """Compute one output and write it as files, its rules checked on the way."""
    where = f"The output {name}" if name else "The output"
    schema = tables.schema_of(frame)
    check_columns(where, schema, task.partition_by)
    refuse_types(where, frame.schema)
    lineage = _lineage(task, name, frame, frames)
    rules = NO_RULES
    if expected:
        kept = task.kept.get(name)
        frame, rules = row_rules(
            frame,
            expected,
            partition_by=task.partition_by,
            related=frames,
            kept=tables.read(session, kept.scans, kept.schema, spark) if kept else None,
        )
    report = tables.write(
        session, frame, stem=task.stem, partition_by=task.partition_by, rules=rules
    )
    return TableResult(schema, report, rules.names, lineage)


def _lineage(
    task: TableTask, table: str, frame: DataFrame, frames: Mapping[str, DataFrame]
) -> Lineage:
    """Which input columns each column was made from. The same code over the same columns has the
    same answer, and asking Spark takes longer than a small job.
    """
    from trunkline.engine.columns import column_lineage

    key = (task.version, table, tuple((name, one.schema) for name, one in task.inputs.items()))
    return _known_lineage.get(key, lambda: column_lineage(frame, frames))


def check_columns(where: str, schema: Schema, partition_by: Sequence[str]) -> None:
    """What Spark would say in many words, or not at all."""
    if not len(schema):
        raise TransformFailed(f"{where} has no columns.", hint="Select at least one.")
    seen: dict[str, str] = {}
    for one in schema:
        if (other := seen.setdefault(one.name.casefold(), one.name)) is not one.name:
            raise TransformFailed(
                f"{where} has the column {one.name} twice"
                + (f" (as {other})" if other != one.name else "")
                + ".",
                hint="Give one of them another name with AS.",
            )
        if one.name.startswith(tables.RESERVED):
            raise TransformFailed(
                f"{where}: names that begin with {tables.RESERVED} are Trunkline's own."
            )
    for name in partition_by:
        if (found := schema.find(name)) is None:
            raise TransformFailed(
                f"{where} lacks the column {name}, which partition_by names.",
                hint=f"It has {', '.join(schema.names[:20])}.",
            )
        if found.type.partition("(")[0].partition(" ")[0] not in FOLDER_TYPES:
            raise TransformFailed(
                f"{where} cannot be partitioned by {name}, which is {found.type}.",
                hint="Partition by text, numbers, dates, times or booleans.",
            )
    if partition_by and len(partition_by) == len(schema):
        raise TransformFailed(
            f"{where} is partitioned by all of its columns: its files would have none.",
            hint="Leave one of them out of partition_by.",
        )
