"""Kafka as a target of egress, and what its source has in common with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from trunkline.model.suggest import shown
from trunkline.pipelines.spec.fields import Fields, about
from trunkline.pipelines.spec.kinds import TARGETS
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.tablevalues import Columns
from trunkline.pipelines.spec.values import SecretName, SparkValue, Text, Unfit

_TEXT = {"type": "string"}
_TARGET = TARGETS["kafka"]
_hidden = re.compile(r"(?:password|secret|key\.pem|keystore\.key|jaas\.config)$").search
_server = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})").fullmatch
_topic = re.compile(r"[A-Za-z0-9._-]{1,249}").fullmatch


def _servers(given: object) -> object:
    if isinstance(given, list) and all(isinstance(one, str) for one in given):
        given = ",".join(given)
    if not isinstance(given, str):
        return given
    parts = [part.strip() for part in given.split(",")]
    for part in parts:
        found = _server(part)
        if found is None or not 0 < int(found[2]) < 65536:
            raise Unfit(f"{shown(part)} is no server of Kafka.", 'Write it as "host:9092".')
    return ",".join(parts)


Servers = Annotated[
    str,
    BeforeValidator(_servers),
    WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}),
]


def is_topic(name: str) -> str:
    if not _topic(name) or name in (".", ".."):
        raise Unfit(f"{shown(name)} cannot be a topic of Kafka.",
                    "Topics have letters, digits, dots, dashes and underscores.")  # fmt: skip
    return name


class KafkaTargetField(Fields):
    servers: Servers = Field(description="Where Kafka is: host:port, or several of them.")
    topic: Annotated[Text, AfterValidator(is_topic)] = Field(description="The topic to write to.")
    key: Columns = about("The columns that make the key of a message.", _TARGET["key"])
    value: Literal["json"] = about("What a message is: a row as JSON.", _TARGET["value"])
    changes: bool = about(
        "Whether each row says what happened to it, in _change: insert, update or delete.",
        _TARGET["changes"],
    )
    options: dict[Text, SparkValue] = about("Settings of Kafka's client, by their names.", {})
    secrets: dict[Text, SecretName] = about(
        "Settings that are secrets, and the secrets' names.", {}
    )


def check_kafka(options: Mapping[str, Any], secrets: Mapping[str, str], loc: Loc) -> None:
    """Raises the `Flaw` of settings that no spec holds."""
    for name in options.get("options", {}):
        place: Loc = (*loc, "options", name)
        if _hidden(name):
            raise Flaw(place, f"{path_text(place[:-1])}: {name} does not belong into a spec.",
                       f"Write secrets: {{{name}: NAME}}, and set the secret.")  # fmt: skip
        if name in secrets:
            raise Flaw(place, f"{path_text(loc)} has {name} both in options and in secrets.")
