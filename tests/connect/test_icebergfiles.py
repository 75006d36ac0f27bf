"""Catalogs of Iceberg: neither they nor their tables name code, or files of this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.io import PY_IO_IMPL
from pyiceberg.table.locations import SimpleLocationProvider

from trunkline.connect.icebergfiles import CHECK, CheckedFiles
from trunkline.connect.lakehouse import open_catalog, open_table
from trunkline.errors import NotAllowed, Precondition
from trunkline.model.clients import LOCATION_PROVIDER

SCHEMA = pa.schema([("n", pa.int64())])
EVIL = f"{__name__}.Evil"
ran: list[Any] = []


class Evil(SimpleLocationProvider):
    def __init__(self, *given: Any) -> None:
        ran.append(given)
        super().__init__(*given)


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def refuse(place: str) -> None:
    if "://" not in place:
        raise NotAllowed(f"{place} is not to be touched.")


def local(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "w").mkdir(exist_ok=True)
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"file://{tmp_path}/w"}


def test_each_file_is_asked_for(tmp_path: Path) -> None:
    seen: list[str] = []
    catalog = open_catalog(local(tmp_path), {}, seen.append)
    catalog.create_namespace("shop")
    catalog.create_table("shop.a", SCHEMA).append(pa.table({"n": [1]}, SCHEMA))
    assert seen and all(one.startswith(f"{tmp_path}/w/") for one in seen)
    table = open_table(catalog, "shop.a")
    assert isinstance(table.io, CheckedFiles)
    assert table.scan().to_arrow().to_pylist() == [{"n": 1}]
    closed = open_catalog(local(tmp_path), {}, refuse)
    with pytest.raises(NotAllowed, match="not to be touched"):
        open_table(closed, "shop.a")


@pytest.mark.parametrize("scheme", ["hdfs", "viewfs", "hf", "http", "ftp"])
def test_files_are_in_stores(scheme: str) -> None:
    files = CheckedFiles({CHECK: refuse})
    with pytest.raises(NotAllowed, match="no store of tables"):
        files.new_input(f"{scheme}://host/a")


def test_tables_name_no_code(tmp_path: Path) -> None:
    catalog = open_catalog(local(tmp_path), {}, lambda place: None)
    catalog.create_namespace("shop")
    catalog.create_table("shop.a", SCHEMA, properties={PY_IO_IMPL: EVIL})
    assert open_table(catalog, "shop.a").scan().to_arrow().num_rows == 0
    assert not ran
    # Whoever made it, the library itself would call it when it writes.
    load_catalog("default", **local(tmp_path)).create_table(
        "shop.b", SCHEMA, properties={LOCATION_PROVIDER: EVIL}
    )
    assert ran
    ran.clear()
    with pytest.raises(Precondition, match="code that is not called"):
        open_table(catalog, "shop.b")
    assert not ran


class Answer:
    def __init__(self, body: Mapping[str, Any]) -> None:
        self.text = json.dumps(body)
        self.status_code = 200

    def raise_for_status(self) -> None:
        pass


def test_a_catalog_answers_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    config = {
        "defaults": {PY_IO_IMPL: EVIL, "s3.endpoint": "https://s3", "s3.retry-strategy-impl": EVIL},
        "overrides": {
            "auth": {"type": "custom", "impl": EVIL, "custom": {}},
            "ssl": {"cabundle": "/etc/passwd"},
            "client.profile-name": "prod",
        },
    }
    metadata = {
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "file:///x",
        "last-sequence-number": 0,
        "last-updated-ms": 1,
        "last-column-id": 1,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "a", "required": False, "type": "int"}]}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {PY_IO_IMPL: EVIL},
    }  # fmt: skip

    def get(self: Any, url: str, **more: Any) -> Answer:
        if "config" in url:
            return Answer(config)
        return Answer({"metadata-location": "file:///x/m.json", "metadata": metadata,
                       "config": {PY_IO_IMPL: EVIL}})  # fmt: skip

    monkeypatch.setattr(requests.Session, "get", get)
    catalog = open_catalog({"type": "rest", "uri": "https://host"}, {}, refuse)
    assert catalog.properties["s3.endpoint"] == "https://s3"
    assert not {"auth", "ssl", "client.profile-name"} & set(catalog.properties)
    table = open_table(catalog, "a.b")
    assert isinstance(table.io, CheckedFiles)
    with pytest.raises(NotAllowed, match="not to be touched"):
        table.io.new_input("file:///etc/passwd")
    assert not ran


def test_nothing_is_taken_from_the_machines_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog that is named whole would get the credentials of another of that name."""
    monkeypatch.setattr(requests.Session, "get", lambda *given, **more: Answer(
        {"defaults": {}, "overrides": {}}))  # fmt: skip
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", "https://real")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TOKEN", "hidden")
    whole = open_catalog({"name": "prod", "type": "rest", "uri": "https://evil"}, {}, refuse)
    assert "token" not in whole.properties
    named = open_catalog({"name": "prod"}, {}, refuse, configured=True)
    assert (named.properties["uri"], named.properties["token"]) == ("https://real", "hidden")
