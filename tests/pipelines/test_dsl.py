"""Pipelines declared in Python: the same specs, checked the same way."""

import pickle
import types

import pytest

from trunkline.errors import InvalidSpec
from trunkline.model.pipelines import PipelineSpec
from trunkline.pipelines.dsl import (
    Pipeline,
    PipelineFunction,
    cron,
    cross,
    group,
    join,
    pfs,
    pipeline,
    specs_in,
    union,
)
from trunkline.pipelines.spec import read_specs

FACTOR = 2


@pipeline(input=pfs("images", glob="/*.png"), parallelism=4, memory="1Gi", env={"A": "b"})
def edges(datum):
    """Finds edges."""
    return FACTOR * datum


def unrelated():
    return 1


def from_yaml(text: str, project: str = "default") -> PipelineSpec:
    return read_specs(text, name="a.yaml", project=project).specs[0].spec


def test_a_function_is_a_pipeline_and_stays_a_function():
    assert edges(3) == 6
    assert edges.__name__ == "edges"
    assert edges.__doc__ == "Finds edges."
    assert isinstance(edges, PipelineFunction)
    assert edges.file == __file__
    assert edges.function(4) == 8
    assert edges.spec("default") == from_yaml(
        """
pipeline: {name: edges}
input: {pfs: {repo: images, glob: /*.png}}
transform: {python: "test_dsl.py:edges", env: {A: b}}
parallelism_spec: {constant: 4}
resource_limits: {memory: 1Gi}
"""
    )
    assert edges.spec("shop").name.project == "shop"
    assert repr(edges).startswith("<pipeline edges at ")


def test_its_source_is_what_it_reaches():
    assert "FACTOR = 2\n" in edges.source
    assert "\ndef edges(datum):\n    return FACTOR * datum\n" in edges.source
    assert "unrelated():" not in edges.source


def test_a_command_is_a_pipeline():
    made = Pipeline(
        name="montage",
        project="shop",
        input=cross(
            union(pfs("a"), pfs("b", "/x", branch="dev", lazy=True)),
            cron("tick", "@daily", overwrite=True),
            join(pfs("c", "/(*)", join_on="$1"), pfs("d", "/(*)", "e", join_on="$1")),
            group(pfs("f", "/(*)", group_by="$1", project="other")),
        ),
        cmd=("sh", "-c", "true"),
        accept_return_code=(1, 2),
        schedule={"cron": "@daily"},
        priority=3,
    )
    assert made.spec("default") == from_yaml(
        """
pipeline: {name: montage, project: shop}
input:
  cross:
  - union: [{pfs: {repo: a, glob: /}}, {pfs: {repo: b, glob: /x, branch: dev, lazy: true}}]
  - cron: {name: tick, spec: "@daily", overwrite: true}
  - join:
    - pfs: {repo: c, glob: /(*), join_on: $1}
    - pfs: {repo: d, glob: /(*), name: e, join_on: $1}
  - group: [{pfs: {repo: f, glob: /(*), group_by: $1, project: other}}]
transform: {cmd: [sh, -c, "true"], accept_return_code: [1, 2]}
schedule: {cron: "@daily"}
priority: 3
"""
    )
    assert made.source == ""
    assert made.where.startswith(f"{__file__}:")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"input": pfs("a", glbo="/")}, 'input.pfs.glbo is not a field; did you mean "glob"?'),
        ({"input": pfs("a", "/[")}, "input.pfs.glob: The pattern"),
        ({"input": pfs("mine")}, "The pipeline mine reads its own output."),
        ({"input": pfs("a"), "datum_trys": 4}, "datum_trys is not a field; did you mean"),
        ({"input": pfs("a"), "name": "a b"}, "pipeline.name:"),
        ({"input": "a"}, 'input must be a map, not the text "a".'),
        ({"input": pfs("a"), "parallelism": "all"}, "parallelism_spec.constant must be"),
        ({"input": join(pfs("a"))}, "input.join[0].pfs is in a join and has no join_on."),
    ],
)
def test_refusals_name_the_file_and_line(options, said):
    @pipeline(**options)
    def mine(datum): ...

    with pytest.raises(InvalidSpec) as caught:
        mine.spec("default")
    line = mine.function.__code__.co_firstlineno
    assert caught.value.message.startswith(f"{__file__}:{line}: {said}")


def test_a_command_in_one_text():
    with pytest.raises(InvalidSpec, match="A command is a list of arguments"):
        Pipeline(name="a", input=pfs("b"), cmd="sh a.sh").spec("default")


def yields(datum):
    yield datum


async def waits(datum): ...


@pytest.mark.parametrize(
    "function",
    [
        lambda: None,
        lambda datum, other: None,
        lambda *datum: None,
        lambda **datum: None,
        lambda *, datum: None,
        lambda *orders: None,
        lambda orders, /: None,
        yields,
        waits,
    ],
)
def test_other_functions_are_refused(function):
    with pytest.raises(InvalidSpec, match="a pipeline's function") as caught:
        pipeline(input=pfs("a"))(function)
    assert caught.value.message.startswith(f"{__file__}:")


def test_what_is_no_function_is_refused():
    with pytest.raises(InvalidSpec, match="is not a function"):
        pipeline(input=pfs("a"))(print)


def test_pipelines_of_a_module():
    here = Pipeline(name="a", input=pfs("b"), cmd=["c"])
    many = [Pipeline(name=f"p{i}", input=pfs("b"), cmd=["c"]) for i in range(2)]
    elsewhere = Pipeline(name="x", input=pfs("b"), cmd=["c"])
    elsewhere.file = "other.py"
    space = {"__file__": __file__, "e": edges, "again": edges, "h": here, "m": many, "x": elsewhere}
    assert specs_in(space) == [edges, here, *many]
    assert specs_in({"x": elsewhere, "m": {"k": here}, "n": 5}) == [elsewhere, here]


def test_it_survives_being_loaded_by_another_process():
    module = types.ModuleType("loaded")
    source = (
        "from trunkline.pipelines.dsl import pipeline, pfs\n"
        "@pipeline(input=pfs('a'))\n"
        "def f(datum):\n    return datum + 1\n"
    )
    exec(compile(source, "loaded.py", "exec"), module.__dict__)
    assert module.f(1) == 2
    assert pickle.loads(pickle.dumps(edges.raw)) == edges.raw
    with pytest.raises(InvalidSpec, match="cannot be read"):
        _ = module.f.source
