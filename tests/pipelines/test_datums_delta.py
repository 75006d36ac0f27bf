from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.datums_reference import (
    Files,
    clash_free,
    commits,
    lakes,
    listings,
    local_expressions,
    tree,
)
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Cron, Cross, Group, Input, Join, Pfs, Union, leaves
from trunkline.pipelines.datums import datums, matches
from trunkline.pipelines.datums_delta import affected, delta, is_local, match_at

LEAF = Pfs("a", RepoName("default", "a"), "/*")
CRON = Cron("t", RepoName("default", "p_t"), "@daily")


def changed(old: Files, new: Files) -> list[bytes]:
    return [path.encode() for path in {*old, *new} if old.get(path) != new.get(path)]


@st.composite
def successors(draw: st.DrawFn, lake: Mapping[str, Files]) -> dict[str, Files]:
    """The same repos after a commit to each."""
    new: dict[str, Files] = {}
    for repo, files in lake.items():
        kept = {path: n for path, n in files.items() if draw(st.integers(0, 3))}
        for path, content in draw(commits(max_size=4)).items():
            if clash_free([*kept, path]):
                kept[path] = content
        new[repo] = kept
    return new


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.data(), local_expressions, lakes)
def test_old_datums_patched_are_the_new_ones(
    data: st.DataObject, expression: Input, old: Mapping[str, Files]
) -> None:
    new = data.draw(successors(old))
    held = {one.key: one for one in datums(expression, listings(expression, old))}
    paths = [changed(old[leaf.repo.repo], new[leaf.repo.repo]) for leaf in leaves(expression)]
    changes = list(delta(expression, listings(expression, new), paths))
    assert changes == sorted(changes, key=lambda change: change[0])
    for key, datum in changes:
        if datum is None:
            held.pop(key, None)
        else:
            held[key] = datum
    assert [held[key] for key in sorted(held)] == list(
        datums(expression, listings(expression, new))
    )


@settings(max_examples=100, deadline=None)
@given(local_expressions, commits())
def test_one_match_is_what_the_scan_finds(expression: Input, files: Files) -> None:
    listing = tree(files)
    for number, leaf in enumerate(leaves(expression)):
        every = affected(leaf, number, [path.encode() for path in files])
        found = [match_at(leaf, number, listing, text) for text in sorted(every)]
        assert found == list(matches(leaf, number, listing))


def test_expressions_whose_datums_are_single_matches_are_local() -> None:
    assert is_local(LEAF)
    assert is_local(CRON)
    assert is_local(Union((LEAF, Union((CRON, LEAF)))))
    for kind in (Cross, Join, Group):
        assert not is_local(kind((LEAF,)))
        assert not is_local(Union((LEAF, kind((LEAF, LEAF)))))


@pytest.mark.parametrize(
    ("glob", "texts"),
    [
        ("/", ["/"]),
        ("/*", ["/a/"]),
        ("/a", ["/a/"]),
        ("/**", ["/a/", "/a/b/", "/a/b/c.csv"]),
        ("/*/*/*.csv", ["/a/b/c.csv"]),
        ("/x/*", []),
    ],
)
def test_a_changed_file_affects_what_matches_at_or_above_it(glob: str, texts: list[str]) -> None:
    leaf = Pfs("a", LEAF.repo, glob)
    assert affected(leaf, 0, [b"/a/b/c.csv"]) == {text.encode() for text in texts}
    assert affected(leaf, 0, []) == set()


def test_what_does_not_match_is_not_there() -> None:
    listing = tree({"/a": 1, "/b/c": 1})
    for text in (b"/b", b"/a/", b"/b/c", b"/", b"/x", b"/x/"):
        assert match_at(LEAF, 0, listing, text) is None
