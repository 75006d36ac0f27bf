"""Specs of streams: what they say, what is refused, and what of them decides results."""

import json
from dataclasses import replace
from datetime import timedelta

import jsonschema
import pytest
import yaml
from hypothesis import given, settings

import trunkline as tl
from tests.cases import load
from tests.pipelines.specs import stream_specs
from trunkline.errors import InvalidSpec
from trunkline.model import yamltext
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Cross, Leaf, Pfs, leaves
from trunkline.model.pipelines import PipelineSpec, Transform
from trunkline.model.streams import (
    BatchLimit,
    History,
    OnChangedRows,
    Streaming,
    StreamInput,
    StreamOutput,
    Watermark,
)
from trunkline.pipelines.spec import (
    from_json,
    json_schema,
    read_specs,
    to_json,
    transform_digest,
)

BASE = {
    "pipeline": "pipeline: {name: sessions}",
    "input": "input: {pfs: {repo: clicks}}",
    "transform": "transform: {stream: SELECT * FROM clicks}",
}
SCHEMA = jsonschema.Draft202012Validator(json_schema())


def one(text: str, **more) -> PipelineSpec:
    starts = {line.partition(":")[0] for line in text.splitlines()}
    whole = "\n".join([text, *(line for name, line in BASE.items() if name not in starts)])
    (made,) = read_specs(whole, name="a.yaml", project="default", **more).specs
    return made.spec


def read_by(spec: PipelineSpec) -> list[Leaf]:
    return list(leaves(spec.input))


@pytest.mark.parametrize("case", load("spec_streams_refused.case"), ids="|".join)
def test_refusals(case):
    text = "\n".join(line for line in case if not line.startswith(("=> ", "?? ")))
    (message,) = (line[3:] for line in case if line.startswith("=> "))
    with pytest.raises(InvalidSpec) as caught:
        one(text)
    assert caught.value.message.split("\n")[0] == message
    for line in case:
        if line.startswith("?? "):
            assert caught.value.hint == line[3:]


def test_all_of_it():
    spec = one("""
pipeline: {name: sessions}
input:
  cross:
  - pfs:
      repo: clicks
      glob: /events/
      watermark: {column: ts, delay: 1m30s}
      changes: skip
      limit: {commits: 10, files: "100", bytes: 64MB}
  - pfs: {repo: users, static: v1.0}
transform:
  stream: sessions.py:sessions
  trigger: {interval: 500ms}
  output: {upsert: [user, day]}
  retain: 7
  partition_by: day
  params: {gap: 30m}
  requirements: [pandas>=2]
  env: {A: b}
  secrets: [token]
  code: ./lib
spark: {spark.sql.shuffle.partitions: 2}
expectations: [{not_null: user, action: drop}]
history: {keep: 0, every: 1d, compact: 0}
""")
    clicks, users = read_by(spec)
    assert clicks.glob == "/events/"
    assert clicks.stream == StreamInput(
        Watermark("ts", 90.0), OnChangedRows.SKIP, BatchLimit(10, 100, 64_000_000)
    )
    assert (users.glob, users.stream) == ("/", StreamInput(static="v1.0"))
    transform = spec.transform
    assert (transform.stream, transform.sql, transform.kind) == (
        "sessions.py:sessions",
        "",
        "stream",
    )
    assert transform.streaming == Streaming(0.5, StreamOutput.UPSERT, ("user", "day"), 7)
    assert transform.partition_by == ("day",)
    assert spec.history == History(0, 86400.0, 0)
    assert not transform.makes_tables


def test_little_of_it():
    spec = one("transform: {stream: SELECT * FROM clicks}")
    assert spec.input == Pfs("clicks", RepoName("default", "clicks"), "/")
    assert spec.transform == Transform(sql="SELECT * FROM clicks", streaming=Streaming())
    assert (spec.transform.kind, spec.history) == ("stream", History())


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ("watermark: ts 10s", StreamInput(Watermark("ts", 10.0))),
        ("watermark: event time  0s", StreamInput(Watermark("event time", 0.0))),
        ("watermark: {column: ts, delay: 2}", StreamInput(Watermark("ts", 2.0))),
        ("changes: raise", StreamInput()),
        ("changes: rows", StreamInput(changes=OnChangedRows.ROWS)),
        ("limit: {files: 1}", StreamInput(limit=BatchLimit(files=1))),
    ],
)
def test_ways_to_read_an_input(fields, wanted):
    (leaf,) = read_by(one(f"input: {{pfs: {{repo: clicks, {fields}}}}}"))
    assert leaf.stream == wanted


@pytest.mark.parametrize(
    ("written", "meant"),
    [("true", "moving"), ("moving", "moving"), ("pinned", "pinned"), ("main~2", "main~2"),
     ("false", ""), ('""', "")],
)  # fmt: skip
def test_static_inputs(written, meant):
    text = f"input: {{cross: [{{pfs: {{repo: clicks}}}}, {{pfs: {{repo: u, static: {written}}}}}]}}"
    assert read_by(one(text))[1].stream.static == meant


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ("trigger: on_commit", Streaming()),
        ("trigger: {interval: 100ms}", Streaming(0.1)),
        ("trigger: {interval: 2}", Streaming(2.0)),
        ("output: append", Streaming()),
        ("output: {upsert: id}", Streaming(None, StreamOutput.UPSERT, ("id",))),
        ("retain: 1", Streaming(retain=1)),
    ],
)
def test_ways_to_run(fields, wanted):
    spec = one(f"transform: {{stream: 'a.py:f', {fields}}}")
    assert spec.transform.streaming == wanted


def test_sql_in_a_file():
    texts = {"s.sql": "CREATE TEMP VIEW x AS SELECT * FROM clicks;\nSELECT n + ${n} FROM x\n"}
    text = "transform: {stream: s.sql, params: {n: 1}}"
    spec = one(text, read_file=texts.__getitem__)
    assert (spec.transform.sql, spec.transform.sql_file) == (texts["s.sql"], "s.sql")
    assert spec.transform.stream == ""
    with pytest.raises(InvalidSpec, match=r"a\.yaml:1: s\.sql:1: there is no input"):
        one(text, read_file=lambda path: "SELECT * FROM nothing WHERE ${n}")


def test_what_looks_like_a_function_may_be_sql():
    spec = one("transform: {stream: 'SELECT clicks.py:id FROM clicks'}")
    assert spec.transform.sql == "SELECT clicks.py:id FROM clicks"
    assert from_json(to_json(spec)) == spec


@given(stream_specs)
@settings(max_examples=60, deadline=None)
def test_json_and_back(spec):
    raw = json.loads(json.dumps(to_json(spec)))
    assert from_json(raw) == spec
    SCHEMA.validate(raw)
    (made,) = read_specs(json.dumps(raw), name="a.json", project="elsewhere").specs
    assert made.spec == spec
    assert yaml.safe_load("\n".join(yamltext.lines(raw))) == raw


def test_defaults_are_left_out():
    assert to_json(one("transform: {stream: 'a.py:f', trigger: on_commit, output: append}")) == {
        "pipeline": {"project": "default", "name": "sessions"},
        "input": {"pfs": {"repo": "clicks", "name": "clicks", "branch": "main", "glob": "/"}},
        "transform": {"stream": "a.py:f"},
    }


@pytest.mark.parametrize(
    "wrong",
    [
        "transform: {stream: 'a.py:f', trigger: never}",
        "transform: {stream: 'a.py:f', output: upsert}",
        "transform: {stream: 'a.py:f', retain: 0}",
        "input: {pfs: {repo: a, changes: perhaps}}",
        "input: {pfs: {repo: a, limit: {rows: 3}}}",
        "history: {keep: -1}",
        "interval: 1s",
    ],
)
def test_the_schema_refuses_it_too(wrong):
    good = yaml.safe_load("\n".join(BASE.values()))
    SCHEMA.validate(good)
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({**good, **yaml.safe_load(wrong)})


# What decides results ----------------------------------------------------------------------

PLAIN = one("transform: {stream: SELECT * FROM clicks}")
CLICKS = Pfs("clicks", RepoName("default", "clicks"), "/")


def digest(spec: PipelineSpec) -> str:
    return transform_digest(spec, (), "", "")


def read(**fields) -> PipelineSpec:
    return replace(PLAIN, input=replace(CLICKS, stream=StreamInput(**fields)))


def run(**fields) -> PipelineSpec:
    streaming = replace(Streaming(), **fields)
    return replace(PLAIN, transform=replace(PLAIN.transform, streaming=streaming))


@pytest.mark.parametrize(
    "other",
    [
        replace(PLAIN, transform=replace(PLAIN.transform, sql="SELECT 1 FROM clicks")),
        replace(PLAIN, transform=replace(PLAIN.transform, sql="", stream="a.py:f")),
        replace(PLAIN, transform=replace(PLAIN.transform, streaming=None)),
        replace(PLAIN, transform=replace(PLAIN.transform, partition_by=("a",))),
        replace(PLAIN, input=replace(CLICKS, glob="/events/")),
        replace(PLAIN, input=replace(CLICKS, repo=RepoName("default", "other"))),
        replace(PLAIN, input=replace(CLICKS, branch="dev")),
        replace(PLAIN, input=Cross((CLICKS, replace(CLICKS, name="b")))),
        run(output=StreamOutput.UPSERT, key=("a",)),
        read(watermark=Watermark("ts", 1.0)),
        read(changes=OnChangedRows.SKIP),
        read(static="moving"),
    ],
)
def test_what_decides_results_changes_the_digest(other):
    assert digest(other) != digest(PLAIN)


def test_what_decides_results_is_told_apart():
    upserts = [run(output=StreamOutput.UPSERT, key=key) for key in (("a",), ("b",), ("a", "b"))]
    marks = [read(watermark=Watermark(*mark)) for mark in (("a", 1.0), ("b", 1.0), ("a", 2.0))]
    statics = [read(static=static) for static in ("moving", "pinned", "v1")]
    made = [*upserts, *marks, *statics]
    assert len({digest(spec) for spec in made}) == len(made)


@pytest.mark.parametrize(
    "other",
    [
        replace(PLAIN, transform=replace(PLAIN.transform, sql="SELECT *\nFROM clicks -- all")),
        replace(PLAIN, history=History(1, 2.0, 3)),
        replace(PLAIN, description="a", output_branch="dev"),
        run(interval=5.0),
        run(retain=3),
        read(limit=BatchLimit(1, 2, 3)),
    ],
)
def test_what_does_not_decide_results_leaves_the_digest_alone(other):
    assert digest(other) == digest(PLAIN)


# In Python ---------------------------------------------------------------------------------


@tl.stream(
    input=tl.cross(
        tl.pfs("clicks", watermark=("ts", "10s"), changes="rows", limit={"commits": 5}),
        tl.pfs("users", static=True),
    ),
    interval=timedelta(seconds=1),
    upsert=["user"],
    retain=9,
    history={"keep": 10},
    params={"gap": 5},
)
def sessions(clicks, users, ctx):
    return clicks, users, ctx


YAML = """
pipeline: {name: sessions}
input:
  cross:
  - pfs: {repo: clicks, watermark: ts 10s, changes: rows, limit: {commits: 5}}
  - pfs: {repo: users, static: moving}
transform:
  stream: test_stream_spec.py:sessions
  trigger: {interval: 1s}
  output: {upsert: [user]}
  retain: 9
  params: {gap: 5}
history: {keep: 10}
"""


def test_a_function_is_a_stream():
    assert sessions(1, 2, ctx=3) == (1, 2, 3)
    assert sessions.spec("default") == one(YAML)
    assert "def sessions(clicks, users, ctx):" in sessions.source


def test_sql_in_python():
    made = tl.Pipeline(
        name="sessions", input=tl.pfs("clicks"), stream="SELECT * FROM clicks", upsert="id"
    )
    assert made.spec("default") == one(
        "transform: {stream: SELECT * FROM clicks, output: {upsert: [id]}}"
    )


def test_on_commit_is_the_default_in_python():
    @tl.stream(input=tl.pfs("clicks"))
    def plain(clicks): ...

    assert plain.spec("default").transform.streaming == Streaming()


def yields(clicks):
    yield clicks


async def waits(clicks): ...


def by_place(clicks, /): ...


def other(klicks): ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (yields, "must be a plain one, without yield or async"),
        (waits, "must be a plain one, without yield or async"),
        (by_place, "is given its inputs by name"),
        (other, 'the parameter "klicks" of other is no input. Did you mean "clicks"?'),
        (len, "is not a function that was written with def"),
    ],
)
def test_functions_that_cannot_be_streams(function, said):
    with pytest.raises(InvalidSpec) as caught:
        tl.stream(input=tl.pfs("clicks"))(function).spec("default")
    assert said in caught.value.message


def test_said_twice_in_python():
    with pytest.raises(InvalidSpec, match="a: interval and trigger say the same"):
        tl.Pipeline(name="a", input=tl.pfs("b"), stream="x", trigger="on_commit", interval="1s")
