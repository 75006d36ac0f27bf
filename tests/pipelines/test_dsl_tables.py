"""Table pipelines declared in Python: functions of DataFrames, SQL, and expectations."""

from datetime import date, timedelta
from pathlib import Path

import pytest

import trunkline as tl
from trunkline.errors import InvalidSpec
from trunkline.model.pipelines import Mode, PipelineSpec
from trunkline.pipelines.signature import Signature, in_source
from trunkline.pipelines.spec import read_specs


@tl.pipeline(
    input=tl.cross(tl.pfs("orders", glob="/day=*/"), tl.pfs("customers")),
    mode="together",
    partition_by="day",
    params={"since": date(2026, 1, 31), "regions": ("eu", "us")},
    requirements=["pyspark>=4"],
    expectations=[
        tl.expect("revenue >= 0", name="positive", action="drop"),
        tl.expect.not_null("day", "id", tolerate="1%"),
        tl.expect.unique("id"),
        tl.expect.accepted_values("region", ("eu", "us")),
        tl.expect.foreign_key("customer", references="customers", to="id"),
        tl.expect.row_count(min=1),
        tl.expect.row_count_change(max_drop="20%", over=7),
        tl.expect.freshness("ts", within=timedelta(hours=2), action="warn"),
    ],
)
def revenue(orders, customers, ctx):
    return orders, customers, ctx


YAML = """
pipeline: {name: revenue}
input: {cross: [{pfs: {repo: orders, glob: /day=*/}}, {pfs: {repo: customers, glob: /}}]}
transform:
  spark: test_dsl_tables.py:revenue
  mode: together
  partition_by: [day]
  params: {since: 2026-01-31, regions: [eu, us]}
  requirements: [pyspark>=4]
expectations:
- {expr: revenue >= 0, name: positive, action: drop}
- {not_null: [day, id], tolerate: 1%}
- {unique: [id]}
- {accepted_values: {column: region, values: [eu, us]}}
- {foreign_key: {columns: [customer], references: customers, to: [id]}}
- {row_count: {min: 1}}
- {row_count_change: {max_drop: 20%, over: 7}}
- {freshness: {column: ts, within: 2h}, action: warn}
"""


def from_yaml(text: str) -> PipelineSpec:
    return read_specs(text, name="a.yaml", project="default").specs[0].spec


def test_a_function_of_dataframes():
    assert revenue(1, 2, ctx=3) == (1, 2, 3)
    assert revenue.spec("default") == from_yaml(YAML)
    assert "def revenue(orders, customers, ctx):" in revenue.source


def takes_all(**inputs): ...


def takes_by_name(*, orders, customers=None): ...


def takes_more(orders, customers, threshold=5): ...


@pytest.mark.parametrize("function", [takes_all, takes_by_name, takes_more])
def test_ways_to_take_inputs(function):
    made = tl.pipeline(input=tl.cross(tl.pfs("orders"), tl.pfs("customers")))(function)
    spec = made.spec("default")
    assert spec.transform.spark == f"test_dsl_tables.py:{function.__name__}"
    assert spec.transform.mode is Mode.WHOLE


def misspelt(ordrs, customers): ...


def too_few(orders): ...


def misspelt_with_default(orders, custmers=None): ...


@pytest.mark.parametrize(
    ("function", "said", "hint"),
    [
        (
            misspelt,
            'the parameter "ordrs" of misspelt is no input. Did you mean "orders"?',
            "Its inputs: orders, customers.",
        ),
        (
            too_few,
            'too_few has no parameter for the input "customers".',
            "Write def too_few(orders, customers).",
        ),
        (
            misspelt_with_default,
            'misspelt_with_default has no parameter for the input "customers".',
            "Write def misspelt_with_default(orders, customers).",
        ),
    ],
)
def test_parameters_that_are_not_the_inputs(function, said, hint):
    made = tl.pipeline(input=tl.cross(tl.pfs("orders"), tl.pfs("customers")))(function)
    with pytest.raises(InvalidSpec) as caught:
        made.spec("default")
    assert caught.value.message == f"{made.where}: {said}"
    assert caught.value.hint == hint


def test_an_input_that_python_cannot_say():
    @tl.pipeline(input=tl.pfs("my-orders"))
    def mine(ctx): ...

    with pytest.raises(InvalidSpec) as caught:
        mine.spec("default")
    assert caught.value.hint == "Give the input a name that Python can say, or take **inputs."


def test_a_function_of_a_datum_has_no_mode():
    @tl.pipeline(input=tl.pfs("orders"), mode="whole")
    def mine(datum): ...

    with pytest.raises(InvalidSpec, match=r"transform\.mode goes with sql and spark, not with py"):
        mine.spec("default")


def test_sql():
    made = tl.Pipeline(
        name="paid",
        input=tl.pfs("orders"),
        sql="SELECT * FROM orders WHERE day >= ${since}",
        params={"since": date(2026, 1, 31)},
        spark={"spark.sql.shuffle.partitions": 4},
    )
    spec = made.spec("default")
    assert spec.transform.kind == "sql"
    assert spec.transform.params == (("since", "2026-01-31"),)
    assert made.source == ""


def test_sql_in_a_file():
    made = tl.Pipeline(name="paid", input=tl.pfs("orders"), sql=Path("q/day.sql"))
    (found,) = made.read("default", {"q/day.sql": "SELECT 1"}.__getitem__).specs
    assert (found.spec.transform.sql, found.spec.transform.sql_file) == ("SELECT 1", "q/day.sql")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "transform needs cmd, python, sql, spark or stream."),
        ({"cmd": ["a"], "sql": "SELECT 1"}, "transform has both cmd and sql."),
        ({"sql": "SELECT * FROM ordrs"}, 'transform.sql, line 1: there is no input "ordrs".'),
        ({"sql": "SELECT 1", "expectations": tl.expect("a")}, "expectations must be a list"),
    ],
)
def test_refusals_name_the_file_and_line(given, said):
    made = tl.Pipeline(name="a", input=tl.pfs("orders"), **given)
    with pytest.raises(InvalidSpec) as caught:
        made.spec("default")
    assert caught.value.message.startswith(f"{made.where}: {said}")


# Functions in files that are not loaded ----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("def f(a, b): ...", Signature("f", ("a", "b"))),
        ("def f(a, b=1): ...", Signature("f", ("a",), ("b",))),
        ("def f(a, *, b, c=1, **d): ...", Signature("f", ("a", "b"), ("c",), True)),
        ("def f(x): ...\ndef f(a): ...", Signature("f", ("a",))),
        ("f = g", None),
        ("@g\ndef f(): ...", None),
    ],
)
def test_signatures_in_source(text, signature):
    assert in_source(text, "f", "a.yaml:1") == signature


@pytest.mark.parametrize("text", ["def f(*a): ...", "def f(a, /): ...", "async def f(a): ..."])
def test_other_signatures_are_refused(text):
    with pytest.raises(InvalidSpec, match=r"a\.yaml:1: a pipeline's function"):
        in_source(text, "f", "a.yaml:1")
