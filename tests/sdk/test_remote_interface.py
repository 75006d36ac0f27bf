"""The lake through a server has the interface of the lake in a folder, and nothing is forgotten."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import trunkline as tl
from trunkline import Lake
from trunkline.sdk.laketable import LakeTable
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.sdk.remote.laketable import RemoteTable
from trunkline.sdk.remote.writer import RemoteCommitWriter, RemoteLakeTransaction
from trunkline.sdk.writer import CommitWriter, LakeTransaction

PAIRS = (
    (Lake, RemoteLake),
    (CommitWriter, RemoteCommitWriter),
    (LakeTransaction, RemoteLakeTransaction),
    (LakeTable, RemoteTable),
)
SHARED = {
    "Lake.bound": "copies the open lake",
    "Lake.put": "finds and reads files here; they are written by the remote lake's writer",
    "Lake.cp": "copies by the remote lake's writer",
    "Lake.export": "reads the address here; the server sends",
    "Lake.backup": "refused: a backup is made where the lake is",
    "Lake.verify": "refused: results are computed again where the lake is",
    "LakeTable.arrow": "reads `batches`",
    "LakeTable.pandas": "reads `arrow`",
    "LakeTable.polars": "reads `arrow`",
}


def public(kind: type) -> list[str]:
    """Methods and properties that anybody may use."""
    return [
        name
        for name in dir(kind)
        if not name.startswith("_")
        and (callable(found := inspect.getattr_static(kind, name)) or isinstance(found, property))
    ]


def test_every_method_goes_over_http_or_says_why_not():
    shared = {
        f"{kind.__name__}.{name}"
        for kind, remote in PAIRS
        for name in public(kind)
        if inspect.getattr_static(kind, name) is inspect.getattr_static(remote, name)
    }
    assert shared == SHARED.keys()


@pytest.mark.parametrize("kind, remote", PAIRS, ids=lambda kind: kind.__name__)
def test_methods_are_called_alike(kind: Any, remote: Any):
    """Answers may be of a subclass: that is for mypy to say."""
    for name in public(kind):
        here, there = getattr(kind, name), getattr(remote, name)
        if callable(here):
            parameters = inspect.signature(here).parameters
            assert parameters == inspect.signature(there).parameters, name
    assert set(public(remote)) == set(public(kind))


@pytest.mark.parametrize("kind, remote", PAIRS, ids=lambda kind: kind.__name__)
def test_the_remote_one_may_stand_where_the_other_is_meant(kind: type, remote: type):
    assert issubclass(remote, kind)
    assert not inspect.isabstract(remote)


def shown(lake: Lake) -> str:
    return repr(lake)


def test_a_remote_lake_is_a_lake(remote: RemoteLake) -> None:
    lake: Lake = remote
    assert shown(lake) == f"Lake({lake.server!r})"
    assert lake.location == lake.server


@pytest.fixture
def remote() -> RemoteLake:
    opened = tl.open("http://127.0.0.1:1")
    assert isinstance(opened, RemoteLake)
    return opened
