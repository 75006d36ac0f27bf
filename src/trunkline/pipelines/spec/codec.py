"""Specs as JSON and back, exactly, in the user's own field names; and what of them counts.

What `to_json` gives can be applied again. Fields that have their default are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.inputs import (
    Cron,
    Cross,
    Group,
    Input,
    Join,
    Pfs,
    Trigger,
    Union,
    leaves,
)
from trunkline.model.pipelines import (
    Merge,
    Mode,
    OnChange,
    Param,
    PipelineSpec,
    Retry,
    Sandbox,
    Schedule,
    Transform,
)
from trunkline.pipelines.sparksettings import deciding
from trunkline.pipelines.spec.egresscodec import target_from, target_to
from trunkline.pipelines.spec.flowcodec import (
    history_from,
    history_to,
    input_from,
    input_to,
    number,
    result_input,
    result_output,
    source_from,
    source_to,
    stream_from,
    stream_to,
)
from trunkline.pipelines.spec.rulecodec import result_rule, rule_from, rule_to, takes_rows
from trunkline.pipelines.sql_tokens import essence

_MEMBERS: dict[str, type[Cross] | type[Union] | type[Join] | type[Group]] = {
    "cross": Cross,
    "union": Union,
    "join": Join,
    "group": Group,
}


def to_json(spec: PipelineSpec) -> dict[str, Any]:
    """The spec as a user could have written it."""
    if spec.source is not None:
        return _ingest_to(spec)
    memory = spec.transform.memory
    sets = _given(number=spec.set_number, size_bytes=spec.set_bytes)
    return {
        "pipeline": {"project": spec.name.project, "name": spec.name.repo},
        "input": _input_to(spec.input, spec.name.project),
        "transform": _transform_to(spec.transform),
        **_given(
            description=spec.description,
            metadata=_metadata_to(spec.metadata),
            output_branch=spec.output_branch if spec.output_branch != DEFAULT_BRANCH else "",
            parallelism_spec=_given(constant=spec.parallelism),
            datum_set_spec=sets,
            datum_tries=spec.datum_tries if spec.datum_tries != 3 else None,
            datum_timeout=_number(spec.datum_timeout),
            job_timeout=_number(spec.job_timeout),
            reprocess_spec="every_job" if spec.every_job else "",
            max_failed_datums=spec.max_failed_datums,
            merge=str(spec.merge) if spec.merge != Merge.ERROR else "",
            priority=spec.priority,
            pool=spec.pool,
            retry=_retry_to(spec.retry),
            schedule=_schedule_to(spec.schedule),
            expectations=[rule_to(rule) for rule in spec.expectations],
            egress=[target_to(one) for one in spec.egress],
            spark=dict(spec.spark),
            history=history_to(spec.history),
            resource_limits=_given(memory=memory),
        ),
    }


def from_json(raw: Mapping[str, Any]) -> PipelineSpec:
    """The spec that `to_json` gave. Does not check: texts of users go through `read_specs`."""
    if "ingest" in raw:
        return _ingest_from(raw)
    name = RepoName(raw["pipeline"]["project"], raw["pipeline"]["name"])
    sets = raw.get("datum_set_spec", {})
    return PipelineSpec(
        name=name,
        input=_input_from(raw["input"], name.project),
        transform=_transform_from(raw["transform"], raw.get("resource_limits", {})),
        description=raw.get("description", ""),
        output_branch=raw.get("output_branch", DEFAULT_BRANCH),
        parallelism=raw.get("parallelism_spec", {}).get("constant"),
        set_number=sets.get("number"),
        set_bytes=sets.get("size_bytes"),
        datum_tries=raw.get("datum_tries", 3),
        datum_timeout=_seconds(raw.get("datum_timeout")),
        job_timeout=_seconds(raw.get("job_timeout")),
        every_job=raw.get("reprocess_spec") == "every_job",
        max_failed_datums=raw.get("max_failed_datums", 0),
        merge=Merge(raw.get("merge", Merge.ERROR)),
        priority=raw.get("priority", 0),
        pool=raw.get("pool", ""),
        retry=_retry_from(raw.get("retry", {})),
        schedule=Schedule(**raw["schedule"]) if "schedule" in raw else None,
        spark=tuple(sorted(raw.get("spark", {}).items())),
        expectations=tuple(map(rule_from, raw.get("expectations", ()))),
        metadata=_metadata_from(raw.get("metadata", {})),
        history=history_from(raw.get("history", {})),
        egress=tuple(map(target_from, raw.get("egress", ()))),
    )


def _ingest_to(spec: PipelineSpec) -> dict[str, Any]:
    assert spec.source is not None
    return {
        "ingest": {"project": spec.name.project, "name": spec.name.repo},
        **source_to(spec.source, _transform_to(spec.transform)),
        **_given(
            history=history_to(spec.history),
            description=spec.description,
            metadata=_metadata_to(spec.metadata),
            output_branch=spec.output_branch if spec.output_branch != DEFAULT_BRANCH else "",
            spark=dict(spec.spark),
        ),
    }


def _ingest_from(raw: Mapping[str, Any]) -> PipelineSpec:
    source, code = source_from(raw)
    return PipelineSpec(
        name=RepoName(raw["ingest"]["project"], raw["ingest"]["name"]),
        input=Union(()),
        transform=_transform_from(code, {}),
        description=raw.get("description", ""),
        output_branch=raw.get("output_branch", DEFAULT_BRANCH),
        spark=tuple(sorted(raw.get("spark", {}).items())),
        metadata=_metadata_from(raw.get("metadata", {})),
        source=source,
        history=history_from(raw.get("history", {})),
    )


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
            stream=result_input(leaf) if transform.streaming else None,
        )
        for leaf in leaves(spec.input)
    }
    return _given(
        cmd=list(transform.cmd),
        python=transform.python,
        sql=essence(transform.sql),
        spark=transform.spark,
        stream=transform.stream,
        output=result_output(transform),
        ingest=source_to(spec.source, {}) if spec.source else None,
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


def _number(seconds: float | None) -> float | None:
    return None if seconds is None else number(seconds)


def _seconds(number: float | None) -> float | None:
    return None if number is None else float(number)


# Inputs ------------------------------------------------------------------------------------


def _input_to(expression: Input, project: str) -> dict[str, Any]:
    match expression:
        case Pfs():
            return {"pfs": _pfs_to(expression, project)}
        case Cron():
            return {"cron": _cron_to(expression)}
    kind = next(name for name, made in _MEMBERS.items() if isinstance(expression, made))
    return {kind: [_input_to(member, project) for member in expression.members]}


def _input_from(raw: Mapping[str, Any], project: str) -> Input:
    ((kind, inner),) = raw.items()
    if kind == "pfs":
        return _pfs_from(inner, project)
    if kind == "cron":
        return _cron_from(inner, project)
    return _MEMBERS[kind](tuple(_input_from(member, project) for member in inner))


_FLAGS = ("outer_join", "lazy", "empty_files", "reference")


def _pfs_to(leaf: Pfs, project: str) -> dict[str, Any]:
    return {
        **_given(project=leaf.repo.project if leaf.repo.project != project else ""),
        "repo": leaf.repo.repo,
        "name": leaf.name,
        "branch": leaf.branch,
        "glob": leaf.glob,
        **_given(
            join_on=leaf.join_on,
            group_by=leaf.group_by,
            **{flag: getattr(leaf, flag) for flag in _FLAGS},
            propagation="" if leaf.propagation else "never",
            trigger=_trigger_to(leaf.trigger),
        ),
        **input_to(leaf.stream),
    }


def _pfs_from(raw: Mapping[str, Any], project: str) -> Pfs:
    return Pfs(
        name=raw["name"],
        repo=RepoName(raw.get("project", project), raw["repo"]),
        glob=raw["glob"],
        branch=raw["branch"],
        join_on=raw.get("join_on", ""),
        group_by=raw.get("group_by", ""),
        **{flag: raw.get(flag, False) for flag in _FLAGS},
        propagation=raw.get("propagation") != "never",
        trigger=_trigger_from(raw.get("trigger")),
        stream=input_from(raw),
    )


def _trigger_to(trigger: Trigger | None) -> dict[str, Any] | None:
    if trigger is None:
        return None
    return {
        "branch": trigger.branch,
        **_given(
            size=trigger.size,
            commits=trigger.commits,
            rate_limit_spec=trigger.rate_limit,
            cron_spec=trigger.cron,
            all=trigger.all,
            timezone=trigger.timezone if trigger.timezone != "UTC" else "",
        ),
    }


def _trigger_from(raw: Mapping[str, Any] | None) -> Trigger | None:
    if raw is None:
        return None
    return Trigger(
        branch=raw["branch"],
        size=raw.get("size"),
        commits=raw.get("commits"),
        rate_limit=raw.get("rate_limit_spec"),
        cron=raw.get("cron_spec"),
        all=raw.get("all", False),
        timezone=raw.get("timezone", "UTC"),
    )


def _cron_to(leaf: Cron) -> dict[str, Any]:
    return {
        "name": leaf.name,
        "repo": leaf.repo.repo,
        "spec": leaf.cron,
        **_given(
            timezone=leaf.timezone if leaf.timezone != "UTC" else "",
            start=leaf.start,
            overwrite=leaf.overwrite,
            catch_up=leaf.catch_up if leaf.catch_up != "latest" else "",
        ),
    }


def _cron_from(raw: Mapping[str, Any], project: str) -> Cron:
    return Cron(
        name=raw["name"],
        repo=RepoName(project, raw["repo"]),
        cron=raw["spec"],
        timezone=raw.get("timezone", "UTC"),
        start=raw.get("start"),
        overwrite=raw.get("overwrite", False),
        catch_up=raw.get("catch_up", "latest"),
    )


# The rest ----------------------------------------------------------------------------------


def _transform_to(transform: Transform) -> dict[str, Any]:
    return _given(
        cmd=list(transform.cmd),
        python=transform.python,
        sql=transform.sql if transform.streaming is None else "",
        sql_file=transform.sql_file,
        spark=transform.spark,
        **stream_to(transform),
        mode=str(transform.mode) if transform.makes_tables else "",
        partition_by=list(transform.partition_by),
        params={name: _listed(value) for name, value in transform.params},
        requirements=list(transform.requirements),
        on_change=str(transform.on_change) if transform.on_change != OnChange.ERROR else "",
        stdin=list(transform.stdin),
        err_cmd=list(transform.err_cmd),
        err_stdin=list(transform.err_stdin),
        accept_return_code=list(transform.accept_return_code),
        env=dict(transform.env),
        secrets=[_secret_to(variable, secret) for variable, secret in transform.secrets],
        working_dir=transform.working_dir,
        code=transform.code,
        sandbox=str(transform.sandbox) if transform.sandbox != Sandbox.AUTO else "",
    )


def _transform_from(raw: Mapping[str, Any], limits: Mapping[str, Any]) -> Transform:
    return Transform(
        cmd=tuple(raw.get("cmd", ())),
        python=raw.get("python", ""),
        **{"sql": raw.get("sql", ""), **stream_from(raw)},
        sql_file=raw.get("sql_file", ""),
        spark=raw.get("spark", ""),
        mode=Mode(raw.get("mode", Mode.WHOLE)),
        partition_by=tuple(raw.get("partition_by", ())),
        params=tuple(sorted((name, _frozen(v)) for name, v in raw.get("params", {}).items())),
        requirements=tuple(raw.get("requirements", ())),
        on_change=OnChange(raw.get("on_change", OnChange.ERROR)),
        stdin=tuple(raw.get("stdin", ())),
        err_cmd=tuple(raw.get("err_cmd", ())),
        err_stdin=tuple(raw.get("err_stdin", ())),
        accept_return_code=tuple(raw.get("accept_return_code", ())),
        env=tuple(sorted(raw.get("env", {}).items())),
        secrets=tuple(sorted(map(_secret_from, raw.get("secrets", ())))),
        working_dir=raw.get("working_dir", ""),
        code=raw.get("code", ""),
        sandbox=Sandbox(raw.get("sandbox", Sandbox.AUTO)),
        memory=limits.get("memory"),
    )


def _listed(value: Param) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Param:
    return tuple(value) if isinstance(value, list) else value


def _secret_to(variable: str, secret: str) -> dict[str, str]:
    name, slash, key = secret.partition("/")
    return {"name": name, "env_var": variable, **({"key": key} if slash else {})}


def _secret_from(raw: Mapping[str, str]) -> tuple[str, str]:
    secret = f"{raw['name']}/{raw['key']}" if "key" in raw else raw["name"]
    return raw["env_var"], secret


def _retry_to(retry: Retry) -> dict[str, Any]:
    default = Retry()
    pairs = ((name, getattr(retry, name)) for name in ("tries", "backoff", "factor", "longest"))
    return {name: _number(v) for name, v in pairs if v != getattr(default, name)}


def _retry_from(raw: Mapping[str, Any]) -> Retry:
    default = Retry()
    return Retry(
        raw.get("tries", default.tries),
        float(raw.get("backoff", default.backoff)),
        float(raw.get("factor", default.factor)),
        float(raw.get("longest", default.longest)),
    )


def _schedule_to(schedule: Schedule | None) -> dict[str, Any] | None:
    if schedule is None:
        return None
    return {
        "cron": schedule.cron,
        **_given(
            timezone=schedule.timezone if schedule.timezone != "UTC" else "",
            catch_up=schedule.catch_up if schedule.catch_up != "latest" else "",
            start=schedule.start,
        ),
    }


def _metadata_to(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, text in pairs:
        kind, _, name = name.partition(".")
        found.setdefault(kind, {})[name] = text
    return found


def _metadata_from(raw: Mapping[str, Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((f"{kind}.{n}", text) for kind, m in raw.items() for n, text in m.items()))
