"""Specs of table pipelines: SQL, modes, parameters and expectations."""

import json
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given, settings

from tests.cases import load
from tests.pipelines.specs import table_specs
from trunkline.errors import InvalidSpec, NotFound
from trunkline.model.commits import RepoName
from trunkline.model.expectations import Action, CheckKind, Expectation
from trunkline.model.inputs import Pfs
from trunkline.model.pipelines import Mode, OnChange, PipelineSpec, Transform
from trunkline.pipelines.spec import (
    from_json,
    json_schema,
    read_specs,
    result_fields,
    to_json,
    transform_digest,
)

BASE = {
    "pipeline": "pipeline: {name: daily}",
    "input": "input: {pfs: {repo: orders, glob: /}}",
    "transform": "transform: {sql: SELECT 1}",
}
SCHEMA = jsonschema.Draft202012Validator(json_schema())


def whole(text: str) -> str:
    starts = {line.partition(":")[0] for line in text.splitlines()}
    return "\n".join([text, *(line for name, line in BASE.items() if name not in starts)])


def one(text: str, **more) -> PipelineSpec:
    (made,) = read_specs(whole(text), name="a.yaml", project="default", **more).specs
    return made.spec


def refused(text: str, **more) -> InvalidSpec:
    with pytest.raises(InvalidSpec) as caught:
        one(text, **more)
    return caught.value


@pytest.mark.parametrize("case", load("spec_tables_refused.case"), ids="|".join)
def test_refusals(case):
    text = "\n".join(line for line in case if not line.startswith(("=> ", "?? ")))
    (message,) = (line[3:] for line in case if line.startswith("=> "))
    error = refused(text)
    assert error.message.split("\n")[0] == message
    for line in case:
        if line.startswith("?? "):
            assert error.hint == line[3:]


@pytest.mark.parametrize(
    ("globs", "partition_by", "mode"),
    [
        (["/"], [], Mode.WHOLE),
        (["/orders"], [], Mode.WHOLE),
        (["/", "/x/"], ["day"], Mode.WHOLE),
        (["/day=2026-01-01"], ["day"], Mode.WHOLE),
        (["/*"], [], Mode.EACH),
        (["/day=*/"], [], Mode.EACH),
        (["/day=*/"], ["day"], Mode.TOGETHER),
        (["/day=(*)/region={eu,us}"], ["region", "day"], Mode.TOGETHER),
        (["/x/day=202[56]-*/", "/"], ["day"], Mode.TOGETHER),
        (["/day=*/", "/region=*"], ["day", "region"], Mode.TOGETHER),
    ],
)
def test_the_mode_that_is_meant(globs, partition_by, mode):
    members = ", ".join(f'{{pfs: {{repo: r{i}, glob: "{g}"}}}}' for i, g in enumerate(globs))
    columns = json.dumps(partition_by)
    spec = one(
        f"input: {{cross: [{members}]}}\ntransform: {{sql: SELECT 1, partition_by: {columns}}}"
    )
    assert spec.transform.mode is mode


@pytest.mark.parametrize(
    "text",
    [
        "join: [pfs: {repo: a, glob: /day=(*), join_on: $1}]",
        "join: [pfs: &a {repo: a, glob: /day=(*), join_on: $1}, pfs: {<<: *a, repo: b}]",
        'group: [pfs: {repo: a, glob: "/day=(*)/*.csv", group_by: $1}]',
        'union: [pfs: {repo: a, glob: "/day=*"}, pfs: {repo: b, glob: "/x/day=*", name: a}]',
    ],
)
def test_together_with_other_inputs(text):
    spec = one(
        f"input: {{{text}}}\ntransform: {{sql: SELECT 1, mode: together, partition_by: [day]}}"
    )
    assert spec.transform.mode is Mode.TOGETHER


FILES = {"q/day.sql": "SELECT *\nFROM orders\n", "bad.sql": "SELECT *\nFROM ordrs\n"}


def read_file(path: str) -> str:
    if path not in FILES:
        raise NotFound(f'There is no file "{path}".', hint="Look again.")
    return FILES[path]


def test_sql_in_a_file():
    spec = one("transform: {sql: q/day.sql}", read_file=read_file)
    assert spec.transform == Transform(sql=FILES["q/day.sql"], sql_file="q/day.sql")
    assert from_json(to_json(spec)) == spec
    error = refused("transform: {sql: bad.sql}", read_file=read_file)
    assert error.message == (
        'a.yaml:1: bad.sql:2: there is no input "ordrs". Did you mean "orders"?\n'
        "2 | FROM ordrs\n"
        "  |      ^"
    )
    error = refused("transform: {sql: gone.sql}", read_file=read_file)
    assert error.message == 'a.yaml:1: transform.sql: There is no file "gone.sql".'
    assert error.hint == "Look again."


def test_everything():
    spec = one(
        """
        input: {pfs: {repo: orders, glob: /day=*/}}
        transform:
          spark: jobs/daily.py:revenue
          code: ./jobs
          mode: each
          partition_by: [region, day]
          params: {b: 1.5, a: x, c: true, d: [1, 2], e: 2026-01-31}
          requirements: [pandas >=2, "numpy; python_version > '3'"]
        spark: {spark.sql.shuffle.partitions: 4}
        """.replace("\n        ", "\n")
    )
    assert spec.transform == Transform(
        spark="jobs/daily.py:revenue",
        code="./jobs",
        mode=Mode.EACH,
        partition_by=("region", "day"),
        params=(("a", "x"), ("b", 1.5), ("c", True), ("d", (1, 2)), ("e", "2026-01-31")),
        requirements=("pandas>=2", 'numpy; python_version > "3"'),
    )
    assert spec.transform.kind == "spark"
    assert spec.transform.makes_tables


def test_rules():
    spec = one(
        """
        expectations:
        - {expr: " a > 0 ", name: positive, action: drop}
        - {row_count: {min: 1, max: 10}, name: revenue}
        - {row_count_change: {max_rise: 0.5}}
        - {expr: "a <> b AND `c d` != 'x'", tolerate: 0.5%}
        - {expr: "***"}
        """.replace("\n        ", "\n")
    )
    assert spec.expectations == (
        Expectation("positive", CheckKind.EXPR, Action.DROP, expr="a > 0"),
        Expectation("revenue", CheckKind.ROW_COUNT, least=1.0, most=10.0),
        Expectation("row_count_change", CheckKind.ROW_COUNT_CHANGE, most=0.5),
        Expectation(
            "a_ne_b_AND_c_d_ne_x",
            CheckKind.EXPR,
            expr="a <> b AND `c d` != 'x'",
            tolerate=0.005,
        ),
        Expectation("rule", CheckKind.EXPR, expr="***"),
    )


def test_a_table_has_so_many_rules_about_rows():
    rule, whole_table = "{not_null: a}", "{row_count: {min: 1}}"
    spec = one(f"expectations: [{', '.join([rule] * 63 + [whole_table] * 5)}]")
    assert len({rule.name for rule in spec.expectations}) == 68
    error = refused(f"expectations: [{', '.join([rule] * 64)}]")
    assert error.message == "a.yaml:1: There are more than 63 rules about rows."


# JSON and back, and what decides results ---------------------------------------------------


@given(table_specs)
@settings(max_examples=60, deadline=None)
def test_what_is_shown_can_be_applied_again(spec):
    raw = json.loads(json.dumps(to_json(spec)))
    assert from_json(raw) == spec
    SCHEMA.validate(raw)
    (made,) = read_specs(json.dumps(raw), name="a.json", project="elsewhere").specs
    assert made.spec == spec


PLAIN = PipelineSpec(
    name=RepoName("default", "daily"),
    input=Pfs("orders", RepoName("default", "orders"), "/"),
    transform=Transform(sql="SELECT * FROM orders"),
)
RULE = Expectation("a", CheckKind.EXPR, expr="a > 0")


def digest(spec: PipelineSpec) -> str:
    return transform_digest(spec, (), "", "")


def transform(**fields) -> PipelineSpec:
    return replace(PLAIN, transform=replace(PLAIN.transform, **fields))


def rules(**fields) -> PipelineSpec:
    return replace(PLAIN, expectations=(replace(RULE, **fields),))


@pytest.mark.parametrize(
    "other",
    [
        transform(sql="SELECT a FROM orders"),
        transform(sql="", spark="a.py:f"),
        transform(mode=Mode.EACH),
        transform(partition_by=("a",)),
        transform(params=(("a", 1),)),
        transform(requirements=("pandas>=2",)),
        rules(action=Action.DROP),
        rules(action=Action.QUARANTINE),
    ],
)
def test_what_decides_results_changes_the_digest(other):
    assert digest(other) != digest(PLAIN)


def test_rules_that_take_rows_out_are_told_apart():
    drop = rules(action=Action.DROP)
    assert digest(drop) == digest(rules(action=Action.DROP, name="b"))
    assert digest(drop) != digest(rules(action=Action.DROP, expr="a > 1"))
    keep = rules(action=Action.QUARANTINE)
    assert digest(keep) != digest(rules(action=Action.QUARANTINE, name="b"))
    assert digest(keep) != digest(drop)


@pytest.mark.parametrize(
    "other",
    [
        transform(sql="-- all\nSELECT  *\n  FROM orders /* of them */"),
        transform(sql_file="a.sql"),
        transform(on_change=OnChange.REFRESH),
        rules(action=Action.FAIL),
        rules(action=Action.WARN),
        rules(tolerate=0.5),
    ],
)
def test_what_does_not_decide_results_leaves_the_digest_alone(other):
    assert digest(other) == digest(PLAIN)
    assert result_fields(other) == {"sql": "SELECT * FROM orders", "mode": "whole"}


@pytest.mark.parametrize(
    "transform, name, words",
    [
        (
            "sql: SELECT 1 AS x",
            "spark.executor.memory",
            "of the whole of Spark, not of one pipeline",
        ),
        ("sql: SELECT 1 AS x", "spark.sql.warehouse.dir", "of the whole of Spark"),
        ("stream: a.py:f", "spark.driver.cores", "of the whole of Spark"),
        (
            "cmd: [a]",
            "spark.sql.ansi.enabled",
            "spark goes with sql, spark and stream, not with cmd",
        ),
        ("python: a.py:f", "spark.sql.ansi.enabled", "not with python"),
        (
            "sql: SELECT 1 AS x",
            "spark.sql.parquet.datetimeRebaseModeInWrite",
            "cannot be set: readers would not agree",
        ),
    ],
)
def test_settings_that_would_do_nothing_are_refused(transform, name, words):
    text = (
        f"pipeline: {{name: p}}\ninput: {{pfs: {{repo: r, glob: /}}}}\ntransform: {{{transform}}}\n"
    )
    with pytest.raises(InvalidSpec, match=words) as refused:
        read_specs(f"{text}spark: {{{name}: 4}}\n", name="a.yaml", project="default")
    assert refused.value.message.startswith("a.yaml:4")
