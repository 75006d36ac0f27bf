"""Who may read a table of the catalog, and what those learn who may not."""

from __future__ import annotations

import warnings
from typing import Any

import httpx2
import pytest
from pyiceberg.exceptions import (
    NoSuchNamespaceError,
    NoSuchTableError,
    OAuthError,
    UnauthorizedError,
)

from tests.server.iceberg.catalogs import OpenCatalog, rows


@pytest.fixture(scope="module")
def tokens(locked: OpenCatalog) -> dict[str, str]:
    lake = locked.lake
    people = {"root": {"lake": "admin"}, "seller": {"shop": "reader"}, "stranger": {}}
    people["narrow"] = {"default/orders": "reader"}
    for name, roles in people.items():
        lake.create_user(f"iceberg-{name}", roles=roles)
    return {name: lake.create_token(owner=f"iceberg-{name}").token for name in people}


def test_a_token_is_all_that_is_needed(locked: OpenCatalog, tokens: dict[str, str]):
    catalog = locked.connect(token=tokens["seller"])
    assert catalog.list_namespaces() == [("shop",)]
    assert rows(catalog.load_table("shop.items").scan()) == [{"id": 7, "name": "bread"}]


def test_a_token_as_the_secret_of_a_client(locked: OpenCatalog, tokens: dict[str, str]):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        catalog = locked.connect(credential=f"any:{tokens['root']}")
        assert len(rows(catalog.load_table("default.orders").scan())) == 4
        with pytest.raises((OAuthError, UnauthorizedError), match="not a good token"):
            locked.connect(credential="any:wrong").list_namespaces()


def test_what_one_may_not_read_is_not_there(locked: OpenCatalog, tokens: dict[str, str]):
    catalog = locked.connect(token=tokens["narrow"])
    assert catalog.list_namespaces() == [("default",)]
    assert catalog.list_tables("default") == [("default", "orders")]
    assert catalog.list_namespaces("default") == []
    assert rows(catalog.load_table("default.orders").scan())
    for name in ("default.lake.small", "shop.items"):
        assert not catalog.table_exists(name)
        with pytest.raises(NoSuchTableError):
            catalog.load_table(name)
    for name in ("shop", "default.lake", "default.lake.raw"):
        with pytest.raises(NoSuchNamespaceError):
            catalog.list_tables(name)
    assert locked.connect(token=tokens["stranger"]).list_namespaces() == []


def test_hidden_and_absent_look_the_same(locked: OpenCatalog, tokens: dict[str, str]):
    def asked(client: httpx2.Client, method: str, path: str) -> tuple[int, str]:
        answer = client.request(method, path)
        return answer.status_code, answer.text

    paths = (
        "/v1/namespaces/{project}",
        "/v1/namespaces/{project}/tables",
        "/v1/namespaces/{project}/views",
        "/v1/namespaces/{project}/tables/{repo}",
        "/v1/namespaces/{project}/tables/{repo}/credentials",
        "/v1/namespaces/{project}%1F{repo}/tables",
        "/v1/namespaces?parent={project}",
    )
    with locked.http(tokens["stranger"]) as client:
        for path in paths:
            for method in ("GET", "HEAD"):
                hidden = asked(client, method, path.format(project="shop", repo="items"))
                absent = asked(client, method, path.format(project="none", repo="items"))
                assert hidden[0] == absent[0] == 404, path
                assert hidden[1].replace("shop", "none") == absent[1], path


def test_keys_open_no_more_than_the_token(locked: OpenCatalog, tokens: dict[str, str]):
    mine = locked.connect(token=tokens["seller"]).load_table("shop.items")
    others = locked.connect(token=tokens["root"]).load_table("default.orders")
    place = next(iter(others.scan().plan_files())).file.file_path
    for location in (place, others.metadata.snapshots[0].manifest_list, others.metadata_location):
        assert others.io.new_input(location).exists()
        with pytest.raises(OSError, match="(?i)not exist|NO_SUCH_BUCKET|access denied"):
            mine.io.new_input(location).open().read()


@pytest.mark.parametrize("token", ["", "x", "tl_0123456789abcdef_" + "0" * 43])
def test_nobody_comes_in(locked: OpenCatalog, token: str):
    with locked.http(token) as client:
        for method, path in (
            ("GET", "/v1/config"),
            ("GET", "/v1/namespaces"),
            ("GET", "/v1/namespaces/shop/tables/items"),
            ("POST", "/v1/namespaces/shop/tables/items"),
            ("GET", "/v1/anything"),
            ("GET", ""),
        ):
            answer = client.request(method, path)
            assert answer.status_code == 401, path
            assert answer.json()["error"]["type"] == "NotAuthorizedException"
            assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_revoked_token(locked: OpenCatalog):
    lake = locked.lake
    made = lake.create_token(owner="iceberg-root")
    with locked.http(made.token) as client:
        assert client.get("/v1/namespaces").status_code == 200
        lake.revoke_token(made.info.id)
        assert client.get("/v1/namespaces").status_code == 401


def test_who_came_without_a_token_gets_no_keys(locked: OpenCatalog):
    """The owner of the lake's folder is known by a file, and the S3 door does not take that."""
    locked.service.local_token = "tl_local_test"
    try:
        with locked.http("tl_local_test") as client:
            config: dict[str, Any] = client.get("/v1/namespaces/shop/tables/items").json()["config"]
    finally:
        locked.service.local_token = ""
    assert "s3.endpoint" in config
    assert not [name for name in config if "key" in name]
