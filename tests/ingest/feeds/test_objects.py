"""Objects of a store: each once, copied or by reference, whatever becomes of it and of us."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import tarfile
import threading
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
from pyarrow import parquet

import trunkline as tl
from tests.ingest.feeds.lakes import Ingests
from tests.reliability.scenarios import INGEST_POINTS
from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server, s3_server
from tests.waiting import until
from trunkline.errors import InvalidSpec, Precondition
from trunkline.ingests.feeds import objects, unpacking
from trunkline.model.streams import FlowState
from trunkline.storage.objects.port import Buffer, ObjectStore

SECRETS = (("access_key_id", "s3/key"), ("secret_access_key", "s3/secret"))


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "SETTLE", 0.0)


class Source:
    """A folder or a bucket that is written to, and how an ingest is told of it."""

    def __init__(self, folder: Path, server: S3Server | None = None) -> None:
        self.folder, self.options = folder, dict[str, Any]()
        self.client: Any = None
        self.secrets: tuple[tuple[str, str], ...] = ()
        folder.mkdir()
        self.url = f"{folder.as_uri()}/"
        if server is not None:
            name = f"theirs-{uuid.uuid4().hex[:12]}"
            self.url = f"{server.create_bucket(name)}/in/"
            self.name, self.secrets = name, SECRETS
            self.options = {"options": {"endpoint": server.endpoint, "region": REGION}}
            self.client = boto3.client(
                "s3",
                endpoint_url=server.endpoint,
                region_name=REGION,
                aws_access_key_id=ACCESS_KEY,
                aws_secret_access_key=SECRET_KEY,
            )

    def put(self, name: str, data: bytes | str) -> None:
        body = data.encode() if isinstance(data, str) else data
        if self.client is not None:
            self.client.put_object(Bucket=self.name, Key=f"in/{name}", Body=body)
            return
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        path.write_bytes(body)
        if path.stat().st_mtime_ns == before:
            os.utime(path, ns=(before + 1, before + 1))

    def rows(self, name: str, *numbers: int) -> None:
        self.put(name, "".join(json.dumps({"n": n}) + "\n" for n in numbers))

    def remove(self, name: str) -> None:
        if self.client is not None:
            self.client.delete_object(Bucket=self.name, Key=f"in/{name}")
        else:
            (self.folder / name).unlink()

    def declare(self, lake: Ingests, options: Mapping[str, Any] | None = None, **more: Any) -> None:
        lake.secrets.update({"s3/key": ACCESS_KEY, "s3/secret": SECRET_KEY})
        told = {"url": self.url, "every": 0.05, **self.options, **(options or {})}
        lake.declare("clicks", "objects", told, secrets=self.secrets, **more)


@pytest.fixture(params=["folder", "bucket"])
def source(request: pytest.FixtureRequest, tmp_path: Path, server: S3Server) -> Source:
    return Source(tmp_path / "source", server if request.param == "bucket" else None)


@pytest.fixture
def folder(tmp_path: Path) -> Source:
    return Source(tmp_path / "source")


def numbers(lake: Ingests) -> list[int]:
    return sorted(row["n"] for row in lake.rows("clicks"))


def names(lake: Ingests) -> list[str]:
    return [found.path for found in lake.files("clicks") if not found.path.startswith("/_")]


@pytest.mark.parametrize("how", ["copy", "reference"])
def test_the_lakes_own_objects_are_no_source(lake: Ingests, folder: Source, how: str) -> None:
    lake.lake.create_repo("r")
    with lake.lake.commit("r@main") as commit:
        commit.put("/mine.txt", b"mine")
    beside = lake.folder / "beside"
    beside.mkdir()
    (beside / "a.txt").write_text("a")
    (beside / "link.txt").symlink_to(lake.folder / ".trunkline/catalog.db")
    folder.url = f"file://{lake.folder}/"
    folder.declare(lake, {"how": how, "format": "files", "pattern": "**"})
    lake.drain()
    assert names(lake) == ["/beside/a.txt"]
    assert lake.drain()[0].commits == 0
    folder.url = f"{lake.core.objects.uri('').rstrip('/').rpartition('/')[0]}/"
    with pytest.raises(Precondition, match="keeps its own files"):
        folder.declare(lake, {"how": how, "format": "files"})


# -- by copy ----------------------------------------------------------------------------------


def test_objects_of_all_formats_become_rows_of_one_table(lake: Ingests, source: Source) -> None:
    source.rows("a.jsonl", 1, 2)
    source.put("deep/er/b.json", '[{"n": 3}]')
    source.put("day 1/ü.csv", "n\n4\n5\n")
    packed = io.BytesIO()
    parquet.write_table(pa.table({"n": [6, 7]}), packed)
    source.put("c.parquet", packed.getvalue())
    source.put("photo.png", b"\x89PNG" * 2_000_000)
    source.rows("_half.jsonl", 99)
    source.rows("deep/.hidden/x.jsonl", 98)
    source.declare(lake)
    (done,) = lake.drain()
    assert (done.rows, done.malformed, done.commits, done.error) == (7, 0, 1, "")
    assert numbers(lake) == [1, 2, 3, 4, 5, 6, 7]
    assert lake.lake.read("clicks:/photo.png") == b"\x89PNG" * 2_000_000
    assert lake.commits("clicks")[0].message == "ingest: 1 file, 7 rows from 5 objects"
    assert lake.drain()[0].commits == 0
    flow = lake.flow("clicks")
    assert flow.position["objects"] == 5
    assert flow.facts["listed"] == 7
    assert flow.facts["taken"] == 5
    assert flow.facts["waiting"] == 0
    assert flow.facts["bytes"] == flow.position["bytes"] > 8_000_000


def test_only_what_the_pattern_names(lake: Ingests, source: Source) -> None:
    source.rows("a.jsonl", 1)
    source.rows("x/b.jsonl", 2)
    source.rows("x/y/c.jsonl", 3)
    source.rows("x/d.txt", 4)
    source.declare(lake, {"pattern": "x/**.jsonl"})
    lake.drain()
    assert numbers(lake) == [2, 3]


def test_a_changed_object_replaces_its_rows(lake: Ingests, source: Source) -> None:
    source.rows("a.jsonl", 1, 2)
    source.rows("b.jsonl", 3)
    source.put("c.bin", b"one")
    source.declare(lake)
    lake.drain()
    source.rows("a.jsonl", 5)
    source.put("c.bin", b"two")
    source.remove("b.jsonl")
    (done,) = lake.drain()
    assert done.commits == 1
    assert numbers(lake) == [3, 5]
    assert lake.lake.read("clicks:/c.bin") == b"two"
    source.put("a.jsonl", "\n")
    source.rows("d.jsonl", 6)
    lake.drain()
    assert numbers(lake) == [3, 6]
    assert lake.drain()[0].commits == 0


def test_commits_are_bounded_and_the_pass_goes_on(
    lake: Ingests, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "MOST_OBJECTS", 4)
    for number in range(10):
        source.rows(f"{number}.jsonl", number)
    source.declare(lake)
    (done,) = lake.drain()
    assert (done.commits, done.rows) == (3, 10)
    assert [batch.rows_out for batch in lake.batches("clicks")] == [4, 4, 2]
    # Something may come with a name before the last one.
    source.rows("00.jsonl", 11)
    assert lake.drain()[0].rows == 1


def test_a_batch_holds_only_so_many_bytes(lake: Ingests, source: Source) -> None:
    for number in range(3):
        source.put(f"{number}.bin", bytes(600))
    source.declare(lake, bytes=1000)
    assert lake.drain()[0].commits == 3
    assert names(lake) == ["/0.bin", "/1.bin", "/2.bin"]


def test_watching_takes_what_comes(lake: Ingests, source: Source) -> None:
    source.declare(lake)
    source.rows("a.jsonl", 1)
    lake.start()
    until(lambda: lake.rows("clicks"))
    source.rows("b.jsonl", 2)
    until(lambda: numbers(lake) == [1, 2])


def test_empty_objects_are_not_read_again_and_again(lake: Ingests, source: Source) -> None:
    source.put("a.jsonl", "")
    source.declare(lake)
    keeper = lake.keeper()
    assert [one.commits for one in keeper.drain()] == [0]
    assert lake.flow("clicks").state is FlowState.IDLE


def test_what_is_still_written_to_is_left_for_later(
    lake: Ingests, folder: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "SETTLE", 3600.0)
    folder.rows("old.jsonl", 1)
    os.utime(folder.folder / "old.jsonl", (0, 0))
    folder.rows("new.jsonl", 2)
    folder.declare(lake)
    lake.start()
    until(lambda: lake.rows("clicks"))
    lake.stop()
    assert numbers(lake) == [1]


def test_a_source_that_is_gone_says_so_until_it_is_back(lake: Ingests, folder: Source) -> None:
    folder.folder.rmdir()
    folder.declare(lake)
    (done,) = lake.drain()
    assert "There is no folder" in done.error
    assert lake.flow("clicks").state is FlowState.FAILED
    folder.rows("a.jsonl", 1)
    assert lake.drain()[0].error == ""
    assert numbers(lake) == [1]


def test_wrong_credentials_are_told_and_not_shown(
    lake: Ingests, tmp_path: Path, server: S3Server
) -> None:
    source = Source(tmp_path / "x", server)
    source.options = {"options": {"endpoint": "http://127.0.0.1:9", "max_retries": "0"}}
    source.declare(lake)
    (done,) = lake.drain()
    assert "does not answer" in done.error
    assert SECRET_KEY not in done.error


@pytest.mark.slow
@pytest.mark.parametrize("point", INGEST_POINTS)
@pytest.mark.parametrize("how", ["copy", "reference"])
def test_each_object_once_also_after_kill(
    lake: Ingests, folder: Source, point: str, how: str
) -> None:
    for number in range(6):
        suffix = "bin" if how == "reference" else "jsonl"
        folder.put(f"{number}.{suffix}", f'{{"n": {number}}}')
    folder.declare(lake, {"how": how, "immutable": True}, bytes=20)
    code = """
import sys
from trunkline import open
from trunkline.ingests.feeds import objects
from trunkline.ingests.keeper import Keeper
objects.SETTLE, objects.MOST_OBJECTS = 0.0, 2
Keeper(open(sys.argv[1])._core, lease_seconds=1.0).drain()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(lake.folder)],
        env={**os.environ, "TRUNKLINE_CRASH_AT": f"{point}:2"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = until(lambda: [one for one in lake.drain() if not one.error])
    assert left
    if how == "copy":
        assert numbers(lake) == list(range(6))
    assert lake.flow("clicks").position["objects"] == 6
    assert lake.drain()[0].commits == 0
    assert lake.lake.fsck(deep=True).ok


def test_two_keepers_take_each_object_once(lake: Ingests, source: Source) -> None:
    for number in range(20):
        source.rows(f"{number}.jsonl", number)
    source.declare(lake, bytes=30)
    together = [threading.Thread(target=lake.drain) for _ in range(3)]
    for one in together:
        one.start()
    for one in together:
        one.join()
    lake.drain()
    assert numbers(lake) == list(range(20))


# -- by reference -----------------------------------------------------------------------------

BY_REFERENCE = {"how": "reference", "immutable": True}


@pytest.fixture
def reachable(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference is read with the settings of the lake."""
    for name, value in {
        "TRUNKLINE_S3_ENDPOINT": server.endpoint,
        "TRUNKLINE_S3_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    }.items():
        monkeypatch.setenv(name, value)


def by_reference(lake: Ingests, source: Source, **more: Any) -> None:
    source.options, source.secrets = {}, ()
    source.declare(lake, BY_REFERENCE, **more)


def test_what_is_known_of_many_files_is_noted_at_once(
    lake: Ingests, folder: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, noted = type(lake.core.objects), list[str]()
    edit = store.edit

    def counted(self: ObjectStore, key: str, change: Callable[[bytes], Buffer]) -> None:
        noted.append(key)
        edit(self, key, change)

    monkeypatch.setattr(store, "edit", counted)
    for number in range(40):
        folder.put(f"{number}.bin", str(number))
    by_reference(lake, folder)
    (done,) = lake.drain()
    assert done.commits == 1
    assert noted and len(noted) == len(set(noted))


def test_references_are_listed_once_and_nothing_is_copied(
    reachable: None, lake: Ingests, source: Source
) -> None:
    for number in range(3):
        packed = io.BytesIO()
        parquet.write_table(pa.table({"n": [number]}), packed)
        source.put(f"day={number}/a.parquet", packed.getvalue())
    by_reference(lake, source, folder="/events")
    (done,) = lake.drain()
    assert (done.commits, done.error) == (1, "")
    assert lake.drain()[0].commits == 0
    assert names(lake) == [f"/events/day={n}/a.parquet" for n in range(3)]
    assert not list(lake.core.objects.list("data/"))
    asked = 'SELECT sum(n) FROM "clicks@main:/events"'
    assert lake.lake.sql(asked).rows() == [(3,)]
    assert lake.lake.fsck(deep=True).outside_files == 3
    source.put("day=3/b.parquet", packed.getvalue())
    assert lake.drain()[0].commits == 1
    assert lake.lake.sql(asked).rows() == [(5,)]


def test_a_broken_promise_stops_the_ingest(reachable: None, lake: Ingests, source: Source) -> None:
    source.put("a.txt", "one")
    by_reference(lake, source)
    lake.drain()
    source.put("a.txt", "two")
    source.put("b.txt", "new")
    (done,) = lake.drain()
    assert "changed although it was declared immutable" in done.error
    assert f"{source.url}a.txt" in done.error
    assert names(lake) == ["/a.txt"]
    source.remove("a.txt")
    assert lake.drain()[0].error == ""
    assert names(lake) == ["/a.txt", "/b.txt"]


# -- archives ---------------------------------------------------------------------------------

FILES = {"a.jsonl": b'{"n": 1}\n', "sub/b.csv": b"n\n2\n3\n", "c d.bin": b"\0\1", ".x": b"y"}


def packed_by(method: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr("good.bin", b"x")
    return made.getvalue()


def packed(kind: str, files: Mapping[str, bytes] = FILES) -> bytes:
    made = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return made.getvalue()
    mode = {"tar": "w", "tar.gz": "w:gz", "tgz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}
    with tarfile.open(fileobj=made, mode=mode.get(kind, "w")) as tar:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    if kind == "tar.zst":
        import zstandard

        return zstandard.compress(made.getvalue())
    return made.getvalue()


def declare(lake: Ingests, source: Source, where: str, **more: Any) -> None:
    if where == "objects":
        source.declare(lake, {"archives": "unpack", **more})
    else:
        told = {"path": str(source.folder), "settle": 0.0, "archives": "unpack", **more}
        lake.declare("clicks", "folder", told)


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz", "tar.zst"])
@pytest.mark.parametrize("where", ["objects", "folder"])
def test_members_of_an_archive_are_files_below_its_name(
    lake: Ingests, folder: Source, where: str, kind: str
) -> None:
    folder.put(f"day/x.{kind}", packed(kind))
    declare(lake, folder, where)
    (done,) = lake.drain()
    assert (done.rows, done.malformed, done.error) == (3, 0, "")
    assert numbers(lake) == [1, 2, 3]
    assert lake.lake.read(f"clicks:/day/x.{kind}/c d.bin") == b"\0\1"
    assert lake.drain()[0].commits == 0


def test_archives_of_a_bucket(lake: Ingests, tmp_path: Path, server: S3Server) -> None:
    source = Source(tmp_path / "source", server)
    source.put("x.zip", packed("zip", {**FILES, "large.bin": os.urandom(6 << 20)}))
    source.put("y.tgz", packed("tgz"))
    source.declare(lake, {"archives": "unpack"})
    lake.drain()
    assert numbers(lake) == [1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("where", ["objects", "folder"])
def test_a_changed_archive_replaces_all_that_was_in_it(
    lake: Ingests, folder: Source, where: str
) -> None:
    folder.put("x.zip", packed("zip"))
    folder.rows("other.jsonl", 9)
    declare(lake, folder, where)
    lake.drain()
    folder.put("x.zip", packed("zip", {"a.jsonl": b'{"n": 7}\n', "new.bin": b"new"}))
    assert lake.drain()[0].error == ""
    assert numbers(lake) == [7, 9]
    assert [path for path in names(lake) if path.startswith("/x.zip")] == ["/x.zip/new.bin"]


def test_archives_are_kept_unless_said_otherwise(lake: Ingests, source: Source) -> None:
    data = packed("zip")
    source.put("x.zip", data)
    source.declare(lake)
    lake.drain()
    assert lake.lake.read("clicks:/x.zip") == data


def link_in_zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return made.getvalue()


def link_in_tar() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(info)
    return made.getvalue()


def encrypted_zip() -> bytes:
    data = bytearray(packed("zip", {"a.bin": b"x"}))
    data[6] |= 1
    place = data.index(b"PK\1\2")
    data[place + 8] |= 1
    return bytes(data)


def damaged_zip() -> bytes:
    data = bytearray(packed("zip", {"good.jsonl": b'{"n": 1}\n', "a.bin": bytes(range(256)) * 9}))
    data[data.index(b"a.bin") + 50] ^= 0xFF
    return bytes(data)


HOSTILE = {
    "slip.zip": (packed("zip", {"good.bin": b"x", "../../evil": b"x"}), '".." in its path'),
    "windows.zip": (packed("zip", {"good.bin": b"x", "..\\evil": b"x"}), '".." in its path'),
    "absolute.zip": (packed("zip", {"/etc/evil": b"x"}), "absolute path"),
    "slip.tar": (packed("tar", {"good.bin": b"x", "../evil": b"x"}), '".." in its path'),
    "link.zip": (link_in_zip(), "has a link"),
    "link.tar": (link_in_tar(), "has a link"),
    "locked.zip": (encrypted_zip(), "encrypted"),
    "bzip2.zip": (packed_by(zipfile.ZIP_BZIP2), "neither stored nor deflated"),
    "lzma.zip": (packed_by(zipfile.ZIP_LZMA), "neither stored nor deflated"),
    "damaged.zip": (damaged_zip(), "cannot be read as a zip"),
    "cut.zip": (packed("zip")[:-30], "cannot be read as a zip"),
    "cut.tar.gz": (packed("tar.gz")[:-30], "cannot be read as a tar"),
    "none.zip": (b"hello", "cannot be read as a zip"),
    "bomb.zip": (packed("zip", {"good.bin": b"x", "zeros": bytes(80 << 20)}), "times its size"),
    "bomb.tgz": (packed("tgz", {"good.bin": b"x", "zeros": bytes(80 << 20)}), "times its size"),
}


@pytest.mark.parametrize("where", ["objects", "folder"])
def test_hostile_archives_bring_nothing_and_stop_nothing(
    lake: Ingests, folder: Source, where: str, tmp_path: Path
) -> None:
    for name, (data, _) in HOSTILE.items():
        folder.put(name, data)
    folder.rows("good.jsonl", 1)
    declare(lake, folder, where)
    (done,) = lake.drain()
    assert (done.rows, done.malformed, done.error) == (1, len(HOSTILE), "")
    assert not [path for path in names(lake) if ".parquet" not in path]
    told = {row["source"]: row["reason"] for row in lake.malformed("clicks")}
    for name, (_, reason) in HOSTILE.items():
        assert reason in told[name]
    assert lake.drain()[0].commits == 0
    assert not list(tmp_path.rglob("*evil*"))


# -- specs ------------------------------------------------------------------------------------


def spec(**fields: Any) -> dict[str, Any]:
    return {
        "ingest": {"name": "clicks"},
        "source": {"objects": {"url": "s3://bucket/in", **fields}},
    }


def test_a_spec_of_it_goes_there_and_back(lake: Ingests) -> None:
    made = tl.objects(
        "s3://bucket/in",
        "*.parquet",
        every="5m",
        archives="unpack",
        options={"region": "eu-west-1"},
        secrets={"access_key_id": "s3/key"},
    )
    lake.lake.apply({"ingest": {"name": "clicks"}, "source": made})
    assert lake.lake.pipeline("clicks").spec["source"] == {
        "objects": {
            "url": "s3://bucket/in/",
            "pattern": "*.parquet",
            "every": 300,
            "archives": "unpack",
            "options": {"region": "eu-west-1"},
            "secrets": {"access_key_id": "s3/key"},
        }
    }


FLAWS: dict[str, tuple[dict[str, Any], str]] = {
    "a promise is missing": ({"how": "reference"}, "only what never changes"),
    "rows by reference": (
        {"how": "reference", "immutable": True, "format": "csv"},
        "stay as they are",
    ),
    "unpacked by reference": (
        {"how": "reference", "immutable": True, "archives": "unpack"},
        "not unpacked",
    ),
    "secrets of a reference": (
        {"how": "reference", "immutable": True, "secrets": {"access_key_id": "k"}},
        "does not know them",
    ),
    "a secret in the open": (
        {"options": {"secret_access_key": "hunter2"}},
        "does not belong into a spec",
    ),
    "both": ({"options": {"region": "x"}, "secrets": {"region": "x"}}, "both in options"),
    "no place": ({"url": "https://x/y"}, "no place of objects"),
    "credentials": ({"url": "s3://me:hunter2@bucket/x"}, "holds no credentials"),
    "a pattern from the root": ({"pattern": "/x"}, "no pattern of names"),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_what_does_not_go_together_is_told(lake: Ingests, flaw: str) -> None:
    fields, said = FLAWS[flaw]
    with pytest.raises(InvalidSpec, match=said) as caught:
        lake.lake.apply(spec(**fields))
    assert "hunter2" not in f"{caught.value}{caught.value.hint}"


def test_chunks_are_read_as_a_file_is() -> None:
    reader = unpacking.ChunkReader([b"ab", b"", b"cdef", b"g"])
    assert [reader.read(3), reader.read(2), reader.read(), reader.read(1)] == [
        b"abc",
        b"de",
        b"fg",
        b"",
    ]
