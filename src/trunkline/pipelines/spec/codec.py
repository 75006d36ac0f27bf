"""Specs as JSON and back, exactly, in the user's own field names; and what of them counts.

What `to_json` gives can be applied again. Fields that have their default are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from trunkline.model.commits import RepoName
from trunkline.model.egress import Target
from trunkline.model.inputs import (
    Cron,
    Cross,
    Group,
    Input,
    Join,
    Leaf,
    Pfs,
    Trigger,
    Union,
    leaves,
)
from trunkline.model.pipelines import (
    INGEST,
    Merge,
    Mode,
    PipelineSpec,
    Sandbox,
    Transform,
)
from trunkline.model.streams import IngestSource, Streaming, StreamInput, StreamOutput
from trunkline.pipelines.sparksettings import deciding
from trunkline.pipelines.spec.kinds import (
    SOURCE_SECRETS,
    SOURCES,
    TARGET_SECRETS,
    TARGETS,
    read_body,
    write_body,
)
from trunkline.pipelines.spec.record import Record, Value, Whole, list_of
from trunkline.pipelines.spec.rulecodec import result_rule, rule_from, rule_to, takes_rows
from trunkline.pipelines.sql_tokens import essence


def to_json(spec: PipelineSpec) -> dict[str, Any]:
    """The spec as a user could have written it."""
    if spec.source is not None:
        return _INGEST.write(spec)
    shown = _PIPELINE.write(spec)
    if "resource_limits" in shown:
        shown["resource_limits"] = shown.pop("resource_limits")  # stands last
    return shown


def from_json(raw: Mapping[str, Any]) -> PipelineSpec:
    """The spec that `to_json` gave. Does not check: texts of users go through `read_specs`."""
    return (_INGEST if INGEST in raw else _PIPELINE).read(raw)


def view_of(raw: Mapping[str, Any]) -> PipelineSpec:
    """The same for those who need a field or two: each is read when it is asked for."""
    return (_INGEST if INGEST in raw else _PIPELINE).view(raw)


# What decides results ------------------------------------------------------------------------


def result_fields(spec: PipelineSpec) -> dict[str, Any]:
    """What of a spec decides its results. Names of inputs are not in it: they are in the datum.

    Of an input, only what changes what a datum is shown for the same files counts. Of SQL, not
    its comments and formatting. Of expectations, those that take rows out: others only decide
    whether a result is published. A stream has no datums, so its inputs count with all but how
    much of them a batch takes; when batches are made does not. `requirements` count, as another
    version of a package is other code; `on_change` does not, as the result is the same in the
    end. Of Spark's settings those count that may decide results.
    """
    transform = spec.transform
    shown = {
        f"{leaf.repo}@{leaf.branch}:{leaf.name}": _given(
            empty_files=leaf.empty_files,
            captures=[leaf.glob, leaf.join_on, leaf.group_by] if "(" in leaf.glob else None,
            stream=_result_input(leaf) if transform.streaming else None,
        )
        for leaf in leaves(spec.input)
    }
    return _given(
        cmd=list(transform.cmd),
        python=transform.python,
        sql=essence(transform.sql),
        spark=transform.spark,
        stream=transform.stream,
        output=_result_output(transform.streaming),
        ingest=_SOURCE.write(spec.source) if spec.source else None,
        mode=str(transform.mode) if transform.makes_tables else "",
        partition_by=list(transform.partition_by),
        params=dict(transform.params),
        requirements=sorted(transform.requirements),
        expectations=[result_rule(rule) for rule in spec.expectations if takes_rows(rule)],
        stdin=list(transform.stdin),
        err_cmd=list(transform.err_cmd),
        err_stdin=list(transform.err_stdin),
        accept_return_code=list(transform.accept_return_code),
        env=dict(transform.env),
        secrets=dict(transform.secrets),
        working_dir=transform.working_dir,
        sandbox=str(transform.sandbox) if transform.sandbox != Sandbox.AUTO else "",
        merge=str(spec.merge) if spec.merge != Merge.ERROR else "",
        inputs={name: fields for name, fields in shown.items() if fields},
        settings=deciding(spec.spark) if transform.kind in ("sql", "spark", "stream") else None,
    )


def _result_input(leaf: Leaf) -> dict[str, Any]:
    """What of a stream's input decides results: not how much of it a batch takes."""
    shown = _STREAM_INPUT.write(leaf.stream)
    shown.pop("limit", None)
    return {"glob": leaf.glob, **shown}


def _result_output(how: Streaming | None) -> list[str]:
    """What of a stream's output decides results: not when batches are made."""
    return [str(how.output), *how.key] if how is not None else []


def transform_digest(
    spec: PipelineSpec, code: Iterable[tuple[str, str]], source: str, salt: str
) -> str:
    """One hash of all that decides results: fields, code files (path, hash), source and salt."""
    from blake3 import blake3

    text = json.dumps(
        {"fields": result_fields(spec), "code": sorted(code), "source": source, "salt": salt},
        sort_keys=True,
        separators=(",", ":"),
    )
    return blake3(text.encode()).hexdigest()


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are written the same: to Python 1, 1.0 and true are equal."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _given(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value}


def _nothing(record: object) -> dict[str, Any]:
    """Of fields that others are written with."""
    return {}


# Inputs ------------------------------------------------------------------------------------

_MEMBERS: dict[str, type[Cross] | type[Union] | type[Join] | type[Group]] = {
    "cross": Cross,
    "union": Union,
    "join": Join,
    "group": Group,
}
_STREAM_INPUT = Record(StreamInput)
_TRIGGER = Record(Trigger, names={"rate_limit": "rate_limit_spec", "cron": "cron_spec"})
_REPO = Whole(
    lambda leaf: {"project": leaf.repo.project, "repo": leaf.repo.repo},
    lambda raw: RepoName(raw["project"], raw["repo"]),
)
_LEAVES: dict[str, Record[Any]] = {
    "pfs": Record(
        Pfs,
        first=("repo", "name", "branch", "glob"),
        repo=_REPO,
        propagation=Value(lambda _: "never", lambda text: text != "never"),
        trigger=Value(_TRIGGER.write, _TRIGGER.read),
        stream=Whole(lambda leaf: _STREAM_INPUT.write(leaf.stream), _STREAM_INPUT.read),
    ),
    "cron": Record(Cron, first=("name", "repo"), names={"cron": "spec"}, repo=_REPO),
}


def _input_to(expression: Input, project: str) -> dict[str, Any]:
    if isinstance(expression, Pfs | Cron):
        kind = "pfs" if isinstance(expression, Pfs) else "cron"
        shown = _LEAVES[kind].write(expression)
        if shown["project"] == project or kind == "cron":
            del shown["project"]
        return {kind: shown}
    kind = next(name for name, made in _MEMBERS.items() if isinstance(expression, made))
    return {kind: [_input_to(member, project) for member in expression.members]}


def _input_from(raw: Mapping[str, Any], project: str) -> Input:
    ((kind, inner),) = raw.items()
    if kind in _LEAVES:
        leaf: Leaf = _LEAVES[kind].read({"project": project, **inner})
        return leaf
    return _MEMBERS[kind](tuple(_input_from(member, project) for member in inner))


# Transforms ----------------------------------------------------------------------------------

_function = re.compile(r"[^:\0]+\.py:[^\W\d]\w*").fullmatch
_query = re.compile(r"\s*(SELECT|WITH|FROM|VALUES|TABLE|CREATE)\s|\s*[(/-]", re.IGNORECASE).match


def names_function(text: str) -> bool:
    """Whether the text of `stream` is file.py:function, and not SQL."""
    return _function(text) is not None and _query(text) is None


_STREAMING = Record(
    Streaming,
    names={"interval": "trigger.interval", "key": "output.upsert"},
    output=Whole(
        _nothing,
        lambda raw: StreamOutput.UPSERT if raw.get("output") else StreamOutput.APPEND,
    ),
)


def _stream_to(transform: Transform) -> dict[str, Any]:
    how = transform.streaming
    if how is None:
        return {}
    return {"stream": transform.stream or transform.sql, **_STREAMING.write(how)}


def _sql_from(raw: Mapping[str, Any]) -> str:
    text: str = raw.get("stream") or raw.get("sql", "")
    return "" if names_function(text) and "stream" in raw else text


def _stream_from(raw: Mapping[str, Any]) -> str:
    text: str = raw.get("stream", "")
    return text if names_function(text) else ""


def _secrets_to(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    parts = ((variable, *secret.partition("/")) for variable, secret in pairs)
    return [
        {"name": name, "env_var": variable, **({"key": key} if slash else {})}
        for variable, name, slash, key in parts
    ]


def _secret_from(raw: Mapping[str, str]) -> tuple[str, str]:
    secret = f"{raw['name']}/{raw['key']}" if "key" in raw else raw["name"]
    return raw["env_var"], secret


_TRANSFORM = Record(
    Transform,
    sql=Whole(lambda made: _given(sql="" if made.streaming else made.sql), _sql_from),
    stream=Whole(_stream_to, _stream_from),
    streaming=Whole(_nothing, lambda raw: _STREAMING.read(raw) if "stream" in raw else None),
    mode=Whole(
        lambda made: {"mode": str(made.mode)} if made.makes_tables else {},
        lambda raw: Mode(raw.get("mode", Mode.WHOLE)),
    ),
    secrets=Value(_secrets_to, lambda raw: tuple(sorted(map(_secret_from, raw)))),
)


def _transform_to(spec: PipelineSpec) -> dict[str, Any]:
    shown = _TRANSFORM.write(spec.transform)
    limits = _given(memory=shown.pop("memory", None))
    return {"transform": shown, **_given(resource_limits=limits)}


def _transform_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {**raw["transform"], **raw.get("resource_limits", {})}


# Ingests -------------------------------------------------------------------------------------


def _body_to(source: IngestSource) -> dict[str, Any]:
    hidden = SOURCE_SECRETS.get(source.kind, ())
    return write_body(source.options, source.secrets, SOURCES[source.kind], hidden)


def _body_from(raw: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    ((kind, body),) = raw["source"].items()
    if kind == "python":  # all else is its transform's
        body = {"function": body["function"]}
    return read_body(body, SOURCES[kind], SOURCE_SECRETS.get(kind, ()))


_SOURCE = Record(
    IngestSource,
    names={"folder": "table", "rows": "batch.rows", "bytes": "batch.bytes"},
    kind=Whole(
        lambda source: {"source": {source.kind: _body_to(source)}},
        lambda raw: next(iter(raw["source"])),
    ),
    options=Whole(_nothing, lambda raw: _body_from(raw)[0]),
    secrets=Whole(_nothing, lambda raw: _body_from(raw)[1]),
)


def _source_to(spec: PipelineSpec) -> dict[str, Any]:
    assert spec.source is not None
    shown = _SOURCE.write(spec.source)
    shown["source"][spec.source.kind] |= _TRANSFORM.write(spec.transform)
    return shown


def _function_of(raw: Mapping[str, Any]) -> Transform:
    """What travels with the function of an ingest, or the transform that does nothing."""
    body = raw["source"].get("python", {})
    return _TRANSFORM.read(body)


# Targets of egress ---------------------------------------------------------------------------

_TARGET = Record(Target, only=("path", "tries", "backoff"))


def target_to(target: Target) -> dict[str, Any]:
    defaults, hidden = TARGETS.get(target.kind, {}), TARGET_SECRETS.get(target.kind, ())
    return {
        **_given(name=target.name if target.name != target.kind else ""),
        **_TARGET.write(target),
        target.kind: write_body(target.options, target.secrets, defaults, hidden),
    }


def target_from(raw: Mapping[str, Any]) -> Target:
    """The target that `target_to` gave."""
    own = _TARGET.values(raw)
    ((kind, body),) = ((name, raw[name]) for name in raw if name != "name" and name not in own)
    options, secrets = read_body(body, TARGETS.get(kind, {}), TARGET_SECRETS.get(kind, ()))
    return Target(raw.get("name", kind), kind, options=options, secrets=secrets, **own)


# Whole specs ---------------------------------------------------------------------------------


def _name_in(kind: str) -> Whole:
    return Whole(
        lambda spec: {kind: {"project": spec.name.project, "name": spec.name.repo}},
        lambda raw: RepoName(raw[kind]["project"], raw[kind]["name"]),
    )


def _metadata_to(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in pairs:
        kind, _, name = name.partition(".")
        found.setdefault(kind, {})[name] = text
    return found


def _metadata_from(raw: Mapping[str, Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((f"{kind}.{n}", text) for kind, m in raw.items() for n, text in m.items()))


_METADATA = Value(_metadata_to, _metadata_from)
_PIPELINE = Record(
    PipelineSpec,
    names={
        "parallelism": "parallelism_spec.constant",
        "set_number": "datum_set_spec.number",
        "set_bytes": "datum_set_spec.size_bytes",
        "every_job": "reprocess_spec",
    },
    name=_name_in("pipeline"),
    input=Whole(
        lambda spec: {"input": _input_to(spec.input, spec.name.project)},
        lambda raw: _input_from(raw["input"], raw["pipeline"]["project"]),
    ),
    transform=Whole(
        _transform_to,
        lambda raw: _TRANSFORM.read(_transform_of(raw)),
        lambda raw: _TRANSFORM.view(_transform_of(raw)),
    ),
    every_job=Value(lambda _: "every_job", lambda text: text == "every_job"),
    expectations=list_of(rule_to, rule_from),
    metadata=_METADATA,
    source=Whole(_nothing, lambda raw: None),
    egress=list_of(target_to, target_from),
)
_INGEST = Record(
    PipelineSpec,
    only=(
        "name", "source", "history", "description", "metadata", "output_branch", "spark",
        "input", "transform",
    ),
    name=_name_in(INGEST),
    input=Whole(_nothing, lambda raw: Union(())),
    transform=Whole(_nothing, _function_of),
    source=Whole(_source_to, _SOURCE.read, _SOURCE.view),
    metadata=_METADATA,
)  # fmt: skip
