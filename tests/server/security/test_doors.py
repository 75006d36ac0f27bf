"""The other doors: S3's operations one by one, and the socket between a server and its worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from botocore import UNSIGNED
from botocore.exceptions import ClientError

from tests.server.s3.doors import Keys, OpenDoor, open_door
from tests.server.security.world import World
from trunkline.lake.keys import s3_access_key, s3_secret
from trunkline.model.access import LAKE, Grant, Principal, Role
from trunkline.sdk.wire.values import adapter
from trunkline.server.app import create_app
from trunkline.server.queries.forwarding import PRINCIPAL
from trunkline.server.s3.operations import OPERATIONS
from trunkline.server.service import Service

B = {"Bucket": "shop--orders"}
O = {**B, "Key": "main/a.txt"}  # noqa: E741
U = {**O, "UploadId": "0" * 32}
CALLS: dict[str, Callable[[Any], Any]] = {
    "ListBuckets": lambda s3: s3.list_buckets(),
    "CreateBucket": lambda s3: s3.create_bucket(Bucket="shop--made"),
    "HeadBucket": lambda s3: s3.head_bucket(**B),
    "DeleteBucket": lambda s3: s3.delete_bucket(**B),
    "GetBucketLocation": lambda s3: s3.get_bucket_location(**B),
    "GetBucketVersioning": lambda s3: s3.get_bucket_versioning(**B),
    "ListMultipartUploads": lambda s3: s3.list_multipart_uploads(**B),
    "ListObjectsV2": lambda s3: s3.list_objects_v2(**B),
    "ListObjects": lambda s3: s3.list_objects(**B),
    "DeleteObjects": lambda s3: s3.delete_objects(**B, Delete={"Objects": [{"Key": "main/a.txt"}]}),
    "HeadObject": lambda s3: s3.head_object(**O),
    "ListParts": lambda s3: s3.list_parts(**U),
    "GetObjectAttributes": lambda s3: s3.get_object_attributes(**O, ObjectAttributes=["ETag"]),
    "GetObjectTagging": lambda s3: s3.get_object_tagging(**O),
    "GetObject": lambda s3: s3.get_object(**O),
    "UploadPartCopy": lambda s3: s3.upload_part_copy(
        **U, PartNumber=1, CopySource="shop--orders/main/a.txt"
    ),
    "UploadPart": lambda s3: s3.upload_part(**U, PartNumber=1, Body=b"x"),
    "CopyObject": lambda s3: s3.copy_object(**O, CopySource="shop--orders/main/a.txt"),
    "PutObject": lambda s3: s3.put_object(**O, Body=b"x"),
    "CreateMultipartUpload": lambda s3: s3.create_multipart_upload(**O),
    "CompleteMultipartUpload": lambda s3: s3.complete_multipart_upload(
        **U, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": "x"}]}
    ),
    "AbortMultipartUpload": lambda s3: s3.abort_multipart_upload(**U),
    "DeleteObject": lambda s3: s3.delete_object(**O),
}


@pytest.fixture(scope="module")
def door(world: World) -> Iterator[OpenDoor]:
    with open_door(world.lake, authenticated=True) as opened:
        yield opened


def client(door: OpenDoor, world: World, who: str) -> Any:
    token = world.tokens[who].split("_")[1]
    return door.client(Keys(s3_access_key(token), s3_secret(door.service.key, token)))


def status(call: Callable[[Any], Any], s3: Any) -> int:
    try:
        return int(call(s3)["ResponseMetadata"]["HTTPStatusCode"])
    except ClientError as error:
        return int(error.response["ResponseMetadata"]["HTTPStatusCode"])


def test_every_operation_is_called_here():
    assert {one.name for one in OPERATIONS} == CALLS.keys()


def test_who_may_not_does_not(world: World, door: OpenDoor):
    before = world.state()
    changing = {one.name for one in OPERATIONS if one.method in ("PUT", "POST", "DELETE")}
    nobody = door.client(signature_version=UNSIGNED)
    stranger, elsewhere, reader = (
        client(door, world, who) for who in ("stranger", "elsewhere", "reader")
    )
    for name, call in CALLS.items():
        assert status(call, nobody) == 403, name
        if name == "ListBuckets":
            assert stranger.list_buckets()["Buckets"] == []
            continue
        for s3 in (stranger, elsewhere):
            assert status(call, s3) == (403 if name == "CreateBucket" else 404), name
        if name in changing | {"ListMultipartUploads", "ListParts"}:
            assert status(call, reader) == 403, name
        else:
            assert status(call, reader) == 200, name
    assert world.state() == before


def test_who_asks_is_believed_on_the_workers_socket_alone(world: World, tmp_path: Path):
    root = Principal("root", "user", (Grant("root", LAKE, Role.ADMIN),))
    told = {PRINCIPAL: json.dumps(adapter(Principal).dump_python(root, mode="json"))}
    with world.client() as outside:
        assert outside.get("/api/v1/whoami", headers=told).status_code == 401
        host = {**told, "Host": "worker", "X-Forwarded-For": "unix:"}
        assert outside.get("/api/v1/whoami", headers=host).status_code == 401
    with world.client("reader") as reader:
        assert reader.get("/api/v1/whoami", headers=told).json()["name"] == "reader"
        assert reader.get("/api/v1/audit", headers=told).status_code == 403
    service = Service(world.lake, world.lake._settings, authenticated=True)
    service.engine = "here"
    app = create_app(service)
    transport = httpx2.ASGITransport(app)

    async def ask(headers: dict[str, str]) -> int:
        async with httpx2.AsyncClient(transport=transport, base_url="http://worker:8080") as inside:
            return (await inside.get("/api/v1/whoami", headers=headers)).status_code

    assert anyio.run(ask, told) == 401, "a port is no unix socket"
    service.journal.close()


def test_an_author_is_believed_of_the_owner_alone(world: World):
    with world.client("keeper") as keeper:
        put = keeper.put(
            "/api/v1/repos/shop/orders/content",
            params={"path": "/by.txt", "branch": "work"},
            content=b"x",
            headers={"X-Trunkline-Author": "root"},
        )
        assert put.json()["author"] == "keeper", put.text
