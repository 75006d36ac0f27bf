"""Pauses that grow, up to a longest, however often it fails."""

from __future__ import annotations

from itertools import islice

from trunkline.model.backoff import Backoff


def test_pauses_double_up_to_the_longest() -> None:
    assert list(islice(Backoff(0.5, 3.0), 5)) == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert [Backoff(1.0, 600.0, 10).pause(failures) for failures in (1, 2, 3, 4)] == [
        1, 10, 100, 600,
    ]  # fmt: skip


def test_it_may_fail_for_years() -> None:
    assert Backoff(0.5, 30.0).pause(1_000_000) == 30.0


def test_jitter_takes_away_up_to_half() -> None:
    assert all(1.0 <= Backoff(1.0, 2.0).jittered(9) <= 2.0 for _ in range(100))
