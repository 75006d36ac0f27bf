"""The catalog as HTTP: shapes of answers and errors, ETags, and the files that are made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.server.iceberg.catalogs import OpenCatalog
from tests.server.iceberg.sample import Sample
from tests.server.s3.doors import OpenDoor
from trunkline.errors import NotFound
from trunkline.model.commits import RepoName
from trunkline.server.iceberg.catalog import Catalog
from trunkline.server.iceberg.keys import file_key, object_key, parse_virtual
from trunkline.server.iceberg.names import Place
from trunkline.settings import Settings

ORDERS = "/v1/namespaces/default/tables/orders"


@pytest.fixture
def client(opened: OpenCatalog) -> Iterator[httpx2.Client]:
    with opened.http() as found:
        yield found


def test_config(client: httpx2.Client):
    answer = client.get("/v1/config", params={"warehouse": "any"})
    assert answer.json() == {"defaults": {}, "overrides": {}}


def test_what_is_unchanged_is_not_sent_again(client: httpx2.Client):
    first = client.get(ORDERS)
    assert first.status_code == 200
    again = client.get(ORDERS, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_is_it_there(client: httpx2.Client):
    for path, status in (
        (ORDERS, 204),
        ("/v1/namespaces/default", 204),
        ("/v1/namespaces/default/tables/none", 404),
        ("/v1/namespaces/none", 404),
        ("/v1/namespaces/default/views/orders", 404),
    ):
        answer = client.head(path)
        assert (answer.status_code, answer.content) == (status, b""), path


def test_errors_have_the_shape_of_the_protocol(client: httpx2.Client):
    for method, path, status, kind in (
        ("GET", "/v1/namespaces/default/tables/none", 404, "NoSuchTableException"),
        ("GET", "/v1/namespaces/none", 404, "NoSuchNamespaceException"),
        ("GET", "/v1/namespaces/default/views/none", 404, "NoSuchViewException"),
        ("GET", "/v2/config", 404, "NotFoundException"),
        ("GET", "/v1/namespaces/..%2F..", 404, "NoSuchNamespaceException"),
        ("GET", "/v1/namespaces/default/tables/%2E%2E", 404, "NoSuchTableException"),
        ("GET", "/v1/namespaces/default%1Flake/tables/a%2Fb", 404, "NoSuchTableException"),
        ("GET", "/v1/namespaces/%FF", 400, "BadRequestException"),
        ("POST", "/v1/namespaces", 403, "ForbiddenException"),
        ("POST", ORDERS, 403, "ForbiddenException"),
        ("DELETE", ORDERS, 403, "ForbiddenException"),
        ("POST", "/v1/transactions/commit", 403, "ForbiddenException"),
        ("POST", "/v1/namespaces/default/register", 403, "ForbiddenException"),
        ("POST", "/v1/namespaces/default/views", 403, "ForbiddenException"),
    ):
        answer = client.request(method, path)
        said = answer.json()["error"]
        assert (answer.status_code, said["code"], said["type"]) == (status, status, kind), path
        assert said["message"]


def test_reports_of_readers_are_taken(client: httpx2.Client):
    answer = client.post(f"{ORDERS}/metrics", json={"report-type": "scan-report"})
    assert (answer.status_code, answer.content) == (204, b"")


def test_only_what_refs_point_at(client: httpx2.Client):
    found = client.get(ORDERS, params={"snapshots": "refs"}).json()["metadata"]
    shown = {one["snapshot-id"] for one in found["snapshots"]}
    assert shown == {one["snapshot-id"] for one in found["refs"].values()}
    assert len(client.get(ORDERS).json()["metadata"]["snapshots"]) > len(shown)


def test_tokens_without_authentication(client: httpx2.Client):
    answer = client.post("/v1/oauth/tokens", data={"grant_type": "client_credentials"})
    assert (answer.status_code, answer.json()["token_type"]) == (200, "bearer")
    assert answer.headers["cache-control"] == "no-store"
    basic = client.post("/v1/oauth/tokens", headers={"Authorization": "Basic %"})
    assert (basic.status_code, basic.json()["error"]) == (400, "invalid_request")


def test_a_closed_s3_door(opened: OpenCatalog, client: httpx2.Client):
    address, opened.service.s3_address = opened.service.s3_address, ""
    try:
        answer = client.get(ORDERS)
    finally:
        opened.service.s3_address = address
    assert answer.status_code == 400
    assert "The S3 door of this server is closed" in answer.json()["error"]["message"]


def test_the_address_of_the_s3_door(opened: OpenCatalog, client: httpx2.Client):
    port = urlsplit(opened.service.s3_address).port
    config = client.get(ORDERS, headers={"Host": "localhost:1"}).json()["config"]
    assert config["s3.endpoint"] == f"http://localhost:{port}"


def test_without_the_library(client: httpx2.Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trunkline.server.iceberg.app.find_spec", lambda name: None)
    answer = client.get("/v1/config")
    assert answer.status_code == 501
    assert "pip install 'trunkline[iceberg]'" in answer.json()["error"]["message"]


# -- the files that are made ---------------------------------------------------------------------


def test_made_files_are_read_in_pieces(opened: OpenCatalog, sample: Sample):
    s3 = OpenDoor(opened.service.s3_address, opened.service).client()
    key = object_key(sample.commits["merged"], "/", "snap.avro")
    whole = s3.get_object(Bucket="orders", Key=key)
    data = whole["Body"].read()
    assert data[:4] == b"Obj\x01"
    part = s3.get_object(Bucket="orders", Key=key, Range="bytes=4-19")
    assert (part["Body"].read(), part["ContentRange"]) == (data[4:20], f"bytes 4-19/{len(data)}")
    head = s3.head_object(Bucket="orders", Key=key)
    assert (head["ContentLength"], head["ETag"]) == (len(data), whole["ETag"])
    assert s3.list_objects_v2(Bucket="orders", Prefix="_iceberg/").get("KeyCount", 0) == 0


def test_what_is_not_there_is_not_made(opened: OpenCatalog, sample: Sample):
    s3 = OpenDoor(opened.service.s3_address, opened.service).client()
    commit = sample.commits["merged"]
    for key in (
        object_key("0" * 32, "/", "snap.avro"),
        object_key(commit, "/none", "snap.avro"),
        object_key(commit, "/", "files-9.avro"),
        object_key(commit, "/", "other.avro"),
        f"_iceberg/{commit}/nonsense/snap.avro",
        file_key(commit, "/no such#file.parquet"),
    ):
        with pytest.raises(s3.exceptions.NoSuchKey):
            s3.get_object(Bucket="orders", Key=key)
    for key in ("_iceberg/x", "_iceberg/data/a.parquet"):
        with pytest.raises(s3.exceptions.ClientError, match="AccessDenied"):
            s3.put_object(Bucket="orders", Key=key, Body=b"x")


def test_every_server_makes_the_same_bytes(sample: Sample):
    orders = RepoName("default", "orders")
    asked = parse_virtual(object_key(sample.commits["second"], "/", "files-0.avro"))
    assert asked is not None
    one, two = (Catalog(sample.lake._core, Settings(environ={})) for _ in range(2))
    assert one.made(orders, asked) == two.made(orders, asked)
    assert one.made(orders, asked) is not None


def test_paths_come_back_from_keys():
    for path in ("/a b#c?.parquet", "/ü/%20.parquet", "/plain.parquet"):
        key = file_key("0" * 32, path)
        found = parse_virtual(key)
        assert (found.path if found else key.removeprefix("0" * 32)) == path


def test_few_snapshots_are_shown(sample: Sample):
    few = Catalog(sample.lake._core, Settings(flags={"server.iceberg.snapshots": 2}, environ={}))
    place = Place(RepoName("default", "orders"), "/")
    metadata = few.table(place).metadata()
    commits = {json.dumps(one["summary"]["trunkline.commit"]) for one in metadata["snapshots"]}
    # The newest two of main, and what the other refs show.
    steps = ("deleted", "merged", "work", "first")
    assert commits == {json.dumps(sample.commits[step]) for step in steps}
    with pytest.raises(NotFound):
        few.table(Place(RepoName("default", "orders"), "/none"))
