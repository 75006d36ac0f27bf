"""Streams and ingests declared in Python.

clicks = ingest("clicks", source=folder("./inbox", pattern="*.jsonl"), schema="ts TIMESTAMP")

@ingest(schema="id BIGINT")
def numbers():
    yield {"id": 1}

@stream(input=pfs("clicks", watermark=("ts", "10s")), interval="1s", upsert=["user"])
def sessions(clicks):
    return clicks.groupBy("user").count()
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, overload

from trunkline.errors import InvalidSpec
from trunkline.pipelines.dsl import (
    Declared,
    InputDict,
    PipelineFunction,
    base_of,
    code_of,
    given,
    plain,
    raw_of,
)
from trunkline.pipelines.signature import Signature, not_plain

Duration = str | float | timedelta
SourceDict = dict[str, Any]

# Options that travel with the function of an ingest; all others are its own fields.
_OF_FUNCTION = {"code", "env", "params", "requirements", "secrets"}


def folder(path: str | os.PathLike[str], pattern: str | None = None, **fields: Any) -> SourceDict:
    """Files of a folder, each once. Fields: format, settle, changed, then, archives."""
    return {"folder": given(path=path, pattern=pattern, **fields)}


def objects(url: str, pattern: str | None = None, **fields: Any) -> SourceDict:
    """Objects of a store, each once. Fields: format, how, immutable, archives, every, options,
    secrets.
    """
    return {"objects": given(url=url, pattern=pattern, **fields)}


def kafka(servers: str | Iterable[str], topics: str | Iterable[str], **fields: Any) -> SourceDict:
    """Messages of topics of Kafka. Fields: start, connector, value, options, secrets."""
    return {"kafka": given(servers=_listed(servers), topics=_listed(topics), **fields)}


def http(host: str | None = None, port: int | None = None, **fields: Any) -> SourceDict:
    """Rows that are sent by POST. Fields: token, most."""
    return {"http": given(host=host, port=port, **fields)}


def rate(rows_per_second: int | None = None) -> SourceDict:
    """Numbered rows, so many in a second, for trials."""
    return {"rate": given(rows_per_second=rows_per_second)}


def database(
    url: str,
    table: str | None = None,
    *,
    query: str | None = None,
    by: str | None = None,
    key: str | Iterable[str] | None = None,
    **fields: Any,
) -> SourceDict:
    """A table or a query of a SQL database. Fields: password, lag, every, parallel, jdbc."""
    return {"sql": given(url=url, table=table, query=query, by=by, key=_listed(key), **fields)}


def delta(url: str | os.PathLike[str], **fields: Any) -> SourceDict:
    """A table of Delta. Fields: at, start, changes, key, every, options, secrets."""
    return {"delta": given(url=url, **fields)}


def iceberg(catalog: Mapping[str, Any], table: str, **fields: Any) -> SourceDict:
    """A table of Iceberg. Fields: ref, at, start, changes, key, every, secrets."""
    return {"iceberg": given(catalog=dict(catalog), table=table, **fields)}


def api(url: str, records: str | None = None, **fields: Any) -> SourceDict:
    """Records of an HTTP API. Fields: paging, since, key, token, headers, params, every, rate …"""
    return {"api": given(url=url, records=records, **fields)}


def stream(
    input: InputDict,
    name: str | None = None,
    project: str | None = None,
    *,
    interval: Duration | None = None,
    upsert: str | Iterable[str] | None = None,
    **options: Any,
) -> Callable[[Callable[..., Any]], PipelineFunction]:
    """Make a function of DataFrames a stream. Options are named as the fields of a spec.

    Without `interval` it runs when a commit comes; without `upsert` its rows are added.
    """

    def declare(function: Callable[..., Any]) -> PipelineFunction:
        file, line = code_of(function)
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise not_plain(f"{file}:{line}")
        Signature.of(function, f"{file}:{line}")
        transform = {"stream": f"{base_of(file)}:{function.__name__}"}
        when = given(interval=interval, upsert=_listed(upsert))
        raw = raw_of(name or function.__name__, project, input, transform, {**when, **options})
        return PipelineFunction(function, raw)

    return declare


class Ingest(Declared):
    """What brings data into the lake from a source."""


class IngestFunction(PipelineFunction):
    """A generator that brings its rows into the lake. Calling it calls the generator."""


Decorator = Callable[[Callable[..., Any]], IngestFunction]


@overload
def ingest(name: Callable[..., Any]) -> IngestFunction: ...


@overload
def ingest(
    name: str, *, source: SourceDict, project: str | None = None, **options: Any
) -> Ingest: ...


@overload
def ingest(name: str | None = None, *, project: str | None = None, **options: Any) -> Decorator: ...


def ingest(
    name: str | Callable[..., Any] | None = None,
    *,
    source: SourceDict | None = None,
    project: str | None = None,
    **options: Any,
) -> Ingest | IngestFunction | Decorator:
    """Declare an ingest: of a source, or as a decorator of a generator of rows.

    Options are named as the fields of a spec: schema, table, partition_by, interval, batch …
    """
    if callable(name):
        return _of_function(name, None, None, {})
    if source is None:
        return lambda function: _of_function(function, name, project, options)
    caller = sys._getframe(1)
    if caller.f_globals.get("__name__") == "trunkline.ingests" and caller.f_back:
        caller = caller.f_back
    raw = {"ingest": given(name=name, project=project), "source": plain(source), **plain(options)}
    return Ingest(raw, caller.f_code.co_filename, caller.f_lineno)


def _of_function(
    function: Callable[..., Any], name: str | None, project: str | None, options: Mapping[str, Any]
) -> IngestFunction:
    file, line = code_of(function)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidSpec(f"{file}:{line}: the function of an ingest must not be async.")
    python: Any = f"{base_of(file)}:{function.__name__}"
    travels = {option: value for option, value in options.items() if option in _OF_FUNCTION}
    if travels:
        python = {"function": python, **travels}
    own = {option: value for option, value in options.items() if option not in _OF_FUNCTION}
    raw = {
        "ingest": given(name=name or function.__name__, project=project),
        "source": {"python": plain(python)},
        **plain(own),
    }
    return IngestFunction(function, raw)


def _listed(names: str | Iterable[str] | None) -> Any:
    return names if isinstance(names, str | None) else list(names)
