"""A real S3 door on a real port, for tests of it with real clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
import uvicorn
from botocore.config import Config

from trunkline.lake.access import create_token
from trunkline.lake.keys import s3_access_key, s3_secret
from trunkline.model.access import LAKE, Grant, Principal, Role
from trunkline.sdk.lake import Lake
from trunkline.server.s3.app import create_s3_app
from trunkline.server.service import Service
from trunkline.storage.catalog import access

REGION = "us-east-1"


@dataclass(frozen=True)
class Keys:
    access: str
    secret: str
    token: str = ""


ANY = Keys("any", "thing")


@dataclass(frozen=True)
class OpenDoor:
    """A door that is open, with the service behind it."""

    url: str
    service: Service

    @property
    def lake(self) -> Lake:
        return self.service.lake

    def client(self, keys: Keys = ANY, **config: Any) -> Any:
        retries = {"max_attempts": 1, "mode": "standard"}
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=keys.access,
            aws_secret_access_key=keys.secret,
            region_name=REGION,
            config=Config(**{"retries": retries, "max_pool_connections": 32, **config}),
        )

    def add_user(self, name: str, roles: dict[str, Role]) -> Keys:
        """A user with roles on scopes, and the keys of a token of theirs."""
        core = self.lake._core
        grants = tuple(Grant(name, scope, role) for scope, role in roles.items())
        with core.database.write() as session:
            access.add_user(session, name, None, "")
            for grant in grants:
                access.set_grant(session, grant)
        return self.add_token(name)

    def add_token(self, name: str, **options: Any) -> Keys:
        admin = Principal("root", "user", (Grant("root", LAKE, Role.ADMIN),))
        info, _ = create_token(self.lake._core, admin, name, **options)
        secret = s3_secret(self.service.key, info.id)
        return Keys(s3_access_key(info.id), secret, info.id)


@contextmanager
def open_door(lake: Lake, *, authenticated: bool = False) -> Iterator[OpenDoor]:
    service = Service(lake, lake._settings, authenticated=authenticated)
    config = uvicorn.Config(create_s3_app(service), port=0, log_level="warning", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield OpenDoor(f"http://127.0.0.1:{port}", service)
    finally:
        server.should_exit = True
        thread.join()
        service.journal.close()
