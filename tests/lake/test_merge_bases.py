"""Which commits two histories have in common, against a search that looks at everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trunkline.lake.history import merge_bases, reachable
from trunkline.storage.catalog.commits import Link


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Link]:
    """Commits c00, c01, …, each below up to two earlier ones, or a beginning of its own."""
    links: dict[str, Link] = {}
    for number in range(draw(st.integers(1, 14))):
        known = list(links)
        above = draw(st.lists(st.sampled_from(known), max_size=2, unique=True)) if known else []
        generation = 1 + max((links[p].generation for p in above), default=0)
        name = f"c{number:02}"
        links[name] = Link(name, above[0] if above else None, tuple(above[1:]), generation)
    return links


@given(links=histories(), data=st.data())
def test_the_best_are_those_that_no_other_common_ancestor_builds_on(
    links: dict[str, Link], data: st.DataObject
):
    ours, theirs = (data.draw(st.sampled_from(sorted(links))) for _ in range(2))
    common = reachable(links, {ours}) & reachable(links, {theirs})
    best = {c for c in common if not any(c in reachable(links, {o}) for o in common - {c})}
    found = merge_bases(links, ours, theirs)
    assert set(found) == best
    assert len(found) == len(best)
    assert set(merge_bases(links, theirs, ours)) == best
    generations = [links[c].generation for c in found]
    assert generations == sorted(generations, reverse=True)
