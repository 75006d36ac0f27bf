"""Ids of commits: in order, and told apart by their first digits."""

import time

from trunkline.model import ids


def test_ids_of_a_clock_that_was_set_back_go_on_and_are_told_apart_by_twelve_digits(monkeypatch):
    monkeypatch.setattr(ids, "_last", ids._last)
    right = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: right() + 3600 * 10**9)
    before = ids.new_id()
    monkeypatch.setattr(time, "time_ns", right)
    after = [ids.new_id() for _ in range(100)]
    assert [before, *after] == sorted([before, *after])
    assert len({one[:12] for one in after}) == 100
    assert ids.id_millis(after[-1]) - ids.id_millis(before) < 200


def test_many_at_once_stay_near_the_clock():
    made = [ids.new_id() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert ids.id_millis(made[-1]) <= time.time_ns() // 1_000_000 + 10
