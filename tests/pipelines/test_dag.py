"""The graph over names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.errors import InvalidSpec
from trunkline.pipelines.dag import Dag, order

# d reads b and c, which read a; e reads c.
GRAPH = Dag.of({"d": ["b", "c"], "b": ["a"], "c": ["a"], "e": ["c"]})


def test_order_and_reach():
    assert GRAPH.order() == ["a", "b", "c", "d", "e"]
    assert list(GRAPH) == GRAPH.order()
    assert GRAPH.upstream("d") == ["a", "b", "c"]
    assert GRAPH.downstream("a") == ["b", "c", "d", "e"]
    assert GRAPH.downstream("b", "c") == ["d", "e"]
    assert GRAPH.upstream("a") == []
    assert GRAPH.downstream("unknown") == []
    assert GRAPH.layers() == [["a"], ["b", "c"], ["d", "e"]]
    assert Dag.of({}).order() == []
    assert Dag.of({}).layers() == []


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ({"a": ["a"]}, "The pipeline a reads its own output."),
        ({"a": ["b"], "b": ["a"]}, "circle: a → b → a."),
        ({"b": ["a"], "c": ["b"], "a": ["c"], "d": ["a"]}, "circle: a → b → c → a."),
        ({"x": ["b"], "a": ["c"], "b": ["a"], "c": ["b"]}, "circle: a → b → c → a."),
    ],
)
def test_cycles(edges, said):
    with pytest.raises(InvalidSpec) as caught:
        order(edges)
    assert caught.value.message.endswith(said)


def test_long_chains():
    edges = {str(i): [str(i + 1)] for i in range(20_000)}
    assert order(edges)[0] == "20000"


@given(st.dictionaries(st.integers(0, 30), st.sets(st.integers(0, 30), max_size=4)))
def test_everything_comes_after_what_it_reads(edges):
    downward = {name: {read for read in reads if read < name} for name, reads in edges.items()}
    dag = Dag.of(downward)
    place = {name: i for i, name in enumerate(dag.order())}
    assert len(place) == len(dag.reads)
    for name, reads in downward.items():
        assert all(place[read] < place[name] for read in reads)
        for other in place:
            assert (other in dag.upstream(name)) == (name in dag.downstream(other))
