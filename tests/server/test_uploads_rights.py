"""Who may write what: transactions belong to one, and name nothing that one may not see."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.server.lakewide.people import asked_by
from trunkline.errors import LeaseLost, NotAllowed, NotFound
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.sdk.wire.files import OpenTransaction, Upload

PEOPLE = {
    "writer": {"default/orders": "writer"},
    "other": {"default/orders": "writer", "default/payroll": "writer"},
    "reader": {"default/orders": "reader"},
    "nobody": {},
}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as made:
        for repo in ("orders", "payroll"):
            made.create_repo(repo)
            with made.commit(f"{repo}@main") as writer:
                writer.put("/a", repo.encode())
        yield made


@pytest.fixture
def people(lake: Lake) -> Iterator[dict[str, RemoteLake]]:
    with asked_by(lake, PEOPLE) as ask:
        yield {name: ask(name) for name in PEOPLE}


def test_what_one_may_not_see_is_not_there(people: dict[str, RemoteLake], tmp_path: Path):
    writer = people["writer"]
    ref = "payroll@main:/a"
    for act in (
        lambda: list(writer.ls(ref)),
        lambda: writer.stat(ref),
        lambda: writer.read(ref),
        lambda: list(writer.glob("payroll@main:/*")),
        lambda: writer.get(ref, tmp_path / "x"),
        lambda: writer.diff("orders@main", "payroll@main"),
        lambda: writer.cp(ref, "orders@main:/stolen"),
        lambda: writer.commit("payroll@main"),
        lambda: writer.put("payroll@main:/b", __file__),
        lambda: writer.start_commit("payroll@main"),
    ):
        with pytest.raises(NotFound, match='no repo "payroll"'):
            act()


def test_who_only_reads_writes_nothing(people: dict[str, RemoteLake]):
    reader = people["reader"]
    assert reader.read("orders@main:/a") == b"orders"
    for act in (
        lambda: reader.put("orders@main:/b", __file__),
        lambda: reader.rm("orders@main:/a"),
        lambda: reader.start_commit("orders@main"),
        lambda: reader.transaction().__enter__(),
    ):
        with pytest.raises(NotAllowed):
            act()


@pytest.mark.slow
def test_a_transaction_is_its_owners_alone(people: dict[str, RemoteLake], lake: Lake):
    with pytest.raises(LeaseLost), people["writer"].commit("orders@main") as mine:
        mine.put("/mine", b"x" * 2_000_000)
        place = f"/transactions/{mine.id}"
        other = people["other"]._client
        for path in ("/b", "/c"):
            with pytest.raises(LeaseLost):
                other.upload("PUT", f"{place}/objects", b"", path=path)
        with pytest.raises(LeaseLost):
            other.send("POST", "/transactions", {"id": mine.id})
        other.send("DELETE", place)  # does nothing, and does not tell
        mine.put("/more", b"x" * 2_000_000)
        people["writer"]._client.send("DELETE", place)
    assert [one.path for one in lake.ls("orders@main")] == ["/a"]


@pytest.mark.parametrize("act", ["drop", "commit", "read", "write", "finish"])
def test_parts_are_touched_by_who_began_them_alone(
    people: dict[str, RemoteLake], lake: Lake, act: str
):
    mine, other = people["writer"]._client, people["other"]._client
    txn = mine.send("POST", "/transactions", {}, kind=OpenTransaction).id
    begun = mine.send("POST", f"/transactions/{txn}/uploads", kind=Upload, path="/large", size=4)
    place = f"/transactions/{txn}/uploads/{begun.id}"
    ours = lake._folder / "uploads" / txn
    before = {one.name: one.read_bytes() for one in ours.iterdir()}
    if act == "drop":
        other.send("DELETE", f"/transactions/{txn}")
    elif act == "commit":
        # One of their own with a key, which they claim to have been this transaction.
        theirs = {"kind": "commit", "ref": "orders@main", "key": "theirs", "operations": []}
        ending = {"operations": [theirs]}
        own = other.send("POST", "/transactions", {}, kind=OpenTransaction).id
        other.send("POST", f"/transactions/{own}/commit", ending)
        other.send("POST", f"/transactions/{txn}/commit", ending)
    else:
        with pytest.raises(LeaseLost):
            if act == "read":
                other.send("GET", place)
            elif act == "write":
                other.upload("PATCH", place, b"evil", headers={"Upload-Offset": "0"})
            else:
                other.send("POST", f"{place}/finish")
    assert {one.name: one.read_bytes() for one in ours.iterdir()} == before
    mine.send("DELETE", f"/transactions/{txn}")
    assert not ours.exists()


def test_a_copy_in_a_commit_needs_the_right_to_read(people: dict[str, RemoteLake], lake: Lake):
    writer = people["writer"]
    for source in ("default/payroll@main:/a", "payroll@main:/a"):
        with pytest.raises(NotFound), writer.commit("orders@main") as mine:
            mine.put("/b", b"")
            mine._steps.append(_copy(source))
    with people["other"].commit("orders@main") as theirs:
        theirs.copy("payroll@main:/a", "/copied")
    assert lake.read("orders@main:/copied") == b"payroll"
    assert theirs.result.author == "other"


def _copy(source: str) -> object:
    from trunkline.sdk.wire.files import Copy

    return Copy(source, "/stolen")
