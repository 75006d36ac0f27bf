"""What we use of Spark though it promises nobody to keep it.

A Spark that lacks some of it would fail in the middle of a job, or lose a feature without a word.
So all of it is looked for when Spark starts, and what is missing is named at once. The classes of
a Spark do not change: they are looked at when it starts for the first time, and has no jar of ours.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from trunkline.errors import Precondition

PYTHON = """
pyspark.context SparkContext _accumulatorServer _active_spark_context _gateway _jsc _jvm
pyspark.conf SparkConf _jconf _jvm
pyspark.rdd RDD _jrdd_deserializer
pyspark.sql SparkSession _instantiatedSession _jsparkSession _jvm
pyspark.sql.classic.dataframe DataFrame _jdf
pyspark.sql.classic.column - _to_java_column
pyspark.sql.group GroupedData _df
pyspark.sql.streaming.query StreamingQuery _jsq
pyspark.sql.types - _parse_datatype_string
py4j.java_gateway JavaGateway _callback_server _gateway_client
py4j.java_gateway JavaObject _target_id
"""
"""Of each line a module, a class in it, and names that this has, or gives to its instances."""

JVM = {
    "org.apache.spark": """
    SparkContext cancelJobGroupAndFutureJobs isStopped
    util.MutableURLClassLoader addURL
    """,
    "org.apache.spark.sql": """
    classic.Dataset queryExecution
    classic.SparkSession setActiveSession sessionState sharedState
    execution.LogicalRDD rdd
    execution.QueryExecution analyzed executedPlan
    execution.datasources.LogicalRelation relation
    execution.datasources.csv.CSVFileFormat
    execution.datasources.json.JsonFileFormat
    execution.datasources.orc.OrcFileFormat
    execution.datasources.parquet.ParquetFileFormat
    execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager
    execution.streaming.checkpointing.OffsetSeqMetadata batchWatermarkMs
    execution.streaming.runtime.IncrementalExecution prevOffsetSeqMetadata
    execution.streaming.runtime.MicroBatchExecution watermarkTracker
    execution.streaming.runtime.StreamExecution lastExecution
    execution.streaming.runtime.StreamingQueryWrapper streamingQuery
    execution.streaming.runtime.WatermarkTracker currentWatermark
    execution.streaming.state.RocksDBStateStoreProvider
    internal.SQLConf getAllConfs setConf
    internal.SharedState jarClassLoader
    """,
    "org.apache.spark.sql.catalyst": """
    analysis.EliminateSubqueryAliases apply
    analysis.EliminateView apply
    expressions.ExprId id
    expressions.NamedExpression exprId
    optimizer.InlineCTE apply
    optimizer.ReplaceDeduplicateWithAggregate apply
    plans.QueryPlan subqueriesAll
    plans.logical.LocalRelation data
    plans.logical.LogicalPlan isStreaming
    plans.logical.LogicalPlanDistinctKeys distinctKeys
    plans.logical.SubqueryAlias alias
    trees.Origin line startPosition
    trees.TreeNode children collectLeaves nodeName origin toJSON
    """,
}
"""By package, of each line a class and its methods. What our Java uses its compiler looks for."""


def check_python() -> None:
    """Refuse a pyspark that lacks something. It is looked at, not run."""
    _refuse("The installed pyspark", missing_in_python(PYTHON))


def check_jvm(spark_home: Path) -> None:
    """Refuse a Spark whose classes lack something. Their files say so: no JVM is asked."""
    _refuse(f"Spark in {spark_home}", missing_in_jars(spark_home, JVM))


def missing_in_python(listed: str) -> Iterator[str]:
    for line in listed.strip().splitlines():
        module, kind, *names = line.split()
        place = f"{module}.{kind}".removesuffix(".-")
        try:
            owner = import_module(module)
            members = _members(owner if kind == "-" else getattr(owner, kind))
        except (ImportError, AttributeError):
            yield place
        else:
            yield from (f"{place}.{name}" for name in names if name not in members)


def _members(owner: Any) -> set[str]:
    """The names that something has, and those that the code of its methods speaks of."""
    members = set(dir(owner))
    for kind in getattr(owner, "__mro__", ()):
        for member in vars(kind).values():
            # Whatever a running JVM's view is asked for, it says that it has it.
            if isinstance(member, FunctionType):
                members.update(member.__code__.co_names, member.__code__.co_varnames)
    return members


def missing_in_jars(spark_home: Path, listed: dict[str, str]) -> Iterator[str]:
    with ExitStack() as stack:
        files = {}
        for path in (spark_home / "jars").glob("spark-*.jar"):
            jar = stack.enter_context(zipfile.ZipFile(path))
            files.update(dict.fromkeys(jar.namelist(), jar))
        for package, lines in listed.items():
            for line in lines.strip().splitlines():
                name, *methods = line.split()
                place = f"{package}.{name}"
                file = f"{place.replace('.', '/')}.class"
                if file not in files:
                    yield place
                    continue
                content = files[file].read(file)
                yield from (f"{place}.{one}" for one in methods if _utf8(one) not in content)


def _utf8(name: str) -> bytes:
    """A name as a file of a class has it among its constants."""
    return struct.pack(">BH", 1, len(name)) + name.encode()


def _refuse(where: str, missing: Iterator[str]) -> None:
    if names := ", ".join(missing):
        raise Precondition(
            f"{where} lacks what Trunkline uses of it: {names}.", hint="Use pyspark 4.3."
        )
