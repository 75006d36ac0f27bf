"""Who may do what at a door that asks who comes; and what nobody may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from botocore import UNSIGNED
from botocore.exceptions import IncompleteReadError, ResponseStreamingError

from tests.server.s3.answers import refused
from tests.server.s3.doors import Keys, OpenDoor
from trunkline.lake.access import revoke_token
from trunkline.model.access import LAKE, Grant, Permission, Principal, Role
from trunkline.server.s3.operations import OPERATIONS

ROOT = Principal("root", "user", (Grant("root", LAKE, Role.ADMIN),))


@pytest.fixture(scope="module")
def people(locked: OpenDoor) -> dict[str, Keys]:
    return {
        "maintainer": locked.add_user("maintainer", {"default": Role.MAINTAINER}),
        "writer": locked.add_user("writer", {"default/orders": Role.WRITER}),
        "reader": locked.add_user("reader", {"default/orders": Role.READER}),
        "other": locked.add_user("other", {"shop": Role.WRITER}),
        "nobody": locked.add_user("nobody", {}),
    }


@pytest.fixture(scope="module")
def clients(locked: OpenDoor, people: dict[str, Keys]) -> dict[str, Any]:
    return {
        name: locked.client(keys, signature_version="s3v4", read_timeout=30)
        for name, keys in people.items()
    }


def test_every_operation_says_what_it_needs():
    """Two see to it themselves: one lists what may be seen, one needs a right on a project."""
    own = {one.name for one in OPERATIONS if one.needs is None}
    assert own == {"ListBuckets", "CreateBucket"}
    for one in OPERATIONS:
        changes = one.method in ("PUT", "POST", "DELETE")
        if one.needs is not None:
            assert (one.needs > Permission.READ) >= changes, one.name


def test_rights(locked: OpenDoor, clients: dict[str, Any]):
    writer, reader = clients["writer"], clients["reader"]
    writer.put_object(Bucket="orders", Key="main/a", Body=b"data")
    assert locked.lake.commit_info("orders@main").author == "writer"
    assert reader.get_object(Bucket="orders", Key="main/a")["Body"].read() == b"data"
    for call in (
        lambda: reader.put_object(Bucket="orders", Key="main/b", Body=b"x"),
        lambda: reader.delete_object(Bucket="orders", Key="main/a"),
        lambda: reader.delete_objects(Bucket="orders", Delete={"Objects": [{"Key": "main/a"}]}),
        lambda: reader.copy_object(Bucket="orders", Key="main/b", CopySource="orders/main/a"),
        lambda: reader.create_multipart_upload(Bucket="orders", Key="main/b"),
        lambda: reader.list_multipart_uploads(Bucket="orders"),
        lambda: writer.delete_bucket(Bucket="orders"),
        lambda: writer.create_bucket(Bucket="mine"),
    ):
        with refused("AccessDenied", 403):
            call()
    clients["maintainer"].create_bucket(Bucket="mine")
    clients["maintainer"].delete_bucket(Bucket="mine")


def test_what_one_may_not_see_is_not_there(clients: dict[str, Any]):
    other = clients["other"]
    assert [one["Name"] for one in other.list_buckets()["Buckets"]] == ["shop--items"]
    assert clients["nobody"].list_buckets()["Buckets"] == []
    for bucket in ("orders", "no-such"):
        for call in (
            lambda bucket: other.list_objects_v2(Bucket=bucket),
            lambda bucket: other.get_object(Bucket=bucket, Key="main/a"),
            lambda bucket: other.put_object(Bucket=bucket, Key="main/a", Body=b"x"),
            lambda bucket: other.delete_bucket(Bucket=bucket),
            lambda bucket: other.copy_object(
                Bucket="shop--items", Key="main/a", CopySource=f"{bucket}/main/a"
            ),
        ):
            with refused("NoSuchBucket", 404):
                call(bucket)
        with refused("404", 404):
            other.head_bucket(Bucket=bucket)
    with refused("NoSuchBucket", 404):
        clients["writer"].list_objects_v2(Bucket="shop--items")


def test_who_may_not_make_a_bucket_does_not_learn_of_others(clients: dict[str, Any]):
    for bucket in ("orders", "no-such", "shop--items", "shop--none"):
        with refused("AccessDenied", 403):
            clients["nobody"].create_bucket(Bucket=bucket)


def test_keys_that_are_not_good(locked: OpenDoor, people: dict[str, Keys]):
    good = people["writer"]
    wrong = Keys(good.access, good.secret[:-1] + ("A" if good.secret[-1] != "A" else "B"))
    unknown = Keys("tl_" + "0" * 16, good.secret)
    others = Keys(people["reader"].access, good.secret)
    for keys in (wrong, unknown, others):
        with refused("SignatureDoesNotMatch", 403):
            locked.client(keys).list_buckets()
    for keys in (Keys("AKIDEXAMPLE", "x"), Keys(good.token, good.secret)):
        with refused("InvalidAccessKeyId", 403):
            locked.client(keys).list_buckets()
    with refused("AccessDenied", 403):
        locked.client(signature_version=UNSIGNED).list_buckets()


def test_tokens_that_have_ended(locked: OpenDoor):
    locked.add_user("leaver", {"default/orders": Role.READER})
    keys = locked.add_token("leaver")
    client = locked.client(keys)
    client.list_buckets()
    revoke_token(locked.lake._core, ROOT, keys.token)
    with refused("InvalidAccessKeyId", 403):
        client.list_buckets()


def test_a_token_may_be_narrower_than_its_owner(locked: OpenDoor):
    locked.add_user("wide", {"default": Role.MAINTAINER})
    narrow = locked.client(locked.add_token("wide", limits={"default/orders": "reader"}))
    narrow.list_objects_v2(Bucket="orders")
    with refused("AccessDenied", 403):
        narrow.put_object(Bucket="orders", Key="main/x", Body=b"x")


def test_presigned_addresses(locked: OpenDoor, clients: dict[str, Any]):
    writer = clients["writer"]
    where = {"Bucket": "orders", "Key": "main/by address +ü.txt"}
    up = writer.generate_presigned_url("put_object", where, ExpiresIn=60)
    assert httpx2.put(up, content=b"sent").status_code == 200
    down = writer.generate_presigned_url("get_object", where, ExpiresIn=60)
    assert httpx2.get(down).content == b"sent"
    assert httpx2.get(down, headers={"Range": "bytes=1-2"}).content == b"en"
    for url, method in ((down, "DELETE"), (down, "PUT"), (up, "GET")):
        assert httpx2.request(method, url).status_code == 403
    for changed in (
        down.replace("Expires=60", "Expires=61"),
        down.replace("/main/", "/main~1/"),
        down + "&response-content-type=text/html",
        down[:-1] + ("0" if down[-1] != "0" else "1"),
    ):
        answer = httpx2.get(changed)
        assert answer.status_code == 403, changed
        assert "<Code>SignatureDoesNotMatch</Code>" in answer.text
    half = down.partition("&X-Amz-Signature")[0]
    assert httpx2.get(half).status_code == 400
    with_copy = httpx2.put(up, headers={"x-amz-copy-source": "shop--items/main/a"})
    assert "<Code>AccessDenied</Code>" in with_copy.text


def test_requests_from_another_time(
    locked: OpenDoor, people: dict[str, Keys], monkeypatch: pytest.MonkeyPatch
):
    from botocore import auth

    real = auth.get_current_datetime

    def shifted(minutes: float) -> None:
        from datetime import timedelta

        monkeypatch.setattr(
            auth, "get_current_datetime", lambda *a, **k: real(*a, **k) + timedelta(minutes=minutes)
        )

    client = locked.client(people["reader"], signature_version="s3v4")
    for minutes in (-14, 14):
        shifted(minutes)
        client.list_buckets()
    for minutes in (-20, 20):
        shifted(minutes)
        with refused("RequestTimeTooSkewed", 403):
            client.list_buckets()
    where = {"Bucket": "orders", "Key": "main/a"}
    shifted(-10)
    old = client.generate_presigned_url("get_object", where, ExpiresIn=300)
    answer = httpx2.get(old)
    assert (answer.status_code, "expired" in answer.text) == (403, True)


def test_bodies_are_as_they_were_signed(locked: OpenDoor, clients: dict[str, Any]):
    writer = clients["writer"]

    def changed(request: Any, **_: Any) -> None:
        request.body = b"evil"

    writer.meta.events.register_last("before-send.s3.PutObject", changed)
    try:
        with refused("XAmzContentSHA256Mismatch", 400):
            writer.put_object(Bucket="orders", Key="main/signed", Body=b"good")
    finally:
        writer.meta.events.unregister("before-send.s3.PutObject", changed)
    with refused("404", 404):
        writer.head_object(Bucket="orders", Key="main/signed")


TRAVERSAL = [
    *("main/../x", "main/..", "main/./x", "main/a/../../x", "main//x", "main/a//b", "..", "."),
    *("main/..\\..\\x", "main/%2e%2e/x", "main/a\x00b", "main/a\nb", "../catalog.db", "main"),
    *("main/\u2028x", "ma in/x", "@/x", "main@{1}/x", "main:/x", "a" * 1200, "main/" + "b" * 1025),
]


@pytest.mark.parametrize("key", TRAVERSAL)
def test_keys_that_lead_nowhere(door: OpenDoor, s3: Any, key: str):
    with refused("NoSuchKey", 404):
        s3.get_object(Bucket="orders", Key=key)
    if key == "main/%2e%2e/x":
        return  # a name like another
    with refused("InvalidArgument", 400):
        s3.put_object(Bucket="orders", Key=key, Body=b"x")
    assert not list(door.lake.log("orders"))


@pytest.mark.parametrize("path", ["/orders/main/%2e%2e/x", "/orders/../x/y", "/%2e%2e/%2e%2e/etc"])
def test_addresses_that_lead_nowhere(door: OpenDoor, path: str):
    from http.client import HTTPConnection

    host = door.url.removeprefix("http://")
    for method in ("GET", "PUT", "DELETE"):
        connection = HTTPConnection(host)
        connection.putrequest(method, path, skip_host=False)
        connection.putheader("Content-Length", "0")
        connection.endheaders()
        assert connection.getresponse().status in (400, 404)
        connection.close()


def test_web_pages_are_not_answered_where_nobody_is_asked_who_they_are(door: OpenDoor):
    url = f"{door.url}/orders?delete"
    body = b"<Delete><Object><Key>main/a</Key></Object></Delete>"
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "evil.example"},
    ):
        answer = httpx2.post(url, content=body, headers=headers)
        assert "<Code>AccessDenied</Code>" in answer.text, headers
    assert httpx2.post(url, content=body).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<Delete>",
        b"<Other/>",
        b'<!DOCTYPE d [<!ENTITY x "y">]><Delete><Object><Key>&x;</Key></Object></Delete>',
        b'<!DOCTYPE d SYSTEM "file:///etc/passwd"><Delete/>',
        b"<Delete><Object><Key>&lol;</Key></Object></Delete>",
        b"<Delete></Delete>",
        b"<Delete>" + b"<Object><Key>main/a</Key></Object>" * 1001 + b"</Delete>",
        b"\xff\xfe<Delete/>",
        b'<?xml version="1.0" encoding="nonsense"?><Delete/>',
    ],
)
def test_documents_that_are_none(door: OpenDoor, body: bytes):
    answer = httpx2.post(f"{door.url}/orders?delete", content=body)
    assert (answer.status_code, "<Code>MalformedXML</Code>" in answer.text) == (400, True)
    assert "passwd" not in answer.text


def test_what_is_done_and_refused_is_in_the_audit_log(locked: OpenDoor, clients: dict[str, Any]):
    from trunkline.storage.catalog import access

    clients["writer"].put_object(Bucket="orders", Key="main/audited", Body=b"x")
    with refused("AccessDenied", 403):
        clients["reader"].put_object(Bucket="orders", Key="main/audited", Body=b"x")
    with refused("NoSuchBucket", 404):
        clients["other"].list_objects_v2(Bucket="orders")
    locked.service.journal.flush()
    with locked.lake._core.database.read() as session:
        rows = access.audit(session, limit=3)
    found = {(one.who, one.action, one.target, one.outcome) for one in rows}
    assert found == {
        ("writer", "s3 PutObject", "/orders/main/audited", "ok"),
        ("reader", "s3 PutObject", "/orders/main/audited", "refused"),
        ("other", "s3 ListObjectsV2", "/orders", "refused"),
    }


def test_requests_are_logged_without_their_signatures(
    locked: OpenDoor, clients: dict[str, Any], caplog: pytest.LogCaptureFixture
):
    where = {"Bucket": "orders", "Key": "main/logged"}
    url = clients["reader"].generate_presigned_url("get_object", where, ExpiresIn=60)
    with caplog.at_level("INFO"):
        answer = httpx2.get(url, headers={"X-Request-Id": "mine"})
    assert answer.headers["x-amz-request-id"] == "mine"
    (line,) = [one for one in caplog.records if one.name == "trunkline.access"]
    told = vars(line)
    assert (told["route"], told["who"], told["status"]) == ("s3:GetObject", "reader", 404)
    signature = url.rpartition("Signature=")[2]
    assert signature not in "".join(
        f"{one.getMessage()} {vars(one)}"
        for one in caplog.records
        if one.name.startswith("trunkline")
    )


def test_a_download_ends_when_its_key_is_revoked(locked: OpenDoor, tmp_path: Path):
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(96 << 20)
    locked.lake.put("orders@main:/large", large)
    keys = locked.add_user("leaving", {"default/orders": Role.READER})
    client = locked.client(keys, signature_version="s3v4", read_timeout=30)
    body = client.get_object(Bucket="orders", Key="main/large")["Body"]
    assert body.read(1000) == bytes(1000)
    revoke_token(locked.lake._core, ROOT, keys.token)
    with pytest.raises((IncompleteReadError, ResponseStreamingError)):
        while body.read(1 << 20):
            pass
