"""Schedules: which moments, whatever the clock on the wall does, and which of them are due."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting import calls
from trunkline.errors import InvalidSchedule
from trunkline.pipelines.cron import (
    MISSED_AFTER,
    MOST_AT_ONCE,
    SECOND,
    CatchUp,
    Fields,
    Policy,
    due_slots,
    in_words,
    parse_catch_up,
    parse_cron,
    slot_name,
)

MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
BERLIN, SAO_PAULO, LORD_HOWE = "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe"


def at(text: str, zone: str = "UTC") -> int:
    """Microseconds of `2026-01-01 06:00`."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return int(moment.timestamp()) * SECOND


def first(expression: str, zone: str, start: str, number: int) -> list[str]:
    """The first slots after a local time, as `day hour:minute` in UTC."""
    slots = parse_cron(expression, zone).following(at(start, zone))
    return [
        datetime.fromtimestamp(slot / SECOND, UTC).strftime("%d %H:%M")
        for slot in islice(slots, number)
    ]


@pytest.mark.parametrize(
    ("expression", "slots"),
    [
        ("* * * * *", ["01 00:01", "01 00:02"]),
        ("*/10 * * * *", ["01 00:10", "01 00:20"]),
        ("0/20 * * * *", ["01 00:20", "01 00:40", "01 01:00"]),
        ("0 6 * * *", ["01 06:00", "02 06:00"]),
        ("0 6,18 * * *", ["01 06:00", "01 18:00"]),
        ("0 9-17/4 * * *", ["01 09:00", "01 13:00", "01 17:00", "02 09:00"]),
        ("0 6 * * MON", ["05 06:00", "12 06:00"]),
        ("0 6 ? * mon", ["05 06:00", "12 06:00"]),
        ("0 6 * * 7", ["04 06:00"]),
        ("0 6 * * 0", ["04 06:00"]),
        ("0 6 * JAN FRI-SAT", ["02 06:00", "03 06:00", "09 06:00"]),
        ("0 6 3 * FRI", ["02 06:00", "03 06:00", "09 06:00"]),
        ("0 6 L * *", ["31 06:00", "28 06:00"]),
        ("0 6 LW * *", ["30 06:00", "27 06:00"]),
        ("0 6 * * MON#2", ["12 06:00", "09 06:00"]),
        ("0 6 * * 5L", ["30 06:00", "27 06:00"]),
        ("@hourly", ["01 01:00", "01 02:00"]),
        ("@daily", ["02 00:00", "03 00:00"]),
        ("@midnight", ["02 00:00"]),
        ("@weekly", ["04 00:00", "11 00:00"]),
        ("@monthly", ["01 00:00"]),
        ("@Yearly", ["01 00:00"]),
        ("@annually", ["01 00:00"]),
        ("@every 10m", ["01 00:10", "01 00:20"]),
        ("@every 1h30m", ["01 01:30", "01 03:00"]),
        ("@every 1d", ["02 00:00", "03 00:00"]),
        ("  0   6 * *  * ", ["01 06:00"]),
        ("CRON_TZ=Asia/Tokyo 0 6 * * *", ["01 21:00"]),
        ("TZ=Asia/Tokyo @daily", ["01 15:00"]),
        ("@never", []),
    ],
)
def test_slots(expression: str, slots: list[str]) -> None:
    assert first(expression, "UTC", "2026-01-01", max(len(slots), 1)) == slots


def test_intervals_count_from_the_start() -> None:
    start = at("2026-01-01 00:07:30")
    slots = parse_cron("@every 10m", start=start + 999)
    assert slots.after(start) == start + 10 * MINUTE
    assert slots.after(start - 1) == start
    assert slots.after(start - 11 * MINUTE) == start - 10 * MINUTE


def test_after_is_strict() -> None:
    slots = parse_cron("0 6 * * *")
    six = at("2026-01-01 06:00")
    assert slots.after(six - 1) == six
    assert slots.after(six) == slots.after(six + 1) == six + DAY
    assert slots.between(six, six + DAY) == [six + DAY]
    assert slots.between(six - 1, six + DAY, 1) == [six]
    assert slots.newest(six - 1, six + 9 * DAY, 2) == [six + 8 * DAY, six + 9 * DAY]


def test_leap_days() -> None:
    slots = parse_cron("0 0 29 2 *", BERLIN)
    years = [slot_name(slot)[:10] for slot in islice(slots.following(at("2026-01-01")), 3)]
    assert years == ["2028-02-28", "2032-02-28", "2036-02-28"]  # midnight in Berlin
    assert slot_name(slots.after(at("2096-03-01")) or 0) == "2104-02-28T23:00:00Z"
    fifth = parse_cron("0 0 * 2 MON#5").after(at("2072-03-01"))
    assert slot_name(fifth or 0)[:10] == "2112-02-29"


@pytest.mark.parametrize(
    ("expression", "zone", "start", "slots"),
    [
        # Berlin: 02:00 becomes 03:00 on 29 March 2026 (01:00 UTC), and 03:00 becomes 02:00 on
        # 25 October (01:00 UTC).
        ("30 2 * * *", BERLIN, "2026-03-27 12:00", ["28 01:30", "29 01:00", "30 00:30"]),
        ("15,30 2 * * *", BERLIN, "2026-03-28 12:00", ["29 01:00", "30 00:15", "30 00:30"]),
        ("*/30 2 * * *", BERLIN, "2026-03-28 12:00", ["29 01:00", "30 00:00", "30 00:30"]),
        ("*/30 2-3 * * *", BERLIN, "2026-03-28 12:00", ["29 01:00", "29 01:30", "30 00:00"]),
        ("30 * * * *", BERLIN, "2026-03-29 00:00", ["28 23:30", "29 00:30", "29 01:30"]),
        ("*/30 * * * *", BERLIN, "2026-03-29 01:15", ["29 00:30", "29 01:00", "29 01:30"]),
        ("30 2 * * *", BERLIN, "2026-10-24 12:00", ["25 00:30", "26 01:30", "27 01:30"]),
        ("0 */2 * * *", BERLIN, "2026-10-25 00:00", ["25 00:00", "25 03:00", "25 05:00"]),
        ("*/30 2 * * *", BERLIN, "2026-10-25 00:00", ["25 00:00", "25 00:30", "26 01:00"]),
        ("30 0-23 * * *", BERLIN, "2026-10-25 01:00", ["24 23:30", "25 00:30", "25 01:30"]),
        ("*/30 * * * *", BERLIN, "2026-10-25 02:15", ["25 00:30", "25 01:00", "25 01:30"]),
        # São Paulo: midnight became 01:00 on 4 November 2018 (03:00 UTC), and 00:00 became 23:00
        # of the day before on 18 February 2018 (02:00 UTC).
        ("0 0 * * *", SAO_PAULO, "2018-11-02 12:00", ["03 03:00", "04 03:00", "05 02:00"]),
        ("30 0 * * *", SAO_PAULO, "2018-11-02 12:00", ["03 03:30", "04 03:00", "05 02:30"]),
        ("0 0 * * SUN", SAO_PAULO, "2018-11-02 12:00", ["04 03:00", "11 02:00"]),
        ("0 * * * *", SAO_PAULO, "2018-11-03 22:30", ["04 02:00", "04 03:00", "04 04:00"]),
        ("30 23 * * *", SAO_PAULO, "2018-02-17 12:00", ["18 01:30", "19 02:30"]),
        ("0 0 * * *", SAO_PAULO, "2018-02-16 12:00", ["17 02:00", "18 03:00", "19 03:00"]),
        # Lord Howe moves by half an hour: 02:00 becomes 02:30 on 4 October 2026 (15:30 UTC of the
        # day before), and 02:00 becomes 01:30 on 5 April (15:00 UTC of the day before).
        ("15 2 * * *", LORD_HOWE, "2026-10-03 12:00", ["03 15:30", "04 15:15"]),
        ("45 1 * * *", LORD_HOWE, "2026-04-04 12:00", ["04 14:45", "05 15:15"]),
        ("45 * * * *", LORD_HOWE, "2026-04-05 00:50", ["04 14:45", "04 15:15", "04 16:15"]),
        ("0 * * * *", LORD_HOWE, "2026-10-04 00:30", ["03 14:30", "03 16:00", "03 17:00"]),
        ("*/10 * * * *", LORD_HOWE, "2026-10-04 01:45", ["03 15:20", "03 15:30", "03 15:40"]),
        # Samoa left out 30 December 2011 altogether.
        ("0 6 * * *", "Pacific/Apia", "2011-12-29 00:00", ["29 16:00", "30 10:00", "30 16:00"]),
    ],
)
def test_when_the_clock_jumps(expression: str, zone: str, start: str, slots: list[str]) -> None:
    assert first(expression, zone, start, len(slots)) == slots


def test_the_second_time_round_fires_nothing_again() -> None:
    slots = parse_cron("30 2 * * *", BERLIN)
    second_time = at("2026-10-25 01:10+00:00")
    assert slots.after(second_time) == at("2026-10-26 01:30+00:00")


ZONES = ["UTC", BERLIN, SAO_PAULO, LORD_HOWE, "America/New_York", "Africa/Casablanca"]


@st.composite
def expressions(draw: st.DrawFn) -> str:
    minute = draw(st.sampled_from(["*", "*/15", "0", "45", "5,35", "10-40/10"]))
    hour = draw(st.sampled_from(["*", "0-23", "*/2", "0", "1", "2", "0-3", "1,2,3", "23"]))
    day = draw(st.sampled_from(["*", "*", "*/2", "1-7", "L"]))
    weekday = draw(st.sampled_from(["*", "*", "SUN", "1-5", "0#1"]))
    return f"{minute} {hour} {day} * {weekday}"


# Days around which the clocks of those zones jump, and any other day.
days = st.sampled_from(
    ["2026-03-28", "2026-10-24", "2018-11-03", "2018-02-17", "2026-04-04", "2026-10-03",
     "2026-03-08", "2026-11-01", "2026-02-15", "2026-06-10"]
).map(at)  # fmt: skip


@given(expressions(), st.sampled_from(ZONES), days, st.integers(0, DAY), st.integers(0, 2 * HOUR))
def test_times_increase_and_none_is_left_out(
    expression: str, zone: str, day: int, into: int, later: int
) -> None:
    slots = parse_cron(expression, zone)
    found = list(islice(slots.following(day + into), 30))
    assert all(a < b for a, b in pairwise([day + into, *found]))
    # The next slot is the same from wherever one looks on the way there.
    other = slots.after(day + into + later)
    assert other == next(slot for slot in slots.following(day + into) if slot > day + into + later)


@settings(deadline=None)
@given(expressions(), st.sampled_from(ZONES), days)
def test_slots_are_what_the_clock_on_the_wall_shows(expression: str, zone: str, day: int) -> None:
    """Against every minute of three days, one after the other."""
    rules, wanted = ZoneInfo(zone), set()
    on_wall = {
        slot // SECOND for slot in parse_cron(expression).between(day - 2 * DAY, day + 5 * DAY)
    }
    every_hour = expression.split()[1] in ("*", "0-23")
    begin, end = day // SECOND, (day + 3 * DAY) // SECOND
    shown_before = {_wall(second, rules) for second in range(begin - 3 * 3600, begin, 60)}
    before = _wall(begin - 60, rules)
    for second in range(begin, end, 60):
        wall = _wall(second, rules)
        passed = range(before + 60, wall + 60, 60) if wall > before else [wall]
        if every_hour:
            due = wall in on_wall
        else:
            due = any(one in on_wall and one not in shown_before for one in passed)
        if due:
            wanted.add(second * SECOND)
        shown_before.add(wall)
        before = wall
    found = parse_cron(expression, zone).between(begin * SECOND - 1, end * SECOND - 1)
    assert found == sorted(wanted)


def _wall(second: int, rules: ZoneInfo) -> int:
    local = datetime.fromtimestamp(second, rules)
    return int(local.replace(tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("expression", "flaw"),
    [
        ("", "0 fields"),
        ("* * * *", "4 fields"),
        ("0 * * * * *", "6 fields where five are needed; for seconds there is @every 30s"),
        ("61 * * * *", '"61" as the minute, which goes from 0 to 59'),
        ("0 24 * * *", '"24" as the hour'),
        ("0 0 0 * *", '"0" as the day of month'),
        ("0 0 * 13 *", '"13" as the month'),
        ("0 0 * * MONDAY", '"MONDAY" as the day of week'),
        ("0 0 * * FRI-MON", '"FRI-MON" as the day of week'),
        ("-1 * * * *", '"-1" as the minute'),
        ("*/0 * * * *", '"*/0" as the minute'),
        ("1,,2 * * * *", '"1,,2" as the minute'),
        ("٣ * * * *", '"٣" as the minute'),
        ("*/90 * * * *", "steps by 90 in the minute, which has 60"),
        ("0 0 30 2 *", "never comes"),
        ("0 0 31 4,6,9,11 *", "never comes"),
        ("0 0 */31 * MON#3", "never comes"),
        ("@dayly", 'Did you mean "@daily"?'),
        ("@reboot", "is not a schedule we know."),
        ("@daily 6", "is not a schedule we know."),
        ("@never again", "is not a schedule we know."),
        ("@every", "needs a time and its unit"),
        ("@every 10", "needs a time and its unit"),
        ("@every day", "needs a time and its unit"),
        ("@every -5m", "needs a time and its unit"),
        ("@every 0s", "a whole number of seconds"),
        ("@every 1500ms", "a whole number of seconds"),
        ("@every 99999999d", "a whole number of seconds"),
        ("TZ= 0 6 * * *", 'no time zone ""'),
        ("TZ=Mars 0 6 * * *", 'no time zone "Mars"'),
        ("1," * 500, "longer than 200"),
        ("0 6\n* * \x1b[2J", "\\x1b"),
    ],
)
def test_refused(expression: str, flaw: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_cron(expression)
    assert flaw in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.message.endswith((".", "?"))
    assert caught.value.hint


def test_refusing_is_no_burden() -> None:
    """However far a number reaches, nobody counts up to it."""
    for expression in ("*/999999999 * * * *", "0-999999999 * * * *", "@every 99999999d"):
        assert calls(partial(_refuse, expression)) < 1_000
    # A day that never comes is looked for, for as long as calendars repeat themselves.
    assert calls(lambda: _refuse("0 0 */31 * MON#3")) < 200_000


def _refuse(expression: str) -> None:
    with pytest.raises(InvalidSchedule):
        parse_cron(expression)


@pytest.mark.parametrize(
    "zone", ["", "Europe", "Europe/Berlyn", "../etc/passwd", "/etc/localtime", "a\0b", "x" * 5000]
)
def test_no_such_zone(zone: str) -> None:
    with pytest.raises(InvalidSchedule, match="There is no time zone"):
        parse_cron("0 6 * * *", zone)


def test_a_near_miss_of_a_zone_is_named() -> None:
    with pytest.raises(InvalidSchedule, match='Did you mean "Europe/Berlin"'):
        parse_cron("@every 1h", "europe/berlin")


def test_two_zones_must_agree() -> None:
    parse_cron("TZ=Europe/Berlin 0 6 * * *", BERLIN)
    with pytest.raises(InvalidSchedule, match="names a time zone, and so does"):
        parse_cron("TZ=Europe/Berlin 0 6 * * *", "Asia/Tokyo")


@given(st.text(max_size=30) | st.text("0123456789*/-,#LW? MONSUA@", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        slots = parse_cron(text)
    except InvalidSchedule:
        return
    assert slots.after(at("2026-01-01")) or slots.text.lower() == "@never"


def test_the_ends_of_time() -> None:
    for text in ("0 6 * * *", "* * * * *", "@every 1h"):
        for zone in ZONES:
            slots = parse_cron(text, zone)
            assert slots.after(-(10**18)) == slots.after(at("1900-01-01"))
            assert slots.after(10**18) is None
            last = slots.after(at("9899-12-31 23:59:59"))
            assert last is not None and slots.after(last + DAY) is None


# Catching up ------------------------------------------------------------------------------

NOW = at("2026-01-10 12:00:30")
NOON = at("2026-01-10 12:00")


@pytest.mark.parametrize(
    ("policy", "expression", "last", "slots"),
    [
        ("none", "0 * * * *", NOON - 3 * HOUR, [NOON]),
        ("none", "30 * * * *", NOON - 3 * HOUR, []),
        ("none", "0 * * * *", NOON, []),
        ("none", "0 * * * *", None, [NOON]),
        ("none", "@every 20s", None, [NOON - 20 * SECOND, NOON, NOON + 20 * SECOND]),
        ("none", "@every 20s", NOON, [NOON + 20 * SECOND]),
        ("latest", "0 * * * *", NOON - 3 * HOUR, [NOON]),
        ("latest", "30 * * * *", NOON - 3 * HOUR, [NOON - 30 * MINUTE]),
        ("latest", "0 * * * *", NOON, []),
        ("latest", "@yearly", None, []),
        ("latest", "0 0 8 * *", None, [at("2026-01-08")]),
        ("all", "0 * * * *", NOON - 3 * HOUR, [NOON - 2 * HOUR, NOON - HOUR, NOON]),
        ("all", "0 0 * * *", None, [at("2026-01-08"), at("2026-01-09"), at("2026-01-10")]),
        ("all", "0 * * * *", NOON, []),
        ("all(2)", "0 * * * *", NOON - 3 * HOUR, [NOON - HOUR, NOON]),
        ("all(9)", "0 * * * *", NOON - 3 * HOUR, [NOON - 2 * HOUR, NOON - HOUR, NOON]),
        ("all(1)", "0 0 * * *", None, [at("2026-01-10")]),
        # The clock went back: what was acted on stays so.
        ("all", "0 * * * *", NOON + DAY, []),
        ("latest", "@never", None, []),
    ],
)
def test_due(policy: str, expression: str, last: int | None, slots: list[int]) -> None:
    start = at("2026-01-08")
    assert due_slots(parse_cron(expression), last, start, NOW, policy) == slots


def test_nothing_is_due_before_the_start() -> None:
    hourly = parse_cron("@hourly")
    for policy in ("none", "latest", "all", "all(3)"):
        assert due_slots(hourly, None, NOW + 1, NOW, policy) == []
        assert due_slots(hourly, None, NOON, NOW, policy) == [NOON]
        assert due_slots(hourly, NOON - 9 * HOUR, NOON, NOW, policy) == [NOON]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which moments a cron expression's next slot was looked for."""
    moments: list[int] = []
    real = Fields.after

    def after(self: Fields, moment: int) -> int | None:
        moments.append(moment)
        return real(self, moment)

    monkeypatch.setattr(Fields, "after", after)
    return moments


def test_a_start_long_ago_is_no_burden(looks: list[int]) -> None:
    minutely = parse_cron("* * * * *", BERLIN)
    assert due_slots(minutely, None, 0, NOW, "latest") == [NOON]
    assert len(looks) < 10
    assert due_slots(minutely, None, 0, NOW, "all(3)")[-1] == NOON
    assert len(looks) < 50
    assert due_slots(parse_cron("0 0 29 2 *"), None, 0, NOW, "all(3)") == [
        at("2016-02-29"), at("2020-02-29"), at("2024-02-29")
    ]  # fmt: skip
    assert len(looks) < 100
    looks.clear()
    oldest = due_slots(minutely, None, 0, NOW, "all")
    assert len(oldest) == MOST_AT_ONCE
    assert oldest[0] == 0
    assert due_slots(minutely, oldest[-1], 0, NOW, "all")[0] == oldest[-1] + MINUTE
    assert len(looks) <= 2 * (MOST_AT_ONCE + 1)


@given(
    expressions(),
    st.sampled_from(ZONES),
    st.sampled_from(["none", "latest", "all", "all(1)", "all(4)"]),
    days,
    st.lists(st.integers(-HOUR, 9 * HOUR), max_size=8),
)
def test_a_slot_is_due_at_most_once(
    expression: str, zone: str, policy: str, start: int, waits: list[int]
) -> None:
    slots = parse_cron(expression, zone)
    last: int | None = None
    now, acted = start, list[int]()
    for wait in waits:
        before, now = last, now + wait
        due = due_slots(slots, last, start, now, policy)
        acted += due
        last = due[-1] if due else last
        missed = slots.between(start - 1 if before is None else before, now)
        assert set(due) <= set(missed)
        match parse_catch_up(policy):
            case CatchUp(Policy.NONE):
                assert due == [slot for slot in missed if slot > now - MISSED_AFTER]
            case CatchUp(Policy.LATEST):
                assert due == missed[-1:]
            case CatchUp(Policy.ALL, most):
                assert due == missed[-(most or 0) :]
    assert all(a < b for a, b in pairwise(acted))
    assert set(acted) <= set(slots.between(start - 1, max([start, *acted])))


@pytest.mark.parametrize("text", ["none", "latest", "all", "all(5)", "all(100000)"])
def test_policies_print_as_they_are_read(text: str) -> None:
    assert str(parse_catch_up(text)) == text
    assert parse_catch_up(f" {text.upper()} ") == parse_catch_up(text)


@pytest.mark.parametrize("text", ["", "some", "all(0)", "all(-1)", "all()", "latest(2)", "all(5"])
def test_bad_policies(text: str) -> None:
    with pytest.raises(InvalidSchedule, match="is none of none, latest, all and all"):
        parse_catch_up(text)


# Telling ----------------------------------------------------------------------------------


def test_slot_names() -> None:
    assert slot_name(at("2026-01-01 06:00")) == "2026-01-01T06:00:00Z"
    assert slot_name(at("2026-07-01 06:00", BERLIN)) == "2026-07-01T04:00:00Z"
    start = at("2026-01-01")
    names = [slot_name(slot) for slot in parse_cron("@every 7s").between(start, start + DAY)]
    assert names == sorted(set(names))


@pytest.mark.parametrize(
    ("expression", "zone", "words"),
    [
        ("* * * * *", BERLIN, "every minute"),
        ("*/10 * * * *", BERLIN, "every 10 minutes"),
        ("0,30 * * * *", "UTC", "every 30 minutes"),
        ("@hourly", "UTC", "every hour"),
        ("*/60 * * * *", "UTC", "every hour"),
        ("15 * * * *", "UTC", "every hour at 15 minutes past"),
        ("1 */2 * * *", "UTC", "every 2 hours at 1 minute past (UTC)"),
        ("0 */6 * * *", BERLIN, "every 6 hours (Europe/Berlin)"),
        ("0 6 * * *", BERLIN, "every day at 06:00 (Europe/Berlin)"),
        ("TZ=Asia/Tokyo 0 6 * * *", "UTC", "every day at 06:00 (Asia/Tokyo)"),
        ("@daily", "UTC", "every day at 00:00 (UTC)"),
        ("5 6,18 * * *", "UTC", "every day at 06:05 and 18:05 (UTC)"),
        ("0 6 1-31 * MON", "UTC", "every day at 06:00 (UTC)"),
        ("0 6 * * 1-5", "UTC", "Monday to Friday at 06:00 (UTC)"),
        ("@weekly", "UTC", "every Sunday at 00:00 (UTC)"),
        ("0 6 * * 7,1,THU", "UTC", "every Monday, Thursday and Sunday at 06:00 (UTC)"),
        ("@monthly", "UTC", "on day 1 of every month at 00:00 (UTC)"),
        ("0 6 L * *", "UTC", "on the last day of every month at 06:00 (UTC)"),
        ("0 6 LW * *", "UTC", "on the last working day of every month at 06:00 (UTC)"),
        ("@yearly", "UTC", "every year on 1 January at 00:00 (UTC)"),
        ("@every 10m", BERLIN, "every 10 minutes"),
        ("@every 60m", "UTC", "every hour"),
        ("@every 1h30m", "UTC", "every 1 hour and 30 minutes"),
        ("@never", "UTC", "only by hand"),
        ("*/7 * * * *", "UTC", "*/7 * * * *"),
        ("0 6 * * MON#2", BERLIN, "0 6 * * MON#2 (Europe/Berlin)"),
        ("0 6 1 * MON", "UTC", "0 6 1 * MON"),
        ("0 6 * 1-6 *", "UTC", "0 6 * 1-6 *"),
        ("*/5 9-17 * * *", "UTC", "*/5 9-17 * * *"),
        ("TZ=Asia/Tokyo 0 6 1,2 * *", "UTC", "TZ=Asia/Tokyo 0 6 1,2 * *"),
    ],
)
def test_in_words(expression: str, zone: str, words: str) -> None:
    assert in_words(expression, zone) == words
    assert in_words(parse_cron(expression, zone)) == words


def test_importing_loads_no_cron_library() -> None:
    code = "import sys, trunkline.pipelines.triggers; print('cronsim' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_each_slot_of_a_day_is_looked_for_once(looks: list[int]) -> None:
    start = at("2026-10-24 12:00")
    slots = parse_cron("* * * * *", BERLIN).between(start, start + DAY)
    assert len(slots) == 24 * 60
    assert looks == [start, *slots]
