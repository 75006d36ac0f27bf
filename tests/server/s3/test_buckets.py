"""Buckets through boto3: repos by their names, and lists of what is in them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.s3.answers import refused
from tests.server.s3.doors import OpenDoor
from trunkline.model.commits import RepoName
from trunkline.server.s3.names import bucket_of, readings
from trunkline.storage.catalog import repos


def names(s3: Any) -> list[str]:
    return [one["Name"] for one in s3.list_buckets()["Buckets"]]


def filled(door: OpenDoor, *paths: str, ref: str = "orders@main") -> None:
    with door.lake.commit(ref) as commit:
        for path in paths:
            commit.put(path, path.encode())


def keys(answer: dict[str, Any]) -> list[str]:
    return [one["Key"] for one in answer.get("Contents", [])]


def folders(answer: dict[str, Any]) -> list[str]:
    return [one["Prefix"] for one in answer.get("CommonPrefixes", [])]


def project(door: OpenDoor, name: str) -> None:
    with door.lake._core.database.read() as session:
        there = repos.has_project(session, name)
    if not there:
        door.lake.create_project(name)


def test_names_of_buckets():
    assert bucket_of(RepoName("default", "orders")) == "orders"
    assert bucket_of(RepoName("shop", "orders")) == "shop--orders"
    assert list(readings("orders")) == [RepoName("default", "orders")]
    assert list(readings("a--b--c")) == [
        RepoName("default", "a--b--c"),
        RepoName("a", "b--c"),
        RepoName("a--b", "c"),
    ]
    assert list(readings("..")) == []
    assert list(readings("a---b")) == [
        RepoName("default", "a---b"),
        RepoName("a-", "b"),
    ]


def test_a_bucket_is_a_repo(door: OpenDoor, s3: Any):
    project(door, "shop")
    door.lake.create_repo("shop/items")
    assert names(s3) == ["orders", "shop--items"]
    s3.put_object(Bucket="shop--items", Key="main/a", Body=b"of the shop")
    assert door.lake.read("shop/items@main:/a") == b"of the shop"
    # A repo of the default project that has this very name comes first.
    door.lake.create_repo("shop--items")
    with refused("NoSuchKey", 404):
        s3.get_object(Bucket="shop--items", Key="main/a")
    s3.head_bucket(Bucket="orders")
    with refused("404", 404):
        s3.head_bucket(Bucket="nothing")
    with refused("NoSuchBucket", 404):
        s3.list_objects_v2(Bucket="nothing")
    assert s3.get_bucket_location(Bucket="orders")["LocationConstraint"] is None
    assert "Status" not in s3.get_bucket_versioning(Bucket="orders")


def test_buckets_are_made_and_deleted(door: OpenDoor, s3: Any):
    project(door, "shop")
    s3.create_bucket(Bucket="new-one")
    s3.create_bucket(Bucket="shop--things")
    s3.create_bucket(Bucket="nowhere--things")
    made = {str(one.name) for one in door.lake.repos(all_projects=True)}
    assert made == {"orders", "new-one", "shop/things", "nowhere--things"}
    with refused("BucketAlreadyOwnedByYou", 409):
        s3.create_bucket(Bucket="shop--things")
    s3.delete_bucket(Bucket="shop--things")
    s3.put_object(Bucket="new-one", Key="main/a", Body=b"x")
    s3.delete_object(Bucket="new-one", Key="main/a")
    # What can be seen of it is gone, its history is not.
    with refused("BucketNotEmpty", 409):
        s3.delete_bucket(Bucket="new-one")
    assert names(s3) == ["new-one", "nowhere--things", "orders"]


def test_the_root_of_a_bucket_shows_its_refs(door: OpenDoor, s3: Any):
    filled(door, "/a", "/b/c")
    door.lake.create_branch("orders@dev.1")
    door.lake.create_branch("orders@dev")
    door.lake.create_tag("orders@v1", "main")
    filled(door, "/new")
    # In the order of their bytes, where "." comes before "/".
    shown = s3.list_objects_v2(Bucket="orders", Delimiter="/")
    assert folders(shown) == ["dev.1/", "dev/", "main/", "v1/"]
    assert keys(s3.list_objects_v2(Bucket="orders")) == [
        *("dev.1/a", "dev.1/b/c", "dev/a", "dev/b/c"),
        *("main/a", "main/b/c", "main/new", "v1/a", "v1/b/c"),
    ]
    assert keys(s3.list_objects_v2(Bucket="orders", Prefix="main~1/")) == ["main~1/a", "main~1/b/c"]
    commit = door.lake.commit_info("orders@main").id
    answer = s3.list_objects_v2(Bucket="orders", Prefix=f"{commit}/b", Delimiter="/")
    assert folders(answer) == [f"{commit}/b/"]
    for prefix in ("nothing/", "main/zzz", "@@/", "main~99/", "../"):
        assert s3.list_objects_v2(Bucket="orders", Prefix=prefix)["KeyCount"] == 0


@pytest.mark.parametrize("version", [1, 2])
def test_pages(door: OpenDoor, s3: Any, version: int):
    paths = [f"/{folder}/{n:02}" for folder in "abc" for n in range(7)] + ["/top", "/ü +%"]
    filled(door, *paths)
    expected = sorted((f"main{path}" for path in paths), key=str.encode)
    found: list[str] = []
    shown: list[str] = []
    call = s3.list_objects_v2 if version == 2 else s3.list_objects
    for delimiter, into in (("", found), ("/", shown)):
        more: dict[str, str] = {}
        while True:
            answer = call(Bucket="orders", Prefix="main/", Delimiter=delimiter, MaxKeys=2, **more)
            page = sorted(keys(answer) + folders(answer), key=str.encode)
            assert len(page) <= 2
            into += page
            if not answer["IsTruncated"]:
                break
            assert len(page) == 2
            if version == 2:
                assert answer["KeyCount"] == 2
                more = {"ContinuationToken": answer["NextContinuationToken"]}
            else:
                more = {"Marker": answer.get("NextMarker", page[-1])}
    assert found == expected
    assert shown == ["main/a/", "main/b/", "main/c/", "main/top", "main/ü +%"]


def test_where_a_list_begins(door: OpenDoor, s3: Any):
    filled(door, "/a", "/b", "/c")
    assert keys(s3.list_objects_v2(Bucket="orders", StartAfter="main/a")) == ["main/b", "main/c"]
    assert keys(s3.list_objects_v2(Bucket="orders", StartAfter="main/ab")) == ["main/b", "main/c"]
    assert keys(s3.list_objects_v2(Bucket="orders", StartAfter="zzz")) == []
    none = s3.list_objects_v2(Bucket="orders", MaxKeys=0)
    assert (none["KeyCount"], none["IsTruncated"]) == (0, False)
    with refused("InvalidArgument", 400):
        s3.list_objects_v2(Bucket="orders", ContinuationToken="none of ours")
    owners = s3.list_objects_v2(Bucket="orders", FetchOwner=True)["Contents"]
    assert owners[0]["Owner"]["ID"] == door.lake.author


def test_a_bucket_in_the_name_of_the_host(door: OpenDoor):
    import httpx2

    filled(door, "/a")
    port = door.url.rpartition(":")[2]
    answer = httpx2.get(f"{door.url}/main/a", headers={"Host": f"orders.localhost:{port}"})
    assert (answer.status_code, answer.content) == (200, b"/a")
