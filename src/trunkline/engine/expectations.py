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
from typing import TYPE_CHECKING, NoReturn

from trunkline.engine.sqlerrors import short
from trunkline.errors import InvalidSpec
from trunkline.model.expectations import Action, CheckKind, Expectation
from trunkline.model.suggest import did_you_mean, shown

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
    with _quiet():
        broken = [_broken(rows, one) for one in rules]
    dropping, holding = _mask(rules, Action.DROP), _mask(rules, Action.QUARANTINE)
    found = f.col(BITS)
    marked = rows.frame.select(*map(column, columns), _bits(broken).alias(BITS))
    if dropping:
        goes = _has(found, dropping) & ~_has(found, holding)
        marked = marked.withColumn(BITS, f.when(goes, found.bitwiseOR(_DROPPED)).otherwise(found))
    first = [
        f.when(_has(found, 1 << number), f.lit(one.name))
        for number, one in enumerate(rules)
        if one.action is Action.QUARANTINE
    ]
    return marked, RowRules(
        tuple(one.name for one in rules),
        columns,
        found,
        f.coalesce(*first) if first else None,
        _DROPPED if dropping else 0,
    )


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
        self._own = {name.casefold(): name for name in frame.columns}
        self._helpers = 0

    def find(self, rule: Expectation, name: str) -> Column:
        """A column of the table; as in Spark, upper and lower case are the same."""
        found = self._own.get(name.casefold())
        if found is None:
            _refuse_column(rule, name, "the table", self._own.values())
        return column(found)

    def add(self, made: Column) -> Column:
        """Keep an expression as a column, so that it is computed once."""
        from pyspark.sql import functions as f

        name = f"__tl_h{self._helpers}"
        self._helpers += 1
        self.frame = self.frame.withColumn(name, made)
        return f.col(name)

    def found_in(self, keys: Sequence[Column], others: DataFrame, names: Sequence[str]) -> Column:
        """Whether keys are among those of other rows. No row comes twice: those are distinct."""
        from pyspark.sql import functions as f

        mark, start = f"__tl_h{self._helpers}", self._helpers + 1
        renamed = [f"__tl_h{start + n}" for n in range(len(names))]
        self._helpers = start + len(names)
        theirs = others.select(
            *(column(name).alias(new) for name, new in zip(names, renamed, strict=True))
        )
        theirs = theirs.dropna().distinct().withColumn(mark, f.lit(True))
        same = [key == f.col(new) for key, new in zip(keys, renamed, strict=True)]
        self.frame = self.frame.join(theirs, same, "left")
        return f.col(mark).isNotNull()


def _broken(rows: _Rows, rule: Expectation) -> Column:
    """Whether a row breaks the rule: never null, and known to Spark as something it can do."""
    from pyspark.errors import AnalysisException

    try:
        broken = _CHECKS[rule.kind](rows, rule)
        # With the other columns beside it, so that an aggregate is no longer a query of its own.
        _type(rows.frame, broken)
    except AnalysisException as error:
        _refuse(rule, error)
    return broken


def _type(frame: DataFrame, made: Column) -> str:
    return str(frame.select("*", made.alias(BITS)).schema[-1].dataType.simpleString())


def _expr(rows: _Rows, rule: Expectation) -> Column:
    from pyspark.sql import functions as f

    holds = f.expr(rule.expr)
    kind = _type(rows.frame, holds)
    if kind not in ("boolean", "void"):
        raise InvalidSpec(
            f'The rule "{rule.name}" is {kind}, but must be true or false: {shown(rule.expr)}.',
            hint="Write a condition, such as amount >= 0.",
        )
    return ~f.coalesce(holds.cast("boolean"), f.lit(False))


def _not_null(rows: _Rows, rule: Expectation) -> Column:
    return _any(rows.find(rule, name).isNull() for name in rule.columns)


def _accepted(rows: _Rows, rule: Expectation) -> Column:
    """Null is no value and so passes; not_null is the rule for it."""
    from pyspark.sql import functions as f

    mine = rows.find(rule, rule.columns[0])
    kind = _type(rows.frame, mine)
    for value in rule.values:
        if not _may_be(kind, value):
            raise InvalidSpec(
                f'The rule "{rule.name}" compares {rule.columns[0]}, which is {kind}, with '
                f"{json.dumps(value)}.",
                hint="Give values of the column's type.",
            )
    as_text = kind == "string" or kind.startswith(_MOMENTS)
    values = [f.lit(str(value)).cast(kind) if as_text else f.lit(value) for value in rule.values]
    return mine.isNotNull() & ~f.coalesce(mine.isin(*values), f.lit(False))


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


def _unique(rows: _Rows, rule: Expectation) -> Column:
    """All rows that share a key break the rule: there is no first one. Nulls are never equal."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    keys = [rows.find(rule, name) for name in rule.columns]
    whole = ~_any(key.isNull() for key in keys)
    same = rows.add(f.count(f.lit(1)).over(Window.partitionBy(*keys)))
    broken = whole & (same > 1)
    inside = rows.partition_by and rows.partition_by <= {name.casefold() for name in rule.columns}
    if rows.kept is not None and not inside:
        broken = broken | rows.found_in(keys, rows.kept, rule.columns)
    return broken


def _foreign_key(rows: _Rows, rule: Expectation) -> Column:
    assert rule.references is not None
    name, theirs = rule.references
    other = rows.related.get(name)
    if other is None:
        raise InvalidSpec(
            f'The rule "{rule.name}" refers to {shown(name)}, which is no input of the pipeline.'
            f"{did_you_mean(name, rows.related)}",
            hint="Add it to the inputs, with `propagation: false` if it should start no job.",
        )
    keys = [rows.find(rule, mine) for mine in rule.columns]
    known = {one.casefold(): one for one in other.columns}
    for wanted in theirs:
        if wanted.casefold() not in known:
            _refuse_column(rule, wanted, name, known.values())
    wanted_names = [known[one.casefold()] for one in theirs]
    for mine, key, there in zip(rule.columns, keys, wanted_names, strict=True):
        here = _type(rows.frame, key)
        kind = _type(other, column(there))
        if (here == "string") is not (kind == "string"):
            raise InvalidSpec(
                f'The rule "{rule.name}" compares {mine}, which is {here}, with {name}.{there}, '
                f"which is {kind}.",
                hint="Cast one of them in the transform.",
            )
    found = rows.found_in(keys, other, wanted_names)
    return ~_any(key.isNull() for key in keys) & ~found


_CHECKS: dict[CheckKind, Callable[[_Rows, Expectation], Column]] = {
    CheckKind.EXPR: _expr,
    CheckKind.NOT_NULL: _not_null,
    CheckKind.ACCEPTED: _accepted,
    CheckKind.UNIQUE: _unique,
    CheckKind.FOREIGN_KEY: _foreign_key,
}


def column(name: str) -> Column:
    """The column of exactly that name, dots and all."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")


def _any(conditions: Iterable[Column]) -> Column:
    first, *rest = conditions
    for one in rest:
        first = first | one
    return first


def _bits(broken: Iterable[Column]) -> Column:
    from pyspark.sql import functions as f

    whole = f.lit(0).cast("bigint")
    for number, one in enumerate(broken):
        whole = whole.bitwiseOR(f.shiftleft(one.cast("bigint"), number))
    return whole


def _has(bits: Column, mask: int) -> Column:
    return bits.bitwiseAND(mask) != 0


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


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the JSON that pyspark prints about each query that it cannot analyze."""
    from pyspark.logger import PySparkLogger

    loggers = [
        PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")
    ]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
