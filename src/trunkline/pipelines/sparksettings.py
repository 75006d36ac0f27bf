"""Spark's settings: which of them decide results, and what they are wherever we compute.

A setting decides results unless it is known that it does not. Those that do are Spark's defaults,
but for `OURS`, and a pipeline's own `spark:` over them. So whoever's Spark it is, a worker's, a
cluster's or a notebook's, the same version of a pipeline gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

OURS: Mapping[str, str] = {
    # What Spark takes from the machine, or from variables of its environment.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # ${…} is ours; Spark would take what it does not know for nothing.
    "spark.sql.variable.substitute": "false",
    # SQL names tables, not files.
    "spark.sql.runSQLOnFiles": "false",
    # INT96 has no bounds, and most readers no years beyond 2262 in it.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # As they are in Spark 4: named here, so that another Spark's defaults do not matter.
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    # Days before 1582 as everyone counts them; files of Spark 2 say so in their footers.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    # Else conditions reach files as days of the old calendar, which lacks ten of them.
    "spark.sql.datetime.java8API.enabled": "true",
    # Bounds of floats leave NaN out. Of whole columns it is known where; of their fields it is not.
    "spark.sql.optimizer.nestedPredicatePushdown.supportedFileSources": "",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}

FIXED = ("spark.sql.parquet.outputTimestampType", "spark.sql.parquet.datetimeRebaseMode",
         "spark.sql.parquet.int96RebaseMode")  # fmt: skip
"""What days and moments in files mean: with others, no two readers would agree on them."""

# How quickly, in how many pieces, and what is told of it: the rows stay the same.
_HARMLESS = (
    "spark.sql.adaptive.",
    "spark.sql.artifact.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.cartesianProductExec.",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.defaultSizeInBytes",
    "spark.sql.error.messageFormat",
    "spark.sql.event.",
    "spark.sql.exchange.",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.files.maxPartitionNum",
    "spark.sql.files.maxRecordsPerFile",
    "spark.sql.files.minPartitionNum",
    "spark.sql.files.openCostInBytes",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.join.preferSortMergeJoin",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.maxConcurrentOutputFileWriters",
    "spark.sql.maxMetadataStringLength",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.dynamicPartitionPruning.",
    "spark.sql.optimizer.runtime.",
    "spark.sql.parquet.columnarReaderBatchSize",
    "spark.sql.parquet.compression.codec",
    "spark.sql.planChangeLog.",
    "spark.sql.pyspark.jvmStacktrace.enabled",
    "spark.sql.pyspark.udf.profiler",
    "spark.sql.redaction.",
    "spark.sql.shuffle.partitions",
    "spark.sql.sortMergeJoinExec.",
    "spark.sql.sources.parallelPartitionDiscovery.",
    "spark.sql.statistics.",
    "spark.sql.streaming.checkpointFileManagerClass",
    "spark.sql.streaming.metricsEnabled",
    "spark.sql.streaming.minBatchesToRetain",
    "spark.sql.streaming.numRecentProgressUpdates",
    "spark.sql.streaming.stateStore.",
    "spark.sql.ui.",
    "spark.sql.windowExec.",
)
# Settings of a Spark as a whole, which no session can change.
_STATIC = (
    "spark.sql.cache.serializer",
    "spark.sql.catalog.",
    "spark.sql.catalogImplementation",
    "spark.sql.extensions",
    "spark.sql.globalTempDatabase",
    "spark.sql.hive.",
    "spark.sql.kafka.",
    "spark.sql.metadataCacheTTLSeconds",
    "spark.sql.queryExecutionListeners",
    "spark.sql.sources.disabledJdbcConnProviderList",
    "spark.sql.streaming.streamingQueryListeners",
    "spark.sql.streaming.ui.",
    "spark.sql.warehouse.dir",
)
# The second part of the names of Spark's own settings that are not about SQL.
_CORE = frozenset(
    (
        *("acls", "admin", "app", "archives", "authenticate", "barrier", "block", "broadcast"),
        *("buffer", "checkpoint", "cleaner", "connect", "cores", "decommission", "default"),
        *("deploy", "driver", "dynamicAllocation", "eventLog", "excludeOnFailure", "executor"),
        *("executorEnv", "extraListeners", "file", "files", "hadoop", "hadoopRDD", "history", "io"),
        *("jars", "kerberos", "kryo", "kryoserializer", "kubernetes", "local", "locality", "log"),
        *("master", "memory", "metrics", "modify", "network", "plugins", "pyspark", "python"),
        *("rdd", "reducer", "remote", "resources", "rpc", "scheduler", "security", "serializer"),
        *("shuffle", "speculation", "ssl", "stage", "standalone", "storage", "submit", "task"),
        *("taskMetrics", "ui", "unsafe", "user", "worker", "yarn"),
    )
)


def is_whole(name: str) -> bool:
    """Whether it is a setting of a Spark as a whole, and not of one pipeline."""
    if name.startswith("spark.sql."):
        return name.startswith(_STATIC)
    return name.startswith("spark.") and name.split(".")[1] in _CORE


def decides(name: str) -> bool:
    """Whether a setting of a session may change what rows come out."""
    return not name.startswith(_HARMLESS)


def deciding(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of a pipeline's settings, those that make its results others than without them."""
    return {name: value for name, value in settings if decides(name) and OURS.get(name) != value}


def is_foreign(name: str) -> bool:
    """Whether it is a setting of SQL that we do not take from somebody's Spark."""
    return name.startswith("spark.sql.") and decides(name) and not is_whole(name)
