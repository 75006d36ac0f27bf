"""Followers: one at a time, in order, nothing lost."""

from __future__ import annotations

import queue
from collections.abc import Sequence

import pytest

from tests.waiting import PATIENCE, until
from trunkline import Lake
from trunkline.model.backoff import Backoff
from trunkline.model.commits import RepoName
from trunkline.model.events import Event
from trunkline.notices import follower
from trunkline.notices.follower import Follower, NotNow
from trunkline.storage.catalog import events, followers

ORDERS = RepoName("default", "orders")


class Keeping:
    """Keeps what it is told; `broken` times it cannot."""

    def __init__(self, broken: int = 0) -> None:
        self.broken = broken
        self.got: queue.Queue[int] = queue.Queue()

    def handle(self, new: Sequence[Event]) -> None:
        if self.broken:
            self.broken -= 1
            raise NotNow("it is down")
        for one in new:
            self.got.put(one.position)

    def tick(self) -> None:
        pass

    def settled(self, position: int) -> int:
        return position

    def some(self, n: int) -> list[int]:
        return [self.got.get(timeout=PATIENCE) for _ in range(n)]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "BACKOFF", Backoff(0.01, 0.01))


def emit(lake: Lake, n: int = 1) -> list[int]:
    with lake._core.database.write() as session:
        return [events.emit(session, "commit", ORDERS, {}) for _ in range(n)]


def kept(lake: Lake, name: str = "f") -> int | None:
    with lake._core.database.read() as session:
        return followers.position(session, name)


def started(lake: Lake, handler: Keeping) -> Follower:
    one = Follower(lake._core, "f", handler)
    one.start()
    until(lambda: one._position is not None)
    return one


def test_it_begins_with_what_is_new_and_goes_on_where_it_was(lake: Lake) -> None:
    emit(lake)
    handler = Keeping()
    one = started(lake, handler)
    new = emit(lake, 3)
    assert handler.some(3) == new
    one.stop()
    assert kept(lake) == new[-1]
    missed = emit(lake, 450)
    again = Keeping()
    other = started(lake, again)
    assert again.some(450) == missed
    other.stop()
    assert handler.got.empty()


def test_what_cannot_be_delivered_comes_again(lake: Lake) -> None:
    handler = Keeping(broken=3)
    one = started(lake, handler)
    new = emit(lake, 2)
    assert handler.some(2) == new
    one.stop()
    assert handler.got.empty()


def test_one_of_two_follows(lake: Lake) -> None:
    first, second = Keeping(), Keeping()
    one = started(lake, first)
    two = Follower(lake._core, "f", second)
    two.start()
    new = emit(lake, 5)
    assert first.some(5) == new
    assert second.got.empty()
    one.stop()
    with lake._core.database.write() as session:
        # The lease is free: whoever asks has it.
        assert followers.take(session, "f", "third", 60)
        assert not followers.take(session, "f", "fourth", 60)
        assert followers.take(session, "f", "third", 60)
        followers.let_go(session, "f", "third")
    two._renewed = 0.0
    more = emit(lake, 2)
    assert second.some(2) == more
    two.stop()


@pytest.mark.slow
def test_a_bug_of_a_handler_ends_nothing(lake: Lake) -> None:
    class Buggy(Keeping):
        def handle(self, new: Sequence[Event]) -> None:
            if self.broken:
                self.broken -= 1
                raise KeyError("oops")
            super().handle(new)

    handler = Buggy(broken=1)
    one = started(lake, handler)
    new = emit(lake)
    assert handler.some(1) == new
    one.stop()
