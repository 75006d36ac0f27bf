"""Stores to test with: a folder, memory, and a bucket on a real S3 protocol server."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.s3 import S3Server, s3_server
from trunkline.model.ids import new_id
from trunkline.storage.objects import KeyMaker, ObjectStore, open_store


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def bucket(s3: S3Server) -> str:
    return s3.create_bucket(f"bucket-{uuid.uuid4().hex[:12]}")


@pytest.fixture(params=["local", "memory", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "local":
        return open_store(str(tmp_path / "store"))
    if request.param == "memory":
        return open_store(f"memory://{uuid.uuid4().hex}")
    server: S3Server = request.getfixturevalue("s3")
    url: str = request.getfixturevalue("bucket")
    return open_store(f"{url}/some/prefix", server.options)


@pytest.fixture
def folder(tmp_path: Path) -> ObjectStore:
    return open_store(str(tmp_path / "store"))


@pytest.fixture
def keys() -> KeyMaker:
    return KeyMaker(new_id())
