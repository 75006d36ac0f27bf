"""Triggers: what is refused, when they fire and the words for it, and in which order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.errors import InvalidSchedule, Usage
from trunkline.model.inputs import Trigger
from trunkline.pipelines.cron import SECOND
from trunkline.pipelines.triggers import Facts, check_trigger, due, fires, order

HOUR = 3600 * SECOND
DAY = 24 * HOUR
GB, MIB = 10**9, 2**20
NOON = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z

# Two commits of 300 MB since B's head, which is two and a half hours old.
FACTS = Facts(growth=300_000_000, commits=2, since=NOON - 5 * HOUR // 2, now=NOON)


def trigger(branch: str = "staging", **conditions: object) -> Trigger:
    return Trigger(branch, **conditions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("condition", "facts", "fired", "words"),
    [
        (trigger(commits=10), FACTS, False, "waits: 2 new commits, needs 10"),
        (trigger(commits=2), FACTS, True, "fired: 2 new commits, needs 2"),
        (trigger(commits=1), FACTS, True, "fired: 2 new commits, needs 1"),
        (trigger(commits=3), FACTS, False, "waits: 2 new commits, needs 3"),
        (trigger(size=GB), FACTS, False, "waits: 300 MB new, needs 1 GB"),
        (
            trigger(size=GB),
            replace(FACTS, growth=1_230_000_000),
            True,
            "fired: 1.2 GB new, needs 1 GB",
        ),
        (trigger(size=GB), replace(FACTS, growth=GB), True, "fired: 1 GB new, needs 1 GB"),
        (trigger(size=GB), replace(FACTS, growth=GB - 1), False, "waits: 999.9 MB new, needs 1 GB"),
        (
            trigger(size=GB),
            replace(FACTS, growth=-1500),
            False,
            "waits: shrank by 1.5 kB, needs 1 GB",
        ),
        (trigger(size=GB), replace(FACTS, growth=0), False, "waits: 0 B new, needs 1 GB"),
        (trigger(size=512 * MIB), FACTS, False, "waits: 286.1 MiB new, needs 512 MiB"),
        (trigger(size=2**10), FACTS, True, "fired: 286.1 MiB new, needs 1 KiB"),
        (trigger(size=77), FACTS, True, "fired: 300 MB new, needs 77 B"),
        (trigger(rate_limit="@every 2h"), FACTS, True, "fired: allowed since 2026-01-01T11:30:00Z"),
        (trigger(rate_limit="@every 3h"), FACTS, False, "waits: not before 2026-01-01T12:30:00Z"),
        (trigger(rate_limit="@hourly"), FACTS, True, "fired: allowed since 2026-01-01T10:00:00Z"),
        (
            trigger(rate_limit="0 12 * * *"),
            FACTS,
            True,
            "fired: allowed since 2026-01-01T12:00:00Z",
        ),
        (trigger(rate_limit="@daily"), FACTS, False, "waits: not before 2026-01-02T00:00:00Z"),
        (
            trigger(rate_limit="0 12 * * *", timezone="Europe/Berlin"),
            FACTS,
            True,
            "fired: allowed since 2026-01-01T11:00:00Z",
        ),
        (trigger(cron="@daily"), FACTS, False, "moves every day at 00:00 (UTC)"),
        # Any of them, or all of them.
        (trigger(size=GB, commits=2), FACTS, True, "fired: 2 new commits, needs 2"),
        (
            trigger(size=GB, commits=5),
            FACTS,
            False,
            "waits: 300 MB new, needs 1 GB; 2 new commits, needs 5",
        ),
        (trigger(size=GB, cron="@daily"), FACTS, False, "waits: 300 MB new, needs 1 GB"),
        (trigger(size=GB, commits=2, all=True), FACTS, False, "waits: 300 MB new, needs 1 GB"),
        (
            trigger(size=MIB, commits=2, rate_limit="@hourly", all=True),
            FACTS,
            True,
            (
                "fired: 286.1 MiB new, needs 1 MiB; 2 new commits, needs 2; "
                "allowed since 2026-01-01T10:00:00Z"
            ),
        ),
        # Nothing to move to.
        (trigger(rate_limit="@hourly"), replace(FACTS, commits=0), False, "nothing new on staging"),
    ],
)
def test_fires(condition: Trigger, facts: Facts, fired: bool, words: str) -> None:
    check_trigger(condition, "main", {})
    assert fires(condition, facts) == (fired, words)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (trigger(), "has no condition"),
        (trigger(all=True), "has no condition"),
        (trigger(size=-1), "size: -1, which must be at least 1"),
        (trigger(commits=-5), "commits: -5"),
        (trigger(commits=0), "commits: 0"),
        (trigger("", commits=1), "does not say which branch"),
        (trigger("main", commits=1), "cannot have a trigger on itself"),
        (trigger(cron="@never"), "would never fire"),
        (trigger(rate_limit="@never"), "would never fire"),
        (trigger(cron="@daily", size=GB, all=True), "all: true and a cron"),
        (trigger("a", commits=1), "loop: a → main → c → b → a."),
    ],
)
def test_refused(condition: Trigger, words: str) -> None:
    chain = {"a": trigger("b", commits=1), "b": trigger("c", commits=1)}
    others = {**chain, "c": trigger("main", commits=1)}
    with pytest.raises(Usage) as caught:
        check_trigger(condition, "main", others if condition.branch == "a" else {})
    assert words in caught.value.message
    assert caught.value.message.endswith(".")
    assert caught.value.hint


@pytest.mark.parametrize(
    "condition",
    [trigger(cron="61 * * * *"), trigger(rate_limit=""), trigger(cron="@daily", timezone="Mars")],
)
def test_bad_schedules_are_refused(condition: Trigger) -> None:
    with pytest.raises(InvalidSchedule):
        check_trigger(condition, "main", {})


def test_a_trigger_may_take_the_place_of_one_that_closed_a_loop() -> None:
    old = {"a": trigger("b", commits=1), "b": trigger("staging", commits=1)}
    check_trigger(trigger("staging", commits=1), "a", old)
    with pytest.raises(Usage, match="loop: a → b → a"):
        check_trigger(trigger("a", commits=1), "b", old)


def test_cron_moves_on_time() -> None:
    daily = trigger(cron="0 6 * * *", timezone="Europe/Berlin")
    five = NOON - 7 * HOUR  # 06:00 in Berlin
    assert due(daily, None, NOON - 3 * DAY, NOON) == five
    assert due(daily, five - DAY, NOON - 3 * DAY, NOON) == five
    assert due(daily, five, NOON - 3 * DAY, NOON) is None
    assert due(daily, None, NOON - HOUR, NOON) is None
    assert due(trigger(commits=1), None, 0, NOON) is None


def test_chains_are_in_order() -> None:
    triggers = {
        "prod": trigger("main", commits=5),
        "main": trigger("staging", commits=2),
        "audit": trigger("main", cron="@daily"),
        "other": trigger("inbox", size=1),
    }
    assert order(triggers) == ["main", "other", "audit", "prod"]
    assert order({}) == []


names = st.sampled_from("abcdefgh")


@given(st.dictionaries(names, names, max_size=8))
def test_order_or_a_loop(follows: dict[str, str]) -> None:
    triggers = {branch: trigger(followed, commits=1) for branch, followed in follows.items()}
    if any(_ends_in_a_loop(branch, follows) for branch in follows):
        with pytest.raises(Usage, match="→|on itself"):
            order(triggers)
        return
    found = order(triggers)
    assert sorted(found) == sorted(follows)
    for place, branch in enumerate(found):
        assert follows[branch] not in found[place:]


def _ends_in_a_loop(branch: str, follows: dict[str, str]) -> bool:
    for _ in range(len(follows) + 1):
        if branch not in follows:
            return False
        branch = follows[branch]
    return True


@given(st.integers(1, 2**50), st.integers(-(2**50), 2**50), st.integers(1, 99), st.integers(1, 99))
def test_all_is_stricter_than_any(size: int, growth: int, wanted: int, commits: int) -> None:
    facts = Facts(growth, commits, NOON, NOON)
    either = trigger(size=size, commits=wanted)
    assert fires(either, facts)[0] == (growth >= size or commits >= wanted)
    assert fires(replace(either, all=True), facts)[0] == (growth >= size and commits >= wanted)
    assert all(fires(replace(either, all=every), facts)[1] for every in (True, False))
