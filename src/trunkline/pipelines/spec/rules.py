"""From the fields of expectations to rules: names, and what only several fields tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn, TypeVar

from trunkline.errors import TrunklineError
from trunkline.model.expectations import Action, CheckKind, Expectation
from trunkline.model.paths import LONGEST_NAME, nearest_name
from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.rulefields import ExpectationField
from trunkline.pipelines.sql_tokens import code
from trunkline.pipelines.sqltext import forbidden

# A rule is a bit of a number of 64, whose first one is the sign.
MOST_ROW_RULES = 63
_KINDS = tuple(kind.value for kind in CheckKind)
_OPERATORS = {
    ">=": "ge", "<=": "le", "<>": "ne", "!=": "ne", "==": "eq", "=": "eq", ">": "gt", "<": "lt",
}  # fmt: skip
_Any = TypeVar("_Any")
_operator = re.compile("|".join(map(re.escape, _OPERATORS)))


def expectations(
    fields: Sequence[ExpectationField], inputs: Sequence[str], tables: Sequence[str] | None
) -> tuple[Expectation, ...]:
    """The rules. `tables` are those the pipeline makes: () for one result, None if not known."""
    made = [_Rule(one, ("expectations", i)).build(inputs) for i, one in enumerate(fields)]
    for i, rule in enumerate(made):
        _check_table(rule, tables, ("expectations", i))
    if sum(rule.kind.of_rows for rule in made) > MOST_ROW_RULES:
        raise Flaw(("expectations",), f"There are more than {MOST_ROW_RULES} rules about rows.",
                   "Join some by AND.")  # fmt: skip
    return _named([_with_table(rule, tables) for rule in made])


def _check_table(rule: Expectation, tables: Sequence[str] | None, loc: Loc) -> None:
    if tables is None:
        return
    if rule.table and rule.table not in tables:
        near = did_you_mean(rule.table, tables)
        what = f"{path_text((*loc, 'table'))}: it makes no table {shown(rule.table)}.{near}"
        hint = f"Its tables: {', '.join(tables)}." if tables else "Leave it out: there is one."
        raise Flaw((*loc, "table"), what, hint)
    if not rule.table and len(tables) > 1:
        raise Flaw(loc, f"{path_text(loc)} does not say which table it is about.",
                   f"Its tables: {', '.join(tables)}.")  # fmt: skip


def _with_table(rule: Expectation, tables: Sequence[str] | None) -> Expectation:
    return replace(rule, table=tables[0]) if tables and not rule.table else rule


def _named(rules: list[Expectation]) -> tuple[Expectation, ...]:
    """Every rule with a name of its own: those given first, then the ones made up."""
    taken: set[str] = set()
    for i, rule in enumerate(rules):
        if rule.name in taken:
            loc: Loc = ("expectations", i, "name")
            raise Flaw(loc, f"Two rules are called {shown(rule.name)}.")
        taken |= {rule.name} - {""}
    named = []
    for rule in rules:
        name, number = rule.name or _derived(rule), 1
        base = name
        while not rule.name and name in taken:
            number += 1
            name = f"{base[: LONGEST_NAME - len(str(number)) - 1]}_{number}"
        taken.add(name)
        named.append(replace(rule, name=name))
    return tuple(named)


def _derived(rule: Expectation) -> str:
    """`revenue_ge_0`, `not_null_day_id`."""
    words = [rule.kind.value, *rule.columns]
    if rule.kind is CheckKind.EXPR:
        words = [_operator.sub(lambda found: f" {_OPERATORS[found[0]]} ", rule.expr)]
    plain = re.sub(r"[^A-Za-z0-9]+", "_", "_".join(words)).strip("_")[:LONGEST_NAME]
    return nearest_name(plain) or "rule"


class _Rule:
    """Reads one rule."""

    def __init__(self, fields: ExpectationField, loc: Loc) -> None:
        given = [kind for kind in _KINDS if getattr(fields, kind) is not None]
        if len(given) != 1:
            what = f"has {' and '.join(given)}" if given else "has no rule"
            raise Flaw(
                (*loc, given[1]) if given else loc,
                f"{path_text(loc)} {what}, but takes exactly one of {', '.join(_KINDS)}.",
            )
        self.fields = fields
        self.loc = loc
        self.kind = CheckKind(given[0])

    def build(self, inputs: Sequence[str]) -> Expectation:
        fields = self.fields
        self.check_action()
        rule = Expectation(
            name=fields.name or "",
            kind=self.kind,
            action=Action(fields.action),
            table=fields.table,
            tolerate=fields.tolerate,
        )
        return self.completed(rule, inputs)

    def check_action(self) -> None:
        """Rows can only be taken out by a rule that is about rows."""
        fields, kind = self.fields, self.kind
        if fields.action in ("drop", "quarantine") and not kind.of_rows:
            self.refuse("action", f"{kind} is about the whole table, so there are no rows to "
                        f"{fields.action}.", "Its actions are warn and fail.")  # fmt: skip
        if fields.tolerate and not kind.of_rows:
            self.refuse("tolerate", f"{kind} is about the whole table, not about rows.")
        if fields.tolerate and fields.action in ("drop", "quarantine"):
            self.refuse("tolerate", f"it goes with warn and fail, not with {fields.action}.")

    def completed(self, rule: Expectation, inputs: Sequence[str]) -> Expectation:
        fields, place = self.fields, self.kind.value
        if fields.expr is not None:
            self.check_expr(fields.expr)
            return replace(rule, expr=fields.expr.strip())
        for simple in (fields.not_null, fields.unique):
            if simple is not None:
                return replace(rule, columns=self.some(simple, place))
        if (accepted := fields.accepted_values) is not None:
            self.some(accepted.values, place, "values")
            return replace(rule, columns=(accepted.column,), values=tuple(accepted.values))
        if (key := fields.foreign_key) is not None:
            columns, to = self.some(key.columns, place, "columns"), tuple(key.to or key.columns)
            if len(columns) != len(to):
                self.refuse(place, f"columns has {len(columns)} names, but to has {len(to)}.")
            if key.references not in inputs:
                self.refuse(place, f"there is no input {shown(key.references)}."
                            f"{did_you_mean(key.references, inputs)}",
                            f"Its inputs: {', '.join(inputs)}.", "references")  # fmt: skip
            return replace(rule, columns=columns, references=(key.references, to))
        if (count := fields.row_count) is not None:
            self.bounds(count.min, count.max, "min", "max")
            if count.min is not None and count.max is not None and count.min > count.max:
                self.refuse(place, f"min is {count.min}, which is more than max.")
            return replace(rule, least=_float(count.min), most=_float(count.max))
        if (change := fields.row_count_change) is not None:
            self.bounds(change.max_drop, change.max_rise, "max_drop", "max_rise")
            return replace(rule, least=change.max_drop, most=change.max_rise, over=change.over)
        assert fields.freshness is not None
        fresh = fields.freshness
        return replace(rule, columns=(fresh.column,), within=fresh.within)

    def check_expr(self, expr: str) -> None:
        """Only what no SQL can be; the rest is for Spark to say."""
        try:
            tokens = code(expr, "")
        except TrunklineError as error:
            said = error.message.split("\n")[0].partition(": ")[2]
            self.refuse("expr", said, f"It is: {expr.strip()}")
        if not tokens:
            self.refuse("expr", "it is empty.")
        depth = 0
        for token in tokens:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if token.text == ";" or depth < 0:
                self.refuse("expr", f'there is a "{token.text}" too many.')
        if depth:
            self.refuse("expr", 'a "(" is never closed.')
        for token, after in pairwise(tokens):
            if why := forbidden(token, after):
                self.refuse("expr", *why)

    def some(self, given: Sequence[_Any], *place: str) -> tuple[_Any, ...]:
        if not given:
            self.refuse(place[0], "the list is empty.", "", *place[1:])
        return tuple(given)

    def bounds(self, least: object, most: object, *names: str) -> None:
        if least is None and most is None:
            self.refuse(self.kind.value, f"it needs {names[0]}, {names[1]} or both.")

    def refuse(self, field: str, what: str, hint: str = "", *inner: str) -> NoReturn:
        loc = (*self.loc, field, *inner)
        raise Flaw(loc, f"{path_text(loc)}: {what}", hint)


def _float(number: int | None) -> float | None:
    return None if number is None else float(number)
