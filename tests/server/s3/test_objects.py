"""Objects through boto3: written, read, copied, deleted."""

from __future__ import annotations

import hashlib
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.server.s3.answers import refused
from tests.server.s3.doors import OpenDoor
from trunkline.errors import NotFound

BIG = random.Random(7).randbytes(3 << 20)


def put(s3: Any, key: str, data: bytes = b"data", **more: Any) -> Any:
    return s3.put_object(Bucket="orders", Key=key, Body=data, **more)


def read(s3: Any, key: str, **more: Any) -> bytes:
    found: bytes = s3.get_object(Bucket="orders", Key=key, **more)["Body"].read()
    return found


@pytest.mark.parametrize("data", [b"", b"data", BIG])
def test_what_is_put_is_read(door: OpenDoor, s3: Any, data: bytes):
    made = put(s3, "main/a/b.csv", data)
    assert read(s3, "main/a/b.csv") == data
    assert door.lake.read("orders@main:/a/b.csv") == data
    head = s3.head_object(Bucket="orders", Key="main/a/b.csv")
    assert head["ContentLength"] == len(data)
    assert head["ETag"] == made["ETag"]
    assert head["ContentType"] == "text/csv"
    commit = door.lake.commit_info("orders@main")
    assert head["LastModified"].timestamp() == (commit.finished or 0) // 1_000_000
    assert commit.message == "s3: PUT /a/b.csv"
    assert head["Metadata"] == {"trunkline-commit": commit.id}


def test_every_kind_of_ref_is_read(door: OpenDoor, s3: Any):
    put(s3, "main/a", b"one")
    first = door.lake.commit_info("orders@main").id
    door.lake.create_tag("orders@v1", "main")
    put(s3, "main/a", b"two")
    assert read(s3, "main/a") == b"two"
    for ref in ("v1", "main~1", "main^", first, first[:12], "main.1"):
        assert read(s3, f"{ref}/a") == b"one"


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a+b",
        "a%20b",
        "ü/ß/日本",
        "a=1&b=2",
        "~x",
        "a;b,c",
        "(x)!*'",
        "a?b#c",
        "day=1/p.parquet",
    ],
)
def test_odd_names(s3: Any, name: str):
    put(s3, f"main/{name}", name.encode())
    assert read(s3, f"main/{name}") == name.encode()
    listed = s3.list_objects_v2(Bucket="orders", Prefix="main/")
    assert [one["Key"] for one in listed["Contents"]] == [f"main/{name}"]
    s3.delete_object(Bucket="orders", Key=f"main/{name}")
    with refused("NoSuchKey", 404):
        read(s3, f"main/{name}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-3", BIG[:4]),
        ("bytes=5-", BIG[5:]),
        ("bytes=-7", BIG[-7:]),
        ("bytes=10-999999999", BIG[10:]),
        ("bytes=-999999999", BIG),
        ("bytes=2097150-2097160", BIG[2097150:2097161]),
        ("bytes=3-1", BIG),
        ("lines=1-2", BIG),
        ("bytes=0-1,4-5", BIG),
    ],
)
def test_ranges(s3: Any, text: str, expected: bytes):
    put(s3, "main/a", BIG)
    answer = s3.get_object(Bucket="orders", Key="main/a", Range=text)
    assert answer["Body"].read() == expected
    part = len(expected) < len(BIG) or text == "bytes=-999999999"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == (206 if part else 200)
    assert ("ContentRange" in answer) == part


def test_ranges_outside_of_an_object(s3: Any):
    put(s3, "main/a", b"0123456789")
    put(s3, "main/empty", b"")
    for key, text in (("main/a", "bytes=10-"), ("main/a", "bytes=-0"), ("main/empty", "bytes=0-")):
        with refused("InvalidRange", 416):
            read(s3, key, Range=text)


def test_conditions_of_reads(s3: Any):
    tag = put(s3, "main/a")["ETag"]
    past, future = (datetime.now(UTC) + timedelta(hours=h) for h in (-1, 1))
    assert read(s3, "main/a", IfMatch=tag) == b"data"
    assert read(s3, "main/a", IfNoneMatch='"other"') == b"data"
    assert read(s3, "main/a", IfModifiedSince=past) == b"data"
    assert read(s3, "main/a", IfUnmodifiedSince=future) == b"data"
    # A tag that matches counts for more than a time that does not.
    assert read(s3, "main/a", IfMatch=tag, IfUnmodifiedSince=past) == b"data"
    for given in ({"IfMatch": '"other"'}, {"IfUnmodifiedSince": past}):
        with refused("PreconditionFailed", 412):
            read(s3, "main/a", **given)
    for given in ({"IfNoneMatch": tag}, {"IfNoneMatch": "*"}, {"IfModifiedSince": future}):
        with refused("304", 304):
            read(s3, "main/a", **given)


def test_conditions_of_writes(s3: Any):
    tag = put(s3, "main/a", b"one", IfNoneMatch="*")["ETag"]
    with refused("PreconditionFailed", 412):
        put(s3, "main/a", b"one", IfNoneMatch="*")
    with refused("PreconditionFailed", 412):
        put(s3, "main/a", b"two", IfMatch='"other"')
    with refused("NoSuchKey", 404):
        put(s3, "main/new", b"two", IfMatch=tag)
    put(s3, "main/a", b"two", IfMatch=tag)
    assert read(s3, "main/a") == b"two"


def test_headers_that_an_address_asks_for(s3: Any):
    put(s3, "main/a.html")
    answer = s3.get_object(
        Bucket="orders",
        Key="main/a.html",
        ResponseContentType="text/x-other",
        ResponseContentDisposition='attachment; filename="ü\r\nX-Evil: 1"',
    )
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    assert headers["content-type"] == "text/x-other"
    assert headers["content-disposition"].startswith("attachment")
    assert "x-evil" not in headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]


def test_a_body_that_is_not_as_promised_leaves_nothing(door: OpenDoor, s3: Any):
    before = set(door.lake._core.objects.list())
    for data in (b"data", BIG):
        with refused("BadDigest", 400):
            put(s3, "main/a", data, ChecksumSHA256="A" * 43 + "=")
        with refused("BadDigest", 400):
            put(s3, "main/a", data, ContentMD5="A" * 22 + "==")
    assert not list(door.lake.log("orders"))
    assert set(door.lake._core.objects.list()) == before


@pytest.mark.parametrize("algorithm", ["CRC32", "SHA1", "SHA256"])
def test_checksums_that_boto3_sends(s3: Any, algorithm: str):
    for data in (b"data", BIG):
        put(s3, "main/a", data, ChecksumAlgorithm=algorithm)
        assert read(s3, "main/a") == data


def test_only_branches_are_written_to(door: OpenDoor, s3: Any):
    put(s3, "main/a")
    first = door.lake.commit_info("orders@main").id
    door.lake.create_tag("orders@v1", "main")
    for ref in ("v1", first, "main~0", "nowhere"):
        with refused("InvalidRequest", 400):
            put(s3, f"{ref}/b")
        with refused("InvalidRequest", 400):
            s3.delete_object(Bucket="orders", Key=f"{ref}/a")
        with refused("InvalidRequest", 400):
            s3.create_multipart_upload(Bucket="orders", Key=f"{ref}/b")


def test_a_file_is_no_folder(s3: Any):
    put(s3, "main/a")
    with refused("InvalidRequest", 400):
        put(s3, "main/a/b")


def test_folders_are_there_while_something_is_in_them(door: OpenDoor, s3: Any):
    put(s3, "main/dir/", b"")
    with refused("404", 404):
        s3.head_object(Bucket="orders", Key="main/dir/")
    put(s3, "main/dir/a")
    assert s3.head_object(Bucket="orders", Key="main/dir/")["ContentLength"] == 0
    assert read(s3, "main/dir/") == b""
    with refused("404", 404):
        s3.head_object(Bucket="orders", Key="main/dir")
    s3.delete_object(Bucket="orders", Key="main/dir/")
    assert read(s3, "main/dir/a") == b"data"
    with refused("InvalidArgument", 400):
        put(s3, "main/dir/", b"bytes")
    assert len(list(door.lake.log("orders"))) == 1


def test_copies_move_no_bytes(door: OpenDoor, s3: Any):
    door.lake.create_repo("other")
    put(s3, "main/a", BIG)
    before = door.lake.fsck().bytes
    tag = s3.copy_object(Bucket="orders", Key="main/b", CopySource="orders/main/a")
    s3.copy_object(
        Bucket="other", Key="main/x/a b", CopySource={"Bucket": "orders", "Key": "main~1/a"}
    )
    assert s3.get_object(Bucket="other", Key="main/x/a b")["Body"].read() == BIG
    assert tag["CopyObjectResult"]["ETag"] == s3.head_object(Bucket="orders", Key="main/b")["ETag"]
    assert door.lake.fsck().bytes - before < 10_000
    commits = len(list(door.lake.log("orders")))
    s3.copy_object(
        Bucket="orders", Key="main/b", CopySource="orders/main/b", MetadataDirective="REPLACE"
    )
    assert len(list(door.lake.log("orders"))) == commits
    with refused("NoSuchKey", 404):
        s3.copy_object(Bucket="orders", Key="main/c", CopySource="orders/main/nothing")
    with refused("NoSuchBucket", 404):
        s3.copy_object(Bucket="orders", Key="main/c", CopySource="nothing/main/a")
    with refused("PreconditionFailed", 412):
        s3.copy_object(
            Bucket="orders", Key="main/c", CopySource="orders/main/a", CopySourceIfMatch='"x"'
        )


def test_deletes(door: OpenDoor, s3: Any):
    for name in "abc":
        put(s3, f"main/{name}")
    s3.delete_object(Bucket="orders", Key="main/a")
    s3.delete_object(Bucket="orders", Key="main/a")
    assert len(list(door.lake.log("orders"))) == 4
    door.lake.create_branch("orders@dev")
    keys = ["main/b", "main/c", "main/none", "dev/b", "main/../x", "v9/b"]
    answer = s3.delete_objects(Bucket="orders", Delete={"Objects": [{"Key": key} for key in keys]})
    assert [one["Key"] for one in answer["Deleted"]] == keys[:4]
    codes = {one["Key"]: one["Code"] for one in answer["Errors"]}
    assert codes == {"main/../x": "InvalidArgument", "v9/b": "InvalidRequest"}
    assert [one.path for one in door.lake.ls("orders@dev")] == ["/c"]
    assert door.lake.commit_info("orders@main").message == "s3: DELETE /b and 2 more"
    quiet = s3.delete_objects(
        Bucket="orders", Delete={"Objects": [{"Key": "dev/c"}], "Quiet": True}
    )
    assert "Deleted" not in quiet
    assert not list(door.lake.ls("orders@dev"))


def test_what_can_be_asked_of_an_object(s3: Any):
    tag = put(s3, "main/a", b"12345")["ETag"]
    assert s3.get_object_tagging(Bucket="orders", Key="main/a")["TagSet"] == []
    asked = s3.get_object_attributes(
        Bucket="orders", Key="main/a", ObjectAttributes=["ETag", "ObjectSize"]
    )
    assert (asked["ETag"], asked["ObjectSize"]) == (tag.strip('"'), 5)
    assert read(s3, "main/a", PartNumber=1) == b"12345"


def test_what_is_not_done_is_said(s3: Any):
    put(s3, "main/a")
    with refused("NotImplemented", 501):
        s3.put_object_acl(Bucket="orders", Key="main/a", ACL="public-read")
    with refused("NotImplemented", 501):
        s3.get_bucket_policy(Bucket="orders")
    with refused("NotImplemented", 501):
        s3.get_object(Bucket="orders", Key="main/a", VersionId="1")
    with refused("NotImplemented", 501):
        put(s3, "main/a", b"x", ServerSideEncryption="AES256")
    with refused("NotImplemented", 501):
        put(s3, "main/a", b"x", ACL="public-read")
    assert read(s3, "main/a") == b"data"
    # What people say about their files is not kept, and no reason to refuse them.
    put(s3, "main/a", b"y", Metadata={"who": "me"}, StorageClass="STANDARD", ACL="private")


def test_an_open_commit_gathers_until_it_is_finished(door: OpenDoor, s3: Any):
    put(s3, "main/a", b"one")
    opened = door.lake.start_commit("orders@main", "a session")
    put(s3, "main/b", b"two")
    put(s3, f"{opened.id}/c", BIG)
    s3.delete_object(Bucket="orders", Key="main/a")
    assert read(s3, "main/a") == b"one"
    with refused("NoSuchKey", 404):
        read(s3, "main/b")
    with refused("InvalidRequest", 400):
        put(s3, "main/d", b"x", IfNoneMatch="*")
    done = door.lake.finish_commit("orders@main")
    assert [one.path for one in door.lake.ls("orders@main")] == ["/b", "/c"]
    assert read(s3, "main/c") == BIG
    assert len(list(door.lake.log("orders"))) == 2
    assert done.message == "a session"


def test_damaged_bytes_are_never_sent_whole(door: OpenDoor, s3: Any):
    """What was sent before the damage shows is cut off: a client sees that it is not all."""
    put(s3, "main/a", BIG)
    newest = max(one.key for one in door.lake._core.objects.list("data/"))
    door.lake._core.objects.put(newest, BIG[:-1] + bytes([BIG[-1] ^ 1]))
    with pytest.raises(Exception, match=r"(?i)incomplete|broken|closed"):
        read(s3, "main/a")


def test_md5_of_a_body_is_looked_at(s3: Any):
    import base64

    digest = base64.b64encode(hashlib.md5(b"data").digest()).decode()
    put(s3, "main/a", b"data", ContentMD5=digest)
    with refused("InvalidDigest", 400):
        put(s3, "main/a", b"data", ContentMD5="short")


def test_a_branch_that_is_not_there(door: OpenDoor, s3: Any):
    with refused("NoSuchKey", 404):
        read(s3, "dev/a")
    with refused("NoSuchKey", 404):
        read(s3, "main/a")
    with pytest.raises(NotFound):
        door.lake.commit_info("orders@dev")
