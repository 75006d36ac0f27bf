"""The fields of object stores as a source of an ingest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from trunkline.errors import TrunklineError
from trunkline.model.suggest import shown
from trunkline.pipelines.globs import Glob
from trunkline.pipelines.spec.fields import Fields, about
from trunkline.pipelines.spec.kinds import SOURCES
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.values import Pause, SecretName, SparkValue, Text, Unfit

_DEFAULTS = SOURCES["objects"]
_url = re.compile(r"(?:(?:s3|gs|az)://[^/@\s]+(?:/.*)?|file:///.+)", re.DOTALL).fullmatch
_hidden = re.compile(r"secret|password|token|sas|access_key|account_key|service_account").search

Archives = Literal["keep", "unpack"]


def _is_store(url: str) -> str:
    if "@" in url.partition("://")[2].partition("/")[0]:
        # The URL itself is not shown: it would be in logs.
        raise Unfit("A URL holds no credentials.", "Name secrets: secrets: {access_key_id: NAME}.")
    if not _url(url):
        raise Unfit(f"{shown(url)} is no place of objects.",
                    "Write s3://bucket/prefix/, gs://, az:// or file:///folder/.")  # fmt: skip
    return url.rstrip("/") + "/"


def is_pattern(text: str) -> str:
    if not text or text.startswith("/") or ".." in text.split("/"):
        raise Unfit(f"{shown(text)} is no pattern of names.", 'Write it as "*.jsonl".')
    try:
        Glob(f"/{text}")
    except TrunklineError as error:
        raise Unfit(error.message, error.hint) from None
    return text


class ObjectsField(Fields):
    url: Annotated[Text, AfterValidator(_is_store)] = Field(
        description="Where the objects are: s3://bucket/prefix/, gs://, az:// or file:///folder/."
    )
    pattern: Annotated[Text, AfterValidator(is_pattern)] = about(
        "Which objects are taken; without a slash it is about the last part of their names.",
        _DEFAULTS["pattern"],
    )
    format: Literal["auto", "json", "csv", "parquet", "text", "files"] = about(
        "What is in the objects: auto goes by their names, files keeps them as they are.",
        _DEFAULTS["format"],
    )
    how: Literal["copy", "reference"] = about(
        "Whether objects are copied into the lake, or only listed in it and read where they are.",
        _DEFAULTS["how"],
    )
    immutable: bool = about(
        "The promise that an object never changes once it is there. A reference needs it.",
        _DEFAULTS["immutable"],
    )
    archives: Archives = about(
        "What becomes of zip and tar archives: kept, or their members taken as files.",
        _DEFAULTS["archives"],
    )
    every: Pause = about("How often it is looked for new objects.", _DEFAULTS["every"])
    options: dict[Text, SparkValue] = about("Settings of the store: region, endpoint.", {})
    secrets: dict[Text, SecretName] = about(
        "Settings of the store that are secrets, and the secrets' names.", {}
    )


def objects_options(fields: ObjectsField, loc: Loc) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The options and the secrets of the source, or the `Flaw` of what does not go together."""
    options = {name: getattr(fields, name) for name in type(fields).model_fields}
    del options["secrets"]
    where = path_text(loc)
    for name in fields.options:
        at = (*loc, "options", name)
        if _hidden(name.lower()):
            raise Flaw(at, f"{where}.options: {name} does not belong into a spec.",
                       f"Write secrets: {{{name}: NAME}}, and set the secret.")  # fmt: skip
        if name in fields.secrets:
            raise Flaw(at, f"{where} has {name} both in options and in secrets.")
    if fields.how == "copy":
        return options, fields.secrets
    if not fields.immutable:
        raise Flaw((*loc, "how"), f"{where}: a reference holds only what never changes.",
                   "Write immutable: true if that is so, or how: copy.")  # fmt: skip
    if fields.format not in ("auto", "files"):
        raise Flaw((*loc, "format"), f"{where}.format: by reference objects stay as they are.",
                   "Leave it out: a folder of them is a table all the same.")  # fmt: skip
    if fields.archives == "unpack":
        raise Flaw((*loc, "archives"), f"{where}.archives: what is by reference is not unpacked.",
                   "Write how: copy.")  # fmt: skip
    if fields.options or fields.secrets:
        name = "secrets" if fields.secrets else "options"
        raise Flaw((*loc, name), f"{where}.{name}: whoever reads a reference later does not know "
                   "them.", "Use the settings s3.endpoint and s3.region, and AWS_… in the "
                   "environment.")  # fmt: skip
    return options, {}
