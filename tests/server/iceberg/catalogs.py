"""A served lake with both of its doors open, and a client of its Iceberg catalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import uvicorn
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table

from trunkline import Lake
from trunkline.server.app import create_app
from trunkline.server.iceberg.metadata import COMMIT
from trunkline.server.s3.app import create_s3_app
from trunkline.server.service import Service


@dataclass(frozen=True)
class OpenCatalog:
    url: str
    service: Service

    @property
    def lake(self) -> Lake:
        return self.service.lake

    @property
    def uri(self) -> str:
        return f"{self.url}/iceberg"

    def connect(self, **properties: str) -> Catalog:
        return load_catalog("lake", type="rest", uri=self.uri, **properties)

    def http(self, token: str = "", **headers: str) -> httpx2.Client:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return httpx2.Client(base_url=self.uri, headers=headers, trust_env=False, timeout=60)


@contextmanager
def open_catalog(lake: Lake, *, authenticated: bool = False) -> Iterator[OpenCatalog]:
    service = Service(lake, lake._settings, authenticated=authenticated)
    with _answering(create_app(service)) as url, _answering(create_s3_app(service)) as s3:
        service.s3_address = s3
        try:
            yield OpenCatalog(url, service)
        finally:
            service.journal.close()


@contextmanager
def _answering(app: Any) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def snapshot_of(table: Table, commit: str) -> int:
    """The snapshot that a commit is."""
    (found,) = (
        one.snapshot_id
        for one in table.snapshots()
        if one.summary is not None and one.summary.additional_properties[COMMIT] == commit
    )
    return found


def rows(scan: Any, *by: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = scan.to_arrow().to_pylist()
    return sorted(found, key=lambda row: [str(row[name]) for name in by or ("id",)])
