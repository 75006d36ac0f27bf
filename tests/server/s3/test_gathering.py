"""Many writers at once: every write is kept, and each learns of its own mistakes alone."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.server.s3.doors import OpenDoor, open_door
from trunkline.errors import LeaseLost, PathClash
from trunkline.lake.lease import Lease
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import RepoName
from trunkline.model.ids import new_id
from trunkline.model.refs import Ref
from trunkline.sdk.lake import Lake, init
from trunkline.server.s3.conditions import WriteCondition
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.gathering import Act, Gathering, Write
from trunkline.storage.catalog import leases
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.whole import store_stream

REF = Ref(RepoName("default", "orders"), "main")


def test_sixteen_clients_at_once(door: OpenDoor, s3: Any):
    def put(n: int) -> None:
        data = os.urandom(2 << 20) if n % 20 == 0 else b"%d" % n
        s3.put_object(Bucket="orders", Key=f"main/{n % 7}/{n}", Body=data)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put, range(120)))
    found = {one.path for one in door.lake.ls("orders@main", recursive=True)}
    assert found == {f"/{n % 7}/{n}" for n in range(120)}
    assert len(list(door.lake.log("orders"))) <= 120
    assert door.lake.fsck().problems == []


def test_of_many_who_create_a_key_one_does(s3: Any):
    def create(n: int) -> str:
        try:
            s3.put_object(Bucket="orders", Key="main/one", Body=b"%d" % n, IfNoneMatch="*")
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "made"

    with ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(create, range(16))) == ["PreconditionFailed"] * 15 + ["made"]


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    with init(tmp_path / "lake") as made:
        made.create_repo("orders")
        yield made


class Slow(Gathering):
    """Holds the first commit back until so many writes wait behind it."""

    def __init__(self, lake: Lake, behind: int) -> None:
        super().__init__(lake._core)
        self._behind = behind
        self.batches: list[int] = []

    def _together(self, place: Any, batch: list[Write]) -> None:
        if not self.batches:
            held = threading.Event()
            while len(self._waiting[place]) <= self._behind:
                held.wait(0.001)
        self.batches.append(len(batch))
        super()._together(place, batch)


def written(gathering: Gathering, *writes: Write) -> list[Exception | None]:
    """All at once; what each was refused for."""

    def one(write: Write) -> Exception | None:
        try:
            gathering.write("ann", REF, write)
        except Exception as error:
            return error
        return None

    with ThreadPoolExecutor(len(writes)) as pool:
        return list(pool.map(one, writes))


def put(path: str, data: bytes = b"x", condition: WriteCondition | None = None) -> Write:
    return Write("PUT", [Act(path.encode(), data)], condition or WriteCondition())


def test_what_comes_during_a_commit_is_the_next(lake: Lake):
    gathering = Slow(lake, 9)
    assert written(gathering, *(put(f"/{n}") for n in range(10))) == [None] * 10
    assert gathering.batches == [1, 9]
    first, second = list(lake.log("orders"))[::-1]
    assert second.message.endswith(" and 8 more")
    assert (first.author, second.files) == ("ann", 10)
    assert gathering._waiting == {}


def test_a_mistake_is_its_own_alone(lake: Lake):
    gathering = Slow(lake, 5)
    absent = WriteCondition(absent=True)
    with lake.commit("orders@main") as commit:
        commit.put("/there", b"x")
    writes = [
        *(put("/a"), put("/there/below"), put("/b"), put("/there", b"y", absent)),
        *(put("/c", b"z", absent), Write("DELETE", [Act(b"/nothing")])),
    ]
    a, clash, b, exists, c, deleted = written(gathering, *writes)
    assert isinstance(clash, PathClash)
    assert isinstance(exists, S3Error)
    assert exists.code == "PreconditionFailed"
    assert [a, b, c, deleted] == [None] * 4
    assert sorted(one.path for one in lake.ls("orders@main")) == ["/a", "/b", "/c", "/there"]
    assert lake.read("orders@main:/there") == b"x"


def test_a_condition_is_looked_at_again_when_the_branch_moves(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
):
    """Another writer puts the same key between the check and the commit."""
    real = Transaction._publish
    moved: list[int] = []

    def publish(self: Transaction, plans: Any) -> Any:
        if not moved and self.author == "ann":
            moved.append(1)
            with lake.commit("orders@main") as commit:
                commit.put("/key", b"x")
        return real(self, plans)

    monkeypatch.setattr(Transaction, "_publish", publish)
    (error,) = written(Gathering(lake._core), put("/key", b"x", WriteCondition(absent=True)))
    assert isinstance(error, S3Error)
    assert moved == [1]
    assert len(list(lake.log("orders"))) == 1


def test_what_was_stored_is_not_committed_once_its_lease_is_gone(lake: Lake):
    """Its bytes may be gone too."""
    lease = Lease(lake._core, new_id(), "ann")
    lease.take()
    line = store_stream(lake._core.objects, KeyMaker(lease._id), "/large", b"x", ())

    def large() -> Write:
        return Write("PUT", [Act(b"/large", line=line, lease=lease)])

    assert written(Gathering(lake._core), large()) == [None]
    with lake._core.database.write() as session:
        leases.end_writer(session, lease._id)
    a, lost, b = written(Slow(lake, 2), put("/a"), large(), put("/b"))
    assert (a, b) == (None, None)
    assert isinstance(lost, LeaseLost)


def test_nothing_to_do_is_no_commit(lake: Lake):
    assert written(Gathering(lake._core), Write("DELETE", [Act(b"/nothing")])) == [None]
    assert list(lake.log("orders")) == []


def test_a_bug_is_told_to_all_it_concerns(lake: Lake, monkeypatch: pytest.MonkeyPatch):
    def broken(self: Transaction) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Transaction, "commit", broken)
    errors = written(Slow(lake, 2), *(put(f"/{n}") for n in range(3)))
    assert [str(error) for error in errors] == ["a bug"] * 3


def test_a_door_that_closes_leaves_no_lease(tmp_path: Path):
    with init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        with open_door(lake) as door:
            door.client().put_object(Bucket="orders", Key="main/a", Body=os.urandom(3 << 20))
        assert lake.gc(grace=0).objects == 0
        assert len(lake.read("orders@main:/a")) == 3 << 20
