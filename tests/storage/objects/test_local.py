"""The local folder: durable, and clear about what the disk refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trunkline import errors
from trunkline.storage.objects import KeyMaker, ObjectStore, open_store, txn_of


class Syncs:
    """Counts what is synced, and lets it happen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files = self.folders = 0
        self._fdatasync, self._fsync = os.fdatasync, os.fsync
        monkeypatch.setattr(os, "fdatasync", self.file)
        monkeypatch.setattr(os, "fsync", self.folder)

    def file(self, fd: int) -> None:
        self.files += 1
        self._fdatasync(fd)

    def folder(self, fd: int) -> None:
        self.folders += 1
        self._fsync(fd)


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    return Syncs(monkeypatch)


def test_an_object_is_synced_and_so_is_its_folder(folder: ObjectStore, syncs: Syncs):
    folder.put("data/1/a", b"x")
    assert syncs.files == 1
    before = syncs.folders
    folder.put("data/1/b", b"x")
    assert (syncs.files, syncs.folders - before) == (2, 1)


def test_small_files_share_a_sync(folder: ObjectStore, keys: KeyMaker, syncs: Syncs):
    from trunkline.storage.objects.intake import Intake

    with Intake(folder, keys) as intake:
        for number in range(500):
            intake.add_bytes(f"/{number}", b"small")
        intake.add_bytes("/large", bytes(2 << 20))
    assert syncs.files == 2


def test_a_killed_writer_leaves_only_something_to_sweep(folder: ObjectStore, keys: KeyMaker):
    writer = folder.writer(keys.pack())
    writer.write(b"half")
    assert list(folder.list()) == []
    (left,) = folder.abandoned()
    assert (txn_of(left.key), left.size) == (keys.txn, 4)
    folder.delete([left.key])
    assert list(folder.abandoned()) == []


def test_an_edit_is_swept_by_nobody_but_the_next(
    folder: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """gc takes what it finds abandoned, at any moment."""
    folder.put("packs/a", b"before")
    (tmp_path / "store/tmp/edit.left").write_bytes(b"of one who was killed")
    seen: list[str] = []
    sync = os.fdatasync

    def look(fd: int) -> None:
        seen.extend(path.name for path in (tmp_path / "store/tmp").iterdir())
        folder.delete(info.key for info in folder.abandoned())
        sync(fd)

    monkeypatch.setattr(os, "fdatasync", look)
    folder.edit("packs/a", lambda data: b"after")
    assert (len(seen), "edit.left" in seen) == (2, False)
    assert folder.get("packs/a") == b"after"


def test_objects_are_read_only_files(folder: ObjectStore, tmp_path: Path):
    folder.put("data/a", b"x")
    assert (tmp_path / "store/data/a").stat().st_mode & 0o222 == 0


def test_a_vanished_folder_is_made_again(folder: ObjectStore, tmp_path: Path):
    folder.put("data/1/a", b"x")
    folder.delete(["data/1/a"])
    (tmp_path / "store/data/1").rmdir()
    folder.put("data/1/b", b"y")
    assert folder.get("data/1/b") == b"y"


def test_a_file_in_the_way_is_an_error(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.Failed, match="Cannot write to"):
        open_store(str(tmp_path / "file")).put("a", b"")


def test_addresses(tmp_path: Path):
    (tmp_path / "a b").mkdir()
    store = open_store((tmp_path / "a b").as_uri())
    store.put("x", b"1")
    assert (tmp_path / "a b/x").read_bytes() == b"1"
    for bad in ("file://host/x", "ftp://x/y", ""):
        with pytest.raises(errors.Usage):
            open_store(bad)
    with pytest.raises(errors.Usage):
        open_store(str(tmp_path), {"region": "x"})


def test_a_local_store_does_not_load_obstore():
    code = "import sys, trunkline.storage.objects.intake as m; print('obstore' in sys.modules)"
    source = Path(open_store.__code__.co_filename).parents[3]
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "False"


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 1 MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount a tmpfs here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_said_and_leaves_nothing(small_disk: Path):
    store = open_store(str(small_disk))
    store.put("data/a", b"kept")
    with pytest.raises(errors.DiskFull, match="No space left"):
        store.put("data/b", bytes(4 << 20))
    assert [info.key for info in store.list()] == ["data/a"]
    assert list(store.abandoned()) == []
    store.put("data/c", b"fits again")
    assert store.get("data/a") == b"kept"


def test_intake_on_a_full_disk(small_disk: Path, keys: KeyMaker):
    from trunkline.storage.objects.intake import Intake

    store = open_store(str(small_disk))
    with pytest.raises(errors.DiskFull), Intake(store, keys) as intake:
        for number in range(6):
            intake.add_bytes(f"/{number}", bytes(900 << 10))
    assert list(store.list()) == list(store.abandoned()) == []


def test_a_read_only_disk_is_said(small_disk: Path):
    store = open_store(str(small_disk))
    store.put("a", b"x")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(errors.ReadOnly, match="May not write"):
        store.put("b", b"x")
    with pytest.raises(errors.ReadOnly):
        store.delete(["a"])
    assert store.get("a") == b"x"
