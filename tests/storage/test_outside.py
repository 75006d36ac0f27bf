"""Names that lead outside of a lake's store, and what is read through them."""

from __future__ import annotations

import os
import string
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.s3 import ACCESS_KEY, REGION, SECRET_KEY, S3Server, s3_server
from trunkline.errors import CorruptObject, NotAllowed, NotFound, Precondition, Usage
from trunkline.model.entries import Entry
from trunkline.storage.objects import ObjectStore, open_store
from trunkline.storage.objects.foreign import Found, Place, open_bucket, split_url
from trunkline.storage.objects.keys import check_key, extensions
from trunkline.storage.objects.outside import (
    Outside,
    outside_key,
    outside_of,
    outside_uri,
    outside_url,
)
from trunkline.storage.objects.reading import read_entry, read_range

KEYS = [
    "a.csv",
    "day 1/ü & ö.csv",
    "x=1/b+c%20d.tar.gz",
    ".hidden",
    "-a/_b/.c",
    "a?b#c",
    "日本/語",
]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with s3_server() as running:
        yield running


@pytest.fixture
def bucket(server: S3Server) -> str:
    return server.create_bucket(f"theirs-{uuid.uuid4().hex[:12]}").removeprefix("s3://")


@pytest.fixture
def client(server: S3Server) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
    )


# -- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
def test_a_url_is_told_by_its_name(key: str) -> None:
    name = outside_key(f"s3://bucket-1.x/{key}")
    assert check_key(name) == name
    assert outside_url(name) == f"s3://bucket-1.x/{key}"
    assert extensions(name) == extensions(key)


def test_names_are_readable_where_they_can_be() -> None:
    assert outside_key("s3://lake/2026/day=1/a.parquet") == "outside/s3/lake/2026/day=1/a.parquet"
    assert outside_key("file:///in/day%201/a_b.csv") == "outside/file/_/in/day_201/a_5Fb.csv"


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40))
def test_every_name_goes_there_and_back(key: str) -> None:
    name = outside_key(f"gs://bucket/{key}")
    assert check_key(name) == name
    assert outside_url(name) == f"gs://bucket/{key}"


@given(st.binary(min_size=1, max_size=30).map(lambda raw: raw.replace(b"\0", b"x")))
def test_so_does_every_path_of_this_computer(raw: bytes) -> None:
    path = "/x/" + os.fsdecode(raw)
    url = Place("file", "", path[1:]).url
    assert set(url) <= set(string.printable)
    assert split_url(url) == split_url(outside_url(outside_key(url)))
    assert "/" + split_url(url).key == path


def test_engines_are_told_quoted_addresses() -> None:
    assert outside_uri(outside_key("s3://b/day 1/%41.csv")) == "s3://b/day%201/%2541.csv"
    assert outside_uri(outside_key("file:///day%201/a.csv")) == "file:///day%201/a.csv"


def test_a_name_that_is_too_long_is_to_be_copied() -> None:
    with pytest.raises(Usage, match="too long") as caught:
        outside_key("s3://bucket/" + "a" * 600)
    assert "by copy" in caught.value.hint


@pytest.mark.parametrize("url", ["http://x/y", "s3://", "s3:///key", "file://host/x", "a/b"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(Usage):
        outside_key(url)


def test_credentials_are_in_no_address() -> None:
    with pytest.raises(Usage) as caught:
        outside_key("s3://me:hunter2@bucket/x")
    assert "hunter2" not in str(caught.value)


def test_a_damaged_name_says_so() -> None:
    with pytest.raises(CorruptObject):
        outside_url("outside/s3")


# -- reading ----------------------------------------------------------------------------------


def entry_for(url: str, found: Found) -> Entry:
    place = split_url(url)
    return Entry.decode(Outside({}).line("/f", place, found))


def entry_now(store: ObjectStore, bucket: str, key: str) -> Entry:
    found = outside_of(store).bucket("s3", bucket).head(key)
    return entry_for(f"s3://{bucket}/{key}", found)


def test_a_file_is_read_through_the_store_of_a_lake(tmp_path: Path) -> None:
    source = tmp_path / "a ü.csv"
    source.write_bytes(b"0123456789")
    store = open_store(str(tmp_path / "store"))
    url = source.as_uri()
    entry = entry_for(url, open_bucket("file", "", {}).head(str(source)[1:]))
    assert entry.size == 10
    assert store.get(entry.key) == b"0123456789"
    assert store.get_range(entry.key, 3, 4) == b"3456"
    assert b"".join(store.stream(entry.key, 8)) == b"89"
    assert store.head(entry.key).size == 10
    assert store.uri(entry.key) == url
    assert b"".join(read_entry(store, entry)) == b"0123456789"
    assert b"".join(read_range(store, entry, 8, 100)) == b"89"


def test_an_object_is_read_through_any_lake(
    server: S3Server, bucket: str, client: Any, tmp_path: Path
) -> None:
    data = os.urandom(9 << 20)
    client.put_object(Bucket=bucket, Key="day 1/ü", Body=data)
    other = server.create_bucket(f"ours-{uuid.uuid4().hex[:12]}")
    options = {f"outside.{name}": value for name, value in server.options.items()}
    stores = [
        open_store(str(tmp_path / "store"), options),
        open_store(f"{other}/lake", server.options),
    ]
    for store in stores:
        entry = entry_now(store, bucket, "day 1/ü")
        assert b"".join(read_entry(store, entry)) == data
        assert b"".join(read_range(store, entry, 4 << 20, 9)) == data[4 << 20 : (4 << 20) + 9]
        assert store.get(entry.key) == data
        assert store.address is not None
        again = open_store(*store.address)
        assert again.get_range(entry.key, 5, 5) == data[5:10]


@pytest.mark.parametrize("change", ["other bytes", "other size"])
def test_a_changed_object_is_never_taken_for_what_it_was(
    server: S3Server, bucket: str, client: Any, tmp_path: Path, change: str
) -> None:
    client.put_object(Bucket=bucket, Key="a", Body=b"before")
    options = {f"outside.{name}": value for name, value in server.options.items()}
    store = open_store(str(tmp_path), options)
    entry = entry_now(store, bucket, "a")
    assert b"".join(read_entry(store, entry)) == b"before"
    client.put_object(
        Bucket=bucket, Key="a", Body=b"behind" if "bytes" in change else b"longer now"
    )
    # One that has read it before knows the version, one that has not asks for it.
    for reader in (store, open_store(str(tmp_path), options)):
        for read in (read_entry(reader, entry), read_range(reader, entry, 2, 2)):
            with pytest.raises(CorruptObject, match="changed although it was declared immutable"):
                list(read)
    client.delete_object(Bucket=bucket, Key="a")
    with pytest.raises(CorruptObject, match=f"is gone: s3://{bucket}/a"):
        list(read_entry(store, entry))


def test_a_file_that_changes_while_it_is_read_is_not_read_to_its_end(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(bytes(9 << 20))
    store = open_store(str(tmp_path / "store"))
    entry = entry_for(source.as_uri(), open_bucket("file", "", {}).head(str(source)[1:]))
    pieces = read_entry(store, entry)
    next(pieces)
    with source.open("r+b") as file:
        file.seek(8 << 20)
        file.write(b"x")
    os.utime(source, ns=(0, 0))
    with pytest.raises(CorruptObject, match="declared immutable"):
        list(pieces)


def test_nothing_is_written_or_deleted_outside(tmp_path: Path) -> None:
    source = tmp_path / "a"
    source.write_bytes(b"x")
    store = open_store(str(tmp_path / "store"))
    key = outside_key(source.as_uri())
    for forbidden in (
        lambda: store.put(key, b"y"),
        lambda: store.edit(key, bytes),
        lambda: store.writer(key),
        lambda: store.delete([key]),
    ):
        with pytest.raises(NotAllowed, match="not the lake's"):
            forbidden()
    assert source.read_bytes() == b"x"
    assert list(store.list()) == []


# -- listing ----------------------------------------------------------------------------------


def test_both_kinds_list_alike_and_go_on_anywhere(
    server: S3Server, bucket: str, client: Any, tmp_path: Path
) -> None:
    names = ["a/b.csv", "a.csv", "a/c/d", "a0", "ü/x y", "a b", "z"]
    for name in names:
        client.put_object(Bucket=bucket, Key=f"in/{name}", Body=name.encode())
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(name)
    client.put_object(Bucket=bucket, Key="in/a/", Body=b"")
    client.put_object(Bucket=bucket, Key="in/empty/", Body=b"")
    ordered = sorted(names, key=str.encode)
    for found, base in (
        (open_bucket("s3", bucket, server.options), "in/"),
        (open_bucket("file", "", {}), f"{tmp_path}/in/"[1:]),
    ):
        listed = [one.key.removeprefix(base) for one in found.list(base)]
        assert listed == ordered
        for number, name in enumerate(ordered):
            rest = [one.key.removeprefix(base) for one in found.list(base, base + name)]
            assert rest == ordered[number + 1 :]


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        list(open_bucket("file", "", {}).list(f"{tmp_path}/none/"[1:]))


def test_an_object_whose_name_is_no_path_is_named(server: S3Server, bucket: str) -> None:
    server._request("PUT", f"/{bucket}/e/../f.txt")
    with pytest.raises(Precondition, match=r"e/\.\./f\.txt"):
        list(open_bucket("s3", bucket, server.options).list(""))
