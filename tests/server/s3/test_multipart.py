"""Uploads in parts, through boto3; they outlive the server."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from boto3.s3.transfer import TransferConfig

from tests.server.s3.answers import refused
from tests.server.s3.doors import OpenDoor, open_door
from trunkline.sdk.lake import init

FIVE = 5 << 20
DATA = os.urandom(2 * FIVE + 12345)
WHERE = {"Bucket": "orders", "Key": "main/big.bin"}


def begun(s3: Any) -> dict[str, str]:
    return {**WHERE, "UploadId": s3.create_multipart_upload(**WHERE)["UploadId"]}


def sent(s3: Any, upload: dict[str, str], number: int, data: bytes) -> dict[str, Any]:
    tag = s3.upload_part(**upload, PartNumber=number, Body=data)["ETag"]
    return {"PartNumber": number, "ETag": tag}


def completed(s3: Any, upload: dict[str, str], *parts: dict[str, Any], **more: Any) -> Any:
    return s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": list(parts)}, **more)


def read(s3: Any) -> bytes:
    found: bytes = s3.get_object(**WHERE)["Body"].read()
    return found


def test_a_large_file_is_one_commit(door: OpenDoor, s3: Any):
    config = TransferConfig(multipart_threshold=FIVE, multipart_chunksize=FIVE, max_concurrency=4)
    s3.upload_fileobj(io.BytesIO(DATA), "orders", "main/big.bin", Config=config)
    back = io.BytesIO()
    s3.download_fileobj("orders", "main/big.bin", back, Config=config)
    assert back.getvalue() == DATA
    assert len(list(door.lake.log("orders"))) == 1
    assert s3.list_multipart_uploads(Bucket="orders").get("Uploads", []) == []


def test_parts_in_any_order_and_sent_again(s3: Any):
    upload = begun(s3)
    last = sent(s3, upload, 9, DATA[2 * FIVE :])
    sent(s3, upload, 1, b"wrong" * (1 << 20))
    first = sent(s3, upload, 1, DATA[:FIVE])
    second = sent(s3, upload, 4, DATA[FIVE : 2 * FIVE])
    listed = s3.list_parts(**upload, MaxParts=2)
    assert [one["PartNumber"] for one in listed["Parts"]] == [1, 4]
    assert listed["IsTruncated"]
    rest = s3.list_parts(**upload, PartNumberMarker=listed["NextPartNumberMarker"])
    assert [one["PartNumber"] for one in rest["Parts"]] == [9]
    tag = completed(s3, upload, first, second, last)["ETag"]
    assert read(s3) == DATA
    assert s3.head_object(**WHERE)["ETag"] == tag
    with refused("NoSuchUpload", 404):
        completed(s3, upload, first)


def test_what_is_wrong_with_a_list_of_parts(s3: Any):
    upload = begun(s3)
    small, other = sent(s3, upload, 1, b"small"), sent(s3, upload, 2, b"other")
    for code, parts in (
        ("EntityTooSmall", [small, other]),
        ("InvalidPartOrder", [other, small]),
        ("InvalidPartOrder", [small, small]),
        ("InvalidPart", [{"PartNumber": 3, "ETag": small["ETag"]}]),
        ("InvalidPart", [{"PartNumber": 1, "ETag": other["ETag"]}]),
        ("MalformedXML", []),
    ):
        with refused(code, 400):
            completed(s3, upload, *parts)
    with refused("404", 404):
        s3.head_object(**WHERE)
    completed(s3, upload, other)
    assert read(s3) == b"other"


def test_numbers_of_parts(s3: Any):
    upload = begun(s3)
    for number in (0, 10_001):
        with refused("InvalidArgument", 400):
            sent(s3, upload, number, b"x")
    sent(s3, upload, 10_000, b"x")


def test_a_part_that_is_not_as_promised_is_not_kept(s3: Any):
    upload = begun(s3)
    with refused("BadDigest", 400):
        s3.upload_part(**upload, PartNumber=1, Body=b"x", ContentMD5="A" * 22 + "==")
    assert "Parts" not in s3.list_parts(**upload)


def test_an_upload_is_aborted(s3: Any):
    upload = begun(s3)
    sent(s3, upload, 1, b"x")
    assert len(s3.list_multipart_uploads(Bucket="orders")["Uploads"]) == 1
    s3.abort_multipart_upload(**upload)
    assert "Uploads" not in s3.list_multipart_uploads(Bucket="orders")
    for _ in range(2):
        with refused("NoSuchUpload", 404):
            s3.abort_multipart_upload(**upload)
    with refused("NoSuchUpload", 404):
        sent(s3, upload, 1, b"x")


@pytest.mark.parametrize("upload_id", ["", "0" * 32, "../../catalog", "..", "%2e%2e", "a" * 9999])
def test_uploads_that_are_none(s3: Any, upload_id: str):
    with refused("NoSuchUpload", 404):
        sent(s3, {**WHERE, "UploadId": upload_id or "x"}, 1, b"x")


def test_an_upload_is_for_its_key_alone(door: OpenDoor, s3: Any):
    door.lake.create_repo("other")
    upload = begun(s3)
    for place in ({"Bucket": "other"}, {"Key": "main/other"}):
        with refused("NoSuchUpload", 404):
            sent(s3, {**upload, **place}, 1, b"x")


def test_a_new_repo_of_the_same_name_has_none_of_the_uploads(door: OpenDoor, s3: Any):
    upload = begun(s3)
    door.lake.delete_repo("orders")
    door.lake.create_repo("orders")
    with refused("NoSuchUpload", 404):
        sent(s3, upload, 1, b"x")


def test_uploads_are_listed_in_pages(s3: Any):
    ids = [s3.create_multipart_upload(Bucket="orders", Key=f"main/{k}")["UploadId"] for k in "bab"]
    found: list[tuple[str, str]] = []
    more: dict[str, str] = {}
    while True:
        page = s3.list_multipart_uploads(Bucket="orders", MaxUploads=1, **more)
        found += [(one["Key"], one["UploadId"]) for one in page["Uploads"]]
        if not page["IsTruncated"]:
            break
        more = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}
    assert found == sorted(found)
    assert {one for _, one in found} == set(ids)


def test_parts_are_copied_of_other_objects(s3: Any):
    s3.put_object(Bucket="orders", Key="main/source", Body=DATA)
    upload = begun(s3)
    source = {"CopySource": "orders/main/source"}
    first = s3.upload_part_copy(
        **upload, **source, PartNumber=1, CopySourceRange=f"bytes=0-{FIVE - 1}"
    )["CopyPartResult"]["ETag"]
    second = s3.upload_part_copy(**upload, **source, PartNumber=2)["CopyPartResult"]["ETag"]
    with refused("InvalidArgument", 400):
        s3.upload_part_copy(**upload, **source, PartNumber=3, CopySourceRange="lines=1-2")
    parts = [{"PartNumber": 1, "ETag": first}, {"PartNumber": 2, "ETag": second}]
    completed(s3, upload, *parts)
    assert read(s3) == DATA[:FIVE] + DATA


def test_conditions_hold_at_the_end(s3: Any):
    upload = begun(s3)
    part = sent(s3, upload, 1, b"new")
    s3.put_object(**WHERE, Body=b"old")
    with refused("PreconditionFailed", 412):
        completed(s3, upload, part, IfNoneMatch="*")
    assert read(s3) == b"old"
    completed(s3, upload, part)
    assert read(s3) == b"new"


def test_who_waits_long_is_told_that_it_goes_on(s3: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trunkline.server.s3.patience.SECONDS", 0.0)
    upload = begun(s3)
    part = sent(s3, upload, 1, DATA)
    with refused("InvalidPart"):
        completed(s3, upload, {**part, "PartNumber": 2})
    assert completed(s3, upload, part)["ETag"] == s3.head_object(**WHERE)["ETag"]
    assert read(s3) == DATA


def test_uploads_outlive_the_server(tmp_path: Path):
    with init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        with open_door(lake) as door:
            upload = begun(door.client())
            first = sent(door.client(), upload, 1, DATA[:FIVE])
        with open_door(lake) as door:
            s3 = door.client()
            assert len(s3.list_parts(**upload)["Parts"]) == 1
            completed(s3, upload, first, sent(s3, upload, 2, DATA[FIVE:]))
            assert read(s3) == DATA
        assert lake.fsck().problems == []


def test_a_damaged_part_is_no_part(door: OpenDoor, s3: Any):
    upload = begun(s3)
    part = sent(s3, upload, 1, b"0123456789")
    (place,) = (door.lake._folder / "s3uploads" / upload["UploadId"]).glob("00001.*")
    place.write_bytes(b"012345678x")
    with refused("InvalidPart", 400):
        completed(s3, upload, part)
