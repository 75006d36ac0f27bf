"""What only streams and ingests have, as JSON and back, in the user's own field names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trunkline.model.inputs import Leaf
from trunkline.model.pipelines import Transform
from trunkline.model.streams import (
    BatchLimit,
    History,
    IngestSource,
    OnChangedRows,
    Streaming,
    StreamInput,
    StreamOutput,
    Watermark,
)

SOURCES: Mapping[str, Mapping[str, Any]] = {
    "folder": {
        "pattern": "*",
        "format": "auto",
        "settle": 1.0,
        "changed": "replace",
        "then": "keep",
        "archives": "keep",
    },
    "kafka": {"start": "earliest", "connector": "client", "value": "json", "options": {}},
    "http": {"host": "127.0.0.1", "port": 8480, "most": 16_000_000},
    "python": {},
    "rate": {"rows_per_second": 10},
    "objects": {
        "pattern": "*",
        "format": "auto",
        "how": "copy",
        "immutable": False,
        "archives": "keep",
        "every": 60.0,
        "options": {},
    },
    "sql": {
        "table": "",
        "query": "",
        "by": "",
        "key": [],
        "lag": 0.0,
        "every": 60.0,
        "parallel": {},
        "jdbc": {},
    },
    "delta": {"start": "all", "changes": "replace", "key": [], "every": 60.0, "options": {}},
    "iceberg": {"ref": "", "start": "all", "changes": "replace", "key": [], "every": 60.0},
    "api": {
        "method": "GET",
        "headers": {},
        "params": {},
        "records": "",
        "key": [],
        "every": 60.0,
        "timeout": 30.0,
        "most": 64_000_000,
    },
}
"""The kinds of sources, each with its options that may be left out."""

_function = re.compile(r"[^:\0]+\.py:[^\W\d]\w*").fullmatch
_query = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|TABLE|CREATE)\s|\s*[(/-]", re.IGNORECASE).match


def names_function(text: str) -> bool:
    """Whether the text of `stream` is file.py:function, and not SQL."""
    return _function(text) is not None and _query(text) is None


def number(seconds: float) -> float:
    """Seconds, as a whole number where they are one: 60, not 60.0."""
    return int(seconds) if seconds == int(seconds) else seconds


def _differing(default: object, made: object, *names: str) -> dict[str, Any]:
    pairs = ((name, getattr(made, name)) for name in names)
    return {name: value for name, value in pairs if value != getattr(default, name)}


# Streams -----------------------------------------------------------------------------------


def stream_to(transform: Transform) -> dict[str, Any]:
    """The fields of `transform` that only a stream has."""
    how = transform.streaming
    if how is None:
        return {}
    shown: dict[str, Any] = {"stream": transform.stream or transform.sql}
    if how.interval is not None:
        shown["trigger"] = {"interval": number(how.interval)}
    if how.output is StreamOutput.UPSERT:
        shown["output"] = {"upsert": list(how.key)}
    return shown | _differing(Streaming(), how, "retain")


def stream_from(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What `Transform` takes for them."""
    if "stream" not in raw:
        return {}
    text, key = raw["stream"], tuple(raw.get("output", {}).get("upsert", ()))
    interval = raw.get("trigger", {}).get("interval")
    how = Streaming(
        None if interval is None else float(interval),
        StreamOutput.UPSERT if key else StreamOutput.APPEND,
        key,
        raw.get("retain", Streaming().retain),
    )
    return {("stream" if names_function(text) else "sql"): text, "streaming": how}


def input_to(how: StreamInput) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if how.watermark is not None:
        delay = number(how.watermark.delay)
        shown["watermark"] = {"column": how.watermark.column, "delay": delay}
    if how.changes is not OnChangedRows.RAISE:
        shown["changes"] = str(how.changes)
    if limit := _differing(BatchLimit(), how.limit, "commits", "files", "bytes"):
        shown["limit"] = limit
    if how.static:
        shown["static"] = how.static
    return shown


def input_from(raw: Mapping[str, Any]) -> StreamInput:
    mark = raw.get("watermark")
    return StreamInput(
        Watermark(mark["column"], float(mark["delay"])) if mark else None,
        OnChangedRows(raw.get("changes", OnChangedRows.RAISE)),
        BatchLimit(**raw.get("limit", {})),
        raw.get("static", ""),
    )


def result_input(leaf: Leaf) -> dict[str, Any]:
    """What of a stream's input decides results: not how much of it a batch takes."""
    shown = input_to(leaf.stream)
    shown.pop("limit", None)
    return {"glob": leaf.glob, **shown}


def result_output(transform: Transform) -> list[str]:
    """What of a stream's output decides results: not when batches are made."""
    how = transform.streaming
    return [str(how.output), *how.key] if how is not None else []


def history_to(history: History) -> dict[str, Any]:
    shown = _differing(History(), history, "keep", "every", "compact")
    return {name: number(value) for name, value in shown.items()}


def history_from(raw: Mapping[str, Any]) -> History:
    default = History()
    return History(
        raw.get("keep", default.keep),
        float(raw.get("every", default.every)),
        raw.get("compact", default.compact),
    )


# Ingests -----------------------------------------------------------------------------------

_SECRETS_APART = ("kafka", "delta", "iceberg", "api", "objects")
"""Kinds whose secrets stand in a map of their own; else each is a field."""


def source_to(source: IngestSource, code: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an ingest. `code` is what travels with a function: its transform."""
    defaults = SOURCES[source.kind]
    body = {
        name: number(value) if isinstance(value, float) else value
        for name, value in source.options.items()
        if name not in defaults or value != defaults[name]
    }
    secrets = dict(source.secrets)
    if source.kind == "api" and "token" in secrets:
        body["token"] = secrets.pop("token")
    if source.kind in _SECRETS_APART and secrets:
        body["secrets"] = secrets
    else:
        body |= secrets
    shown: dict[str, Any] = {"source": {source.kind: {**body, **code}}}
    default = IngestSource(source.kind)
    if source.schema:
        shown["schema"] = source.schema
    if source.folder != default.folder:
        shown["table"] = source.folder
    if source.partition_by:
        shown["partition_by"] = list(source.partition_by)
    if source.interval != default.interval:
        shown["interval"] = number(source.interval)
    if batch := _differing(default, source, "rows", "bytes"):
        shown["batch"] = batch
    return shown


def source_from(raw: Mapping[str, Any]) -> tuple[IngestSource, Mapping[str, Any]]:
    """The source, and what of it is its function's transform."""
    ((kind, body),) = raw["source"].items()
    defaults, code = SOURCES[kind], {}
    options = {**defaults, **body}
    secrets: dict[str, str] = {}
    if kind in _SECRETS_APART:
        secrets = dict(options.pop("secrets", {}))
        if kind == "api" and "token" in options:
            secrets["token"] = options.pop("token")
    elif kind == "http" and "token" in options:
        secrets = {"token": options.pop("token")}
    elif kind == "python":
        code, options = options, {"function": options.pop("function")}
    elif kind == "folder":
        options["settle"] = float(options["settle"])
    elif kind == "sql":
        options |= {name: float(options[name]) for name in ("lag", "every")}
        if "password" in options:
            secrets = {"password": options.pop("password")}
    default, batch = IngestSource(kind), raw.get("batch", {})
    source = IngestSource(
        kind,
        options,
        tuple(sorted(secrets.items())),
        raw.get("schema", ""),
        raw.get("table", default.folder),
        tuple(raw.get("partition_by", ())),
        float(raw.get("interval", default.interval)),
        batch.get("rows", default.rows),
        batch.get("bytes", default.bytes),
    )
    return source, code
