"""Expectations as JSON and back, in the user's own field names."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from trunkline.model.expectations import Action, CheckKind, Expectation


def rule_to(rule: Expectation) -> dict[str, Any]:
    """The rule as a user could have written it."""
    shown: dict[str, Any] = {"name": rule.name, rule.kind.value: _body(rule)}
    if rule.action is not Action.FAIL:
        shown["action"] = rule.action.value
    if rule.table:
        shown["table"] = rule.table
    if rule.tolerate:
        shown["tolerate"] = rule.tolerate
    return shown


def _body(rule: Expectation) -> Any:
    match rule.kind:
        case CheckKind.EXPR:
            return rule.expr
        case CheckKind.NOT_NULL | CheckKind.UNIQUE:
            return list(rule.columns)
        case CheckKind.ACCEPTED:
            return {"column": rule.columns[0], "values": list(rule.values)}
        case CheckKind.FOREIGN_KEY:
            assert rule.references is not None
            name, to = rule.references
            return {"columns": list(rule.columns), "references": name, "to": list(to)}
        case CheckKind.ROW_COUNT:
            return _known(min=_whole(rule.least), max=_whole(rule.most))
        case CheckKind.ROW_COUNT_CHANGE:
            over = rule.over if rule.over != 1 else None
            return _known(max_drop=rule.least, max_rise=_share(rule.most), over=over)
    assert rule.within is not None
    within = int(rule.within) if rule.within.is_integer() else rule.within
    return {"column": rule.columns[0], "within": within}


def rule_from(raw: Mapping[str, Any]) -> Expectation:
    """The rule that `rule_to` gave."""
    kind = next(kind for kind in CheckKind if kind.value in raw)
    body = raw[kind.value]
    return Expectation(
        name=raw["name"],
        kind=kind,
        action=Action(raw.get("action", Action.FAIL)),
        table=raw.get("table", ""),
        tolerate=raw.get("tolerate", 0.0),
        **_fields(kind, body),
    )


def _fields(kind: CheckKind, body: Any) -> dict[str, Any]:
    match kind:
        case CheckKind.EXPR:
            return {"expr": body}
        case CheckKind.NOT_NULL | CheckKind.UNIQUE:
            return {"columns": tuple(body)}
        case CheckKind.ACCEPTED:
            return {"columns": (body["column"],), "values": tuple(body["values"])}
        case CheckKind.FOREIGN_KEY:
            references = (body["references"], tuple(body["to"]))
            return {"columns": tuple(body["columns"]), "references": references}
        case CheckKind.ROW_COUNT:
            return {"least": _float(body.get("min")), "most": _float(body.get("max"))}
        case CheckKind.ROW_COUNT_CHANGE:
            rise = body.get("max_rise")
            rise = float(Decimal(rise[:-1]) / 100) if isinstance(rise, str) else rise
            least = _float(body.get("max_drop"))
            return {"least": least, "most": _float(rise), "over": body.get("over", 1)}
    return {"columns": (body["column"],), "within": float(body["within"])}


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
