"""Specs as JSON and back, and what of them decides results."""

import json
from dataclasses import dataclass, fields, is_dataclass, replace

import jsonschema
import pytest
from hypothesis import given, settings

from tests.cases import load
from tests.pipelines.specs import ingest_specs, specs, stream_specs, table_specs
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Cross, Pfs, Union
from trunkline.model.pipelines import Merge, PipelineSpec, Retry, Sandbox, Schedule, Transform
from trunkline.pipelines.spec import (
    from_json,
    json_schema,
    read_specs,
    result_fields,
    to_json,
    transform_digest,
    view_of,
)
from trunkline.pipelines.spec.record import Record

SCHEMA = jsonschema.Draft202012Validator(json_schema())
PLAIN = PipelineSpec(
    name=RepoName("default", "edges"),
    input=Pfs("images", RepoName("default", "images"), "/*"),
    transform=Transform(cmd=("edges",)),
)


@given(specs)
def test_json_and_back(spec):
    assert from_json(json.loads(json.dumps(to_json(spec)))) == spec


@given(specs)
@settings(max_examples=60, deadline=None)
def test_what_is_shown_can_be_applied_again(spec):
    raw = to_json(spec)
    SCHEMA.validate(raw)
    for name, text in (("a.json", json.dumps(raw, indent="\t")), ("a", json.dumps(raw))):
        (made,) = read_specs(text, name=name, project="elsewhere").specs
        assert made.spec == spec


def test_defaults_are_left_out():
    assert to_json(PLAIN) == {
        "pipeline": {"project": "default", "name": "edges"},
        "input": {"pfs": {"repo": "images", "name": "images", "branch": "main", "glob": "/*"}},
        "transform": {"cmd": ["edges"]},
    }


@pytest.mark.parametrize("text, shown", load("spec_stored.case"))
def test_what_is_stored_and_its_digest_stay_as_they_are(text, shown):
    spec = from_json(json.loads(text))
    assert json.dumps(to_json(spec)) == text
    assert f"=> {digest(spec, [('/a.py', '1')], 'src', 'salt')}" == shown
    (made,) = read_specs(text, name="a.json", project="elsewhere").specs
    assert made.spec == spec


def assert_same(view, value):
    if type(view) is type(value):
        assert view == value
        return
    assert isinstance(view, type(value))
    assert is_dataclass(value)
    for field in fields(value):
        assert_same(getattr(view, field.name), getattr(value, field.name))


@given(specs | table_specs | stream_specs | ingest_specs)
def test_a_view_says_what_the_spec_says(spec):
    view = view_of(to_json(spec))
    assert_same(view, spec)
    assert view.transform.kind == spec.transform.kind
    assert not hasattr(view, "nothing")


def test_a_view_reads_only_what_is_asked_for():
    raw = {"pipeline": {}, "priority": 3, "transform": {"python": "a.py:f", "secrets": 7}}
    assert (view_of(raw).priority, view_of(raw).transform.kind) == (3, "python")


def test_a_field_that_a_codec_does_not_name_is_written_and_read():
    @dataclass(frozen=True, slots=True)
    class More(Retry):
        pause: float = 0.5
        at: tuple[str, ...] = ()

    record = Record(More, names={"at": "more.at"})
    raw = {"tries": 2, "pause": 3, "more": {"at": ["a"]}}
    made = More(tries=2, pause=3.0, at=("a",))
    assert (record.write(made), record.read(raw)) == (raw, made)
    assert record.write(More()) == {}


def digest(spec: PipelineSpec, code=(), source="", salt="") -> str:
    return transform_digest(spec, code, source, salt)


def transform(**fields) -> PipelineSpec:
    return replace(PLAIN, transform=replace(PLAIN.transform, **fields))


def leaf(**fields) -> PipelineSpec:
    return replace(PLAIN, input=Pfs("images", RepoName("default", "images"), **fields))


@pytest.mark.parametrize(
    "other",
    [
        transform(cmd=("edges", "-v")),
        transform(cmd=(), python="a.py:f"),
        transform(stdin=("a",)),
        transform(err_cmd=("a",)),
        transform(err_stdin=("a",)),
        transform(accept_return_code=(1,)),
        transform(env=(("A", "b"),)),
        transform(secrets=(("A", "b"),)),
        transform(working_dir="a"),
        transform(sandbox=Sandbox.ON),
        replace(PLAIN, merge=Merge.CONCAT),
        leaf(glob="/*", empty_files=True),
        leaf(glob="/(*)"),
        leaf(glob="/(*)", join_on="$1"),
        leaf(glob="/(*)", group_by="$1"),
    ],
)
def test_what_decides_results_changes_the_digest(other):
    assert digest(other) != digest(PLAIN)


def test_what_decides_results_is_told_apart():
    assert digest(leaf(glob="/(*)", join_on="$1")) != digest(leaf(glob="/(*)", group_by="$1"))
    assert digest(transform(stdin=("a",))) != digest(transform(err_stdin=("a",)))
    assert digest(transform(stdin=("a b",))) != digest(transform(stdin=("a", "b")))


@pytest.mark.parametrize(
    "other",
    [
        replace(PLAIN, name=RepoName("shop", "other")),
        replace(PLAIN, description="a"),
        replace(PLAIN, parallelism=3, set_number=4, set_bytes=5),
        replace(PLAIN, datum_tries=9, datum_timeout=1.0, job_timeout=2.0, every_job=True),
        replace(PLAIN, schedule=Schedule("@daily"), priority=4, pool="a", retry=Retry(5)),
        replace(PLAIN, metadata=(("labels.a", "b"),)),
        replace(PLAIN, output_branch="good", max_failed_datums=4),
        transform(memory=10, code="./elsewhere"),
        leaf(glob="/a/*", branch="dev", lazy=True, reference=True, propagation=False),
        replace(PLAIN, input=Pfs("x", RepoName("default", "y"), "/*")),
        replace(PLAIN, input=Union((PLAIN.input, Pfs("x", RepoName("default", "y"), "/*")))),
        replace(PLAIN, input=Cross((PLAIN.input, Pfs("x", RepoName("default", "y"), "/*")))),
    ],
)
def test_what_does_not_decide_results_leaves_the_digest_alone(other):
    assert digest(other) == digest(PLAIN)
    assert result_fields(other) == {"cmd": ["edges"]}


QUERY = PipelineSpec(
    RepoName("default", "q"), PLAIN.input, Transform(sql="SELECT ${n} AS n", params=(("n", 1),))
)


def test_params_are_told_apart_by_their_types():
    values = (1, 1.0, True, "1", "true", (1,), (1.0,), (True,), ("1",), 0, 0.0, -0.0, False, "", ())
    made = {
        digest(replace(QUERY, transform=replace(QUERY.transform, params=(("n", value),))))
        for value in values
    }
    assert len(made) == len(values)


@pytest.mark.parametrize(
    "settings",
    [
        {"spark.sql.session.timeZone": "Asia/Tokyo"},
        {"spark.sql.ansi.enabled": "false"},
        {"spark.sql.files.ignoreCorruptFiles": "true"},
        {"spark.sql.nobody.knows": "1"},
        {"spark.shop.least": "4"},
    ],
)
def test_settings_of_spark_decide_results_unless_it_is_known_that_they_do_not(settings):
    assert digest(replace(QUERY, spark=tuple(settings.items()))) != digest(QUERY)


def test_settings_that_change_no_row_leave_the_digest_as_it_was():
    assert digest(QUERY) == "c80277a59f24dd927b8267be7056e4a133189b25b01926eb56dfa256ae817568"
    settings = {
        "spark.sql.shuffle.partitions": "7",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    assert digest(replace(QUERY, spark=tuple(settings.items()))) == digest(QUERY)


def test_code_source_and_salt_are_in_the_digest():
    made = {
        digest(PLAIN),
        digest(PLAIN, code=[("/a.py", "1")]),
        digest(PLAIN, code=[("/a.py", "2")]),
        digest(PLAIN, code=[("/b.py", "1")]),
        digest(PLAIN, source="1"),
        digest(PLAIN, salt="1"),
    }
    assert len(made) == 6
    assert len(digest(PLAIN)) == 64
    several = [("/a", "1"), ("/b", "2")]
    assert digest(PLAIN, code=several) == digest(PLAIN, code=several[::-1])
