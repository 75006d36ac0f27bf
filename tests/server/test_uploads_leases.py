"""Leases of uploads: who lost theirs cannot commit, and is told so."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.postgres import postgres
from tests.served import served
from trunkline.errors import LeaseLost, Usage
from trunkline.lake.transaction import Transaction
from trunkline.model.ids import new_id
from trunkline.model.refs import parse_ref
from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.lake import connect
from trunkline.server.uploads import leasing
from trunkline.server.uploads.ending import own_keys


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_repo("orders")
        yield made


def run_out(lake: Lake) -> None:
    with lake._core.database.write() as session:
        session.execute("UPDATE leases SET expires = 0")


def test_a_lease_that_was_taken_anew_is_another(lake: Lake):
    """While a commit was on its way gc may have taken what it names."""
    core, txn = lake._core, new_id()
    leasing.begin(core, txn, "ada")
    transaction = Transaction(core, "ada", keys=own_keys(txn))
    transaction.lease.go_on(leasing.hold(core, txn, "ada"))
    draft = transaction.draft(parse_ref("orders@main"))
    draft.changes.put_all([transaction.intake.add_bytes("/a", b"a")])
    run_out(lake)
    lake.gc(grace=0)
    leasing.begin(core, txn, "ada")
    with pytest.raises(LeaseLost):
        transaction.commit()
    assert not lake.commits("orders@main")


def test_a_lost_lease_is_told_as_such_also_where_repos_were_to_be_made(lake: Lake):
    with served(lake) as url, connect(url, "", lake._settings) as remote:
        with pytest.raises(LeaseLost), remote.transaction() as together:
            together.create_repo("customers")
            with together.commit("customers@main") as writer:
                writer.put("/a", b"a")
            run_out(lake)
    assert [one.name.repo for one in lake.repos()] == ["orders"]


def test_a_server_whose_clock_is_wrong_still_takes_what_is_sent(tmp_path, monkeypatch):
    """The database's clock is the lake's; the server's own may be days off."""
    store = f"file://{tmp_path}/objects"
    with tl.init(tmp_path / "lake", catalog=postgres().catalog(), store=store) as lake:
        txn, right = new_id(), time.time()
        monkeypatch.setattr(time, "time", lambda: right + 3 * 86_400)
        assert leasing.begin(lake._core, txn, "ada").id == txn
        with pytest.raises(Usage, match="another day"):
            leasing.begin(lake._core, f"{int((right + 9 * 86_400) * 1000):012x}{txn[12:]}", "ada")


def test_a_lake_whose_only_clock_is_a_day_off_takes_what_is_sent(lake, monkeypatch):
    ahead, behind, right = new_id(), new_id(), time.time()
    for txn, days in ((ahead, 1.01), (behind, -1.01)):
        monkeypatch.setattr(time, "time", lambda days=days: right + days * 86_400)
        assert leasing.begin(lake._core, txn, "ada").id == txn
