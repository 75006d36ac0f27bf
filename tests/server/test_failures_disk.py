"""A full disk is no bug, wherever it is met."""

from __future__ import annotations

import errno

import pyarrow as pa
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from trunkline.server.failures import install

ERRORS = [
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Disk quota exceeded"),
    pa.lib.ArrowException("x"),
    OSError("[Errno 28] Error writing bytes to file. Detail: [errno 28] No space left on device"),
]


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_a_full_disk_is_503_on_every_route(error: Exception):
    app = FastAPI()
    install(app)

    @app.get("/x")
    def route() -> None:
        raise error

    answer = TestClient(app, raise_server_exceptions=False).get("/x")
    full = isinstance(error, OSError)
    assert answer.status_code == (503 if full else 500)
    assert answer.json()["error"]["code"] == ("disk_full" if full else "failed")
