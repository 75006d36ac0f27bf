"""The fields of `egress`: where the output of a pipeline goes.

Each kind of target is a map of its own. Fields that `kinds.TARGET_SECRETS` names, and those of
`secrets`, have the names of secrets; all others are the target's options, whose defaults stand in
`kinds.TARGETS`.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from trunkline.errors import TrunklineError
from trunkline.model.egress import Target
from trunkline.model.paths import normalize_path
from trunkline.model.suggest import shown
from trunkline.pipelines.spec.fields import Fields, OrShort, about, short
from trunkline.pipelines.spec.kafkafields import KafkaTargetField
from trunkline.pipelines.spec.kinds import TARGETS
from trunkline.pipelines.spec.lakehousefields import DeltaTargetField, IcebergTargetField
from trunkline.pipelines.spec.sqlfields import SqlTargetField
from trunkline.pipelines.spec.values import (
    Address,
    Pause,
    Positive,
    SecretName,
    SparkValue,
    TargetName,
    Text,
    Unfit,
)

_TEXT = {"type": "string"}
_FOLDER, _OBJECTS, _WEBHOOK = TARGETS["folder"], TARGETS["objects"], TARGETS["webhook"]
_DEFAULT = Target("", "")
_bucket = re.compile(r"(s3|gs|az)://[^/?#@\s]+(/[^?#]*)?").fullmatch


def _is_local(path: str) -> str:
    if not path.strip():
        raise Unfit("It is empty.")
    if "://" in path:
        raise Unfit(f"{shown(path)} is no folder of this machine.", "Write objects: {url: …}.")
    return path


def _is_bucket(url: str) -> str:
    if "@" in url:
        raise Unfit("An address holds no credentials.", "Name secrets: {access_key_id: NAME, …}.")
    if not _bucket(url):
        raise Unfit(f"{shown(url)} is no address of a bucket.", 'Write "s3://bucket/folder/".')
    return url.rstrip("/") + "/"


def _is_web(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise Unfit(f"{shown(url)} is no address of a web server.", 'Write "https://host/path".')
    if "@" in parts.netloc:
        raise Unfit("An address holds no credentials.", "Name the secret of a token: token: NAME.")
    return url


def _is_place(text: str) -> str:
    try:
        return normalize_path(text)
    except TrunklineError as error:
        raise Unfit(error.message, error.hint) from None


def _holds_no_secret(options: dict[str, str]) -> dict[str, str]:
    for name in options:
        if re.search(r"secret|password|token|access_key|account_key|credential", name):
            raise Unfit(f"{name} does not belong into a spec.",
                        f"Write secrets: {{{name}: NAME}}, and set the secret.")  # fmt: skip
    return options


Mode = Literal["mirror", "versions"]
FileFormat = Literal["keep", "parquet", "csv", "json"]
BucketUrl = Annotated[Address, AfterValidator(_is_bucket)]
BucketOptions = Annotated[dict[Text, SparkValue], AfterValidator(_holds_no_secret)]


class FolderTargetField(Fields):
    path: Annotated[Text, AfterValidator(_is_local)] = Field(
        description="The folder to write, from where the spec is."
    )
    mode: Mode = about(
        "mirror: the folder has the newest version. versions: a folder for each version, and "
        "latest leads to the newest.",
        _FOLDER["mode"],
    )
    format: FileFormat = about(
        "keep: files as they are. parquet, csv, json: tables are written anew.", _FOLDER["format"]
    )
    keep: Positive | None = about("With versions, so many of them stay; without it, all.")


class ObjectsTargetField(Fields):
    url: BucketUrl = Field(description="The folder of a bucket: s3://, gs:// or az://.")
    mode: Mode = about(
        "mirror: the folder has the newest version. versions: a folder for each version, and "
        "latest.json names the newest.",
        _OBJECTS["mode"],
    )
    format: FileFormat = about(
        "keep: files as they are. parquet, csv, json: tables are written anew.", _OBJECTS["format"]
    )
    keep: Positive | None = about("With versions, so many of them stay; without it, all.")
    options: BucketOptions = about("Settings of the bucket, such as endpoint and region.", {})
    secrets: dict[Text, SecretName] = about(
        "Settings that are secrets, and the secrets' names: access_key_id, secret_access_key.", {}
    )


class WebhookTargetField(Fields):
    url: Annotated[Address, AfterValidator(_is_web)] | None = about(
        "Where to POST to. If it is a secret itself: secrets: {url: NAME}."
    )
    body: Literal["event", "rows"] = about(
        "event: which version there is. rows: the rows of its table, as lines of JSON.",
        _WEBHOOK["body"],
    )
    most: Positive = about("At most so many rows are sent.", _WEBHOOK["most"])
    timeout: Pause = about("How long an answer may take.", _WEBHOOK["timeout"])
    token: SecretName | None = about("The secret that is sent as a bearer token.")
    sign: SecretName | None = about("The secret that the body is signed with: HMAC-SHA256.")
    secrets: dict[Literal["url"], SecretName] = about("The secret that is the address.", {})


class ObjectStorageField(Fields):
    url: BucketUrl = Field(description="The folder of a bucket.")


class TargetField(Fields):
    refused: ClassVar[dict[str, str]] = {
        "sql_database": "is Pachyderm's own form: write sql with url, table and secrets",
        **dict.fromkeys(("url", "mode", "format"), "goes into folder or objects"),
    }

    name: TargetName = about("What the target is called; without it, as its kind.", "")
    path: Annotated[Text, AfterValidator(_is_place)] = about(
        "The table or folder of the output that is delivered.", _DEFAULT.path
    )
    tries: Positive = about("How often a delivery is tried.", _DEFAULT.tries)
    backoff: Pause = about(
        "The pause before the second try; each is twice as long as the one before, at most 10m.",
        _DEFAULT.backoff,
    )
    folder: Annotated[FolderTargetField, short("path", str), OrShort(_TEXT)] | None = about(
        "A folder of the worker's machine."
    )
    objects: Annotated[ObjectsTargetField, short("url", str), OrShort(_TEXT)] | None = about(
        "A folder of a bucket."
    )
    webhook: Annotated[WebhookTargetField, short("url", str), OrShort(_TEXT)] | None = about(
        "A web server that is told by POST."
    )
    sql: SqlTargetField | None = about("A table of a SQL database.")
    kafka: KafkaTargetField | None = about("A topic of Kafka.")
    delta: Annotated[DeltaTargetField, short("url", str), OrShort(_TEXT)] | None = about(
        "A table of Delta."
    )
    iceberg: IcebergTargetField | None = about("A table of Iceberg.")
    pachyderm_url: BucketUrl | None = Field(
        default=None, alias="URL", description="Pachyderm's form of objects: {url: …}."
    )
    object_storage: ObjectStorageField | None = about("Pachyderm's form of objects: {url: …}.")
