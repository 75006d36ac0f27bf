"""Rules about rows as one number for each row, so that the write itself counts what breaks them.

Bit i of it is rule i, in the order of the spec. What broken rules do to a row:

- A row that breaks a `quarantine` rule goes to the files of the first such rule, whatever else
  it breaks: nothing is thrown away that somebody wanted to look at.
- A row that breaks `drop` rules, and no `quarantine` rule, is not written.
- Every rule counts every row that the transform made. A row that is dropped by one rule still
  breaks another, so what is found does not depend on which other rules there are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NoReturn

from trunkline.engine.failures import hush
from trunkline.engine.sqlerrors import short
from trunkline.engine.statements import judge_expression
from trunkline.engine.uniqueness import Keys
from trunkline.errors import InvalidSpec, NotAllowed
from trunkline.model.expectations import Action, CheckKind, Expectation
from trunkline.model.suggest import did_you_mean, shown
from trunkline.model.types import quoted, text_literal

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException
    from pyspark.sql import Column, DataFrame

MOST_RULES = 63
BITS = "__tl_broken"
_MOMENTS = ("date", "timestamp")
_DROPPED = -(1 << MOST_RULES)
"""The sign, as a bit of its own: breaking a rule of drop is not enough, see above."""


@dataclass(frozen=True, slots=True)
class RowRules:
    """What the writer adds to each row, and what it does about it.

    `columns` are those to write: the frame has others beside them, which `bits` and
    `quarantine` need. `names` has a rule for each bit; a row with a bit of `dropped` is not
    written; `quarantine` is the name of the rule whose files a row goes to, else null.
    """

    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    bits: Column | None = None
    quarantine: Column | None = None
    dropped: int = 0


NO_RULES = RowRules()


def row_rules(
    frame: DataFrame,
    expectations: Sequence[Expectation],
    *,
    partition_by: Sequence[str] = (),
    related: Mapping[str, DataFrame] | None = None,
    kept: DataFrame | None = None,
) -> tuple[DataFrame, RowRules]:
    """The frame with the rules that its rows break; rules about whole tables are left out.

    `related` are the inputs that foreign keys lead to. `kept` are the rows of partitions that
    stay as they are: a key must not be among theirs either. Nothing runs here, and a rule that
    Spark cannot make sense of is refused now rather than in the middle of the write.
    """
    from pyspark.sql import functions as f

    rules = [one for one in expectations if one.kind.of_rows]
    if not rules:
        return frame, NO_RULES
    if len(rules) > MOST_RULES:
        raise InvalidSpec(
            f"There are {len(rules)} rules about rows of one table.",
            hint=f"Use at most {MOST_RULES}; several conditions can be one expr with AND.",
        )
    columns = tuple(frame.columns)
    rows = _Rows(frame, partition_by, related or {}, kept)
    hush()
    marked = _marked(rows, rules)
    names = tuple(one.name for one in rules)
    bits, dropped = BITS, 0
    if dropping := _mask(rules, Action.DROP):
        goes = f"{_has(dropping)} AND NOT {_has(_mask(rules, Action.QUARANTINE))}"
        bits, dropped = f"if({goes}, {BITS} | {_DROPPED}L, {BITS})", _DROPPED
    first = [
        f"WHEN {_has(1 << number)} THEN {text_literal(one.name)}"
        for number, one in enumerate(rules)
        if one.action is Action.QUARANTINE
    ]
    place = f.expr(f"CASE {' '.join(first)} END") if first else None
    return marked, RowRules(names, columns, f.expr(bits), place, dropped)


class _Rows:
    """The frame, with the helper columns that rules have added to it so far."""

    def __init__(
        self,
        frame: DataFrame,
        partition_by: Sequence[str],
        related: Mapping[str, DataFrame],
        kept: DataFrame | None,
    ) -> None:
        self.frame = frame
        self.partition_by = {name.casefold() for name in partition_by}
        self.related = related
        self.kept = kept
        self.keys = Keys(frame)
        self._own = {one.name.casefold(): n for n, one in enumerate(frame.schema.fields)}
        self._fields = frame.schema.fields
        self._helpers = 0

    @cached_property
    def contents(self) -> Callable[[str], str]:
        """What an expression is made of, as Spark reads it."""
        spark: Any = self.frame.sparkSession
        return partial(spark._jvm.io.trunkline.Statement.expression, spark._jsparkSession)

    def place(self, rule: Expectation, name: str) -> int:
        """Where a column of the table is; as in Spark, upper and lower case are the same."""
        found = self._own.get(name.casefold())
        if found is None:
            _refuse_column(rule, name, "the table", [one.name for one in self._fields])
        return found

    def find(self, rule: Expectation, name: str) -> str:
        """A column of the table, as SQL names it."""
        return quoted(self._fields[self.place(rule, name)].name)

    def type(self, rule: Expectation, name: str) -> str:
        return str(self._fields[self.place(rule, name)].dataType.simpleString())

    def helper(self) -> str:
        self._helpers += 1
        return f"__tl_h{self._helpers}"

    def found_in(self, keys: Sequence[str], others: DataFrame, names: Sequence[str]) -> str:
        """Whether keys are among those of other rows. No row comes twice: those are distinct."""
        from pyspark.sql import functions as f

        mark, renamed = self.helper(), [self.helper() for _ in names]
        theirs = [f"{quoted(name)} AS {new}" for name, new in zip(names, renamed, strict=True)]
        same = " AND ".join(f"{key} = {new}" for key, new in zip(keys, renamed, strict=True))
        distinct = others.selectExpr(*theirs, f"true AS {mark}").distinct()
        self.frame = self.frame.join(distinct, f.expr(same), "left")
        return f"{mark} IS NOT NULL"


def _marked(rows: _Rows, rules: Sequence[Expectation]) -> DataFrame:
    """The frame with the rules that each row breaks as one more column.

    Spark looks at its plan for all rules at once, which takes longer than all else here. Only if
    it finds fault with them is it asked about each, to tell which one it is.
    """
    from pyspark.errors import AnalysisException

    broken = []
    for rule in rules:
        with _named(rule):
            broken.append(_CHECKS[rule.kind](rows, rule))
    try:
        return rows.frame.selectExpr("*", _bits(broken))
    except AnalysisException:
        for number, rule in enumerate(rules):
            with _named(rule):
                broken[number] = _alone(rows, rule, broken[number])
    return rows.frame.selectExpr("*", _bits(broken))


@contextmanager
def _named(rule: Expectation) -> Iterator[None]:
    """What Spark has against a rule is said with the name of the rule."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        _refuse(rule, error)


def _alone(rows: _Rows, rule: Expectation, broken: str) -> str:
    """The same for a rule that was looked at by itself, and is one that Spark can do."""
    from pyspark.errors import ParseException
    from pyspark.sql import functions as f

    # With a column beside it, so that an aggregate is no longer a query of its own.
    beside = quoted(rows.frame.columns[0])
    if rule.kind is CheckKind.EXPR:
        kind = rows.frame.select(f.expr(beside), f.expr(rule.expr).alias(BITS)).schema[-1].dataType
        if kind.simpleString() not in ("boolean", "void"):
            raise InvalidSpec(
                f'The rule "{rule.name}" is {kind.simpleString()}, but must be true or false: '
                f"{shown(rule.expr)}.",
                hint="Write a condition, such as amount >= 0.",
            )
    try:
        rows.frame.selectExpr(beside, f"if({broken}, 1, 0)")
    except ParseException:
        # What Spark reads only if nothing is around it, as `amount > 0 AS good`.
        name = rows.helper()
        rows.frame = rows.frame.withColumn(name, f.expr(rule.expr).cast("boolean"))
        return _unless(name)
    return broken


def _expr(rows: _Rows, rule: Expectation) -> str:
    # Alone first: `a) + (b` would be fine between the parentheses of another text.
    try:
        judge_expression(rows.contents(rule.expr))
    except NotAllowed as error:
        raise InvalidSpec(f'The rule "{rule.name}": {error.message}', hint=error.hint) from None
    # The text may end in a comment, and that in a backslash, which takes the next line into it.
    return _unless(f"(\n{rule.expr}\n\n)")


def _unless(holds: str) -> str:
    """Whether a condition is false or null."""
    return f"if({holds}, false, true)"


def _not_null(rows: _Rows, rule: Expectation) -> str:
    return _any_null(rows.find(rule, name) for name in rule.columns)


def _accepted(rows: _Rows, rule: Expectation) -> str:
    """Null is no value and so passes; not_null is the rule for it."""
    mine, kind = rows.find(rule, rule.columns[0]), rows.type(rule, rule.columns[0])
    for value in rule.values:
        if not _may_be(kind, value):
            raise InvalidSpec(
                f'The rule "{rule.name}" compares {rule.columns[0]}, which is {kind}, with '
                f"{json.dumps(value)}.",
                hint="Give values of the column's type.",
            )
    values = ", ".join(_literal(value, kind) for value in rule.values)
    return f"{mine} IS NOT NULL AND NOT coalesce({mine} IN ({values}), false)"


def _literal(value: str | float | bool, kind: str) -> str:
    """A value of a spec as SQL, for a column of a type."""
    if kind == "string":
        return text_literal(str(value))
    if kind.startswith(_MOMENTS):
        return f"CAST({text_literal(str(value))} AS {kind})"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS double)"
    return json.dumps(value)


def _may_be(kind: str, value: object) -> bool:
    """Whether a value of a spec is one of a type: Spark would only tell when it meets a row."""
    if kind == "string":
        return not isinstance(value, bool)
    if kind.startswith(_MOMENTS):
        try:
            return isinstance(value, str) and datetime.fromisoformat(value) is not None
        except ValueError:
            return False
    return not isinstance(value, str) and isinstance(value, bool) is (kind == "boolean")


def _unique(rows: _Rows, rule: Expectation) -> str:
    """All rows that share a key break the rule: there is no first one. Nulls are never equal."""
    keys = [rows.find(rule, name) for name in rule.columns]
    broken = "false"
    if not rows.keys.certain([rows.place(rule, name) for name in rule.columns]):
        count = f"count(1) OVER (PARTITION BY {', '.join(keys)})"
        broken = f"NOT ({_any_null(keys)}) AND {count} > 1"
    inside = rows.partition_by and rows.partition_by <= {name.casefold() for name in rule.columns}
    if rows.kept is not None and not inside:
        broken += f" OR {rows.found_in(keys, rows.kept, rule.columns)}"
    return broken


def _foreign_key(rows: _Rows, rule: Expectation) -> str:
    assert rule.references is not None
    name, theirs = rule.references
    other = rows.related.get(name)
    if other is None:
        raise InvalidSpec(
            f'The rule "{rule.name}" refers to {shown(name)}, which is no input of the pipeline.'
            f"{did_you_mean(name, rows.related)}",
            hint="Add it to the inputs, with `propagation: never` if it should start no job.",
        )
    keys = [rows.find(rule, mine) for mine in rule.columns]
    known = {one.name.casefold(): one for one in other.schema.fields}
    for wanted in theirs:
        if wanted.casefold() not in known:
            _refuse_column(rule, wanted, name, [one.name for one in known.values()])
    wanted_names = [known[one.casefold()].name for one in theirs]
    for mine, there in zip(rule.columns, wanted_names, strict=True):
        here = rows.type(rule, mine)
        kind = known[there.casefold()].dataType.simpleString()
        if (here == "string") is not (kind == "string"):
            raise InvalidSpec(
                f'The rule "{rule.name}" compares {mine}, which is {here}, with {name}.{there}, '
                f"which is {kind}.",
                hint="Cast one of them in the transform.",
            )
    found = rows.found_in(keys, other, wanted_names)
    return f"NOT ({_any_null(keys)}) AND NOT ({found})"


_CHECKS: dict[CheckKind, Callable[[_Rows, Expectation], str]] = {
    CheckKind.EXPR: _expr,
    CheckKind.NOT_NULL: _not_null,
    CheckKind.ACCEPTED: _accepted,
    CheckKind.UNIQUE: _unique,
    CheckKind.FOREIGN_KEY: _foreign_key,
}


def _any_null(columns: Iterable[str]) -> str:
    return " OR ".join(f"{one} IS NULL" for one in columns)


def _bits(broken: Sequence[str]) -> str:
    bits = [f"if({one}, {1 << number}L, 0L)" for number, one in enumerate(broken)]
    return f"{' | '.join(bits)} AS {BITS}"


def _has(mask: int) -> str:
    return f"({BITS} & {mask}L) <> 0"


def _mask(rules: Sequence[Expectation], action: Action) -> int:
    return sum(1 << n for n, one in enumerate(rules) if one.action is action)


def _refuse_column(rule: Expectation, name: str, where: str, known: Iterable[str]) -> NoReturn:
    known = list(known)
    raise InvalidSpec(
        f'The rule "{rule.name}" names the column {shown(name)}, which {where} does not have.'
        f"{did_you_mean(name, known)}",
        hint=f"It has {_listed(known)}.",
    )


def _refuse(rule: Expectation, error: AnalysisException) -> NoReturn:
    """One line of what Spark said, with the place in the rule."""
    place = re.search(r"line (\d+),? pos (\d+)", str(error))
    line, character = (int(place[1]), int(place[2]) + 1) if place else (0, 0)
    at = f" at line {line}, character {character}" if line > 1 else f" at character {character}"
    text = short(error)
    if found := re.search(r"with name `(.+)` cannot be resolved(?:.*\[(.*)\])?", text):
        known = ", ".join(found[2].replace("`", "").split(", ")) if found[2] else ""
        text = f"there is no column {found[1]}" + (f"; perhaps {known}" if known else "")
    elif "MISSING_GROUP_BY" in str(error):
        text = "a rule about rows cannot aggregate; use row_count, or a window"
    shows = f" ({shown(rule.expr)})" if rule.expr else ""
    raise InvalidSpec(
        f'The rule "{rule.name}" cannot be used{at if place else ""}: '
        f"{text[:300].rstrip('. ')}{shows}.",
        hint="It is Spark SQL that is true for good rows, as amount >= 0." if rule.expr else "",
    )


def _listed(values: Iterable[object], most: int = 12) -> str:
    texts = [str(value) for value in values]
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
