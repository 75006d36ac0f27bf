"""Deliveries in the catalog: who may take one, in which order, and what is kept."""

from tests.catalog.conftest import add_repo
from trunkline.model.egress import DeliveryState
from trunkline.storage.catalog import Database, Session, deliveries
from trunkline.storage.catalog.deliveries import DeliveryRow

LEASE = 60_000_000
DONE = DeliveryState.DONE
FAILED = DeliveryState.FAILED


def enqueue(session: Session, repo: int, commit: str, target: str = "t") -> None:
    deliveries.enqueue(session, repo, commit, target, "folder", {"folder": {"path": "/a"}})


def first(session: Session) -> DeliveryRow:
    return deliveries.waiting(session)[0][0]


def over(session: Session, row: DeliveryRow, state: DeliveryState, **facts: object) -> None:
    fence = deliveries.take(session, row, "w", LEASE)
    assert fence is not None
    assert deliveries.end(session, row, fence, state, "why", facts)


def test_one_of_a_target_at_a_time_in_order(database: Database, repo: int):
    with database.write() as session:
        for commit in ("b", "a", "c"):
            enqueue(session, repo, commit)
        enqueue(session, repo, "b", "other")
        heads = {row.shown.target: (row.shown.commit, more)
                 for row, more in deliveries.waiting(session)}  # fmt: skip
        assert heads == {"t": ("b", True), "other": ("b", False)}
        row = first(session)
        fence = deliveries.take(session, row, "one", LEASE)
        assert fence == 1
        assert deliveries.take(session, row, "two", LEASE) is None
        last = deliveries.newest_waiting(session, repo, row.shown.target)
        assert last is not None
        assert deliveries.take(session, last, "two", LEASE) is None
        assert deliveries.end(session, row, fence, DONE, "", {"rows": 3})
        found = deliveries.find(session, repo, "b", row.shown.target)
        assert found is not None
        assert (found.shown.state, found.shown.receipt, found.shown.attempt) == (
            DONE,
            {"rows": 3},
            1,
        )
        assert found.shown.finished


def test_what_waits_for_its_next_try(database: Database, repo: int):
    with database.write() as session:
        enqueue(session, repo, "a")
        row = first(session)
        fence = deliveries.take(session, row, "w", LEASE)
        assert fence is not None
        assert deliveries.try_later(session, row, fence, "away", 3600)
        assert deliveries.take(session, row, "w", LEASE) is None
        shown = first(session).shown
        assert (shown.state, shown.reason, shown.attempt) == ("waiting", "away", 1)
        assert shown.next_try is not None
        assert deliveries.retry(session, repo, "t", "a")
        assert deliveries.take(session, row, "w", LEASE) == 2
        deliveries.hand_back(session, row, 2)
        assert first(session).shown.attempt == 0


def test_the_last_that_arrived_and_what_failed_since(database: Database, repo: int):
    with database.write() as session:
        assert deliveries.last_done(session, repo, "t") is None
        for commit, state in (("a", DONE), ("b", FAILED)):
            enqueue(session, repo, commit)
            over(session, first(session), state)
        assert deliveries.last_done(session, repo, "t") == "a"
        assert [row.shown.commit for row in deliveries.failing(session)] == ["b"]
        assert deliveries.failing(session, "elsewhere") == []
        enqueue(session, repo, "c")
        blocked = deliveries.blocking(session, first(session))
        assert blocked is not None
        assert blocked.commit == "b"
        assert deliveries.skip(session, repo, "t", "by hand", commit_id="b", failed=True) == 1
        assert deliveries.blocking(session, first(session)) is None
        over(session, first(session), DONE)
        assert deliveries.failing(session) == []


def test_what_is_older_than_what_went_out_is_not_tried_again(database: Database, repo: int):
    with database.write() as session:
        for commit, state in (("a", FAILED), ("b", DONE), ("c", FAILED)):
            enqueue(session, repo, commit)
            over(session, first(session), state)
        assert not deliveries.retry(session, repo, "t", "a")
        enqueue(session, repo, "d")
        assert deliveries.retry(session, repo, "t", "c")
        newest = deliveries.newest_waiting(session, repo, "t")
        assert newest is not None
        assert deliveries.take(session, newest, "w", LEASE) is not None
        assert not deliveries.retry(session, repo, "t", "c")
        assert [row.shown.state for row in deliveries.listed(session, commit_id="a")] == [FAILED]


def test_again(database: Database, repo: int):
    with database.write() as session:
        enqueue(session, repo, "a")
        over(session, first(session), DONE)
        enqueue(session, repo, "b")
        over(session, first(session), DONE)
        enqueue(session, repo, "a")
        row = first(session)
        assert (row.shown.commit, row.shown.attempt, row.shown.finished) == ("a", 0, None)
        over(session, row, DONE)
        assert deliveries.last_done(session, repo, "t") == "a"
        assert len(deliveries.listed(session, repo=repo)) == 2


def test_a_paused_pipeline_waits(database: Database, repo: int):
    with database.write() as session:
        code = add_repo(session)
        session.execute(
            """INSERT INTO pipelines (repo, code_repo, paused, created, updated)
               VALUES (:repo, :code, 1, 0, 0)""",
            {"repo": repo, "code": code},
        )
        enqueue(session, repo, "a")
        assert deliveries.waiting(session) == []
        session.execute("UPDATE pipelines SET paused = 0")
        assert len(deliveries.waiting(session)) == 1


def test_old_ones_go_but_not_what_the_target_has(database: Database, repo: int, monkeypatch):
    monkeypatch.setattr(deliveries, "KEPT", 3)
    with database.write() as session:
        for n in range(8):
            enqueue(session, repo, f"c{n}")
            over(session, first(session), DONE if n < 2 else FAILED)
        kept = [row.shown.commit for row in deliveries.listed(session, target="t")]
        assert kept == ["c7", "c6", "c5", "c4", "c3", "c2", "c1"]
        enqueue(session, repo, "c8")
        over(session, first(session), DONE)
        kept = [row.shown.commit for row in deliveries.listed(session, target="t")]
        assert kept == ["c8", "c7", "c6", "c5"]
        deliveries.remove(session, repo)
        assert deliveries.listed(session) == []
