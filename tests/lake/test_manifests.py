"""Trees on the object store: small ones inside their root, and every byte checked."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lake.conftest import Trees, held, line, shape
from trunkline.errors import CorruptObject, WrongFormat
from trunkline.lake import manifests
from trunkline.lake.changes import Changes, apply, build
from trunkline.lake.manifests import EMPTY, INLINE_KEY, ManifestStore, Range

SMALL = {f"/f{n}": n for n in range(3)}
LARGE = {f"/folder/f{n:03}": n for n in range(100)}


@pytest.fixture
def trees() -> Trees:
    return Trees()


def stored(trees: Trees) -> list[str]:
    return sorted(info.key for info in trees.objects.list())


def test_no_root_is_the_empty_tree(trees: Trees):
    assert trees.store.read(None, None) is EMPTY
    assert held(trees.of({})) == {}


def test_a_small_tree_is_one_object(trees: Trees):
    tree = trees.of(SMALL)
    assert [r.key for r in tree.ranges] == [INLINE_KEY]
    assert len(stored(trees)) == 1
    assert len(held(tree)) == 3


def test_a_tree_of_one_long_range_is_not_kept_in_its_root(
    trees: Trees, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(manifests, "INLINE_BYTES", 100)
    tree = trees.of(SMALL)
    assert INLINE_KEY not in {r.key for r in tree.ranges}
    assert len(stored(trees)) == 2
    assert len(held(tree)) == 3


def test_a_tree_grows_out_of_its_root_and_back_into_it(trees: Trees):
    small = trees.of(SMALL)
    grow, shrink = Changes(), Changes()
    grow.put_all(line(path, content) for path, content in LARGE.items())
    shrink.remove(b"/folder")
    large = trees.write(apply(small, grow))
    assert shape(large) == shape(trees.of({**SMALL, **LARGE}))
    assert INLINE_KEY not in {r.key for r in large.ranges}
    again = trees.write(apply(large, shrink))
    assert shape(again) == shape(small)
    assert held(again) == held(small)


def test_emptying_a_tree_gives_the_empty_tree(trees: Trees):
    changes = Changes()
    changes.remove(b"/")
    for model in (SMALL, LARGE):
        assert trees.write(apply(trees.of(model), changes)).ranges == ()


def test_a_range_is_read_as_it_was_written():
    one = Range("id", "manifests/1", 3, 4, b"/a b", "/é".encode())
    assert Range.decode(one.encode()) == one


def test_a_file_is_found_at_either_end_of_every_range(trees: Trees):
    tree = trees.of(LARGE)
    assert len(tree.ranges) > 5
    for path, content in LARGE.items():
        assert tree.find(path.encode()) == line(path, content)
    for path in ("/", "/a", "/folder", "/folder/f", "/folder/f0500", "/zzz"):
        assert tree.find(path.encode()) is None


def written(trees: Trees, model: dict[str, int]) -> tuple[str, str]:
    key, digest, _ = trees.store.write(
        build(line(path, content) for path, content in model.items()), trees.key
    )
    return key, digest


def read_all(trees: Trees, key: str, digest: str) -> None:
    for _ in ManifestStore(trees.objects).read(key, digest).scan():
        pass


@settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data(), large=st.booleans())
def test_a_damaged_manifest_is_corrupt_whatever_byte_it_is(data: st.DataObject, large: bool):
    trees = Trees()
    key, digest = written(trees, LARGE if large else SMALL)
    victim = data.draw(st.sampled_from(stored(trees)))
    raw = bytearray(trees.objects.get(victim))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))
    trees.objects.put(victim, raw)
    # A bit that zstd has no use for may flip and hurt nobody: then all is as it was.
    with suppress(CorruptObject):
        read_all(trees, key, digest)


@pytest.mark.parametrize("cut", [0, 1, 20])
def test_a_cut_manifest_is_corrupt(trees: Trees, cut: int):
    key, digest = written(trees, SMALL)
    trees.objects.put(key, trees.objects.get(key)[:cut])
    with pytest.raises(CorruptObject, match="is damaged: expected hash"):
        read_all(trees, key, digest)


def test_a_missing_manifest_is_corrupt(trees: Trees):
    key, digest = written(trees, LARGE)
    for victim in stored(trees):
        raw = trees.objects.get(victim)
        trees.objects.delete([victim])
        with pytest.raises(CorruptObject, match=f"{victim} is missing"):
            read_all(trees, key, digest)
        trees.objects.put(victim, raw)
    read_all(trees, key, digest)


def test_two_manifests_that_were_swapped_are_corrupt(trees: Trees):
    (one, digest), (two, _) = written(trees, SMALL), written(trees, {"/other": 1})
    trees.objects.put(one, trees.objects.get(two))
    with pytest.raises(CorruptObject, match="is damaged"):
        read_all(trees, one, digest)


def test_a_manifest_of_another_format_is_refused(trees: Trees, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(manifests, "HEADER", b"trunkline-tree 2")
    key, digest = written(trees, SMALL)
    monkeypatch.undo()
    with pytest.raises(WrongFormat, match="unknown format"):
        read_all(trees, key, digest)


def test_the_cache_forgets_the_oldest(trees: Trees, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(manifests, "CACHED_RANGES", 3)
    key, digest = written(trees, LARGE)
    store = ManifestStore(trees.objects)
    tree = store.read(key, digest)
    assert len(list(tree.scan())) == len(list(tree.scan())) == 100
    assert len(store._ranges) == 3
