"""Where two trees differ: exactly where two dicts do, whatever ranges they share."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lake.conftest import (
    Trees,
    after,
    applied,
    clash_free,
    held,
    line,
    models,
    operations,
    paths,
    shape,
)
from trunkline.lake.changes import Changes, apply
from trunkline.lake.differences import Difference, differences, line_differences
from trunkline.lake.manifests import ManifestStore, Tree
from trunkline.lake.threeway import Resolver, three_way
from trunkline.model.files import ChangeKind

Model = dict[str, int]
thorough = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Model, Model]:
    """Two trees that have much, little or nothing in common."""
    old = draw(models())
    new = after(old, draw(operations)) if draw(st.booleans()) else draw(models())
    return (old, new) if clash_free(new) else (old, dict(old))


def naive(old: Model, new: Model, prefix: str = "/") -> list[tuple[str, int | None, int | None]]:
    return [
        (path, old.get(path), new.get(path))
        for path in sorted(old.keys() | new.keys(), key=str.encode)
        if path.startswith(prefix) and old.get(path) != new.get(path)
    ]


def seen(found: Difference) -> tuple[str, int | None, int | None]:
    change = found.to_change()
    return (
        change.path,
        None if change.old_hash is None else int(change.old_hash, 16),
        None if change.new_hash is None else int(change.new_hash, 16),
    )


@thorough
@given(pair=pairs())
def test_differences_are_those_of_two_dicts(pair: tuple[Model, Model]):
    old, new = pair
    trees = Trees()
    found = list(differences(trees.of(old), trees.of(new)))
    assert [seen(one) for one in found] == naive(old, new)
    for one in found:
        change = one.to_change()
        kind = {(True, False): ChangeKind.ADDED, (False, True): ChangeKind.REMOVED}.get(
            (one.old is None, one.new is None), ChangeKind.MODIFIED
        )
        assert change.change is kind
        assert change.old_size == (None if one.old is None else old[change.path] * 10)
        assert change.new_size == (None if one.new is None else new[change.path] * 10)


@thorough
@given(pair=pairs(), prefix=paths, slash=st.booleans())
def test_below_a_prefix_they_are_those_that_start_with_it(
    pair: tuple[Model, Model], prefix: str, slash: bool
):
    old, new = pair
    trees = Trees()
    low = prefix + "/" * slash
    found = differences(trees.of(old), trees.of(new), low.encode())
    assert [seen(one) for one in found] == naive(old, new, low)


@thorough
@given(pair=pairs())
def test_diff_then_apply_is_identity(pair: tuple[Model, Model]):
    old, new = pair
    trees = Trees()
    before, wanted = trees.of(old), trees.of(new)
    changes = Changes()
    for one in line_differences(before, wanted):
        if one.new is None:
            changes.remove_file(one.path)
        else:
            changes.put_all([one.new])
    result = applied(trees, before, changes)
    assert held(result) == held(wanted)
    assert shape(result) == shape(wanted)


@thorough
@given(pair=pairs())
def test_a_diff_the_other_way_round_is_its_mirror(pair: tuple[Model, Model]):
    trees = Trees()
    old, new = (trees.of(model) for model in pair)
    there = [(d.path, d.old, d.new) for d in differences(old, new)]
    back = [(d.path, d.new, d.old) for d in differences(new, old)]
    assert there == back


def test_the_same_bytes_in_another_place_are_no_difference():
    trees = Trees()
    here = line("/a", 1)
    there = here.replace(b"packs/p.pack", b"packs/q.pack")
    changes = Changes()
    changes.put_all([there])
    old = trees.of({"/a": 1, "/b": 1})
    new = applied(trees, old, changes)
    assert list(differences(old, new)) == []
    assert [d.path for d in line_differences(old, new)] == [b"/a"]


def test_ranges_that_both_share_are_not_read():
    trees = Trees()
    model = {f"/f{n:03}": n for n in range(300)}
    old = trees.of(model)
    changes = Changes()
    changes.put_all([line("/f150", 999)])
    key, digest, _ = trees.store.write(apply(old, changes), trees.key)
    new = trees.store.read(key, digest)
    shared = {held.key for held in old.ranges} & {held.key for held in new.ranges}
    assert len(shared) > 30
    trees.objects.delete(shared)
    load = ManifestStore(trees.objects)._load
    found = differences(Tree(old.ranges, load), Tree(new.ranges, load))
    assert [d.path for d in found] == [b"/f150"]


@st.composite
def disjoint(draw: st.DrawFn) -> tuple[Model, Model, Model]:
    """A base, and two that changed different paths of it."""
    base = draw(models())
    mine = after(base, draw(operations))
    theirs = after(base, [op for op in draw(operations) if op[0] != "remove"])
    touched = {path for path, *_ in naive(base, mine)}
    theirs = {
        path: content
        for path in theirs.keys() | base.keys()
        if (content := (base if path in touched else theirs).get(path)) is not None
    }
    both = {**base, **{p: new for p, _, new in naive(base, mine)}}
    both.update({p: new for p, _, new in naive(base, theirs)})
    merged = {p: c for p, c in both.items() if c is not None}
    if all(map(clash_free, (mine, theirs, merged))):
        return base, mine, theirs
    return base, dict(base), dict(base)


@thorough
@given(three=disjoint())
def test_merging_disjoint_changes_gives_both_whichever_side_is_ours(
    three: tuple[Model, Model, Model],
):
    trees = Trees()
    base, mine, theirs = three
    tree, ours, others = (trees.of(model) for model in three)
    nobody = Resolver(None, {})
    forth, applied_forth, conflicts = three_way(tree, ours, others, nobody)
    back, applied_back, conflicts_back = three_way(tree, others, ours, nobody)
    assert conflicts == conflicts_back == []
    one, two = applied(trees, ours, forth), applied(trees, others, back)
    assert held(one) == held(two)
    assert shape(one) == shape(two)
    assert [c.path for c in applied_forth] == [p for p, *_ in naive(base, theirs)]
    assert [c.path for c in applied_back] == [p for p, *_ in naive(base, mine)]


@thorough
@given(
    base=models(), mine=operations, theirs=operations, choice=st.sampled_from(["ours", "theirs"])
)
def test_a_conflict_is_a_path_that_both_changed_and_not_alike(base, mine, theirs, choice):
    ours, others = after(base, mine), after(base, theirs)
    if not (clash_free(ours) and clash_free(others)):
        return
    trees = Trees()
    three = trees.of(base), trees.of(ours), trees.of(others)
    did, done = ({p: new for p, _, new in naive(base, m)} for m in (ours, others))
    both = [p for p in done if p in did and did[p] != done[p]]
    _, _, conflicts = three_way(*three, Resolver(None, {}))
    assert [c.path for c in conflicts] == sorted(both, key=str.encode)
    changes, _, decided = three_way(*three, Resolver(choice, {}))
    assert {c.chosen for c in decided} <= {choice}
    wins = {p: new for p, new in done.items() if p not in did or choice == "theirs"}
    merged = {p: c for p, c in {**ours, **wins}.items() if c is not None}
    if clash_free(merged):
        result = applied(trees, three[1], changes)
        assert shape(result) == shape(trees.of(merged))
