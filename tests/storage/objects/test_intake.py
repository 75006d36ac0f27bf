"""Files into a store: packed or whole, by this process or by helpers."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from blake3 import blake3

from trunkline import errors
from trunkline.model.entries import Entry
from trunkline.storage.objects import KeyMaker, ObjectStore, txn_of
from trunkline.storage.objects.intake import MANY, Intake
from trunkline.storage.objects.outlet import read_entry

SOURCE = str(Path(sys.modules[Intake.__module__].__file__ or "").parents[3])


def test_small_files_share_a_pack_in_order(store: ObjectStore, keys: KeyMaker):
    with Intake(store, keys) as intake:
        lines = [intake.add_bytes(f"/{n}.csv", b"row\n" * n) for n in range(5)]
        lines.append(intake.add_stream("/s", [b"ab", b"", b"cd"]))
    entries = [Entry.decode(line) for line in lines]
    assert len({entry.key for entry in entries}) == 1
    assert [entry.offset for entry in entries] == [0, 0, 4, 12, 24, 40]
    assert [info.key for info in store.list()] == [entries[0].key]
    _reads_back(store, lines, {f"/{n}.csv": b"row\n" * n for n in range(5)} | {"/s": b"abcd"})


def test_large_files_are_objects_with_their_extensions(
    store: ObjectStore, keys: KeyMaker, tmp_path: Path
):
    data = os.urandom((2 << 20) + 7)
    (tmp_path / "in").write_bytes(data)
    with Intake(store, keys) as intake:
        lines = [
            intake.add_bytes("/a.csv.gz", data),
            intake.add_stream("/b.parquet", [data[:5], data[5:]]),
            intake.add_file("/c.bin", tmp_path / "in"),
        ]
    entries = [Entry.decode(line) for line in lines]
    assert [entry.offset for entry in entries] == [None] * 3
    assert entries[0].key.startswith("data/") and entries[0].key.endswith("-0.csv.gz")
    assert entries[1].key.endswith(".parquet")
    assert all(store.get(entry.key) == data for entry in entries)
    _reads_back(store, lines, {"/a.csv.gz": data, "/b.parquet": data, "/c.bin": data})


def test_the_limit_itself_is_still_packed(folder: ObjectStore, keys: KeyMaker):
    with Intake(folder, keys, pack_limit=10) as intake:
        lines = [intake.add_bytes("/a", bytes(10)), intake.add_bytes("/b", bytes(11))]
        lines += [intake.add_stream("/c", [bytes(10)]), intake.add_stream("/d", [bytes(11)])]
    packed = [Entry.decode(line).offset is not None for line in lines]
    assert packed == [True, False, True, False]


def test_a_full_pack_is_followed_by_another(folder: ObjectStore, keys: KeyMaker):
    with Intake(folder, keys, pack_size=8 << 20) as intake:
        lines = [intake.add_bytes(f"/{n}", bytes([n]) * (1 << 20)) for n in range(20)]
    packs = {Entry.decode(line).key for line in lines}
    assert len(packs) == 3
    _reads_back(folder, lines, {f"/{n}": bytes([n]) * (1 << 20) for n in range(20)})


def test_flush_makes_lines_readable_and_goes_on(folder: ObjectStore, keys: KeyMaker):
    intake = Intake(folder, keys)
    first = intake.add_bytes("/a", b"1")
    intake.flush()
    _reads_back(folder, [first], {"/a": b"1"})
    second = intake.add_bytes("/b", b"2")
    intake.close()
    intake.close()
    _reads_back(folder, [first, second], {"/a": b"1", "/b": b"2"})
    assert len({Entry.decode(line).key for line in (first, second)}) == 2


def test_nothing_to_store_stores_nothing(folder: ObjectStore, keys: KeyMaker):
    with Intake(folder, keys) as intake:
        assert intake.add_files([]) == []
    assert list(folder.list()) == []


def test_abort_leaves_nothing(folder: ObjectStore, keys: KeyMaker):
    with pytest.raises(RuntimeError), Intake(folder, keys) as intake:
        for n in range(8):
            intake.add_bytes(f"/{n}", bytes(1 << 20))
        raise RuntimeError
    assert list(folder.list()) == list(folder.abandoned()) == []


def test_known_files_are_left_out(folder: ObjectStore, keys: KeyMaker, tmp_path: Path):
    contents = {"/same": b"s", "/new": b"n", "/big": bytes(3 << 20), "/big2": b"x" * (3 << 20)}
    files = _files(tmp_path, contents)
    known = {
        path.encode(): (blake3(data).hexdigest().encode(), len(data))
        for path, data in contents.items()
    }
    known[b"/new"] = (b"0" * 64, 1)
    known[b"/big2"] = (b"0" * 64, 3 << 20)
    seen: list[tuple[int, int]] = []
    with Intake(folder, keys) as intake:
        lines = intake.add_files(files, known, lambda *done: seen.append(done))
    _reads_back(folder, lines, {path: contents[path] for path in ("/new", "/big2")})
    assert len(list(folder.list())) == 2
    assert tuple(map(sum, zip(*seen, strict=True))) == (4, 2 + (6 << 20))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Small files enough for helpers, with three large ones among them."""
    root = tmp_path_factory.mktemp("many")
    contents = {f"/d{n % 7}/f{n}.txt": b"%d" % n for n in range(MANY + 500)}
    contents |= {f"/d{n}/large.bin": bytes([n]) * (2 << 20) for n in range(3)}
    return _files(root, contents)


def test_helpers_do_the_same(folder: ObjectStore, keys: KeyMaker, many: list[tuple[str, str]]):
    seen: list[tuple[int, int]] = []
    with Intake(folder, keys, workers=3) as intake:
        lines = intake.add_files(many, {}, lambda *done: seen.append(done))
    assert [line.split(b"\t")[0].decode() for line in lines] == [path for path, _ in many]
    _reads_back(folder, lines, {path: Path(local).read_bytes() for path, local in many})
    listed = [info.key for info in folder.list()]
    assert sum(key.startswith("packs/") for key in listed) == 3
    assert {txn_of(key) for key in listed} == {keys.txn}
    total = sum(os.path.getsize(local) for _, local in many)
    assert tuple(map(sum, zip(*seen, strict=True))) == (len(many), total)


def test_two_calls_with_helpers_use_different_names(
    folder: ObjectStore, keys: KeyMaker, many: list[tuple[str, str]]
):
    with Intake(folder, keys, workers=2) as intake:
        first = intake.add_files(many)
        second = intake.add_files(many)
    assert not set(first) & set(second)
    _reads_back(folder, first[:50] + second[:50], dict(_contents(many[:50])))


def test_helpers_reach_a_bucket(
    s3: object, bucket: str, keys: KeyMaker, many: list[tuple[str, str]]
):
    from trunkline.storage.objects import open_store

    store = open_store(bucket, s3.options)  # type: ignore[attr-defined]
    with Intake(store, keys, workers=2) as intake:
        lines = intake.add_files(many)
    _reads_back(store, lines[:20] + lines[-3:], dict(_contents(many[:20] + many[-3:])))


def test_helpers_skip_what_is_known(
    folder: ObjectStore, keys: KeyMaker, many: list[tuple[str, str]]
):
    known = {
        path.encode(): (blake3(data).hexdigest().encode(), len(data))
        for path, data in _contents(many)
    }
    with Intake(folder, keys, workers=2) as intake:
        assert intake.add_files(many, known) == []
    assert list(folder.list()) == []


def test_an_error_of_a_helper_is_raised_here(
    folder: ObjectStore, keys: KeyMaker, many: list[tuple[str, str]], tmp_path: Path
):
    files = [*many, ("/gone", str(tmp_path / "no such file"))]
    with pytest.raises(errors.SourceUnreadable, match="no such file"):
        Intake(folder, keys, workers=2).add_files(files)
    assert list(folder.abandoned()) == []


def test_a_killed_helper_is_an_error_not_a_hang(
    folder: ObjectStore,
    keys: KeyMaker,
    many: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TRUNKLINE_CRASH_AT", "put.during_bytes")
    with pytest.raises(errors.Unavailable, match="helper process"):
        Intake(folder, keys, workers=2).add_files(many)


def test_ctrl_c_stops_helpers_and_leaves_nothing(
    folder: ObjectStore, keys: KeyMaker, many: list[tuple[str, str]]
):
    def interrupt(files: int, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), Intake(folder, keys, workers=2) as intake:
        intake.add_files(many, {}, interrupt)
    assert list(folder.abandoned()) == []
    assert not any(info.key.startswith("packs/") for info in folder.list())


def test_a_missing_source_is_named(folder: ObjectStore, keys: KeyMaker, tmp_path: Path):
    with pytest.raises(errors.SourceUnreadable, match=f"{tmp_path}/nope: No such file"):
        Intake(folder, keys).add_file("/a", tmp_path / "nope")


def test_only_files_are_sources(folder: ObjectStore, keys: KeyMaker, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name, kind in (("", "a folder"), ("pipe", "a pipe"), ("socket", "socket")):
            with pytest.raises(errors.SourceUnreadable, match=kind):
                Intake(folder, keys).add_file("/a", tmp_path / name)
    with pytest.raises(errors.SourceUnreadable, match="a device"):
        Intake(folder, keys).add_file("/a", "/dev/zero")


@pytest.mark.parametrize("change", ["grow", "shrink", "touch"])
@pytest.mark.parametrize("size", [100, 8 << 20])
def test_a_source_that_changes_is_named(
    folder: ObjectStore,
    keys: KeyMaker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    size: int,
):
    source = tmp_path / "moving"
    source.write_bytes(bytes(size))
    os.utime(source, ns=(10**18, 10**18))
    real_read, real_preadv = os.read, os.preadv

    def meddle() -> None:
        if change == "grow":
            with open(source, "ab") as file:
                file.write(b"more")
        elif change == "shrink":
            os.truncate(source, size // 2)
        else:
            os.utime(source)

    def read(fd: int, length: int) -> bytes:
        data = real_read(fd, length)
        meddle()
        return data

    def preadv(fd: int, buffers: list[memoryview], offset: int) -> int:
        count = real_preadv(fd, buffers, offset)
        meddle()
        return count

    monkeypatch.setattr(os, "read", read)
    monkeypatch.setattr(os, "preadv", preadv)
    with pytest.raises(errors.SourceChanged, match=r"moving changed while"):
        Intake(folder, keys).add_file("/a", source)
    assert list(folder.list()) == list(folder.abandoned()) == []


def test_names_of_any_kind(folder: ObjectStore, keys: KeyMaker, tmp_path: Path):
    odd = os.fsencode(tmp_path) + b"/new\nline \xff"
    Path(os.fsdecode(odd)).write_bytes(b"x")
    with Intake(folder, keys) as intake:
        line = intake.add_file("/ü ñ/日本", os.fsdecode(odd))
    _reads_back(folder, [line], {"/ü ñ/日本": b"x"})


def test_threads_may_share_an_intake(folder: ObjectStore, keys: KeyMaker):
    lines: list[bytes] = []
    with Intake(folder, keys) as intake:

        def add(name: int) -> None:
            for n in range(200):
                lines.append(intake.add_bytes(f"/{name}/{n}", b"%d-%d" % (name, n)))

        threads = [threading.Thread(target=add, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    expected = {f"/{t}/{n}": b"%d-%d" % (t, n) for t in range(4) for n in range(200)}
    _reads_back(folder, lines, expected)


_PUT = """
import sys
from trunkline.model.ids import new_id
from trunkline.storage.objects import open_store
from trunkline.storage.objects.intake import Intake
from trunkline.model.entries import Entry
from trunkline.storage.objects.outlet import read_entry
store = open_store(sys.argv[2])
with Intake(store, new_id()) as intake:
    (line,) = intake.add_files([("/big", sys.argv[1])])
assert sum(map(len, read_entry(store, Entry.decode(line)))) == 1 << 30
# Not ru_maxrss: it counts what the process was before it became this program.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_memory_is_bounded(tmp_path: Path):
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 30)
    run = subprocess.run(
        [sys.executable, "-c", _PUT, tmp_path / "sparse", tmp_path / "store"],
        env={"PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(run.stdout) < 100 << 10


_DIE = """
import sys
from trunkline.model.ids import new_id
from trunkline.storage.objects import open_store
from trunkline.storage.objects.intake import Intake
with Intake(open_store(sys.argv[1]), new_id()) as intake:
    intake.add_bytes("/a", b"x")
    intake.add_bytes("/b", bytes(2 << 20))
print("survived")
"""


@pytest.mark.parametrize(
    ("point", "objects", "left"),
    [
        ("put.before_bytes", 0, 0),
        ("put.during_bytes", 0, 1),
        ("put.after_bytes", 1, 0),
        ("put.after_bytes:2", 2, 0),
    ],
)
def test_killed_at_a_crash_point(
    folder: ObjectStore, tmp_path: Path, point: str, objects: int, left: int
):
    run = subprocess.run(
        [sys.executable, "-c", _DIE, tmp_path / "store"],
        env={"PYTHONPATH": SOURCE, "TRUNKLINE_CRASH_AT": point},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stdout) == (-signal.SIGKILL, "")
    assert len(list(folder.list())) == objects
    assert len(list(folder.abandoned())) == left


_PARENT = """
import sys, time, os, signal
from trunkline.model.ids import new_id
from trunkline.storage.objects import open_store
from trunkline.storage.objects.intake import Intake
files = [tuple(line.split("|")) for line in open(sys.argv[2])]
files = [(path, local.rstrip()) for path, local in files]
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
Intake(open_store(sys.argv[1]), new_id(), workers=2).add_files(files, {}, die)
"""


def test_helpers_end_with_their_parent(
    folder: ObjectStore, tmp_path: Path, many: list[tuple[str, str]]
):
    (tmp_path / "list").write_text("".join(f"{path}|{local}\n" for path, local in many))
    run = subprocess.run(
        [sys.executable, "-c", _PARENT, tmp_path / "store", tmp_path / "list"],
        env={"PYTHONPATH": SOURCE},
        capture_output=True,
    )
    assert run.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 60
    while list(folder.abandoned()) and time.monotonic() < deadline:
        time.sleep(0.02)
    # The large files' threads died with the parent; the helpers cleaned up after themselves.
    assert not any(".pack" in info.key for info in folder.abandoned())


def _files(root: Path, contents: dict[str, bytes]) -> list[tuple[str, str]]:
    for path, data in contents.items():
        target = root / path[1:]
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
    return [(path, str(root / path[1:])) for path in contents]


def _contents(files: list[tuple[str, str]]) -> Iterator[tuple[str, bytes]]:
    for path, local in files:
        yield path, Path(local).read_bytes()


def _reads_back(store: ObjectStore, lines: list[bytes], contents: dict[str, bytes]) -> None:
    entries = [Entry.decode(line) for line in lines]
    assert {entry.path for entry in entries} == set(contents)
    for entry in entries:
        data = contents[entry.path]
        assert entry.hash == blake3(data).hexdigest()
        assert b"".join(read_entry(store, entry)) == data
