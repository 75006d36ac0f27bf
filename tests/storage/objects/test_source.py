"""Files that somebody writes to while they are read: nobody gets bytes of two versions."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.heldup import held_up
from trunkline import errors
from trunkline.model.entries import Entry
from trunkline.sdk.remote.sources import opened, read_small
from trunkline.storage.objects import KeyMaker, ObjectStore
from trunkline.storage.objects.foreign import LocalFiles, VersionGone, split_url
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.outlet import read_entry
from trunkline.storage.objects.outside import Outside
from trunkline.storage.objects.source import grain, settled

SIZE = 4_000_000


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[Path]:
    """A file whose bytes are replaced all the time, all of them by one write."""
    path = tmp_path / "moving"
    with held_up(path, "%d", SIZE):
        yield path


@pytest.mark.slow
@pytest.mark.parametrize("limit", [SIZE, SIZE - 1], ids=["packed", "whole"])
def test_a_write_that_is_held_up_is_waited_for(
    folder: ObjectStore, keys: KeyMaker, moving: Path, limit: int
):
    def put() -> bytes:
        with Intake(folder, keys, pack_limit=limit) as intake:
            line = intake.add_file("/a", moving)
        return b"".join(read_entry(folder, Entry.decode(line)))

    _is_whole(put)


@pytest.mark.slow
def test_a_write_that_is_held_up_is_waited_for_by_an_upload(moving: Path):
    def upload() -> bytes:
        with opened(moving) as source:
            data = source.read(0, source.size)
            source.check()
        return data

    _is_whole(lambda: read_small(moving))
    _is_whole(upload)


@pytest.mark.slow
def test_a_write_that_is_held_up_is_waited_for_by_readers_of_references(moving: Path):
    files, key = LocalFiles(), str(moving)[1:]
    _is_whole(lambda: b"".join(files.read(key, files.head(key).version, 0, SIZE)))


def _is_whole(read: Callable[[], bytes]) -> None:
    for _ in range(4):
        try:
            data = read()
        except (errors.SourceChanged, VersionGone):
            continue
        assert (len(data), len(set(data))) == (SIZE, 1)


def test_a_file_that_was_written_just_now_is_read_when_its_time_tells_of_more(tmp_path: Path):
    file = tmp_path / "new"
    file.write_bytes(b"x")
    place = split_url(f"file://{file}")
    Outside({}).line("/a", place, LocalFiles().head(place.key))
    assert _age(file) >= grain(file.stat())
    file.write_bytes(b"y")
    read_small(file)
    assert _age(file) >= grain(file.stat())


def _age(file: Path) -> int:
    return time.time_ns() - file.stat().st_mtime_ns


def test_a_time_in_the_future_is_not_waited_for(tmp_path: Path):
    file = tmp_path / "new"
    file.write_bytes(b"x")
    os.utime(file, ns=(4 * 10**18, 4 * 10**18))
    assert settled(bytes(file)).st_mtime_ns == 4 * 10**18


def test_file_systems_that_count_seconds_are_waited_for_longer(tmp_path: Path):
    file = tmp_path / "new"
    file.write_bytes(b"x")
    found = file.stat()
    whole = os.stat_result(found[:10], {"st_ctime_ns": 10**18, "st_mtime_ns": 10**18})
    fine = os.stat_result(found[:10], {"st_ctime_ns": 10**18 + 4, "st_mtime_ns": 10**18})
    assert grain(whole) == 2 * 10**9 > grain(fine)


def test_a_time_between_two_steps_of_the_kernels_clock_is_waited_for(tmp_path: Path):
    """Linux dates some writes by a finer clock than the one that says how old they are."""
    file = tmp_path / "new"
    file.write_bytes(b"x")
    for _ in range(20):
        just = time.clock_gettime_ns(5) - grain(file.stat()) + 1
        os.utime(file, ns=(just, just))
        assert settled(bytes(file)).st_mtime_ns == just
