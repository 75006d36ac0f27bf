"""Events that are replaced and pruned, requests and followers, on each database."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from trunkline.model.commits import RepoName
from trunkline.model.events import PROGRESS
from trunkline.storage.catalog import Database, events, followers, requests
from trunkline.storage.catalog.measures import measure

ORDERS = RepoName("default", "orders")
HOUR = 3600 * 1_000_000


@pytest.mark.slow
def test_only_the_newest_progress_of_a_job_is_kept(database: Database) -> None:
    with database.write() as session:
        first = events.replace_progress(session, ORDERS, {"done": 1}, None)
        second = events.replace_progress(session, ORDERS, {"done": 2}, first)
        assert [one.position for one in events.listed(session, 0)] == [second]
        events.remove(session, second)
        assert events.last(session) == second
        ended = events.emit(session, "job", ORDERS, {"state": "success"})
        events.remove(session, second)
        assert [one.position for one in events.listed(session, 0)] == [ended]
        assert ended > second > first


def test_events_are_filtered_and_pruned(database: Database) -> None:
    with database.write() as session:
        for n, kind in enumerate(("commit", "job", PROGRESS, "commit")):
            events.emit(session, kind, RepoName("shop" if n % 2 else "default", "orders"), {"n": n})
        session.execute("UPDATE events SET at = at - :hour", {"hour": 2 * HOUR})
        kept = events.listed(session, 0, kinds=("commit", "job"), project="shop", repo="orders")
        assert [one.facts["n"] for one in kept] == [1, 3]
        assert len(events.listed(session, 0, kept[0].position)) == 2
        assert events.prune(session, 24 * HOUR) == 1
        assert events.prune(session, HOUR) == 2
        assert [one.facts["n"] for one in events.listed(session, 0)] == [3]


def test_a_request_is_noted_once(database: Database) -> None:
    with database.write(durable=False) as session:
        assert requests.begin(session, "ann", "k", "d1") is None
        assert requests.begin(session, "bob", "k", "d2") is None
        known = requests.begin(session, "ann", "k", "other")
        assert known is not None
        assert (known.digest, known.status, known.body) == ("d1", None, "")
        requests.touch(session, "ann", "k")
        requests.finish(session, "ann", "k", 201, "{}")
        known = requests.begin(session, "ann", "k", "d1")
        assert known is not None
        assert (known.status, known.body) == (201, "{}")
        requests.forget(session, "ann", "k")
        assert requests.begin(session, "ann", "k", "d3") is None
        assert requests.prune(session, HOUR) == 0
        assert requests.prune(session, -HOUR) == 2


def test_one_follows_at_a_time(database: Database) -> None:
    with database.write() as session:
        assert followers.position(session, "f") is None
        followers.advance(session, "f", 3)
        followers.advance(session, "f", 7)
        assert followers.position(session, "f") == 7
        assert followers.take(session, "f", "a", 60)
        assert not followers.take(session, "f", "b", 60)
        assert followers.take(session, "g", "b", 60)
        assert followers.take(session, "f", "a", -60)
        assert followers.take(session, "f", "b", 60)
        followers.let_go(session, "f", "a")
        assert not followers.take(session, "f", "a", 60)
        followers.let_go(session, "f", "b")
        assert followers.take(session, "f", "a", 60)


def test_a_catalog_is_measured(database: Database, repo: int) -> None:
    with database.write() as session:
        last = events.emit(session, "commit", ORDERS, {})
        assert followers.take(session, "f", "a", 60)
    found = measure(database)
    assert (found.repos, found.pipelines, found.jobs, found.waiting) == (1, 0, {}, 0)
    assert found.events == last
    assert found.leases == {"follower": 1}
    assert found.bytes > 10_000


def test_who_reads_on_from_the_last_position_loses_nothing(database: Database) -> None:
    """Several writers, one reader: no lower position shows up after a higher one."""
    writers, each = 4, 50
    done = threading.Event()

    def write(n: int) -> list[int]:
        made = []
        for m in range(each):
            with database.write(durable=bool(m % 2)) as session:
                made.append(events.emit(session, "commit", ORDERS, {"n": n}))
                made.append(events.emit(session, "job", ORDERS, {"m": m}))
        return made

    def read() -> list[int]:
        seen: list[int] = []
        while True:
            last_look = done.is_set()
            with database.read() as session:
                found = events.listed(session, seen[-1] if seen else 0)
            seen += [one.position for one in found]
            if last_look:
                return seen

    with ThreadPoolExecutor(writers + 1) as pool:
        reading = pool.submit(read)
        made = [pool.submit(write, n) for n in range(writers)]
        positions = sorted(position for one in made for position in one.result())
        done.set()
        assert reading.result() == positions
