"""Datums as SEMANTICS describes them, with dicts and products, and inputs to try them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from blake3 import blake3
from hypothesis import strategies as st

from trunkline.lake.files import folder_hash
from trunkline.lake.manifests import EMPTY, Tree, in_memory
from trunkline.model.commits import RepoName
from trunkline.model.entries import Entry
from trunkline.model.inputs import Cron, Cross, Group, Input, Join, Leaf, Pfs, Union, leaves
from trunkline.pipelines.datums import Datum, Match
from trunkline.pipelines.globs import Glob, substitute

Files = Mapping[str, int]
Matches = tuple[Match, ...]

LONG = "long-" * 30
_names = st.sampled_from(
    ["a", "a-b", "a.txt", "a0", "a b", "b", "b.txt", "é", "x", LONG, "0" * 250]
)
paths = st.lists(_names, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


def clash_free(files: Sequence[str]) -> bool:
    return not any(other.startswith(path + "/") for path in files for other in files)


@st.composite
def commits(draw: st.DrawFn, max_size: int = 12) -> dict[str, int]:
    """Files and what is in them, no path both a file and a folder."""
    files: dict[str, int] = {}
    for path in draw(st.lists(paths, max_size=max_size)):
        if clash_free([*files, path]):
            files[path] = draw(st.integers(0, 3))
    return files


def tree(files: Files, length: int = 3) -> Tree:
    """A manifest in pieces of `length` lines."""
    entries = (Entry(path, f"{n:064x}", n * 10, "packs/p", n) for path, n in files.items())
    lines = sorted(entry.encode() for entry in entries)
    return in_memory([lines[at : at + length] for at in range(0, len(lines), length)], EMPTY)


REPOS = ("r", "s")
_PLAIN = ["/", "/*", "/**", "/a*", "/*/*", "/a/*", "/a/b", "/a", "/{a,b}/**", "/**.txt"]
_CAPTURING = ["/(a)", "/(*)", "/*/(*)", "/(*)/**", "/(?)*", "/**(t|b)", "/!(a)"]
_globs = st.sampled_from([*_PLAIN, *_CAPTURING])


@st.composite
def _leaves(draw: st.DrawFn) -> Pfs:
    glob = draw(_globs)
    templates = st.sampled_from(["$1", "x$1", "${1}0$1"] if "(" in glob else ["k", "a"])
    return Pfs(
        name="",
        repo=RepoName("default", draw(st.sampled_from(REPOS))),
        glob=glob,
        join_on=draw(templates),
        group_by=draw(templates),
        outer_join=draw(st.booleans()),
        reference=draw(st.sampled_from([False, False, True])),
    )


def _operators(members: st.SearchStrategy[Input]) -> st.SearchStrategy[Input]:
    several = st.lists(members, min_size=1, max_size=3).map(tuple)
    return st.one_of(*(st.builds(kind, several) for kind in (Cross, Union, Join, Group)))


def _named(expression: Input, number: int) -> tuple[Input, int]:
    """Give each leaf a name of its own; only members of one union may share theirs."""
    if isinstance(expression, Pfs | Cron):
        return replace(expression, name=f"n{number}"), number + 1
    members, following = [], number
    for member in expression.members:
        start = number if isinstance(expression, Union) else following
        named, end = _named(member, start)
        members.append(named)
        following = max(following, end)
    return replace(expression, members=tuple(members)), following


expressions = st.recursive(_leaves(), _operators, max_leaves=5).map(lambda one: _named(one, 0)[0])
local_expressions = st.recursive(
    _leaves(),
    lambda members: st.lists(members, min_size=1, max_size=3).map(lambda m: Union(tuple(m))),
    max_leaves=3,
).map(lambda one: _named(one, 0)[0])
lakes = st.fixed_dictionaries({repo: commits() for repo in REPOS})


def listings(expression: Input, lake: Mapping[str, Files]) -> list[Tree]:
    return [tree(lake[leaf.repo.repo]) for leaf in leaves(expression)]


def reference_datums(expression: Input, lake: Mapping[str, Files]) -> list[Datum]:
    names = list(leaves(expression))
    made = [_datum(names, found) for found in _Reference(names, lake).datums(expression)]
    return sorted({one.key: one for one in reversed(made)}.values())


def reference_matches(leaf: Leaf, number: int, files: Files) -> list[Match]:
    glob, held, found = Glob(leaf.glob), tree(files), []
    folders = {path[: at + 1] for path in files for at, char in enumerate(path) if char == "/"}
    for text in sorted([*files, *folders], key=str.encode):
        path = text.rstrip("/") or "/"
        captures = glob.captures(path)
        if captures is None:
            continue
        inside = [
            name for name in files if name == text or (text[-1] == "/" and name.startswith(text))
        ]
        digest = folder_hash(held, text.encode()) if text[-1] == "/" else f"{files[text]:064x}"
        found.append(
            Match(
                number,
                text.encode(),
                b"-" if leaf.reference else digest.encode(),
                sum(files[name] * 10 for name in inside),
                len(inside),
                substitute(leaf.join_on, captures),
                substitute(leaf.group_by, captures),
            )
        )
    return found


class _Reference:
    def __init__(self, names: Sequence[Leaf], lake: Mapping[str, Files]) -> None:
        self.names = names
        self.lake = lake

    def datums(self, expression: Input, first: int = 0) -> list[Matches]:
        if isinstance(expression, Pfs | Cron):
            files = self.lake[expression.repo.repo]
            return [(match,) for match in reference_matches(expression, first, files)]
        members = []
        for member in expression.members:
            members.append(self.datums(member, first))
            first += len(list(leaves(member)))
        if isinstance(expression, Cross):
            return [sum(parts, ()) for parts in product(*members)]
        if isinstance(expression, Union):
            return [one for member in members for one in member]
        flat = [self.files(member) for member in members]
        return self.join(flat) if isinstance(expression, Join) else self.group(flat)

    def files(self, member: list[Matches]) -> list[Match]:
        """Each file once, in order of its key."""
        found: dict[bytes, Match] = {}
        for one in sorted((match for datum in member for match in datum), key=lambda m: m.leaf):
            found.setdefault(_key(self.names, (one,)), one)
        return [found[key] for key in sorted(found)]

    def join(self, members: list[list[Match]]) -> list[Matches]:
        made: list[Matches] = []
        for key in {match.join_on for member in members for match in member}:
            having = [[match for match in member if match.join_on == key] for member in members]
            if all(having):
                made.extend(product(*having))
            else:
                kept = [m for part in having for m in part if self.names[m.leaf].outer_join]
                made.extend([tuple(kept)] if kept else [])
        return made

    def group(self, members: list[list[Match]]) -> list[Matches]:
        files = [match for member in members for match in member]
        return [
            tuple(match for match in files if match.group_by == key)
            for key in {match.group_by for match in files}
        ]


def _key(names: Sequence[Leaf], found: Matches) -> bytes:
    parts = []
    for match in found:
        leaf = names[match.leaf]
        parts += [f"{leaf.name}@{leaf.repo.project}/{leaf.repo.repo}@{leaf.branch}".encode()]
        parts += [match.path]
    return b"\x1f".join(parts)


def _datum(names: Sequence[Leaf], found: Matches) -> Datum:
    key, content = _key(names, found), b",".join(match.hash for match in found)
    if len(key) > 1024:
        key = key[:256] + b"\x1e" + blake3(key).hexdigest().encode()
    if len(found) > 8:
        content = b"*" + blake3(content).hexdigest().encode()
    return Datum(key, content, found)
