"""From what a write counted to what became of each rule, in words and in time to stop the commit.

Pure: all that is known of the tables is handed in, and nothing is read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trunkline.errors import InvalidSpec
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState, Expectation
from trunkline.model.suggest import did_you_mean, shown
from trunkline.tables.values import MICROS_OF_DAY, day_text, moment_of, parse_stats

SAMPLES = 5
LONGEST_VALUE = 200
LONGEST_SAMPLE = 2_000
_MICROS = 1_000_000
_TAKEN_OUT = {Action.DROP: "dropped", Action.QUARANTINE: "quarantined"}


class Report(Protocol):
    """What a write says (`engine.tables.WriteReport`): rows, and broken rules in their order."""

    @property
    def seen(self) -> int: ...
    @property
    def broken(self) -> tuple[int, ...]: ...
    @property
    def samples(self) -> tuple[tuple[str, ...], ...]: ...


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of a table that is about to become visible.

    `seen` are the rows that were made now, before any was taken out; `broken` and `samples` are
    by rule. `rows` are those that readers will see, with what was kept from before. `stats` are
    the statistics of all its files, as entries hold them.
    """

    seen: int = 0
    rows: int = 0
    broken: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stats: Sequence[str] = ()


def facts(
    names: Sequence[str], reports: Iterable[Report], rows: int, stats: Sequence[str] = ()
) -> TableFacts:
    """Those of one table, written in one go or in several; `names` are `RowRules.names`."""
    seen = 0
    broken = dict.fromkeys(names, 0)
    samples: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for report in reports:
        seen += report.seen
        for name, count, some in zip(names, report.broken, report.samples, strict=True):
            broken[name] += count
            samples[name] = (*samples[name], *some)[:SAMPLES]
    return TableFacts(seen, rows, broken, samples, stats)


def settle(
    expectations: Sequence[Expectation],
    tables: Mapping[str, TableFacts],
    history: Mapping[str, Sequence[int]],
    now: int,
) -> tuple[CheckResult, ...]:
    """What became of every rule. `history` has the rows of earlier versions, newest first.

    Tables are known by the names that rules use; "" is that of a pipeline with only one.
    """
    results = []
    # A job may make no table at all: then there is an empty one.
    tables = tables or {"": TableFacts()}
    for rule in expectations:
        name = _table(rule, tables)
        if rule.kind.of_rows:
            results.append(
                _of_rows(rule, tables[name], _holds_any(expectations, rule, tables[name]))
            )
        else:
            results.append(_OF_TABLES[rule.kind](rule, tables[name], history.get(name, ()), now))
    return tuple(results)


def failure_text(results: Sequence[CheckResult]) -> str:
    """Why the job fails; "" if it does not."""
    failed = [one for one in results if one.state is CheckState.FAILED]
    if not failed:
        return ""
    first = f"{failed[0].name}: {failed[0].said}"
    if len(failed) == 1:
        return f"the check {first}"
    return f"{len(failed)} of {len(results)} checks failed, the first {first}"


def _table(rule: Expectation, tables: Mapping[str, TableFacts]) -> str:
    if rule.table in tables:
        return rule.table
    if len(tables) == 1 and (not rule.table or "" in tables):
        return next(iter(tables))
    known = ", ".join(sorted(tables))
    if not rule.table:
        raise InvalidSpec(
            f'The rule "{rule.name}" must name its table: there are {known}.', hint="Set table."
        )
    raise InvalidSpec(
        f'The rule "{rule.name}" is about the table {shown(rule.table)}, which was not made.'
        f"{did_you_mean(rule.table, tables)}",
        hint=f"There are: {known}." if known else "",
    )


# -- rules about rows --------------------------------------------------------------------------


def _holds_any(rules: Sequence[Expectation], rule: Expectation, table: TableFacts) -> bool:
    """Whether rows of its table were quarantined: what drops rows then leaves those alone."""
    return any(
        other.action is Action.QUARANTINE
        and other.table == rule.table
        and table.broken.get(other.name, 0) > 0
        for other in rules
    )


def _of_rows(rule: Expectation, table: TableFacts, holds_any: bool) -> CheckResult:
    broken, rows = table.broken.get(rule.name, 0), table.seen
    taken_out = _TAKEN_OUT.get(rule.action)
    if rule.action is Action.DROP and holds_any:
        taken_out = "dropped, unless quarantined"
    passed = not broken if taken_out else broken <= rule.tolerate * rows
    return CheckResult(
        rule.name,
        rule.kind,
        rule.action,
        _state(rule, passed),
        rule.table,
        rows,
        broken,
        _said(rule, broken, rows, taken_out),
        tuple(shortened(one) for one in table.samples.get(rule.name, ())[:SAMPLES]),
    )


def _said(rule: Expectation, broken: int, rows: int, taken_out: str | None) -> str:
    if not rows:
        return "no rows were computed"
    fault = _fault(rule, "s" if broken == 1 else "")
    if not broken:
        return f"none of {rows:,} rows {fault}"
    text = f"{broken:,} of {rows:,} rows ({share(broken / rows)}) {fault}"
    if taken_out:
        return f"{text}; {'it was' if broken == 1 else 'they were'} {taken_out}"
    return f"{text}; {share(rule.tolerate)} are tolerated" if rule.tolerate else text


def _fault(rule: Expectation, s: str) -> str:
    """What rows do that break the rule; with `s`, what one row does."""
    columns = " and ".join(rule.columns)
    have = "has" if s else "have"
    if rule.kind is CheckKind.EXPR:
        return f"break{s} {' '.join(rule.expr.split())}"
    if rule.kind is CheckKind.NOT_NULL:
        return f"{have} no {' or no '.join(rule.columns)}"
    if rule.kind is CheckKind.ACCEPTED:
        return f"{have} a {columns} other than {_listed(rule.values)}"
    if rule.kind is CheckKind.UNIQUE:
        return f"share{s} {'its' if s else 'their'} {columns} with another"
    assert rule.references is not None
    other, names = rule.references
    return f"{have} a {columns} that is not in {other} ({', '.join(names)})"


def share(rate: float) -> str:
    """`12 %`, `0.3 %`, and never 0 % or 100 % of what is not."""
    percent = rate * 100
    if 0 < percent < 0.01:
        return "under 0.01 %"
    if 99.99 < percent < 100:
        return "over 99.99 %"
    return f"{percent:.2g} %" if percent < 1 else f"{percent:.4g} %"


def shortened(sample: str) -> str:
    """A row that still is a JSON object, but not longer than a catalog should keep."""
    if len(sample) <= LONGEST_VALUE:
        return sample
    try:
        row = json.loads(sample)
    except ValueError:
        row = {"row": sample}
    kept: dict[str, object] = {}
    for number, (name, value) in enumerate(row.items()):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        kept[name] = value if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
        if len(json.dumps(kept)) > LONGEST_SAMPLE:
            del kept[name]
            kept["…"] = f"{len(row) - number} more columns"
            break
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


# -- rules about tables ------------------------------------------------------------------------


def _row_count(
    rule: Expectation, table: TableFacts, before: Sequence[int], now: int
) -> CheckResult:
    said, bad = f"the table has {_rows(table.rows)}", ""
    if rule.least is not None and table.rows < rule.least:
        bad = f", fewer than {rule.least:,g}"
    elif rule.most is not None and table.rows > rule.most:
        bad = f", more than {rule.most:,g}"
    return _result(rule, table, bool(bad), said + bad)


def _row_count_change(
    rule: Expectation, table: TableFacts, before: Sequence[int], now: int
) -> CheckResult:
    earlier = before[: rule.over]
    mean = sum(earlier) / len(earlier) if earlier else 0.0
    if not mean:
        said = f"the table has {_rows(table.rows)}, and had none before to compare with"
        return _result(rule, table, False, said)
    change = table.rows / mean - 1
    than = f"{mean:,.4g}" if mean < 10_000 else f"{mean:,.0f}"
    than = than if len(earlier) == 1 else f"the mean {than} of {len(earlier)} versions"
    more = "more" if change > 0 else "fewer"
    said = f"the table has {_rows(table.rows)}, "
    said += f"{share(abs(change))} {more} than {than}" if change else f"as many as {than}"
    if rule.least is not None and -change > rule.least:
        return _result(rule, table, True, f"{said}; at most {share(rule.least)} fewer are expected")
    if rule.most is not None and change > rule.most:
        return _result(rule, table, True, f"{said}; at most {share(rule.most)} more are expected")
    return _result(rule, table, False, said)


def _freshness(
    rule: Expectation, table: TableFacts, before: Sequence[int], now: int
) -> CheckResult:
    column = rule.columns[0]
    newest = greatest(table.stats, column)
    if newest is None:
        what = f"nothing is known of the newest {column}: the table has no rows with one"
        return _result(rule, table, True, what)
    age = max(now - newest, 0) / _MICROS
    said = f"the newest {column} is {_moment(newest)}, {_span(age)} ago"
    late = rule.within is not None and age > rule.within
    wanted = f"; it may be {_span(rule.within)} old" if late and rule.within is not None else ""
    return _result(rule, table, late, said + wanted)


_OF_TABLES: dict[
    CheckKind, Callable[[Expectation, TableFacts, Sequence[int], int], CheckResult]
] = {
    CheckKind.ROW_COUNT: _row_count,
    CheckKind.ROW_COUNT_CHANGE: _row_count_change,
    CheckKind.FRESHNESS: _freshness,
}


def _result(rule: Expectation, table: TableFacts, bad: bool, said: str) -> CheckResult:
    state = _state(rule, not bad)
    return CheckResult(rule.name, rule.kind, rule.action, state, rule.table, table.rows, 0, said)


def _state(rule: Expectation, passed: bool) -> CheckState:
    if passed:
        return CheckState.PASSED
    return CheckState.FAILED if rule.action is Action.FAIL else CheckState.WARNED


def greatest(stats: Iterable[str], column: str) -> int | None:
    """The latest moment in a column, in microseconds; a date is its midnight in UTC."""
    wanted = column.casefold()
    found: list[int] = []
    for text in stats:
        bounds = parse_stats(text).get(wanted)
        if bounds and bounds[1] is not None:
            found.append(_micros(column, bounds[1]))
    return max(found, default=None)


def _micros(column: str, value: object) -> int:
    moment = moment_of(value)
    if moment is None:
        raise InvalidSpec(
            f"The column {column} holds {shown(str(value))}, which is no date or time.",
            hint="A rule of freshness needs a column of dates or timestamps.",
        )
    return moment


def _moment(micros: int) -> str:
    days, rest = divmod(micros, MICROS_OF_DAY)
    minutes = rest // (60 * _MICROS)
    text = f"{day_text(days)} {minutes // 60:02}:{minutes % 60:02}"
    return text.removesuffix(" 00:00") + " UTC" * (not text.endswith("00:00"))


def _span(seconds: float) -> str:
    """`3d 4h`, `2h 5m`, `12s`: the two largest units."""
    left, parts = round(seconds), []
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        number, left = divmod(left, length)
        if number:
            parts.append(f"{number:,}{unit}")
    return " ".join(parts[:2]) or "0s"


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _listed(values: Sequence[object], most: int = 8) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(str(value) for value in values[:most]) + more
