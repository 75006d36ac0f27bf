"""Files of Spark Declarative Pipelines: loaded with a registry of ours, and their flows run.

Such files need a registry that takes what their decorators define, and a session in which names
of tables mean something. Spark's own command gives them a Spark Connect server for both.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark import pipelines as dp
from pyspark.errors import PySparkException
from pyspark.pipelines import flow as spark_flow
from pyspark.pipelines import output as spark_output
from pyspark.pipelines.graph_element_registry import (
    GraphElementRegistry,
    graph_element_registration_context,
)

from trunkline.engine.declarative_reads import Definitions, Evaluation, Examination
from trunkline.engine.runner.modules import active
from trunkline.engine.shipping import ship
from trunkline.engine.sparktypes import type_of
from trunkline.errors import InvalidSpec, Precondition, TrunklineError
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import Schema
from trunkline.model.types import quoted
from trunkline.pipelines.declarative import (
    PROJECT_FILES,
    Kind,
    Output,
    Project,
    definition_files,
    input_name,
    read_project,
)
from trunkline.pipelines.declarative_sql import Flow, read_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_UNUSED = ("cluster_by", "table_properties", "format")
_CDC = ("create_auto_cdc_flow", "create_auto_cdc_from_snapshot_flow")
# Files are loaded with paths and modules of theirs, which a process has only one list of.
_loading = threading.RLock()


def load(root: Path, project: Project, spark: SparkSession | None) -> Definitions:
    """What the files of a project define. Python files get `spark` as a name of theirs."""
    defined = Definitions(project)
    for path in definition_files(root, project):
        file = path.relative_to(root).as_posix()
        if path.suffix == ".sql":
            found = read_file(_text(path), file, project)
            defined.outputs += found.outputs
            defined.flows += found.flows
        else:
            assert spark is not None
            _load_python(path, file, root, defined, spark)
    return defined


def examine(
    root: Path, project: Project, spark: SparkSession, known: Callable[[str, str], Schema]
) -> tuple[list[Output], list[Flow]]:
    """What a project defines and what each flow reads. `known` tells columns of the lake's tables.

    `spark` is a session that nobody else uses.
    """
    _configure(spark, project)
    with _place(root):
        defined = load(root, project, spark)
        return defined.outputs, Examination(defined, spark, known).flows()


def load_flow(
    path: Path, name: str, spark: SparkSession
) -> Callable[[Mapping[str, DataFrame], object], DataFrame]:
    """The function of DataFrames that an output of a file is, with all its flows and views.

    `path` is a file of a project, whose other files are taken from the folder of the nearest
    spark-pipeline.yml above it; or a Python file on its own. `frames` are by name of input, and
    must be of this `spark`.
    """
    root, project = _project_of(path)
    _configure(spark, project)
    defined = load(root, project, spark)
    output = _named(defined, name, path)

    def call(frames: Mapping[str, DataFrame], ctx: object = None) -> DataFrame:
        def answer(table: str) -> DataFrame:
            found = frames.get(input_name(table))
            if found is None:
                raise Precondition(
                    f"{output.where}: {output.name} reads {table}, which it did not when it was "
                    "applied.",
                    hint="Apply the project again.",
                )
            return found.alias(input_name(table))

        with _place(root):
            return Evaluation(defined, spark, lambda table, stream: answer(table)).result(output)

    return call


def _configure(spark: SparkSession, project: Project) -> None:
    for key, value in project.configuration:
        with contextlib.suppress(PySparkException):
            spark.conf.set(key, value)  # those of the cluster were set when it started


def _project_of(path: Path) -> tuple[Path, Project]:
    for folder in path.parents:
        for name in PROJECT_FILES:
            if (folder / name).is_file():
                return folder, read_project(_text(folder / name), name)
    return path.parent, Project(path.stem, (path.name,))


def _named(defined: Definitions, name: str, path: Path) -> Output:
    for output in defined.outputs:
        if output.name == name and output.kind is not Kind.VIEW:
            return output
    for flow in defined.flows:  # a function that writes to an output of another name
        function = defined.functions.get((flow.target, flow.name))
        if getattr(function, "__name__", "") == name:
            return defined.output(flow.target)
    known = [output.name for output in defined.outputs if output.kind is not Kind.VIEW]
    raise InvalidSpec(f"{path.name} defines no table {name!r}.{did_you_mean(name, known)}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidSpec(f"{path}: this is not UTF-8.") from None


def _load_python(
    path: Path, file: str, root: Path, defined: Definitions, spark: SparkSession
) -> None:
    name = f"_declarative_{path.stem}"
    spec = spec_from_loader(name, SourceFileLoader(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    vars(module)["spark"] = spark
    with _place(root, path.parent), graph_element_registration_context(_Registry(defined, file)):
        sys.modules[name] = module
        if active():
            ship(module, active())
        try:
            spec.loader.exec_module(module)
        except TrunklineError:
            raise
        except Exception as error:
            line = _line_in(str(path), error)
            text = " ".join(str(error).split())
            raise InvalidSpec(f"{file}{line}: {type(error).__name__}: {text}") from error


@contextlib.contextmanager
def _place(*folders: Path) -> Iterator[None]:
    """Modules of these folders can be imported, and are forgotten afterwards.

    Another version of the project may be next, with modules of the same names. And what is no
    module that is known travels to Spark's workers by value.
    """
    with _loading:
        known = set(sys.modules)
        before = list(sys.path)
        sys.path[:0] = [str(folder) for folder in folders]
        refused = {name: getattr(dp, name) for name in _CDC if hasattr(dp, name)}
        for name in refused:
            setattr(dp, name, _refuse_cdc)
        try:
            yield
        finally:
            sys.path[:] = before
            for name, function in refused.items():
                setattr(dp, name, function)
            for name in set(sys.modules) - known:
                if _is_below(sys.modules[name], folders):
                    del sys.modules[name]


def _is_below(module: object, folders: tuple[Path, ...]) -> bool:
    file = getattr(module, "__file__", None) or ""
    return any(Path(file).is_relative_to(folder) for folder in folders)


def _refuse_cdc(target: str = "", *_: Any, **__: Any) -> NoReturn:
    raise InvalidSpec(
        f"create_auto_cdc_flow({target!r}) is not supported.",
        hint="Merge rows by key with a pipeline of its own.",
    )


def _line_in(path: str, error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.lineno:
        return f":{error.lineno}"
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line


@dataclass
class _Registry(GraphElementRegistry):
    """Takes what the decorators of one file define."""

    defined: Definitions
    file: str
    kinds: dict[type, Kind] = field(
        default_factory=lambda: {
            spark_output.MaterializedView: Kind.MATERIALIZED_VIEW,
            spark_output.StreamingTable: Kind.STREAMING_TABLE,
            spark_output.TemporaryView: Kind.VIEW,
        }
    )

    def register_output(self, output: spark_output.Output) -> None:
        line = output.source_code_location.line_number or 0
        kind = self.kinds.get(type(output))
        if kind is None:
            raise InvalidSpec(
                f"{self.file}:{line}: {output.name} is a sink, which is not supported.",
                hint="Write it as a table of the lake, and read it from there.",
            )
        given = vars(output)
        found = Output(
            self.defined.project.name_of(output.name),
            kind,
            self.file,
            line,
            output.comment or "",
            tuple(given.get("partition_cols") or ()),
            _schema_text(given.get("schema")),
            tuple(name for name in _UNUSED if given.get(name)),
        )
        self.defined.outputs.append(found)

    def register_flow(self, flow: spark_flow.Flow) -> None:
        target = self.defined.project.name_of(flow.target)
        conf = tuple(sorted(flow.spark_conf.items()))
        line = flow.source_code_location.line_number or 0
        self.defined.flows.append(Flow(flow.name, target, self.file, line, conf=conf))
        self.defined.functions[(target, flow.name)] = flow.func

    def register_auto_cdc_flow(self, flow: spark_flow.AutoCdcFlow) -> None:
        _refuse_cdc(flow.target)

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        found = read_file(sql_text, str(file_path), self.defined.project)
        self.defined.outputs += found.outputs
        self.defined.flows += found.flows


def _schema_text(schema: Any) -> str:
    if schema is None or isinstance(schema, str):
        return schema or ""
    return ", ".join(f"{quoted(one.name)} {type_of(one.dataType)}" for one in schema.fields)
