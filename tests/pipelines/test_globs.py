from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.cases import load
from tests.counting import calls
from trunkline.errors import InvalidGlob
from trunkline.model.paths import is_under
from trunkline.pipelines.globmachine import Machine
from trunkline.pipelines.globs import Glob, substitute
from trunkline.pipelines.globtree import read


def _expectations() -> Iterator[tuple[str, str, bool, tuple[str, ...] | None]]:
    for pattern, *lines in load("globs.case"):
        for line in lines:
            path, arrow, captures = line[2:].partition(" -> ")
            wanted = tuple("" if c == "''" else c for c in captures.split(" | "))
            yield pattern, path, line.startswith("+ "), wanted if arrow else None


@pytest.mark.parametrize(("pattern", "path", "matches", "captures"), list(_expectations()))
def test_cases(pattern: str, path: str, matches: bool, captures: tuple[str, ...] | None) -> None:
    glob = Glob(pattern)
    assert glob.matches(path) is matches
    assert glob.select([path]) == [path] * matches
    if captures is not None:
        assert glob.captures(path) == captures
    assert (glob.captures(path) is not None) is matches
    if matches:
        assert is_under(path, glob.prefix)


@pytest.mark.parametrize(("pattern", "place", "flaw"), load("bad_globs.case"))
def test_bad_patterns(pattern: str, place: str, flaw: str) -> None:
    with pytest.raises(InvalidGlob) as caught:
        Glob(pattern)
    assert f"at character {place}:" in caught.value.message
    assert flaw in caught.value.message
    assert caught.value.hint


def test_limits() -> None:
    for pattern in ("", "a" * 5000, "(" * 60 + ")" * 60):
        with pytest.raises(InvalidGlob):
            Glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "prefix", "literal"),
    [
        ("/", "/", True),
        ("/a/b", "/a/b", True),
        ("/a/b/", "/a/b", True),
        ("/a/(b)", "/a/b", True),
        (r"/a/\*", "/a/*", True),
        ("/*", "/", False),
        ("/a/b*", "/a", False),
        ("/a/b/*/c", "/a/b", False),
        ("/{a,b}/c", "/", False),
    ],
)
def test_prefix(pattern: str, prefix: str, literal: bool) -> None:
    glob = Glob(pattern)
    assert (glob.prefix, glob.is_literal) == (prefix, literal)


def test_substitution() -> None:
    assert substitute("$1-$2", ("a", "b")) == "a-b"
    assert substitute("${1}0$", ("a",)) == "a0$"
    assert substitute("plain", ()) == "plain"
    for template in ("$0", "$2", "${3}", "$99999999999999"):
        with pytest.raises(InvalidGlob, match="asks for"):
            substitute(template, ("a",))


# A reference matcher over trees of its own, as slow and plain as can be: each node yields
# every place where it can end.

Tree = tuple[object, ...]


def ends(tree: Tree, text: str, at: int) -> set[int]:
    kind = tree[0]
    run = text[at:].split("/")[0]
    if kind == "text":
        return {at + len(str(tree[1]))} if text.startswith(str(tree[1]), at) else set()
    if kind == "one":
        return {at + 1} if run and run[0] in str(tree[1]) else set()
    if kind == "not one":
        return {at + 1} if run and run[0] not in str(tree[1]) else set()
    if kind == "*":
        return set(range(at, at + len(run) + 1))
    if kind == "**":
        return set(range(at, len(text) + 1))
    if kind == "sequence":
        places = {at}
        for child in tree[1:]:
            assert isinstance(child, tuple)
            places = {end for place in places for end in ends(child, text, place)}
        return places
    assert kind == "group"
    operator, *choices = tree[1:]
    once = _any_of(choices, text, {at})
    if operator == "!":
        return set(range(at, at + len(run) + 1)) - once
    if operator == "?":
        return once | {at}
    if operator in ("*", "+"):
        reached, found = {at}, set(once)
        while not found <= reached:
            reached |= found
            found |= _any_of(choices, text, found)
        return found | ({at} if operator == "*" else set())
    return once


def _any_of(choices: list[object], text: str, places: set[int]) -> set[int]:
    return {e for c in choices for p in places for e in ends(c, text, p)}  # type: ignore[arg-type]


def written(tree: Tree) -> str:
    kind = tree[0]
    if kind == "text":
        return str(tree[1])
    if kind == "one":
        return "[" + str(tree[1]) + "]"
    if kind == "not one":
        return "[!" + str(tree[1]) + "]" if tree[1] else "?"
    if kind in ("*", "**"):
        return str(kind)
    if kind == "sequence":
        parts = [written(child) for child in tree[1:]]  # type: ignore[arg-type]
        # Keep operators apart from a parenthesis that is not theirs, and stars from each other.
        text = ""
        for part in parts:
            text += "{}" if text.endswith(("*", "?")) and part.startswith(("(", "*")) else ""
            text += part
        return text
    operator, *choices = tree[1:]
    if operator == "{":
        return "{" + ",".join(written(c) for c in choices) + "}"  # type: ignore[arg-type]
    start = "" if operator == "(" else operator
    return f"{start}(" + "|".join(written(c) for c in choices) + ")"  # type: ignore[arg-type]


_leaves = st.one_of(
    st.tuples(st.just("text"), st.sampled_from(["a", "b", "/", "ab"])),
    st.tuples(st.just("one"), st.sampled_from(["a", "ab", "b-c".replace("-", "")])),
    st.tuples(st.just("not one"), st.sampled_from(["", "a", "b"])),
    st.sampled_from([("*",), ("**",)]),
)


def _sequences(of: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.lists(of, max_size=4).map(lambda children: ("sequence", *children))


_trees = st.recursive(
    _leaves,
    lambda inner: st.tuples(
        st.just("group"),
        st.sampled_from("({@?*+!"),
        _sequences(inner),
        _sequences(inner),
    ),
    max_leaves=8,
)
_patterns = _sequences(_trees)
_paths = st.text("ab/", max_size=9).map(lambda text: "/" + text)


@settings(max_examples=200, deadline=None)
@given(_patterns, st.lists(_paths, min_size=1, max_size=8))
@example(("sequence", ("group", "!", ("sequence", ("text", "a"))), ("text", "b")), ["/ab", "/aab"])
def test_matches_what_the_reference_matches(tree: Tree, paths: list[str]) -> None:
    pattern = "/" + written(tree)
    if pattern.endswith("/"):
        pattern += "a"
        tree = (*tree, ("text", "a"))
    glob = Glob(pattern)
    nodes, groups = read(pattern)
    machine = Machine.of(nodes, groups)
    for path in paths:
        if path == "/":
            continue
        wanted = len(path) in ends(tree, path, 1)
        assert glob.matches(path) is wanted, pattern
        assert (machine.match(path) is not None) is wanted, pattern
        captures = glob.captures(path)
        assert (captures is not None) is wanted
        assert captures is None or len(captures) == groups
        if wanted and all(path.split("/")[1:]):
            assert is_under(path, glob.prefix)


@settings(max_examples=100, deadline=None)
@given(_patterns, _paths)
def test_both_engines_capture_the_same(tree: Tree, path: str) -> None:
    pattern = "/" + written(tree) + "a"
    nodes, groups = read(pattern)
    assert Glob(pattern).captures(path) in (None, Machine.of(nodes, groups).match(path))


@given(st.text(max_size=30))
def test_any_text_is_a_pattern_or_an_error_of_one_line(text: str) -> None:
    message = ""
    try:
        Glob(text).matches("/a")
    except InvalidGlob as error:
        message = error.message
    assert message.isprintable()


@given(st.text(min_size=1, max_size=20).filter(lambda text: text.strip("/")))
def test_quoted_text_means_itself(text: str) -> None:
    text = unicodedata.normalize("NFC", text).strip("/")
    quoted = "".join("\\" + char if char not in "/" else char for char in text)
    glob = Glob(quoted)
    assert glob.is_literal
    assert glob.matches("/" + text)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/**/**/*a", "/x" * 500 + "b"),
        ("**a**a**a**a**a**a**b", "/" + "a" * 1000),
        ("*a*a*a*a*a*a*a*b", "/" + "a" * 1000),
        ("*(*(*(a)))b", "/" + "a" * 1000),
        ("+(a|aa)b", "/" + "a" * 1000),
        ("*(a|[a-z])b", "/" + "a" * 1000),
        ("*(*)" * 6 + "b", "/" + "a" * 1000),
        ("(*)" * 12 + "b", "/" + "a" * 1000),
        ("(*)a" * 12 + "b", "/" + "a" * 1000),
        ("{a,?}" * 60 + "b", "/" + "a" * 100),
        ("**a*b" * 6 + "c", "/" + "ab" * 500),
        ("!(*a)!(*a)!(*a)b", "/" + "a" * 200),
        ("!(a*a*a*a*b)", "/" + "a" * 1000 + "b"),
        ("(*)a(*)a(*)a(*)a(*)a*", "/" + "a" * 1000),
    ],
)
def test_no_pattern_takes_forever(pattern: str, path: str) -> None:
    """Each pair of an instruction and a place is visited once, or the pattern is left to `re`."""
    glob = Glob(pattern)
    assert calls(lambda: glob.captures(path)) <= 5 * len(pattern) * len(path)


@pytest.mark.parametrize("pattern", ["/*/*.csv", "/**.csv", "/day=(*)/*.{csv,json}", "/!(day=1)/*"])
def test_a_hundred_thousand_paths_are_selected_without_a_call_for_each(pattern: str) -> None:
    paths = [f"/day={i % 100}/part-{i:06}.csv" for i in range(100_000)]
    glob = Glob(pattern)
    found: list[str] = []
    assert calls(lambda: found.extend(glob.select(paths))) < 10
    assert len(found) in (99_000, 100_000)
