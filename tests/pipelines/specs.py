"""Hypothesis strategies for pipelines: any spec that could have been read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.strategies import names
from trunkline.model.commits import RepoName
from trunkline.model.expectations import Action, CheckKind, Expectation
from trunkline.model.inputs import Cron, Cross, Group, Input, Join, Pfs, Trigger, Union
from trunkline.model.pipelines import (
    Merge,
    Mode,
    OnChange,
    PipelineSpec,
    Retry,
    Sandbox,
    Schedule,
    Transform,
)
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

PROJECT = "shop"

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
lines = st.lists(texts, max_size=3).map(tuple)
commands = st.builds(lambda program, rest: ("run" + program, *rest), texts, lines)
seconds = st.integers(1, 10**6).map(float) | st.floats(0.001, 10**6, allow_nan=False)
counts = st.integers(1, 10**9)
variables = st.text("ABC_", min_size=1, max_size=6)
crons = st.sampled_from(["0 6 * * *", "@hourly", "@every 10m", "*/5 9-17 * * MON-FRI"])
zones = st.sampled_from(["UTC", "Europe/Berlin", "Asia/Tokyo"])
policies = st.sampled_from(["none", "latest", "all", "all(3)"])
moments = st.none() | st.just("2026-01-31T06:00:00Z")


def pairs(keys: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    return st.dictionaries(keys, texts, max_size=3).map(lambda found: tuple(sorted(found.items())))


triggers = st.builds(
    Trigger,
    branch=st.just("watched"),
    size=st.none() | counts,
    commits=counts,
    rate_limit=st.none() | crons,
    cron=st.none() | crons,
    all=st.booleans(),
    timezone=zones,
)


def leaf(number: int) -> st.SearchStrategy[Input]:
    return st.builds(
        Pfs,
        name=st.just(f"in{number}"),
        repo=st.builds(RepoName, st.sampled_from([PROJECT, "other"]), st.just(f"r{number}")),
        glob=st.sampled_from(["/(*)", "/a/(*)-(?).csv"]),
        branch=names.map(lambda name: f"b{name}"[:60]),
        join_on=st.just("$1"),
        outer_join=st.booleans(),
        group_by=st.just("$1"),
        lazy=st.booleans(),
        empty_files=st.booleans(),
        reference=st.booleans(),
        propagation=st.booleans(),
        trigger=st.none() | triggers,
    )


def cron(number: int) -> st.SearchStrategy[Input]:
    return st.builds(
        Cron,
        name=st.just(f"in{number}"),
        repo=st.just(RepoName(PROJECT, f"ticks{number}")),
        cron=crons,
        timezone=zones,
        start=moments,
        overwrite=st.booleans(),
        catch_up=policies,
    )


@st.composite
def inputs(draw: st.DrawFn) -> Input:
    count = iter(range(100))

    def part(depth: int, keyed: bool) -> Input:
        kinds = ["leaf", "cross", "union", "join", "group"] if depth < 3 else ["leaf"]
        kind = draw(st.sampled_from(kinds))
        if kind == "leaf":
            number = next(count)
            made = leaf(number) if keyed else leaf(number) | cron(number)
            return draw(made)
        inner = keyed or kind in ("join", "group")
        members = tuple(part(depth + 1, inner) for _ in range(draw(st.integers(1, 3))))
        types = {"cross": Cross, "union": Union, "join": Join, "group": Group}
        made_of: Input = types[kind](members)  # type: ignore[assignment]
        return made_of

    return part(0, False)


secrets = st.dictionaries(
    variables.map(lambda name: f"S{name}"),
    st.sampled_from(["token", "db/password"]),
    max_size=2,
).map(lambda found: tuple(sorted(found.items())))

_shared = {
    "err_cmd": st.just(()),
    "env": pairs(variables),
    "secrets": secrets,
    "working_dir": texts,
    "code": texts,
    "sandbox": st.sampled_from(Sandbox),
    "memory": st.none() | counts,
}

transforms = st.builds(
    Transform,
    **{
        **_shared,
        "cmd": commands,
        "stdin": lines,
        "err_cmd": commands,
        "err_stdin": lines,
        "accept_return_code": st.sets(st.integers(0, 255), max_size=3).map(
            lambda found: tuple(sorted(found))
        ),
    },
) | st.builds(Transform, **{**_shared, "python": st.just("a/b.py:run")})

specs = st.builds(
    PipelineSpec,
    name=st.builds(RepoName, st.just(PROJECT), names.map(lambda name: f"p{name}"[:60])),
    input=inputs(),
    transform=transforms,
    description=texts,
    output_branch=st.just("main") | names,
    parallelism=st.none() | counts,
    set_number=st.none() | counts,
    set_bytes=st.none() | counts,
    datum_tries=st.integers(1, 20),
    datum_timeout=st.none() | seconds,
    job_timeout=st.none() | seconds,
    every_job=st.booleans(),
    max_failed_datums=st.integers(0, 20),
    merge=st.sampled_from(Merge),
    priority=st.integers(-5, 5),
    pool=st.just("") | names,
    retry=st.builds(Retry, st.integers(1, 9), st.just(0.0) | seconds, st.floats(1, 100), seconds),
    schedule=st.none() | st.builds(Schedule, crons, zones, policies, moments),
    metadata=pairs(st.builds(str.__add__, st.sampled_from(["labels.", "annotations."]), texts)),
)

# Tables ------------------------------------------------------------------------------------

columns = st.lists(texts.filter(str.strip), min_size=1, max_size=3, unique=True).map(tuple)
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
scalars = texts | numbers | st.booleans()
shares = st.floats(0, 1)
rises = st.floats(0, 1000).map(lambda share: round(share, 6))
_row_actions = {"action": st.sampled_from(Action)}
_table_actions = {"action": st.sampled_from([Action.WARN, Action.FAIL])}


def _rules(kind: CheckKind, **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Expectation]:
    actions = _row_actions if kind.of_rows else _table_actions
    return st.builds(Expectation, name=st.just(""), kind=st.just(kind), **actions, **fields)


_one_column = columns.map(lambda found: found[:1])
_change = {"over": st.integers(1, 9), "least": shares}
expectations = st.one_of(
    _rules(CheckKind.EXPR, expr=st.sampled_from(["a > 0", "b IN ('x', ';')"])),
    _rules(CheckKind.NOT_NULL, columns=columns),
    _rules(CheckKind.UNIQUE, columns=columns),
    _rules(
        CheckKind.ACCEPTED,
        columns=_one_column,
        values=st.lists(scalars, min_size=1, max_size=3).map(tuple),
    ),
    columns.flatmap(
        lambda own: _rules(
            CheckKind.FOREIGN_KEY, columns=st.just(own), references=st.just(("in0", own))
        )
    ),
    _rules(CheckKind.ROW_COUNT, least=counts.map(float), most=st.none() | st.just(1e9)),
    _rules(CheckKind.ROW_COUNT_CHANGE, most=st.none() | rises, **_change),
    _rules(CheckKind.FRESHNESS, columns=_one_column, within=seconds),
)


def _numbered(rules: list[Expectation]) -> tuple[Expectation, ...]:
    return tuple(replace(rule, name=f"rule-{i}") for i, rule in enumerate(rules))


_params = st.dictionaries(
    st.sampled_from(["a", "b"]), scalars | st.lists(scalars, min_size=1, max_size=2).map(tuple)
)
_of_tables = {
    "mode": st.sampled_from([Mode.WHOLE, Mode.EACH]),
    "partition_by": st.just(()) | columns,
}
table_transforms = st.builds(
    Transform, sql=st.just("SELECT 1 AS x FROM in0"), sql_file=st.just("") | texts, **_of_tables
) | st.builds(
    Transform,
    spark=st.just("a/b.py:run"),
    params=_params.map(lambda found: tuple(sorted(found.items()))),
    requirements=st.just(("pandas>=2", 'numpy; python_version > "3"')),
    mode=st.just(Mode.APPEND),
    on_change=st.sampled_from(OnChange),
    env=pairs(variables),
)

table_specs = st.builds(
    PipelineSpec,
    name=st.just(RepoName(PROJECT, "p")),
    input=st.just(Pfs("in0", RepoName(PROJECT, "r0"), "/a/b")),
    transform=table_transforms,
    spark=pairs(texts.map(lambda name: f"spark.sql.{name}")),
    expectations=st.lists(expectations, max_size=4).map(_numbered),
)

# Streams and ingests -----------------------------------------------------------------------

intervals = st.floats(0.1, 10**6, allow_nan=False) | st.integers(1, 10**6).map(float)
histories = st.builds(History, st.integers(0, 10**6), st.just(0.0) | seconds, st.integers(0, 10**6))
stream_inputs = st.builds(
    StreamInput,
    st.none() | st.builds(Watermark, columns.map(lambda found: found[0]), st.just(0.0) | seconds),
    st.sampled_from(OnChangedRows),
    st.builds(BatchLimit, st.none() | counts, st.none() | counts, st.none() | counts),
) | st.builds(StreamInput, static=st.sampled_from(["moving", "pinned", "v1.0", "main~2"]))


@st.composite
def _stream_leaves(draw: st.DrawFn) -> Input:
    how = [StreamInput(), *draw(st.lists(stream_inputs, max_size=2))]
    found = tuple(
        Pfs(
            f"in{i}",
            RepoName(PROJECT, f"r{i}"),
            draw(st.sampled_from(["/", "/a/"])),
            propagation=draw(st.booleans()),
            stream=one,
        )
        for i, one in enumerate(how)
    )
    return found[0] if len(found) == 1 and draw(st.booleans()) else Cross(found)


@st.composite
def _stream_transforms(draw: st.DrawFn) -> Transform:
    key = draw(st.just(()) | columns)
    streaming = Streaming(
        draw(st.none() | intervals),
        StreamOutput.UPSERT if key else StreamOutput.APPEND,
        key,
        draw(counts),
    )
    params = tuple(sorted(draw(_params).items()))
    if draw(st.booleans()):
        return Transform(sql="SELECT *\nFROM in0\n", sql_file="a.sql", streaming=streaming)
    return Transform(
        stream="a/b.py:run",
        streaming=streaming,
        partition_by=key[:1],
        params=params,
        env=draw(pairs(variables)),
        secrets=draw(secrets),
        code=draw(texts),
    )


stream_specs = st.builds(
    PipelineSpec,
    name=st.just(RepoName(PROJECT, "p")),
    input=_stream_leaves(),
    transform=_stream_transforms(),
    expectations=st.lists(expectations, max_size=2).map(_numbered),
    history=histories,
)

_folders = st.fixed_dictionaries(
    {
        "path": st.just("./inbox"),
        "pattern": st.sampled_from(["*", "*.jsonl"]),
        "format": st.sampled_from(["auto", "csv"]),
        "settle": st.just(0.0) | seconds,
        "changed": st.sampled_from(["replace", "ignore", "error"]),
        "then": st.sampled_from(["keep", "delete", {"move": "./done"}]),
        "archives": st.sampled_from(["keep", "unpack"]),
    }
)
_kafkas = st.fixed_dictionaries(
    {
        "servers": st.sampled_from(["h:9092", "a:1,[::1]:2"]),
        "topics": st.lists(names, min_size=1, max_size=2, unique=True),
        "start": st.sampled_from(["earliest", "latest"]),
        "connector": st.sampled_from(["client", "spark"]),
        "value": st.just("json"),
        "options": st.dictionaries(st.sampled_from(["client.id", "client.rack"]), texts),
    }
)
_https = st.fixed_dictionaries(
    {
        "host": st.sampled_from(["127.0.0.1", "localhost"]),
        "port": st.integers(1, 65535),
        "most": counts,
    }
)
_rates = st.fixed_dictionaries({"rows_per_second": counts})
_functions = st.just({"function": "a/feed.py:events"})
_options: dict[str, st.SearchStrategy[Any]] = {
    "folder": _folders,
    "kafka": _kafkas,
    "http": _https,
    "python": _functions,
    "rate": _rates,
}
_hidden: dict[str, st.SearchStrategy[Any]] = {
    "kafka": st.just(()) | st.just((("sasl.password", "db/password"),)),
    "http": st.just(()) | st.just((("token", "sesame"),)),
}


@st.composite
def _ingest_sources(draw: st.DrawFn) -> IngestSource:
    kind = draw(st.sampled_from(list(_options)))
    return IngestSource(
        kind,
        draw(_options[kind]),
        draw(_hidden.get(kind, st.just(()))),
        draw(st.sampled_from(["", "ts TIMESTAMP, `b c` STRING NOT NULL"])),
        draw(st.sampled_from(["/", "/a/b"])),
        draw(st.sampled_from([(), ("ts",)])),
        draw(intervals),
        draw(counts),
        draw(counts),
    )


@st.composite
def _ingests(draw: st.DrawFn) -> PipelineSpec:
    source = draw(_ingest_sources())
    transform = Transform()
    if source.kind == "python":
        transform = Transform(
            params=tuple(sorted(draw(_params).items())),
            requirements=draw(st.sampled_from([(), ("pandas>=2",)])),
            env=draw(pairs(variables)),
            secrets=draw(secrets),
            code=draw(texts),
        )
    in_spark = source.options.get("connector") == "spark"
    return PipelineSpec(
        name=RepoName(PROJECT, draw(names)),
        input=Union(()),
        transform=transform,
        description=draw(texts),
        output_branch=draw(st.sampled_from(["main", "dev"])),
        spark=(("spark.a", "b"),) if in_spark else (),
        metadata=(("labels.a", "b"),) if draw(st.booleans()) else (),
        source=source,
        history=draw(histories),
    )


ingest_specs = _ingests()
