"""The fields of an ingest: where data comes from, and how it is gathered into commits."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from trunkline.errors import TrunklineError
from trunkline.model.paths import normalize_path
from trunkline.model.streams import IngestSource
from trunkline.model.suggest import shown
from trunkline.pipelines.spec.apifields import ApiField
from trunkline.pipelines.spec.fields import Fields, OrShort, about, short
from trunkline.pipelines.spec.kafkafields import Servers, is_topic
from trunkline.pipelines.spec.kinds import SOURCES
from trunkline.pipelines.spec.lakehousefields import DeltaSourceField, IcebergSourceField
from trunkline.pipelines.spec.model import MetadataField, PipelineField, Secret
from trunkline.pipelines.spec.objectfields import Archives, ObjectsField, is_pattern
from trunkline.pipelines.spec.sqlfields import SqlSourceField
from trunkline.pipelines.spec.streamfields import HistoryField, Interval
from trunkline.pipelines.spec.tablevalues import (
    Columns,
    ParamName,
    ParamValue,
    RequirementText,
)
from trunkline.pipelines.spec.values import (
    BranchText,
    Pause,
    Positive,
    PythonFunction,
    SecretName,
    Size,
    SparkName,
    SparkValue,
    Text,
    Unfit,
    Variable,
)

_TEXT = {"type": "string"}
_FOLDER, _KAFKA, _HTTP = SOURCES["folder"], SOURCES["kafka"], SOURCES["http"]
_RATE = SOURCES["rate"]["rows_per_second"]
_DEFAULT = IngestSource("")


def _is_local(path: str) -> str:
    if not path.strip():
        raise Unfit("It is empty.")
    if "://" in path:
        raise Unfit(f"{shown(path)} is no folder of this machine.")
    return path


FolderPath = Annotated[Text, AfterValidator(_is_local)]


_AFTER = ("keep", "delete")


def _after(given: Any) -> Any:
    if isinstance(given, dict) and set(given) == {"move"} and isinstance(given["move"], str):
        return {"move": _is_local(given["move"])}
    if given not in _AFTER:
        raise Unfit("It is what happens to a file then.", "Write keep, delete or {move: DIR}.")
    return given


After = Annotated[
    Any,
    AfterValidator(_after),
    WithJsonSchema(
        {"anyOf": [{"enum": [*_AFTER]}, {"type": "object", "required": ["move"],
                   "properties": {"move": _TEXT}, "additionalProperties": False}]}
    ),
]  # fmt: skip


class FolderField(Fields):
    path: FolderPath = Field(description="The folder to watch, from where the spec is.")
    pattern: Annotated[Text, AfterValidator(is_pattern)] = about(
        "Which files are taken.", _FOLDER["pattern"]
    )
    format: Literal["auto", "json", "csv", "parquet", "text", "files"] = about(
        "What is in the files: auto goes by their names, files keeps them as they are.",
        _FOLDER["format"],
    )
    settle: Pause = about(
        "A file is taken when it has not changed for this long.", _FOLDER["settle"]
    )
    changed: Literal["replace", "ignore", "error"] = about(
        "When a file that was taken changes: its rows are replaced, it is ignored, or an error.",
        _FOLDER["changed"],
    )
    then: After = about(
        "What becomes of a file that is in: keep, delete or {move: DIR}.", _FOLDER["then"]
    )
    archives: Archives = about(
        "What becomes of zip and tar archives: kept, or their members taken as files.",
        _FOLDER["archives"],
    )


def _are_topics(names: list[str]) -> list[str]:
    if not names:
        raise Unfit("It names no topic.")
    for i, name in enumerate(names):
        is_topic(name)
        if name in names[:i]:
            raise Unfit(f"{shown(name)} is here twice.")
    return names


Topics = Annotated[
    list[Text],
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    AfterValidator(_are_topics),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _TEXT}, _TEXT]}),
]


class KafkaField(Fields):
    servers: Servers = Field(description="Where Kafka is: host:port, or several of them.")
    topics: Topics = Field(description="The topics to read.")
    start: Literal["earliest", "latest"] = about(
        "Where a topic is read from at first: all that is there, or only what comes.",
        _KAFKA["start"],
    )
    connector: Literal["client", "spark"] = about(
        "How it is read: by a client in this process, or by Spark's connector.", _KAFKA["connector"]
    )
    value: Literal["json", "text", "binary"] = about(
        "What a message is: JSON whose fields are columns, or one value.", _KAFKA["value"]
    )
    options: dict[Text, SparkValue] = about("Settings of Kafka's client, by their names.", {})
    secrets: dict[Text, SecretName] = about("Settings that are secrets, and the secrets' names.",
                                            {})  # fmt: skip


class HttpField(Fields):
    host: Text = about("The address to listen at.", _HTTP["host"])
    port: Annotated[Positive, Field(le=65535)] = about("The port to listen at.", _HTTP["port"])
    token: SecretName | None = about("The secret that senders must know.")
    most: Size = about("The largest body that is taken.", _HTTP["most"])


class PythonSourceField(Fields):
    function: PythonFunction = Field(description="The generator of rows: file.py:function.")
    code: Text = about("A file or folder that travels with the ingest, from the spec's.", "")
    params: dict[ParamName, ParamValue] = about("Values for ctx.params of the function.", {})
    env: dict[Variable, Text] = about("Environment variables.", {})
    secrets: list[Secret] = about("Secrets to give as environment variables.", [])
    requirements: list[RequirementText] = about("Python packages that the function needs.", [])


class RateField(Fields):
    rows_per_second: Positive = about("How many rows are made in a second.", _RATE)


Rate = Annotated[RateField, short("rows_per_second", int), OrShort({"type": "integer"})]


class SourceField(Fields):
    folder: Annotated[FolderField, short("path", str), OrShort(_TEXT)] | None = about(
        "Files of a folder, each once."
    )
    kafka: KafkaField | None = about("Messages of topics of Kafka.")
    http: HttpField | None = about("Rows that are sent by POST.")
    python: Annotated[PythonSourceField, short("function", str), OrShort(_TEXT)] | None = about(
        "Rows that a generator yields: file.py:function."
    )
    rate: Rate | None = about("Numbered rows, so many in a second, for trials.")
    objects: ObjectsField | None = about("Objects of a store, each once, copied or by reference.")
    sql: SqlSourceField | None = about("A table or a query of a SQL database.")
    delta: Annotated[DeltaSourceField, short("url", str), OrShort(_TEXT)] | None = about(
        "A table of Delta, version by version."
    )
    iceberg: IcebergSourceField | None = about("A table of Iceberg, snapshot by snapshot.")
    api: Annotated[ApiField, short("url", str), OrShort(_TEXT)] | None = about(
        "Records of an HTTP API, page by page."
    )


class GatherField(Fields):
    rows: Positive = about("A commit is made as soon as there are so many rows.", _DEFAULT.rows)
    bytes: Size = about("A commit is made as soon as there is so much data.", _DEFAULT.bytes)


def _is_folder(text: str) -> str:
    try:
        path = normalize_path(text)
    except TrunklineError as error:
        raise Unfit(error.message, error.hint) from None
    if any(part.startswith(("_", ".")) for part in path.split("/")):
        raise Unfit(f"{shown(path)} would be hidden: a part of it starts with _ or a dot.")
    return path


class IngestSpecField(Fields):
    refused: ClassVar[dict[str, str]] = {
        name: f"does not go with ingest, which {why}"
        for name, why in {
            "pipeline": "has its own name",
            "input": "reads its source",
            "transform": "only brings data in",
            "schedule": "always runs",
            "expectations": "sets rows apart that do not fit its schema",
            "egress": "only brings data in",
        }.items()
    }

    ingest: PipelineField = Field(description="The ingest's name and project.")
    source: SourceField = Field(description="Where data comes from: exactly one of its fields.")
    ddl: Text = Field(
        default="",
        alias="schema",
        description="The columns of its table, as SQL writes them; rows that do not fit are set "
        "apart in /_malformed/.",
    )
    table: Annotated[Text, AfterValidator(_is_folder)] = about("The folder of the table.", "/")
    partition_by: Columns = about("The columns whose values are folders of the table.", [])
    interval: Interval = about(
        "Rows are gathered for this long, then committed.", _DEFAULT.interval
    )
    batch: GatherField | None = about("When rows are committed sooner.")
    history: HistoryField | None = about("How its history is kept short.")
    description: Text = about("A sentence about it.", "")
    metadata: MetadataField | None = about("Annotations and labels.")
    output_branch: BranchText = about("The branch it writes; without it, main.", "")
    spark: dict[SparkName, SparkValue] = about("Spark settings, for Spark's connector.", {})
