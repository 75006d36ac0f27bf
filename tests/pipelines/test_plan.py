from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counting import calls
from trunkline.model.jobs import DatumState
from trunkline.pipelines.datums import Datum, Match
from trunkline.pipelines.datums_lines import IndexLine, LineState
from trunkline.pipelines.plan import (
    Action,
    CodeChange,
    Step,
    Summary,
    plan,
    plan_delta,
)

SAME, CHANGED, REPROCESS = CodeChange
RUN, KEEP, DROP = Action


def datum(paths: str, hashes: str) -> Datum:
    """`/a /b/` with `1,2`: a datum of the file /a and the folder /b."""
    found = tuple(
        Match(0, path.encode(), digest.encode(), 1, 1, "", "")
        for path, digest in zip_longest(paths.split(), hashes.split(","), fillvalue="")
    )
    key = b"\x1f".join(b"in@default/in@main\x1f" + match.path for match in found)
    return Datum(key, hashes.encode(), found)


def line(one: Datum, state: str = "1") -> bytes:
    return IndexLine(one.key, one.content, LineState(state), "job", "part", 3, "new").encode()


@pytest.mark.parametrize(
    ("before", "after", "state", "code", "every_job", "action", "reason"),
    [
        ("1", "1", "1", SAME, False, KEEP, "unchanged"),
        ("1", "2", "1", SAME, False, RUN, "input changed: /a.csv"),
        ("1", "2", "2", SAME, False, RUN, "input changed: /a.csv"),
        ("1", "1", "2", SAME, False, RUN, "previous attempt failed"),
        ("1", "1", "3", SAME, False, RUN, "previous attempt failed"),
        ("1", "1", "1", CHANGED, False, RUN, "code changed"),
        ("1", "1", "2", CHANGED, False, RUN, "code changed"),
        ("1", "2", "1", CHANGED, False, RUN, "input changed: /a.csv; code changed"),
        ("1", "1", "1", REPROCESS, False, RUN, "reprocess"),
        ("1", "2", "1", REPROCESS, False, RUN, "input changed: /a.csv; reprocess"),
        ("1", "1", "1", SAME, True, RUN, "reprocess"),
        ("1", "2", "1", SAME, True, RUN, "input changed: /a.csv"),
    ],
)
def test_a_datum_that_was_there_before(
    before: str,
    after: str,
    state: str,
    code: CodeChange,
    every_job: bool,
    action: Action,
    reason: str,
) -> None:
    old, new = line(datum("/a.csv", before), state), datum("/a.csv", after)
    steps = list(plan([new], [old], code=code, every_job=every_job))
    assert steps == [Step(action, new, old, reason)]


@pytest.mark.parametrize(
    ("paths", "before", "after", "reason"),
    [
        ("/a /b/", "1,2", "1,3", "input changed: /b"),
        ("/a /b/", "1,2", "2,3", "input changed: /a and 1 more"),
        ("/a /b/ /c", "1,2,3", "1,3,4", "input changed: /b and 1 more"),
        ("/", "1", "2", "input changed: /"),
        ("/a /b /c /d /e /f /g /h /i", "*1", "*2", "input changed"),
    ],
)
def test_the_first_changed_input_is_named(paths: str, before: str, after: str, reason: str) -> None:
    old, new = datum(paths, before), datum(paths, after)
    (step,) = plan([new], [line(old)])
    assert step.reason == reason


@pytest.mark.parametrize("code", list(CodeChange))
@pytest.mark.parametrize("every_job", [False, True])
def test_new_and_vanished_datums(code: CodeChange, every_job: bool) -> None:
    a, b, c = (datum(path, "1") for path in ("/a", "/b", "/c"))
    steps = list(plan([b], [line(a), line(c)], code=code, every_job=every_job))
    assert steps == [
        Step(DROP, None, line(a), "input gone"),
        Step(RUN, b, None, "new"),
        Step(DROP, None, line(c), "input gone"),
    ]


_datums = st.dictionaries(
    st.sampled_from(["/a", "/a-b", "/a/", "/a/b", "/b", "/é", "/z"]),
    st.tuples(st.sampled_from("12"), st.sampled_from("1123")),
)
_codes = st.sampled_from(list(CodeChange))


def in_order(held: Iterable[tuple[str, tuple[str, str]]]) -> list[tuple[Datum, str]]:
    return sorted((datum(path, content), state) for path, (content, state) in held)


def steps_by_key(steps: Iterable[Step]) -> dict[bytes, tuple[Action, str]]:
    found = {}
    for step in steps:
        key = step.datum.key if step.datum else IndexLine.decode(step.before or b"").key
        found[key] = (step.action, step.reason)
    return found


@settings(deadline=None)
@given(_datums, _datums, _codes, st.booleans())
def test_the_walk_decides_as_a_lookup_would(
    old: dict[str, tuple[str, str]],
    new: dict[str, tuple[str, str]],
    code: CodeChange,
    every_job: bool,
) -> None:
    before = {one.key: (one, state) for one, state in in_order(old.items())}
    after = [one for one, _ in in_order(new.items())]
    wanted: dict[bytes, tuple[Action, str]] = {}
    for one in after:
        was, state = before.get(one.key, (None, ""))
        reasons = []
        if was is not None and was.content != one.content:
            reasons.append(f"input changed: {one.matches[0].path.decode().rstrip('/')}")
        if code is not SAME:
            reasons.append({CHANGED: "code changed", REPROCESS: "reprocess"}[code])
        if was is None:
            wanted[one.key] = (RUN, "new")
        elif reasons:
            wanted[one.key] = (RUN, "; ".join(reasons))
        elif state != "1":
            wanted[one.key] = (RUN, "previous attempt failed")
        else:
            wanted[one.key] = (RUN, "reprocess") if every_job else (KEEP, "unchanged")
    for key in before.keys() - {one.key for one in after}:
        wanted[key] = (DROP, "input gone")

    lines = [line(one, state) for one, state in before.values()]
    steps = list(plan(after, lines, code=code, every_job=every_job))
    assert steps_by_key(steps) == wanted
    assert list(steps_by_key(steps)) == sorted(wanted)

    if code is SAME and not every_job:
        present = {one.key: one for one in after}
        changes = [(key, present.get(key)) for key in sorted({*before, *present})]
        index = {IndexLine.decode(one).key: one for one in lines}
        assert list(plan_delta(changes, index.get)) == steps


@given(_datums)
def test_nothing_changed_nothing_runs(held: dict[str, tuple[str, str]]) -> None:
    made = [one for one, _ in in_order(held.items())]
    lines = [line(one) for one in made]
    assert list(plan(made, lines)) == [
        Step(KEEP, one, before, "unchanged") for one, before in zip(made, lines, strict=True)
    ]


def test_a_delta_that_undoes_itself_is_no_step() -> None:
    assert list(plan_delta([(b"k", None)], lambda key: None)) == []


@given(
    st.builds(
        IndexLine,
        st.binary().filter(lambda key: not set(key) & set(b"\t\n")),
        st.sampled_from([b"-", b"ab,cd", b"*ef"]),
        st.sampled_from(LineState),
        st.text("0123456789abcdef"),
        st.text("abc/.-"),
        st.integers(0),
        st.sampled_from(["new", "input changed: /é; code changed", ""]),
    )
)
def test_lines_are_read_as_they_were_written(one: IndexLine) -> None:
    assert IndexLine.decode(one.encode()) == one
    assert b"\n" not in one.encode()


def test_states_have_names() -> None:
    assert [state.datum_state for state in LineState] == [
        DatumState.SUCCESS,
        DatumState.FAILED,
        DatumState.RECOVERED,
    ]


def test_a_summary_counts_by_action_and_reason() -> None:
    made = [datum(path, "2") for path in ("/a", "/b", "/c", "/d")]
    before = [datum("/a", "1"), datum("/b", "1"), datum("/c", "2"), datum("/x", "1")]
    summary = Summary.of(plan(made, map(line, before)))
    assert asdict(summary) == {
        "run": 3,
        "keep": 1,
        "drop": 1,
        "reasons": {"input changed": 2, "unchanged": 1, "new": 1, "input gone": 1},
    }
    assert Summary.of([]) == Summary()


def test_keeping_takes_one_pass_and_four_calls_each() -> None:
    made = [datum(f"/{n:06}", "1" * 64) for n in range(10_000)]
    lines = [line(one) for one in made]
    steps: list[Step] = []
    # to go on, to compare, to make the step and to take the next line
    assert calls(lambda: steps.extend(plan(iter(made), iter(lines)))) <= 4 * len(made) + 10
    assert [step.action for step in steps] == [KEEP] * len(made)
