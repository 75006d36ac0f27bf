"""The kinds of values that fields of tables and their expectations have."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from trunkline.errors import TrunklineError
from trunkline.model.paths import validate_name
from trunkline.model.suggest import shown
from trunkline.pipelines.requirements import parse_requirement
from trunkline.pipelines.spec.values import Text, Unfit

# The longest number that Spark can hold.
_MOST_DIGITS = 38
_SCALARS = ["string", "number", "boolean"]


def _is_column(name: str) -> str:
    if not name.strip():
        raise Unfit("The name of a column is empty.")
    return name


def _listed(given: object) -> object:
    return [given] if isinstance(given, str) else given


def _are_different(names: list[str]) -> list[str]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise Unfit(f"{shown(name)} is here twice.")
    return names


Column = Annotated[Text, AfterValidator(_is_column)]
Columns = Annotated[
    list[Column],
    BeforeValidator(_listed),
    AfterValidator(_are_different),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}),
]


def _is_rule(name: str) -> str:
    try:
        return validate_name("rule", name)
    except TrunklineError as error:
        raise Unfit(error.message, error.hint) from None


RuleName = Annotated[str, AfterValidator(_is_rule)]

_is_param = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


def _param_name(name: str) -> str:
    if not _is_param(name):
        raise Unfit(f"{shown(name)} cannot be the name of a parameter.",
                    "Use letters, digits and underscores.")  # fmt: skip
    return name


ParamName = Annotated[str, AfterValidator(_param_name)]


def scalar(given: Any) -> str | int | float | bool:
    """Text, a number, true or false."""
    if not isinstance(given, str | int | float):
        raise Unfit("It must be text, a number, true or false.")
    if isinstance(given, float) and not math.isfinite(given):
        raise Unfit(f"{given} is not a number.")
    if isinstance(given, int) and abs(given) >= 10**_MOST_DIGITS:
        raise Unfit(f"It has more than {_MOST_DIGITS} digits.")
    return given


def _param(given: Any) -> Any:
    if not isinstance(given, list):
        return scalar(given)
    if not given:
        raise Unfit("The list is empty.")
    return tuple(map(scalar, given))


_SCALAR_SCHEMA = {"type": _SCALARS}
ParamValue = Annotated[
    Any,
    AfterValidator(_param),
    WithJsonSchema({"anyOf": [_SCALAR_SCHEMA, {"type": "array", "items": _SCALAR_SCHEMA}]}),
]
Scalar = Annotated[Any, AfterValidator(scalar), WithJsonSchema(_SCALAR_SCHEMA)]


def _requirement(text: str) -> str:
    try:
        return str(parse_requirement(text))
    except TrunklineError as error:
        raise Unfit(error.message, error.hint) from None


RequirementText = Annotated[Text, AfterValidator(_requirement)]

_percent = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,18})?) ?%").fullmatch


def _share(given: object) -> object:
    """`20%` or 0.2. More than all of it only in percent: a plain 20 might mean either."""
    if isinstance(given, str):
        found = _percent(given)
        if found is None:
            raise Unfit(f"{shown(given)} is not a share.", 'Write "20%" or 0.2.')
        return float(Decimal(found[1]) / 100)
    if isinstance(given, int | float) and not isinstance(given, bool) and not 0 <= given <= 1:
        raise Unfit(f"{given} is not between 0 and 1.", f'Write "{given}%" if that is meant.'
                    if given > 1 else "")  # fmt: skip
    return float(given) if isinstance(given, int) and not isinstance(given, bool) else given


def _up_to_all(share: float) -> float:
    if share > 1:
        raise Unfit("It is more than 100%.")
    return share


_SHARE_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}
AnyShare = Annotated[float, BeforeValidator(_share), WithJsonSchema(_SHARE_SCHEMA)]
Share = Annotated[AnyShare, AfterValidator(_up_to_all)]
