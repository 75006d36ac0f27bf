"""Leases: what is being written or read right now."""

import pytest

from tests.catalog.conftest import add_commit
from trunkline.model.ids import new_id
from trunkline.storage.catalog import Database, Session, identity, leases, workers


@pytest.fixture
def lease(database: Database) -> str:
    lease_id = new_id()
    with database.write() as session:
        leases.take(session, lease_id, "writer", "ada")
    return lease_id


def run_out(session: Session, lease_id: str) -> None:
    session.execute("UPDATE leases SET expires = :now WHERE id = :id",
                    {"now": session.now(), "id": lease_id})  # fmt: skip


def test_a_lease_lives_until_it_is_released(database: Database, lease: str):
    with database.write() as session:
        assert leases.live(session) == {lease}
        assert leases.release(session, lease)
        assert leases.live(session) == set()


def test_a_lease_is_released_once(database: Database, lease: str):
    with database.write() as session:
        assert leases.release(session, lease)
        assert not leases.release(session, lease)


def test_a_lease_that_ran_out_is_not_alive_and_its_release_says_so(database: Database, lease: str):
    with database.write() as session:
        run_out(session, lease)
        assert leases.live(session) == set()
        assert not leases.release(session, lease)
        assert session.all("SELECT id FROM leases") == []


def test_a_lease_that_ran_out_cannot_be_renewed(database: Database, lease: str):
    with database.write() as session:
        assert leases.renew(session, lease)
        run_out(session, lease)
        assert not leases.renew(session, lease)
        assert leases.live(session) == set()


def test_renewing_gives_a_whole_term_again(database: Database, lease: str):
    with database.write() as session:
        now = session.now()
        session.execute("UPDATE leases SET expires = :soon", {"soon": now + 1_000_000})
        leases.renew(session, lease)
        row = session.one("SELECT expires FROM leases")
    assert row is not None
    assert row["expires"] >= now + leases.LEASE_MICROS


def test_a_reader_pins_its_commit_while_its_lease_lives(database: Database, repo: int, lease: str):
    reader = new_id()
    with database.write() as session:
        commit = add_commit(session, repo)
        leases.take(session, reader, "reader", "ada", (repo, commit))
        assert leases.pinned(session) == {(repo, commit)}
        assert leases.live(session) == {lease, reader}
        run_out(session, reader)
        assert leases.pinned(session) == set()


def test_that_a_worker_is_there_is_no_work(database: Database):
    with database.write() as session:
        workers.beat(session, "standing", leases.LEASE_MICROS)
        assert not leases.live_before(session, session.now())
        leases.take(session, new_id(), leases.JOB, "standing")
        assert leases.live_before(session, session.now())


def test_reaping_removes_what_ran_out(database: Database, lease: str):
    with database.write() as session:
        other = new_id()
        leases.take(session, other, "writer", "grace")
        run_out(session, lease)
        assert leases.reap(session) == 1
        assert leases.live(session) == {other}


def test_a_clock_that_was_set_back_shortens_no_lease_that_was_renewed_since(database: Database):
    minutes = 60 * 1_000_000
    with database.write() as session:
        renewed, before, now = new_id(), new_id(), session.now()
        for lease in (renewed, before):
            leases.take(session, lease, "writer", "ada")
        then = now + leases.LEASE_MICROS + 8 * minutes
        session.execute("UPDATE leases SET expires = :then WHERE id = :id",
                        {"then": then, "id": before})  # fmt: skip
        identity.note(session, {"clock": str(now + 9 * minutes)})
        workers.follow_clock(session)
        left = {row["id"]: row["expires"] - now for row in session.all("SELECT * FROM leases")}
    assert left[renewed] >= leases.LEASE_MICROS
    assert minutes < left[before] <= leases.LEASE_MICROS
