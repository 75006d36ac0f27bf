"""Files out of a store: verified, and never outside the destination."""

import os
from pathlib import Path

import pytest

from trunkline import errors
from trunkline.model.entries import Entry
from trunkline.storage.objects import KeyMaker, ObjectStore
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.outlet import MANY, export, read_entry, read_range

CONTENTS = {
    "/a/one.txt": b"one",
    "/a/b/two.txt": b"",
    "/a/b/large.bin": bytes(range(256)) * 10000,
    "/top": b"top" * 1000,
}


@pytest.fixture
def lines(store: ObjectStore, keys: KeyMaker) -> list[bytes]:
    return _stored(store, keys, CONTENTS)


def test_export_writes_every_file(store: ObjectStore, lines: list[bytes], tmp_path: Path):
    seen: list[tuple[int, int]] = []
    report = export(store, lines, tmp_path / "out", progress=lambda *done: seen.append(done))
    assert _tree(tmp_path / "out") == CONTENTS
    assert report == (4, sum(map(len, CONTENTS.values())))
    assert tuple(map(sum, zip(*seen, strict=True))) == report


def test_export_of_a_folder(store: ObjectStore, lines: list[bytes], tmp_path: Path):
    export(store, [line for line in lines if line.startswith(b"/a/")], tmp_path, strip="/a")
    assert set(_tree(tmp_path)) >= {"/one.txt", "/b/two.txt", "/b/large.bin"}


def test_existing_files_are_replaced_only_on_demand(
    store: ObjectStore, lines: list[bytes], tmp_path: Path
):
    for name in ("top", "a/b/large.bin"):
        out = tmp_path / name.replace("/", "_")
        (out / name).parent.mkdir(parents=True)
        (out / name).write_bytes(b"mine, and longer than it was" * 200000)
        with pytest.raises(errors.AlreadyExists, match=name):
            export(store, lines, out)
        assert (out / name).read_bytes().startswith(b"mine")
        export(store, lines, out, overwrite=True)
        assert _tree(out) == CONTENTS


def test_helpers_do_the_same(folder: ObjectStore, keys: KeyMaker, tmp_path: Path):
    contents = {f"/d{n % 9}/f{n}": b"%d" % n * (n % 50) for n in range(MANY + 300)}
    contents["/d0/large"] = bytes(3 << 20)
    lines = _stored(folder, keys, contents)
    report = export(folder, reversed(lines), tmp_path / "out", workers=3)
    assert report == (len(contents), sum(map(len, contents.values())))
    assert _tree(tmp_path / "out") == contents
    damaged = Entry.decode(lines[1711])
    _damage(folder, damaged)
    with pytest.raises(errors.CorruptObject, match=f"{damaged.path} are damaged"):
        export(folder, lines, tmp_path / "again", workers=2)


@pytest.mark.parametrize("path", ["/a/one.txt", "/a/b/large.bin"])
def test_damage_is_named_with_the_expected_hash(
    store: ObjectStore, lines: list[bytes], tmp_path: Path, path: str
):
    entry = _entry(lines, path)
    _damage(store, entry)
    expected = f"{path} are damaged: expected BLAKE3 {entry.hash}"
    with pytest.raises(errors.CorruptObject, match=expected):
        export(store, lines, tmp_path / "out")
    assert not (tmp_path / "out" / path[1:]).exists()
    with pytest.raises(errors.CorruptObject, match=expected):
        list(read_entry(store, entry))


@pytest.mark.parametrize("cut", [0, 1, 2_000_000])
def test_a_cut_object_is_damage(store: ObjectStore, lines: list[bytes], cut: int):
    entry = _entry(lines, "/a/b/large.bin")
    store.put(entry.key, store.get(entry.key)[:cut])
    with pytest.raises(errors.CorruptObject, match="/a/b/large"):
        list(read_entry(store, entry))
    with pytest.raises(errors.CorruptObject, match="/a/b/large"):
        list(read_range(store, entry, 2_500_000, 10))
    store.put(entry.key, bytes(entry.size + 1))
    with pytest.raises(errors.CorruptObject):
        list(read_entry(store, entry))


def test_a_cut_pack_spares_what_is_before_the_cut(store: ObjectStore, lines: list[bytes]):
    entry = _entry(lines, "/top")
    store.put(entry.key, store.get(entry.key)[:-1])
    with pytest.raises(errors.CorruptObject, match="/top"):
        list(read_entry(store, entry))
    assert b"".join(read_entry(store, _entry(lines, "/a/one.txt"))) == b"one"


@pytest.mark.parametrize("path", ["/a/one.txt", "/a/b/large.bin"])
def test_a_missing_object_is_damage(
    store: ObjectStore, lines: list[bytes], tmp_path: Path, path: str
):
    entry = _entry(lines, path)
    store.delete([entry.key])
    expected = f"{path} are gone: expected BLAKE3 {entry.hash}"
    for call in (
        lambda: export(store, [entry.encode()], tmp_path / "out"),
        lambda: list(read_entry(store, entry)),
        lambda: list(read_range(store, entry, 1, 1)),
    ):
        with pytest.raises(errors.CorruptObject, match=expected):
            call()


@pytest.mark.parametrize("path", ["/a/one.txt", "/a/b/large.bin", "/a/b/two.txt"])
@pytest.mark.parametrize(("start", "length"), [(0, None), (0, 2), (1, 1), (2, 10**9), (10**9, 1)])
def test_ranges_cut_as_slices_do(
    store: ObjectStore, lines: list[bytes], path: str, start: int, length: int | None
):
    stop = None if length is None else start + length
    got = b"".join(read_range(store, _entry(lines, path), start, length))
    assert got == CONTENTS[path][start:stop]


@pytest.mark.parametrize("path", ["/../up", "/a/../../up", "/a/..", "//etc/x", "/./x", "/", "/b/x"])
def test_paths_stay_inside(folder: ObjectStore, keys: KeyMaker, tmp_path: Path, path: str):
    with Intake(folder, keys) as intake:
        line = intake.add_bytes(path, b"x")
    with pytest.raises(errors.InvalidPath, match="outside"):
        export(folder, [line], tmp_path / "in/out", strip="/a" if path == "/b/x" else "/")
    assert _tree(tmp_path / "in") == {}


def test_links_in_the_destination_are_not_followed(
    folder: ObjectStore, keys: KeyMaker, tmp_path: Path
):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "out/f").symlink_to(tmp_path / "elsewhere/f")
    for path in ("/a/x", "/f"):
        lines = _stored(folder, keys, {path: b"x"})
        with pytest.raises(errors.TrunklineError):
            export(folder, lines, tmp_path / "out", overwrite=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_byte_hash_counts_where_there_is_one(folder: ObjectStore, keys: KeyMaker, tmp_path):
    (line,) = _stored(folder, keys, {"/t.parquet": b"rows"})
    plain = Entry.decode(line)
    entry = Entry("/t.parquet", "f" * 64, 4, plain.key, 0, "owner", 7, plain.hash)
    assert b"".join(read_entry(folder, entry)) == b"rows"
    export(folder, [entry.encode()], tmp_path / "out")
    assert _tree(tmp_path / "out") == {"/t.parquet": b"rows"}


def _stored(store: ObjectStore, keys: KeyMaker, contents: dict[str, bytes]) -> list[bytes]:
    with Intake(store, keys) as intake:
        return [intake.add_bytes(path, data) for path, data in contents.items()]


def _entry(lines: list[bytes], path: str) -> Entry:
    return next(entry for entry in map(Entry.decode, lines) if entry.path == path)


def _damage(store: ObjectStore, entry: Entry) -> None:
    data = bytearray(store.get(entry.key))
    data[(entry.offset or 0) + entry.size // 2] ^= 1
    store.put(entry.key, bytes(data))


def _tree(root: Path) -> dict[str, bytes]:
    return {
        "/" + os.path.relpath(path, root): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
