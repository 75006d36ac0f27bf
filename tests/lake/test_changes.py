"""Changes applied to a tree: the same tree, range by range, as if it were built from scratch."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.lake.conftest import (
    Trees,
    after,
    applied,
    clash_free,
    contents,
    expected,
    held,
    line,
    models,
    operations,
    paths,
    perform,
    shape,
)
from trunkline.errors import PathClash
from trunkline.lake.changes import Changes

Operations = list[tuple[str, str, int]]
thorough = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def changes_of(done: Operations) -> Changes:
    changes = Changes()
    perform(changes, done)
    return changes


@thorough
@given(model=models())
def test_a_tree_holds_what_it_was_built_from(model: dict[str, int]):
    trees = Trees()
    tree = trees.of(model)
    assert held(tree) == expected(model)
    assert tree.files == len(model)
    assert tree.size == sum(content * 10 for content in model.values())


@thorough
@given(base=models(), done=operations)
def test_applying_changes_gives_the_tree_that_building_it_gives(
    base: dict[str, int], done: Operations
):
    trees = Trees()
    tree = trees.of(base)
    wanted = after(base, done)
    # What is refused is not the business of this property.
    if not clash_free(wanted):
        return
    result = applied(trees, tree, changes_of(done))
    assert held(result) == expected(wanted)
    assert shape(result) == shape(trees.of(wanted))
    assert (result.files, result.size) == (len(wanted), sum(c * 10 for c in wanted.values()))


@thorough
@given(base=models(), steps=st.lists(operations, max_size=4))
def test_a_tree_does_not_show_in_how_many_steps_it_was_made(
    base: dict[str, int], steps: list[Operations]
):
    trees = Trees()
    tree = trees.of(base)
    model = base
    for done in steps:
        wanted = after(model, done)
        if clash_free(wanted):
            tree, model = applied(trees, tree, changes_of(done)), wanted
    assert shape(tree) == shape(trees.of(model))


@thorough
@given(model=models(), data=st.data())
def test_the_shape_stays_canonical_when_the_line_that_ends_a_range_goes(
    model: dict[str, int], data: st.DataObject
):
    trees = Trees()
    tree = trees.of(model)
    if not tree.ranges:
        return
    ends = [held.last for held in tree.ranges] + [held.first for held in tree.ranges]
    gone = data.draw(st.lists(st.sampled_from(ends), min_size=1, max_size=3))
    changes = Changes()
    for path in gone:
        changes.remove_file(path)
    result = applied(trees, tree, changes)
    rest = {path: c for path, c in model.items() if path.encode() not in gone}
    assert shape(result) == shape(trees.of(rest))


@thorough
@given(base=models(), path=paths, content=contents)
def test_a_small_change_writes_few_ranges(base: dict[str, int], path: str, content: int):
    """Ranges that were not touched are shared, not written again."""
    trees = Trees()
    tree = trees.of(base)
    if not clash_free([*base, path]) or len(tree.ranges) < 2:
        return
    before = {held.key for held in tree.ranges}
    changes = Changes()
    changes.put_all([line(path, content)])
    result = applied(trees, tree, changes)
    assert len({held.key for held in result.ranges} - before) <= 4


def test_a_change_that_changes_nothing_keeps_every_range():
    trees = Trees()
    model = {f"/f{n:03}": n for n in range(100)}
    tree = trees.of(model)
    changes = Changes()
    changes.put_all([line("/f050", 50)])
    changes.remove(b"/nobody")
    assert applied(trees, tree, changes).ranges == tree.ranges


@thorough
@given(base=models(max_size=12), done=operations)
@example(base={"/a": 1}, done=[("put", "/a/x", 1)])
@example(base={"/a/x": 1}, done=[("put", "/a", 1)])
@example(base={"/a-b": 1, "/a.txt": 1, "/a0": 1}, done=[("put", "/a", 1)])
@example(base={}, done=[("put", "/a", 1), ("put", "/a-b", 1), ("put", "/a/x", 1)])
@example(base={"/a/x": 1}, done=[("remove", "/a", 0), ("put", "/a", 1)])
@example(base={"/a": 1}, done=[("remove_file", "/a", 0), ("put", "/a/x", 1)])
@example(base={"/a/x": 1, "/a/y": 1}, done=[("remove_file", "/a/x", 0), ("put", "/a", 1)])
def test_a_path_is_refused_as_file_and_folder_exactly_when_it_would_be_both(
    base: dict[str, int], done: Operations
):
    trees = Trees()
    tree = trees.of(base)
    wanted = after(base, done)
    if clash_free(wanted):
        assert held(applied(trees, tree, changes_of(done))) == expected(wanted)
        return
    with pytest.raises(PathClash) as caught:
        applied(trees, tree, changes_of(done))
    both = {(path, other) for path in wanted for other in wanted if other.startswith(path + "/")}
    file, inside = str(caught.value).split('"')[1::2]
    assert (file, inside) in both, "both are named"


@thorough
@given(first=operations, second=operations, base=models(max_size=12))
def test_one_after_the_other_is_the_same_as_both_at_once(
    first: Operations, second: Operations, base: dict[str, int]
):
    both = changes_of(first)
    both.then(changes_of(second))
    wanted = after(base, [*first, *second])
    if clash_free(wanted):
        trees = Trees()
        assert held(applied(trees, trees.of(base), both)) == expected(wanted)


parts = st.lists(st.tuples(paths, contents), max_size=4)


@thorough
@given(done=operations, appended=parts, later=operations)
def test_changes_are_read_as_they_were_written(
    done: Operations, appended: list[tuple[str, int]], later: Operations
):
    changes = changes_of(done)
    for path, content in appended:
        changes.append(line(path, content))
    perform(changes, later)
    again = Changes.decode(changes.encode())
    assert vars(again) == vars(changes)
    assert bool(again) == bool(changes)


def test_an_append_is_kept_with_the_put_before_it_and_dropped_by_a_later_one():
    changes = Changes()
    changes.put_all([line("/a", 1)])
    changes.append(line("/a", 2))
    changes.append(line("/a", 3))
    assert changes.appends == {b"/a": [line("/a", 2), line("/a", 3)]}
    changes.put_all([line("/a", 1)])
    assert changes.appends == {}


@given(done=operations, path=paths, content=contents)
def test_changes_touch_what_they_put_append_or_remove(done: Operations, path: str, content: int):
    """Told by applying them to a tree that holds nothing but the path."""
    name = path.encode()
    changes = changes_of(done)
    before = {path: content + 10}
    if after(before, done).get(path) != content + 10:
        assert changes.touches(name)
    changes.append(line(path, content))
    assert changes.touches(name)
