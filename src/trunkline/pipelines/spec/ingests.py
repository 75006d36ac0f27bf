"""From the checked fields of an ingest to its spec: a pipeline that reads no repo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.inputs import Union
from trunkline.model.pipelines import PipelineSpec, Transform
from trunkline.model.streams import IngestSource
from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines.spec.apifields import ApiField, api_options
from trunkline.pipelines.spec.build import metadata_of, secrets_of
from trunkline.pipelines.spec.ingestfields import (
    GatherField,
    HttpField,
    IngestSpecField,
    KafkaField,
    PythonSourceField,
    SourceField,
)
from trunkline.pipelines.spec.kafkafields import check_kafka
from trunkline.pipelines.spec.kinds import SOURCES, check_settings
from trunkline.pipelines.spec.lakehousefields import (
    DeltaSourceField,
    IcebergSourceField,
    lakehouse_options,
)
from trunkline.pipelines.spec.objectfields import ObjectsField, objects_options
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.sqlfields import SqlSourceField, sql_options
from trunkline.pipelines.spec.streams import history_of

_LOCAL = ("localhost", "::1", "127.")
# Columns that messages of Kafka have beside those of their values.
_OF_MESSAGES = ("_key", "_topic", "_partition", "_offset", "_timestamp")


def build_ingest(fields: IngestSpecField, project: str) -> PipelineSpec:
    """The spec, or the `Flaw` that keeps it from making sense."""
    kind = _kind(fields.source)
    body = getattr(fields.source, kind)
    options = {name: getattr(body, name) for name in type(body).model_fields}
    secrets: Mapping[str, str] = {}
    transform = Transform()
    match body:
        case KafkaField():
            secrets = options.pop("secrets")
            check_kafka(options, secrets, ("source", "kafka"))
        case HttpField():
            secrets = _http_secrets(body)
            del options["token"]
        case PythonSourceField():
            transform = _function(body)
            options = {"function": body.function}
        case DeltaSourceField() | IcebergSourceField():
            options, secrets = lakehouse_options(body, ("source", kind))
        case ApiField():
            options, secrets = api_options(body, ("source", kind))
        case ObjectsField():
            options, secrets = objects_options(body, ("source", kind))
        case SqlSourceField():
            options, secrets = sql_options(body, ("source", "sql"))
    check_settings(kind, options, secrets, ("source", kind), is_source=True)
    _check_spark(fields, kind, options)
    batch = fields.batch or GatherField()
    source = IngestSource(
        kind=kind,
        options=options,
        secrets=tuple(sorted(secrets.items())),
        schema=_schema(fields, kind, options),
        folder=fields.table,
        partition_by=tuple(fields.partition_by),
        interval=fields.interval,
        rows=batch.rows,
        bytes=batch.bytes,
    )
    return PipelineSpec(
        name=RepoName(fields.ingest.project or project, fields.ingest.name),
        input=Union(()),
        transform=transform,
        description=fields.description,
        output_branch=fields.output_branch or DEFAULT_BRANCH,
        spark=tuple(sorted(fields.spark.items())),
        metadata=metadata_of(fields.metadata),
        source=source,
        history=history_of(fields.history),
    )


def _kind(fields: SourceField) -> str:
    given = [name for name in SOURCES if getattr(fields, name) is not None]
    if len(given) == 1:
        return given[0]
    *first, last = SOURCES
    what = f"has {' and '.join(given)}" if given else "is empty"
    place: Loc = ("source", given[1]) if given else ("source",)
    raise Flaw(place, f"source {what}, but takes exactly one of {', '.join(first)} and {last}.")


def _http_secrets(fields: HttpField) -> Mapping[str, str]:
    if fields.token is not None:
        return {"token": fields.token}
    if not fields.host.startswith(_LOCAL):
        raise Flaw(("source", "http", "host"), f"source.http.host: {shown(fields.host)} can be "
                   "reached from elsewhere, and no token is asked for.",
                   "Set a secret, and name it in token.")  # fmt: skip
    return {}


def _function(fields: PythonSourceField) -> Transform:
    secrets = secrets_of(fields.secrets, fields.env, ("source", "python"))
    return Transform(
        code=fields.code,
        params=tuple(sorted(fields.params.items())),
        env=tuple(sorted(fields.env.items())),
        secrets=tuple(sorted(secrets.items())),
        requirements=tuple(fields.requirements),
    )


def _check_spark(fields: IngestSpecField, kind: str, options: Mapping[str, Any]) -> None:
    if fields.spark and options.get("connector") != "spark" and not options.get("parallel"):
        raise Flaw(("spark",), f"spark goes with kafka and connector: spark, not with {kind}.")


def _schema(fields: IngestSpecField, kind: str, options: Mapping[str, Any]) -> str:
    if not fields.ddl.strip():
        return ""
    value = options.get("value", "json")
    if value != "json":
        raise Flaw(("schema",), f"schema goes with value: json, not with {value}.",
                   "Leave it out: a message is one value.")  # fmt: skip
    names = [*_columns(fields.ddl), *(_OF_MESSAGES if kind == "kafka" else ())]
    known = {name.casefold() for name in names}
    for i, column in enumerate(fields.partition_by):
        if column.casefold() not in known:
            loc: Loc = ("partition_by", i)
            near = did_you_mean(column, names)
            raise Flaw(loc, f"{path_text(loc)}: schema has no column {shown(column)}.{near}",
                       f"Its columns: {', '.join(names)}.")  # fmt: skip
    return fields.ddl.strip()


def _columns(ddl: str) -> list[str]:
    """The names of the columns. Whether a table can hold their types is told when applied."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    loc: Loc = ("schema",)
    try:
        made = parse_one(f"CREATE TABLE t (\n{ddl}\n)", dialect="spark")
        # What closes the bracket by itself would be more than columns.
        alone = made.args.get("expression") is None and made.args.get("properties") is None
        columns = made.this.expressions if alone and isinstance(made.this, exp.Schema) else []
    except (SqlglotError, RecursionError) as error:
        found = (getattr(error, "errors", None) or [{}])[0].get("highlight")
        what = f" from {shown(found)} on" if found else ""
        raise Flaw(loc, f"schema cannot be read{what}.", _EXAMPLE) from None
    names: list[str] = []
    for column in columns:
        if not isinstance(column, exp.ColumnDef) or column.args.get("kind") is None:
            raise Flaw(loc, f"schema: {shown(column.sql('spark'))} is not a column.", _EXAMPLE)
        if column.name.casefold() in {name.casefold() for name in names}:
            raise Flaw(loc, f"schema has two columns {shown(column.name)}.")
        names.append(column.name)
    if not names:
        raise Flaw(loc, "schema has no columns.", _EXAMPLE)
    return names


_EXAMPLE = 'Write names and types: "ts TIMESTAMP, user STRING".'
