from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from blake3 import blake3
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import load
from tests.counting import assert_linear
from tests.pipelines.datums_reference import (
    Files,
    commits,
    expressions,
    lakes,
    listings,
    reference_datums,
    reference_matches,
    tree,
)
from trunkline.errors import InvalidGlob, Usage
from trunkline.model.commits import RepoName
from trunkline.model.inputs import Cron, Cross, Group, Input, Join, Leaf, Pfs, Union, leaves
from trunkline.pipelines.datums import datum_hash, datum_id, datums, matches

KINDS: dict[str, type[Cross | Union | Join | Group]] = {
    "cross": Cross,
    "union": Union,
    "join": Join,
    "group": Group,
}


def pfs(name: str, glob: str, **fields: object) -> Pfs:
    return Pfs(name, RepoName("default", name), glob, **fields)  # type: ignore[arg-type]


def _option(text: str) -> tuple[str, str, str]:
    return text.partition("=")


def read_leaf(words: list[str]) -> Leaf:
    name, glob, *options = words
    if glob == "cron":
        return Cron(name, RepoName("default", name), "@daily")
    fields = {key: value if equals else True for key, equals, value in map(_option, options)}
    repo = str(fields.pop("repo", name))
    return Pfs(name, RepoName("default", repo), glob, **fields)  # type: ignore[arg-type]


def read_expression(lines: list[str]) -> Input:
    """The expression of indented lines: an operator holds the lines below it that are deeper."""
    head, *rest = lines
    if head.strip() not in KINDS:
        return read_leaf(head.split())
    depth = len(rest[0]) - len(rest[0].lstrip())
    starts = [at for at, line in enumerate(rest) if line[depth] != " "]
    ends = [*starts[1:], len(rest)]
    members = tuple(read_expression(rest[a:b]) for a, b in zip(starts, ends, strict=True))
    return KINDS[head.strip()](members)


def read_lake(lines: list[str], names: set[str]) -> Mapping[str, Files]:
    lake: dict[str, dict[str, int]] = {name: {} for name in names}
    for line in lines:
        repo, *files = line[2:].split()
        lake[repo].update(dict.fromkeys(files, 0))
    return lake


@pytest.mark.parametrize("lines", load("datums.case"), ids=lambda lines: "|".join(lines)[:60])
def test_cases(lines: list[str]) -> None:
    expression = read_expression([line for line in lines if line[0] not in "<>"])
    names = [leaf.name for leaf in leaves(expression)]
    lake = read_lake(
        [line for line in lines if line[0] == "<"], {leaf.repo.repo for leaf in leaves(expression)}
    )
    made = [
        "> " + " ".join(f"{names[match.leaf]}:{match.path.decode()}" for match in datum.matches)
        for datum in datums(expression, listings(expression, lake))
    ]
    assert made == [line for line in lines if line[0] == ">"]
    assert made == [
        "> " + " ".join(f"{names[match.leaf]}:{match.path.decode()}" for match in datum.matches)
        for datum in reference_datums(expression, lake)
    ]


@settings(max_examples=200, deadline=None)
@given(expressions, commits(), st.integers(1, 20))
def test_matches_are_those_of_the_reference(expression: Input, files: Files, length: int) -> None:
    for number, leaf in enumerate(leaves(expression)):
        found = list(matches(leaf, number, tree(files, length)))
        assert found == reference_matches(leaf, number, files)


@settings(max_examples=400, deadline=None)
@given(expressions, lakes)
def test_datums_are_those_of_the_reference(expression: Input, lake: Mapping[str, Files]) -> None:
    made = list(datums(expression, listings(expression, lake)))
    assert made == reference_datums(expression, lake)
    assert all(one.key < other.key for one, other in pairwise(made))
    assert all(len(one.key) <= 1024 and b"\t" not in one.key for one in made)
    assert len({datum_id(one) for one in made}) == len(made)


def test_identity_is_what_is_read_and_the_hash_what_is_in_it() -> None:
    (one,) = datums(pfs("in", "/a"), [tree({"/a": 1})])
    assert one.key == b"in@default/in@main\x1f/a"
    assert one.content == b"%064x" % 1
    assert datum_id(one) == blake3(one.key).hexdigest()[:32] == datum_id(one.key)
    text = f"{datum_id(one)}\n{one.content.decode()}\ndigest"
    assert (
        datum_hash(datum_id(one), one.content, "digest") == blake3(text.encode()).hexdigest()[:32]
    )


def test_the_id_of_a_cut_key_is_that_of_the_whole_key() -> None:
    files = {f"/{n:0200}": n for n in range(9)}
    (one,) = datums(Group((pfs("in", "/*", group_by="all"),)), [tree(files)])
    whole = b"\x1f".join(b"in@default/in@main\x1f" + path.encode() for path in files)
    assert one.key == whole[:256] + b"\x1e" + blake3(whole).hexdigest().encode()
    assert datum_id(one) == datum_id(one.key) == datum_id(whole)
    hashes = b",".join(b"%064x" % n for n in range(9))
    assert one.content == b"*" + blake3(hashes).hexdigest().encode()


def test_content_of_a_reference_does_not_count() -> None:
    leaf = pfs("in", "/*", reference=True)
    before, after = ({"/a": n, "/b/c": n} for n in (1, 2))
    assert [one.content for one in datums(leaf, [tree(before)])] == [b"-", b"-"]
    assert [d[:2] for d in datums(leaf, [tree(before)])] == [
        d[:2] for d in datums(leaf, [tree(after)])
    ]


def test_only_the_folder_of_the_pattern_is_read() -> None:
    class Watched:
        def chunks(self, prefix: bytes):
            asked.append(prefix)
            return tree({"/a/b/c": 1}).chunks(prefix)

        def find(self, path: bytes) -> None:
            return None

        def has_below(self, folder: bytes) -> bool:
            return True

    asked: list[bytes] = []
    assert len(list(matches(pfs("in", "/a/b/*"), 0, Watched()))) == 1
    assert asked == [b"/a/b/"]


@pytest.mark.parametrize("kind", [Join, Group])
def test_a_member_without_a_key_is_refused(kind: type[Join | Group]) -> None:
    nested = kind((Union((pfs("a", "/(*)", join_on="$1", group_by="$1"), pfs("b", "/*"))),))
    with pytest.raises(Usage, match='"b" of a (join has no join_on|group has no group_by)'):
        list(datums(nested, [tree({}), tree({})]))


def test_a_capture_that_is_not_there_is_refused() -> None:
    for template in ("$2", "x$2"):
        with pytest.raises(InvalidGlob, match=r"asks for \$2"):
            list(matches(pfs("a", "/(*)", join_on=template), 0, tree({"/a": 1})))


def test_an_empty_member_of_a_cross_costs_nothing() -> None:
    class Unread:
        def chunks(self, prefix: bytes):
            raise AssertionError

        find = has_below = chunks

    assert not list(datums(Cross((pfs("a", "/*"), pfs("b", "/*"))), [Unread(), tree({})]))


class Once:
    """A listing that can be gone through once, and looked at in no other way."""

    def __init__(self, files: Files, length: int = 1000) -> None:
        self._chunks = [list(lines) for lines in tree(files, length).chunks()]

    def chunks(self, prefix: bytes):
        while self._chunks:
            yield self._chunks.pop(0)

    def find(self, path: bytes):
        raise AssertionError

    has_below = find


def test_many_matches_take_one_pass() -> None:
    flat = Once({f"/part-{n:06}.csv": n for n in range(100_000)}, 4000)
    deep = Once({f"/day={n % 1000}/{n:06}.csv": n for n in range(100_000)}, 4000)
    for listing, count in ((flat, 100_000), (deep, 1000)):
        assert sum(1 for _ in matches(pfs("in", "/*"), 0, listing)) == count


@pytest.mark.parametrize("name", ["/part-{}.csv", "/day={}/part.csv", "/{}/{}/{}.csv"])
def test_ten_times_the_files_are_ten_times_the_work(name: str) -> None:
    leaf = pfs("in", "/*")
    listings = {
        count: Once({name.format(*[f"{n:06}"] * 3): n for n in range(count)})
        for count in (1000, 10_000)
    }
    assert_linear(lambda count: list(matches(leaf, 0, listings[count])))


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("/*", ["/_own/", "/a", "/t/"]),
        ("/**", ["/_own/", "/_own/x", "/a", "/t/", "/t/b"]),
        ("/_quarantine/*", ["/_quarantine/rule/"]),
        ("/{_ingest,t}/*", ["/_ingest/taken/", "/t/b"]),
        ("/_late/", ["/_late/"]),
        ("/t/_table.json", ["/t/_table.json"]),
        ("/", ["/"]),
    ],
)
def test_what_the_lake_keeps_beside_files_is_no_datum(glob: str, found: list[str]):
    beside = (
        "_quarantine/rule/q",
        "_late/in/l",
        "_malformed/m",
        "_ingest/taken/i",
        "t/_table.json",
    )
    held = tree({f"/{name}": n for n, name in enumerate(("a", "t/b", "_own/x", *beside))})
    seen = [match.path.decode() for match in matches(pfs("in", glob), 0, held)]
    assert seen == found
