"""The fields of Delta and Iceberg tables, as sources of ingests and as targets of egress."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from trunkline.model.suggest import shown
from trunkline.pipelines.spec.fields import Fields, about
from trunkline.pipelines.spec.kinds import SOURCES, TARGETS
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.tablevalues import Columns
from trunkline.pipelines.spec.values import Address, Pause, SecretName, SparkValue, Text, Unfit

_DELTA, _ICEBERG = SOURCES["delta"], SOURCES["iceberg"]
_TO_DELTA, _TO_ICEBERG = TARGETS["delta"], TARGETS["iceberg"]
_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "file")
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+]*)://").match
_hidden = re.compile(
    r"secret|password|token|access.?key|account.?key|credential|sas", re.IGNORECASE
).search
_name = re.compile(r"[^.\s]+(\.[^.\s]+)+").fullmatch


def _is_table_url(url: str) -> str:
    if not url.strip():
        raise Unfit("It is empty.")
    found = _scheme(url)
    if found is None:
        return url
    if found[1] not in _SCHEMES:
        raise Unfit(f"{shown(found[1])} is no store of tables.",
                    "Write a folder, or s3://, gs:// or az://.")  # fmt: skip
    parts = urlsplit(url)
    if parts.password is not None or parts.query:
        raise Unfit("An address holds no credentials.", "Name secrets: {AWS_…: NAME}.")
    return url


def _holds_no_secret(options: dict[str, str]) -> dict[str, str]:
    for name, value in options.items():
        told = _hidden(name)
        if not told and (found := _scheme(value)):
            told = re.match(r"[^/@:]*:[^/@]+@", value[found.end() :])
        if told:
            # The value itself is not shown: it would be in logs.
            raise Unfit(f"{name} does not belong into a spec.",
                        f"Write secrets: {{{name}: NAME}}, and set the secret.")  # fmt: skip
    return options


def _is_table_name(name: str) -> str:
    if not _name(name):
        raise Unfit(f"{shown(name)} is no table of a catalog.", "Write it as namespace.table.")
    return name


TableUrl = Annotated[Address, AfterValidator(_is_table_url)]
TableName = Annotated[Text, AfterValidator(_is_table_name)]
Options = Annotated[dict[Text, SparkValue], AfterValidator(_holds_no_secret)]
Start = Literal["all", "latest"]
Changes = Literal["replace", "append", "upsert"]
Mode = Literal["append", "replace", "merge"]
_START = "What is read at first: all, or only what comes."
_CHANGES = (
    "When rows were changed or removed: replace reads the table anew, append leaves it out, "
    "upsert goes by key."
)
_SECRETS = "Settings that are secrets, and the secrets' names."
_KEY = "The columns that tell rows apart."
_EVERY = "How often it looks."
_MODE = "replace: all rows. append: rows that are new. merge: by key."
_DELETE = "With merge, whether rows whose key is gone are deleted."
_PARTITION = "The columns by which a table is partitioned that is not there yet."


class DeltaSourceField(Fields):
    url: TableUrl = Field(description="Where the table is: a folder, s3://, gs:// or az://.")
    at: Annotated[int, Field(ge=0)] | None = about("Only this version of it.")
    start: Start = about(_START, _DELTA["start"])
    changes: Changes = about(_CHANGES, _DELTA["changes"])
    key: Columns = about(_KEY, _DELTA["key"])
    every: Pause = about(_EVERY, _DELTA["every"])
    options: Options = about("Settings of the store, as deltalake names them.", {})
    secrets: dict[Text, SecretName] = about(_SECRETS, {})


class IcebergSourceField(Fields):
    catalog: Options = Field(
        description="The catalog's properties, as pyiceberg names them: type, uri, warehouse."
    )
    table: TableName = Field(description="The table: namespace.table.")
    ref: Text = about("A branch or tag of it; without it, main.", _ICEBERG["ref"])
    at: Annotated[int, Field(ge=0)] | None = about("Only this snapshot of it.")
    start: Start = about(_START, _ICEBERG["start"])
    changes: Changes = about(_CHANGES, _ICEBERG["changes"])
    key: Columns = about(_KEY, _ICEBERG["key"])
    every: Pause = about(_EVERY, _ICEBERG["every"])
    secrets: dict[Text, SecretName] = about(_SECRETS, {})


class DeltaTargetField(Fields):
    url: TableUrl = Field(description="Where the table is: a folder, s3://, gs:// or az://.")
    mode: Mode = about(_MODE, _TO_DELTA["mode"])
    key: Columns = about(_KEY, _TO_DELTA["key"])
    delete: bool = about(_DELETE, _TO_DELTA["delete"])
    partition_by: Columns = about(_PARTITION, _TO_DELTA["partition_by"])
    options: Options = about("Settings of the store, as deltalake names them.", {})
    secrets: dict[Text, SecretName] = about(_SECRETS, {})


class IcebergTargetField(Fields):
    catalog: Options = Field(
        description="The catalog's properties, as pyiceberg names them: type, uri, warehouse."
    )
    table: TableName = Field(description="The table: namespace.table.")
    mode: Mode = about(_MODE, _TO_ICEBERG["mode"])
    key: Columns = about(_KEY, _TO_ICEBERG["key"])
    delete: bool = about(_DELETE, _TO_ICEBERG["delete"])
    partition_by: Columns = about(_PARTITION, _TO_ICEBERG["partition_by"])
    create: bool = about("Whether a table that is not there is made.", _TO_ICEBERG["create"])
    secrets: dict[Text, SecretName] = about(_SECRETS, {})


def lakehouse_options(
    fields: DeltaSourceField | IcebergSourceField, loc: Loc
) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The options of a source and its secrets, or the `Flaw` that keeps them from making sense."""
    names = type(fields).model_fields
    options = {name: value for name in names if (value := getattr(fields, name)) is not None}
    secrets = options.pop("secrets")
    if (fields.changes == "upsert") != bool(fields.key):
        raise Flaw((*loc, "key"), f"{path_text(loc)}: key goes with changes: upsert, which needs "
                   "it.", "Write both or none.")  # fmt: skip
    if fields.at is not None and options.get("ref"):
        raise Flaw((*loc, "at"), f"{path_text(loc)} has both at and ref.", "Leave one out.")
    _check_secrets(options, secrets, loc)
    return options, secrets


def check_lakehouse(options: Mapping[str, Any], loc: Loc) -> None:
    """Raises the `Flaw` of a target that makes no sense."""
    if (options["mode"] == "merge") != bool(options.get("key")):
        raise Flaw((*loc, "key"), f"{path_text(loc)}: key goes with mode: merge, which needs it.",
                   "Write both or none.")  # fmt: skip
    if options.get("delete") and options["mode"] != "merge":
        raise Flaw((*loc, "delete"), f"{path_text((*loc, 'delete'))} goes with mode: merge.")


def _check_secrets(options: Mapping[str, Any], secrets: Mapping[str, str], loc: Loc) -> None:
    inner = {**options.get("options", {}), **options.get("catalog", {})}
    for name in secrets:
        if name in inner:
            raise Flaw((*loc, "secrets", name), f"{path_text(loc)} has {name} twice.")
        if name in options:
            raise Flaw((*loc, "secrets", name), f"{path_text(loc)}: {name} cannot be a secret.")
