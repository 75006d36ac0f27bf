from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from trunkline.errors import InvalidName, InvalidPath, InvalidRef, Usage
from trunkline.model.commits import RepoName
from trunkline.model.refs import (
    Ancestor,
    Need,
    Nth,
    Ref,
    Revision,
    parse_branch,
    parse_ref,
    parse_repo,
)

ORDERS = RepoName("default", "orders")


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("orders", Ref(ORDERS, "main", None)),
        ("orders:/x", Ref(ORDERS, "main", "/x")),
        ("orders:x/", Ref(ORDERS, "main", "/x")),
        ("orders@dev", Ref(ORDERS, "dev", None)),
        ("orders@main^^:/", Ref(ORDERS, "main^^", "/")),
        ("orders@main:/a@b:c", Ref(ORDERS, "main", "/a@b:c")),
        ("orders@main:/a ", Ref(ORDERS, "main", "/a ")),
        ("shop/orders@v1.0", Ref(RepoName("shop", "orders"), "v1.0", None)),
    ],
)
def test_refs(text: str, ref: Ref) -> None:
    assert parse_ref(text) == ref


@given(strategies.refs)
def test_print_then_parse_is_identity(ref: Ref) -> None:
    assert parse_ref(str(ref)) == ref


@given(st.text(max_size=40))
def test_any_text_is_a_ref_or_a_usage_error_of_one_line(text: str) -> None:
    refused: Usage | None = None
    try:
        ref = parse_ref(text)
        assert parse_ref(str(ref)) == ref
    except Usage as error:
        refused = error
    assert refused is None or (refused.message.isprintable() and refused.hint)


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("main", [("main", ())]),
        ("main^", [("main", (Ancestor(1),))]),
        ("main~", [("main", (Ancestor(1),))]),
        ("main^^", [("main", (Ancestor(2),))]),
        ("main^3", [("main", (Ancestor(3),))]),
        ("main~2^~0", [("main", (Ancestor(3),))]),
        ("main^0", [("main", (Ancestor(0),))]),
        ("main.3", [("main.3", ()), ("main", (Nth(3),))]),
        ("v1.2.3^", [
            ("v1.2.3", (Ancestor(1),)),
            ("v1.2", (Nth(3), Ancestor(1))),
            ("v1", (Nth(2), Nth(3), Ancestor(1))),
        ]),
        ("main.0", [("main.0", ())]),
        ("main.x.2", [("main.x.2", ()), ("main.x", (Nth(2),))]),
        ("main^.2", [("main", (Ancestor(1), Nth(2)))]),
        ("2026.1", [("2026.1", ()), ("2026", (Nth(1),))]),
        ("x" * 63 + ".7", [("x" * 63, (Nth(7),))]),
        ("v.20260101120000", [("v.20260101120000", ())]),
    ],
)  # fmt: skip
def test_a_name_wins_over_a_suffix(text: str, readings: list[object]) -> None:
    assert list(Revision(text).candidates()) == readings


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("@main", "names no repo"),
        (":/x", "names no repo"),
        ("orders@", 'nothing after "@"'),
        ("orders@:/x", 'nothing after "@"'),
        ("orders@a@b", 'second "@" at character 9'),
        ("orders:", 'nothing after ":"'),
        ("orders@main:", 'nothing after ":"'),
        ("or ders@main", '" " at character 3'),
        (" orders", '" " at character 1'),
        ("/orders", "path on this computer"),
        ("./orders", "path on this computer"),
        ("a/b/c@main", "more than one /"),
        ("a/@main", "nothing after the /"),
        ("https://example.com/x", "is a URL"),
        ("s3://bucket/key", "is a URL"),
        ("orders@main^x", 'from "x" on'),
        ("orders@main^.0", 'from ".0" on'),
        ("orders@main~99999999999", 'from "~99999999999" on'),
        ("orders@^", "does not start with"),
        ("orders@" + "x" * 64, "longer than 63"),
        ("orders@main/x", 'from "/x" on'),
        ("orders@ma\nin", 'from "\\nin" on'),
    ],
)
def test_malformed_refs(text: str, flaw: str) -> None:
    with pytest.raises(InvalidRef) as caught:
        parse_ref(text)
    assert flaw in caught.value.message
    assert caught.value.message.isprintable()
    assert caught.value.hint


def test_bad_paths_in_refs_are_bad_paths() -> None:
    with pytest.raises(InvalidPath):
        parse_ref("orders@main:/a/../b")


def test_callers_say_what_they_need() -> None:
    with pytest.raises(InvalidRef, match="names no revision"):
        parse_ref("orders", revision=Need.REQUIRED)
    with pytest.raises(InvalidRef, match="names no path"):
        parse_ref("orders@main", path=Need.REQUIRED)
    with pytest.raises(InvalidRef, match="has a path"):
        parse_ref("orders@main:/x", path=Need.FORBIDDEN)
    with pytest.raises(InvalidRef, match="has a revision"):
        parse_repo("orders@main")
    with pytest.raises(InvalidName):
        parse_branch("orders@main^")
    assert parse_repo("shop/orders") == RepoName("shop", "orders")
    assert parse_repo("orders", project="shop") == RepoName("shop", "orders")
    assert parse_branch("orders@dev").ref == "dev"
    assert parse_ref("orders", default_branch="trunk").ref == "trunk"


def test_patterns_stay_as_typed() -> None:
    assert parse_ref("orders:*.{csv,json}/", pattern=True).path == "/*.{csv,json}"
    assert parse_ref("orders@main:/a\\*", pattern=True).path == "/a\\*"
    assert parse_ref("orders@main:/", pattern=True).path == "/"
