"""Trees with many small ranges, and a naive model of what they should hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

import pytest
from hypothesis import strategies as st

from trunkline.lake import changes as changing
from trunkline.lake.changes import Changes, apply, build
from trunkline.lake.manifests import ManifestStore, Tree
from trunkline.model.entries import Entry, line_path
from trunkline.model.ids import new_id
from trunkline.storage.objects import open_store

# Names around "/" in byte order, so that "/a", "/a-b", "/a.txt", "/a/x" and "/a0" interleave.
names = st.sampled_from(["a", "a-b", "a.txt", "a0", "a b", "b", "é", "x", "y", "0", "~"])
paths = st.lists(names, min_size=1, max_size=3).map(
    lambda parts: "/" + "/".join(parts)
) | st.integers(0, 99).map("/many/{:02}".format)
contents = st.integers(0, 3)
# What a commit may do, in call order.
operations = st.lists(
    st.tuples(st.just("put"), paths, contents)
    | st.tuples(st.just("remove"), paths, st.just(0))
    | st.tuples(st.just("remove_file"), paths, st.just(0)),
    max_size=12,
)

Model = Mapping[str, int]


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range ends after 4 to 16 lines, so that small trees have many."""
    monkeypatch.setattr(changing, "SHORTEST", 4)
    monkeypatch.setattr(changing, "LONGEST", 16)
    monkeypatch.setattr(changing, "_BOUNDARY", 3)


def line(path: str, content: int) -> bytes:
    return Entry(path, f"{content:064x}", content * 10, "packs/p.pack", content).encode()


def clash_free(files: Iterable[str]) -> bool:
    held = set(files)
    return not any(other.startswith(path + "/") for path in held for other in held)


@st.composite
def models(draw: st.DrawFn, max_size: int = 60) -> dict[str, int]:
    """Files and what is in them, no path both a file and a folder."""
    many = draw(st.sampled_from([0, 0, 20, 60])) if max_size > 20 else 0
    model = {f"/many/{n:02}": n % 4 for n in range(many)}
    for path, content in draw(st.lists(st.tuples(paths, contents), max_size=max_size)):
        if clash_free([*model, path]):
            model[path] = content
    return model


class Trees:
    """A manifest store in memory that counts what it writes."""

    def __init__(self) -> None:
        self.objects = open_store(f"memory://{new_id()}")
        self.store = ManifestStore(self.objects)
        self._next = count().__next__

    def key(self) -> str:
        return f"manifests/{self._next()}"

    def write(self, pieces: Iterable) -> Tree:
        """Written, then read again by a store that has nothing in its cache."""
        key, digest, tree = self.store.write(pieces, self.key)
        again = ManifestStore(self.objects).read(key, digest)
        assert again.ranges == tree.ranges
        assert list(again.scan()) == list(tree.scan())
        return again

    def of(self, model: Model) -> Tree:
        return self.write(build(line(path, content) for path, content in model.items()))


def shape(tree: Tree) -> list[str]:
    """The ranges by what is in them: equal for equal trees, however they came about."""
    return [held.id for held in tree.ranges]


def held(tree: Tree) -> dict[str, bytes]:
    return {line_path(text).decode(): text for text in tree.scan()}


def expected(model: Model) -> dict[str, bytes]:
    return {path: line(path, content) for path, content in sorted_by_bytes(model)}


def sorted_by_bytes(model: Model) -> list[tuple[str, int]]:
    return sorted(model.items(), key=lambda item: item[0].encode())


def perform(changes: Changes, operations: Iterable[tuple[str, str, int]]) -> None:
    for verb, path, content in operations:
        if verb == "put":
            changes.put_all([line(path, content)])
        elif verb == "remove":
            changes.remove(path.encode())
        else:
            changes.remove_file(path.encode())


def after(model: Model, operations: Iterable[tuple[str, str, int]]) -> dict[str, int]:
    """The same on a dict, one operation after the other."""
    result = dict(model)
    for verb, path, content in operations:
        if verb == "put":
            result[path] = content
        elif verb == "remove_file":
            result.pop(path, None)
        else:
            for other in [p for p in result if p == path or p.startswith(path + "/")]:
                del result[other]
    return result


def applied(trees: Trees, tree: Tree, changes: Changes) -> Tree:
    return trees.write(apply(tree, changes))
