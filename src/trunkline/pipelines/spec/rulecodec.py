"""Expectations as JSON and back, in the user's own field names."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from trunkline.model.expectations import Action, CheckKind, Expectation
from trunkline.pipelines.spec.record import Record, Value, Whole, number, same

_RULE = Record(
    Expectation,
    only=("name", "kind", "action", "table", "tolerate"),
    kind=Whole(
        lambda rule: {rule.kind.value: _BODIES[rule.kind].write(rule)},
        lambda raw: next(kind for kind in CheckKind if kind.value in raw),
    ),
    tolerate=Value(same, same),
)


def rule_to(rule: Expectation) -> dict[str, Any]:
    """The rule as a user could have written it."""
    return _RULE.write(rule)


def rule_from(raw: Mapping[str, Any]) -> Expectation:
    """The rule that `rule_to` gave."""
    own = _RULE.values(raw)
    kind = own["kind"]
    return Expectation(**own, **_BODIES[kind].read(raw[kind.value]))


def takes_rows(rule: Expectation) -> bool:
    return rule.action in (Action.DROP, Action.QUARANTINE)


def result_rule(rule: Expectation) -> dict[str, Any]:
    """What of a rule decides results. The name does where it is the folder that rows go to."""
    shown = rule_to(rule)
    if rule.action is Action.DROP:
        del shown["name"]
    return shown


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _float(number: float | None) -> float | None:
    return None if number is None else float(number)


def _share(share: float | None) -> float | str | None:
    """More than all of it is told in percent, as it must be written."""
    if share is None or share <= 1:
        return share
    return f"{(Decimal(repr(share)) * 100).normalize():f}%"


def _share_from(share: float | str | None) -> float | None:
    return float(Decimal(share[:-1]) / 100) if isinstance(share, str) else _float(share)


_LISTED = Value(lambda rule: list(rule.columns), lambda body: {"columns": tuple(body)})
_BODIES: Mapping[CheckKind, Value] = {
    CheckKind.EXPR: Value(lambda rule: rule.expr, lambda body: {"expr": body}),
    CheckKind.NOT_NULL: _LISTED,
    CheckKind.UNIQUE: _LISTED,
    CheckKind.ACCEPTED: Value(
        lambda rule: {"column": rule.columns[0], "values": list(rule.values)},
        lambda body: {"columns": (body["column"],), "values": tuple(body["values"])},
    ),
    CheckKind.FOREIGN_KEY: Value(
        lambda rule: {
            "columns": list(rule.columns),
            "references": rule.references[0],
            "to": list(rule.references[1]),
        },
        lambda body: {
            "columns": tuple(body["columns"]),
            "references": (body["references"], tuple(body["to"])),
        },
    ),
    CheckKind.ROW_COUNT: Value(
        lambda rule: _known(min=_whole(rule.least), max=_whole(rule.most)),
        lambda body: {"least": _float(body.get("min")), "most": _float(body.get("max"))},
    ),
    CheckKind.ROW_COUNT_CHANGE: Value(
        lambda rule: _known(
            max_drop=rule.least,
            max_rise=_share(rule.most),
            over=rule.over if rule.over != 1 else None,
        ),
        lambda body: {
            "least": _float(body.get("max_drop")),
            "most": _share_from(body.get("max_rise")),
            "over": body.get("over", 1),
        },
    ),
    CheckKind.FRESHNESS: Value(
        lambda rule: {"column": rule.columns[0], "within": number(rule.within)},
        lambda body: {"columns": (body["column"],), "within": float(body["within"])},
    ),
}
"""Of each kind its own part: written from the whole rule, and read as fields of it."""
