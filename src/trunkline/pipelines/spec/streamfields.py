"""The fields of streams: how inputs are read, when a batch is made, and what becomes of it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from trunkline.errors import TrunklineError
from trunkline.model.refs import Revision
from trunkline.model.streams import History, Static
from trunkline.model.suggest import shown
from trunkline.pipelines.spec.fields import Fields, OrShort, about
from trunkline.pipelines.spec.tablevalues import Column, Columns
from trunkline.pipelines.spec.values import Count, Duration, Pause, Positive, Size, Unfit

SHORTEST = 0.1
"""Seconds. A batch is a commit: more of them than ten in a second help nobody."""


def _not_too_often(seconds: float) -> float:
    if seconds < SHORTEST:
        raise Unfit("It is shorter than 100ms.", "Each batch is a commit: write 1s, or longer.")
    return seconds


Interval = Annotated[Duration, AfterValidator(_not_too_often)]

_watermark = re.compile(r"(.*\S)\s+(\S+)").fullmatch


def _spelled_watermark(given: object) -> object:
    if not isinstance(given, str):
        return given
    found = _watermark(given.strip())
    if found is None:
        raise Unfit(f"{shown(given)} is not a column and a delay.", 'Write it as "ts 10s".')
    return {"column": found[1], "delay": found[2]}


class WatermarkField(Fields):
    column: Column = Field(description="The column of times by which rows are late.")
    delay: Pause = Field(description="How far behind the newest row others may be, as 10s.")


WatermarkText = Annotated[
    WatermarkField, BeforeValidator(_spelled_watermark), OrShort({"type": "string"})
]


class BatchLimitField(Fields):
    commits: Positive | None = about("A batch takes at most this many commits of the input.")
    files: Positive | None = about("A batch takes at most this many files of the input.")
    bytes: Size | None = about("A batch takes at most about this much of the input.")


def _static(given: Any) -> Any:
    if isinstance(given, bool):
        return str(Static.MOVING) if given else ""
    if not isinstance(given, str) or given in ("", *Static):
        return given
    try:
        Revision(given)
    except TrunklineError as error:
        raise Unfit(error.message, "Write moving, pinned, or a branch, tag or id.") from None
    return given


StaticText = Annotated[
    str, BeforeValidator(_static), WithJsonSchema({"type": ["string", "boolean"]})
]

ON_COMMIT = "on_commit"


def _spelled_trigger(given: object) -> object:
    if isinstance(given, str):
        if given != ON_COMMIT:
            raise Unfit(f"{shown(given)} is no trigger.", "Write on_commit, or {interval: 1s}.")
        return {}
    if given == {}:
        raise Unfit("It is empty.", "Write on_commit, or {interval: 1s}.")
    return given


class StreamTriggerField(Fields):
    interval: Interval | None = about("A batch is made this often, if there is something new.")


StreamTrigger = Annotated[
    StreamTriggerField, BeforeValidator(_spelled_trigger), OrShort({"enum": [ON_COMMIT]})
]


def _spelled_output(given: object) -> object:
    if isinstance(given, str):
        if given == "upsert":
            raise Unfit("upsert needs the columns of the key.", "Write {upsert: [id]}.")
        if given != "append":
            raise Unfit(f"{shown(given)} is no output.", "Write append, or {upsert: [id]}.")
        return {}
    if isinstance(given, dict) and not given.get("upsert"):
        raise Unfit("It names no column of the key.", "Write append, or {upsert: [id]}.")
    return given


class StreamOutputField(Fields):
    upsert: Columns = about("Rows take the place of those that agree with them in these.", [])


StreamOutputText = Annotated[
    StreamOutputField, BeforeValidator(_spelled_output), OrShort({"enum": ["append"]})
]

Changes = Literal["raise", "skip", "rows"]
_HISTORY = History()


class HistoryField(Fields):
    keep: Count = about("The newest commits that are all kept; 0: every commit is.", _HISTORY.keep)
    every: Pause = about("Of older commits, one is kept for each time this long.", _HISTORY.every)
    compact: Count = about(
        "So many small files in a folder are made one; 0: never.", _HISTORY.compact
    )
