from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given

from tests import strategies
from tests.counting import calls
from trunkline.errors import InvalidName, InvalidPath
from trunkline.model.paths import (
    base_name,
    is_under,
    join,
    nearest_name,
    normalize_path,
    parent,
    validate_name,
)
from trunkline.model.suggest import did_you_mean, shown


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", "/"),
        ("a", "/a"),
        ("/a/", "/a"),
        ("a/b/", "/a/b"),
        ("/a b/ c", "/a b/ c"),
        ("/...", "/..."),
        ("/.hidden/..x", "/.hidden/..x"),
        ("/cafe\u0301", "/caf\u00e9"),
        ("/*?[{", "/*?[{"),
        ("/a@b:c", "/a@b:c"),
        ("/" + "x" * 1023, "/" + "x" * 1023),
    ],
)
def test_paths_have_one_spelling(text: str, path: str) -> None:
    assert normalize_path(text) == path
    assert normalize_path(path) == path


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "is empty"),
        ("//", "Part 1 of the path"),
        ("/a//b", "Part 2 of the path"),
        ("/a//", "Part 2 of the path"),
        (".", 'is "."'),
        ("/a/./b", 'is "."'),
        ("/..", 'is ".."'),
        ("/a/..", 'is ".."'),
        ("../a", 'is ".."'),
        ("/a\\b", "backslash at character 3"),
        ("/a\x00", "U+0000 at character 3"),
        ("/a\n", "U+000A at character 3"),
        ("/\x7f", "U+007F"),
        ("/\x85", "U+0085"),
        ("/\u2028", "U+2028"),
        ("/\u2029", "U+2029"),
        ("/\udcff", "not UTF-8 at character 2"),
        ("/" + "x" * 1024, "1,025 bytes"),
        ("/" + "é" * 512, "1,025 bytes"),
    ],
)
def test_bad_paths_are_refused_in_one_line(text: str, flaw: str) -> None:
    with pytest.raises(InvalidPath) as caught:
        normalize_path(text)
    assert flaw in caught.value.message
    assert caught.value.hint
    assert caught.value.message.isprintable()


@given(strategies.paths)
def test_legal_paths_stay_as_they_are(path: str) -> None:
    assert normalize_path(path) == path
    assert normalize_path(path + "/") == path
    assert normalize_path(path[1:]) == path


@given(strategies.paths)
def test_a_path_is_its_parent_joined_with_its_name(path: str) -> None:
    assert join(parent(path), base_name(path)) == path
    assert is_under(path, parent(path))
    assert is_under(path, "/")


def test_folders_hold_what_is_below_them_only() -> None:
    assert is_under("/a/b", "/a")
    assert is_under("/a", "/a")
    assert not is_under("/ab", "/a")
    assert parent("/") == parent("/a") == "/"
    assert join("/", "a", "b/") == "/a/b"


def test_a_usual_path_is_decided_by_one_match() -> None:
    paths = [f"/data/day={i % 365}/part-{i:06}.csv" for i in range(10_000)]
    assert [normalize_path(path) for path in paths] == paths
    # itself, the length and the match; another two make up the measuring
    assert max(calls(partial(normalize_path, path)) for path in paths) <= 5
    assert calls(lambda: normalize_path("/data/" + "x" * 1000)) <= 5


@given(strategies.names)
def test_legal_names_pass(name: str) -> None:
    assert validate_name("repo", name) == name


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("my repo", "my-repo"),
        ("-x", "x"),
        (".hidden", "hidden"),
        ("a/b", "a-b"),
        ("Müller", "Muller"),
        ("x" * 64, "x" * 63),
        ("orders\n", "orders"),
        ("", ""),
        ("日本", ""),
    ],
)
def test_bad_names_are_refused_with_a_near_one(text: str, near: str) -> None:
    assert nearest_name(text) == near
    with pytest.raises(InvalidName) as caught:
        validate_name("repo", text)
    assert near in caught.value.hint
    assert caught.value.message.isprintable()


def test_near_misses_are_named() -> None:
    assert did_you_mean("ordes", ["orders", "users"]) == ' Did you mean "orders"?'
    assert did_you_mean("ORDERS", ["orders", "users"]) == ' Did you mean "orders"?'
    assert did_you_mean("zzz", ["orders", "users"]) == ""
    assert did_you_mean("zzz", []) == ""


def test_what_is_shown_fits_one_line() -> None:
    assert shown("a\x1b[2J\n\udcff") == '"a\\x1b[2J\\n\\udcff"'
    assert len(shown("x" * 5000)) < 130
