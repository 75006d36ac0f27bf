"""Specs of ingests: what they say, what is refused, and how they are declared in Python."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings

import trunkline as tl
from tests.cases import load
from tests.pipelines.specs import ingest_specs
from trunkline.errors import InvalidSpec, NotFound
from trunkline.model import yamltext
from trunkline.model.inputs import Union
from trunkline.model.pipelines import PipelineSpec, Transform
from trunkline.model.streams import History, IngestSource
from trunkline.pipelines.spec import (
    from_json,
    json_schema,
    read_specs,
    to_json,
    transform_digest,
)
from trunkline.sdk.specs import gather

BASE = {"ingest": "ingest: {name: clicks}", "source": "source: {rate: {}}"}
SCHEMA = jsonschema.Draft202012Validator(json_schema())


def one(text: str) -> PipelineSpec:
    starts = {line.partition(":")[0] for line in text.splitlines()}
    whole = "\n".join([text, *(line for name, line in BASE.items() if name not in starts)])
    (made,) = read_specs(whole, name="a.yaml", project="default").specs
    return made.spec


def source(text: str) -> IngestSource:
    found = one(text).source
    assert found is not None
    return found


@pytest.mark.parametrize("case", load("spec_ingests_refused.case"), ids="|".join)
def test_refusals(case):
    text = "\n".join(line for line in case if not line.startswith(("=> ", "?? ")))
    (message,) = (line[3:] for line in case if line.startswith("=> "))
    with pytest.raises(InvalidSpec) as caught:
        one(text)
    assert caught.value.message == message
    for line in case:
        if line.startswith("?? "):
            assert caught.value.hint == line[3:]


@pytest.mark.parametrize(
    ("text", "kind", "options", "secrets"),
    [
        (
            "folder: ./inbox",
            "folder",
            {
                "path": "./inbox",
                "pattern": "*",
                "format": "auto",
                "settle": 1.0,
                "changed": "replace",
                "then": "keep",
                "archives": "keep",
            },
            (),
        ),
        (
            """folder: {path: in, pattern: "*.csv", format: text, settle: 0s, changed: error,
              then: {move: done}}""",
            "folder",
            {
                "path": "in",
                "pattern": "*.csv",
                "format": "text",
                "settle": 0.0,
                "changed": "error",
                "then": {"move": "done"},
                "archives": "keep",
            },
            (),
        ),
        (
            "kafka: {servers: [a:1, 'b:2'], topics: clicks}",
            "kafka",
            {
                "servers": "a:1,b:2",
                "topics": ["clicks"],
                "start": "earliest",
                "connector": "client",
                "value": "json",
                "options": {},
            },
            (),
        ),
        (
            """kafka: {servers: 'a:1, b:2', topics: [x, y], start: latest, connector: spark,
              value: binary, options: {fetch.min.bytes: 5}, secrets: {sasl.password: db/pw}}""",
            "kafka",
            {
                "servers": "a:1,b:2",
                "topics": ["x", "y"],
                "start": "latest",
                "connector": "spark",
                "value": "binary",
                "options": {"fetch.min.bytes": "5"},
            },
            (("sasl.password", "db/pw"),),
        ),
        ("http: {}", "http", {"host": "127.0.0.1", "port": 8480, "most": 16_000_000}, ()),
        (
            "http: {host: 0.0.0.0, port: 80, token: sesame, most: 1MB}",
            "http",
            {"host": "0.0.0.0", "port": 80, "most": 1_000_000},
            (("token", "sesame"),),
        ),
        ("python: feed.py:events", "python", {"function": "feed.py:events"}, ()),
        ("rate: {}", "rate", {"rows_per_second": 10}, ()),
        ("rate: 500", "rate", {"rows_per_second": 500}, ()),
    ],
)
def test_sources(text, kind, options, secrets):
    found = source(f"source: {{{text}}}")
    assert found == IngestSource(kind, options, secrets)


def test_kafka_tells_more_than_the_message():
    kafka = "source: {kafka: {servers: 'a:1', topics: a}}\nschema: id INT\n"
    assert source(f"{kafka}partition_by: [_topic, id]").partition_by == ("_topic", "id")


def test_all_of_it():
    spec = one("""
ingest: {name: clicks, project: shop}
source:
  python:
    function: feed.py:events
    code: ./feed
    params: {n: 3}
    env: {A: b}
    secrets: [token]
    requirements: [requests]
schema: "ts TIMESTAMP, user STRING, tags ARRAY<STRING>"
table: /events/
partition_by: user
interval: 500ms
batch: {rows: 100, bytes: 1MB}
history: {keep: 10}
description: clicks
metadata: {labels: {a: b}}
output_branch: dev
""")
    assert str(spec.name) == "shop/clicks"
    assert (spec.input, spec.output_branch, spec.history) == (Union(()), "dev", History(10))
    assert spec.transform.kind == "ingest"
    assert spec.transform == Transform(
        code="./feed",
        params=(("n", 3),),
        env=(("A", "b"),),
        secrets=(("token", "token"),),
        requirements=("requests",),
    )
    assert spec.source == IngestSource(
        "python",
        {"function": "feed.py:events"},
        schema="ts TIMESTAMP, user STRING, tags ARRAY<STRING>",
        folder="/events",
        partition_by=("user",),
        interval=0.5,
        rows=100,
        bytes=1_000_000,
    )


def test_pipelines_and_ingests_in_one_file():
    text = (
        "ingest: {name: a}\nsource: {rate: 1}\n---\n"
        "pipeline: {name: b}\ninput: {pfs: {repo: a}}\ntransform: {stream: SELECT * FROM a}\n"
    )
    found = read_specs(text, name="a.yaml", project="default").specs
    assert [made.spec.transform.kind for made in found] == ["ingest", "stream"]
    twice = text.replace("name: b", "name: a").replace("repo: a", "repo: c")
    with pytest.raises(InvalidSpec, match=r"a\.yaml:4: the pipeline a is already declared"):
        read_specs(twice.replace("FROM a", "FROM c"), name="a.yaml", project="default")


@given(ingest_specs)
@settings(max_examples=80, deadline=None)
def test_json_and_back(spec):
    raw = json.loads(json.dumps(to_json(spec)))
    assert from_json(raw) == spec
    SCHEMA.validate(raw)
    (made,) = read_specs(json.dumps(raw), name="a.json", project="elsewhere").specs
    assert made.spec == spec
    assert yaml.safe_load("\n".join(yamltext.lines(raw))) == raw


def test_defaults_are_left_out():
    assert to_json(one("interval: 1s\ntable: /\nbatch: {rows: 1000000}")) == {
        "ingest": {"project": "default", "name": "clicks"},
        "source": {"rate": {}},
    }


@pytest.mark.parametrize(
    "wrong",
    [
        "pipeline: {name: a}",
        "source: {folder: {pattern: a}}",
        "source: {folder: {path: a, then: burn}}",
        "source: {http: {port: http}}",
        "source: {rate: fast}",
        "batch: {commits: 3}",
        "trigger: on_commit",
    ],
)
def test_the_schema_refuses_it_too(wrong):
    good = yaml.safe_load("\n".join(BASE.values()))
    SCHEMA.validate(good)
    with pytest.raises(jsonschema.ValidationError):
        SCHEMA.validate({**good, **yaml.safe_load(wrong)})


def test_another_source_is_another_digest():
    texts = ["rate: 1", "rate: 2", "http: {}", "folder: a", "folder: {path: a, pattern: b}"]
    specs = [one(f"source: {{{text}}}") for text in texts]
    assert len({transform_digest(spec, (), "", "") for spec in specs}) == len(texts)
    assert transform_digest(specs[0], (), "", "") == transform_digest(
        one("source: {rate: 1}\nhistory: {keep: 3}"), (), "", ""
    )


# In Python ---------------------------------------------------------------------------------


@tl.ingest(schema="id BIGINT", interval="2s", params={"n": 3}, secrets=["token"])
def numbers(ctx):
    yield from ({"id": n} for n in range(ctx))


@tl.ingest
def plain():
    yield {"id": 1}


def test_a_generator_is_an_ingest():
    assert list(numbers(2)) == [{"id": 0}, {"id": 1}]
    assert numbers.spec("default") == one(
        "ingest: {name: numbers}\n"
        "source: {python: {function: 'test_ingest_spec.py:numbers', params: {n: 3}, "
        "secrets: [token]}}\n"
        "schema: id BIGINT\ninterval: 2s"
    )
    assert "def numbers(ctx):" in numbers.source
    assert repr(numbers).startswith("<ingest numbers at ")


def test_a_generator_without_options():
    assert plain.spec("default") == one(
        "ingest: {name: plain}\nsource: {python: 'test_ingest_spec.py:plain'}"
    )


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (tl.folder("./inbox", pattern="*.csv", then={"move": Path("done")}),
         "folder: {path: ./inbox, pattern: '*.csv', then: {move: done}}"),
        (tl.folder(Path("inbox"), settle=2), "folder: {path: inbox, settle: 2s}"),
        (tl.kafka("a:1", "clicks", value="text"),
         "kafka: {servers: 'a:1', topics: [clicks], value: text}"),
        (tl.kafka(["a:1", "b:2"], ("x", "y"), secrets={"sasl.password": "pw"}),
         "kafka: {servers: 'a:1,b:2', topics: [x, y], secrets: {sasl.password: pw}}"),
        (tl.http(port=99, token="sesame"), "http: {port: 99, token: sesame}"),
        (tl.http(), "http: {}"),
        (tl.rate(), "rate: {}"),
        (tl.rate(5), "rate: {rows_per_second: 5}"),
    ],
)  # fmt: skip
def test_sources_in_python(made, text):
    clicks = tl.ingest("clicks", source=made, table="/a", batch={"rows": 5})
    wanted = one(f"source: {{{text}}}\ntable: /a\nbatch: {{rows: 5}}")
    assert clicks.spec("default") == wanted
    assert clicks.where.startswith(__file__)


def test_the_name_is_the_same_once_the_package_is_loaded():
    """`trunkline.ingests` is a package too; either way it declares."""
    code = (
        "import trunkline as tl\n"
        "a = tl.ingest('a', source=tl.rate())\n"
        "import trunkline.ingests.walk\n"
        "b = tl.ingest('b', source=tl.rate())\n"
        "print(a.line, b.line, trunkline.ingests.walk.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "4", "trunkline.ingests.walk"]


async def waits():
    yield {}


def test_functions_that_cannot_be_ingests():
    with pytest.raises(InvalidSpec, match="the function of an ingest must not be async"):
        tl.ingest(waits)


# What is handed over -----------------------------------------------------------------------


def spec_file(folder: Path, text: str) -> str:
    (folder / "a.yaml").write_text(f"ingest: {{name: clicks}}\n{text}\n")
    return str(folder / "a.yaml")


def test_folders_are_from_where_the_spec_is(tmp_path):
    path = spec_file(tmp_path, "source: {folder: {path: ./in/../inbox, then: {move: done}}}")
    (found,) = gather((path,), "default", {}).declared
    assert found.spec.source is not None
    options = found.spec.source.options
    assert options["path"] == str(tmp_path / "inbox")
    assert options["then"] == {"move": str(tmp_path / "done")}
    (tmp_path / "p.py").write_text(
        "import trunkline as tl\nclicks = tl.ingest('clicks', source=tl.folder('inbox'))\n"
    )
    (found,) = gather((str(tmp_path / "p.py"),), "default", {}).declared
    assert found.spec.source is not None
    assert found.spec.source.options["path"] == str(tmp_path / "inbox")
    assert (found.code, found.source) == ((), "")


def test_files_are_not_moved_to_where_they_are(tmp_path):
    path = spec_file(tmp_path, "source: {folder: {path: inbox, then: {move: ./inbox/}}}")
    with pytest.raises(InvalidSpec, match="files would be moved to where they are"):
        gather((path,), "default", {})


def test_columns_that_no_table_can_hold(tmp_path):
    path = spec_file(tmp_path, "source: {rate: 1}\nschema: a VARIANT")
    with pytest.raises(InvalidSpec, match=r'a\.yaml:1: schema: Column "a": there is no type'):
        gather((path,), "default", {})


def test_the_code_of_a_generator_travels(tmp_path):
    path = spec_file(tmp_path, "source: {python: 'feed.py:events'}")
    with pytest.raises(NotFound, match=r"feed\.py"):
        gather((path,), "default", {})
    (tmp_path / "feed.py").write_text("def other():\n    yield {}\n")
    with pytest.raises(InvalidSpec, match=r'a\.yaml:1: feed\.py has no function "events"'):
        gather((path,), "default", {})
    (tmp_path / "feed.py").write_text("def events():\n    yield {}\n")
    (found,) = gather((path,), "default", {}).declared
    assert found.code == (("/feed.py", tmp_path / "feed.py"),)


@pytest.mark.parametrize("options", ["", "(interval='2s')"])
def test_what_of_the_file_counts_for_a_generator(tmp_path, options):
    (tmp_path / "p.py").write_text(
        f"import trunkline as tl\n@tl.ingest{options}\ndef events():\n    yield {{}}\n"
    )
    (found,) = gather((str(tmp_path / "p.py"),), "default", {}).declared
    assert [name for name, _ in found.code] == ["/p.py"]
    assert found.source == "def events():\n    yield {}"
