"""What pydantic found, in our words: one line, the first in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines.spec.places import Document, Flaw, Loc, path_text
from trunkline.pipelines.spec.shape import Shape

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}


def first_flaw(error: ValidationError, shape: Shape, document: Document) -> Flaw:
    """The problem that stands first in the file; what is missing stands nowhere, so last."""
    found = error.errors(include_url=False)
    flaws = [(each["type"] == "missing", _flaw(each, shape)) for each in found]
    return min(flaws, key=lambda pair: (pair[0], document.line(pair[1].loc)))[1]


def _flaw(found: Mapping[str, Any], shape: Shape) -> Flaw:
    kind, given = found["type"], found["input"]
    in_key = found["loc"][-1:] == ("[key]",)
    loc = shape.original(found["loc"][:-1] if in_key else found["loc"])
    path = path_text(loc)
    context = found.get("ctx", {})
    if kind == "missing":
        return Flaw(loc, f"{path} is missing.")
    if kind in _WANTED:
        hint = "Put it in quotes." if kind == "string_type" and _is_plain(given) else ""
        return Flaw(loc, f"{path} must be {_WANTED[kind]}, not {_kind_of(given)}.", hint)
    if kind == "value_error":
        error = context["error"]
        return Flaw(loc, f"{path}: {error}", getattr(error, "hint", ""))
    if kind in ("literal_error", "enum"):
        return Flaw(loc, f"{path} is {_kind_of(given)}, but must be {context['expected']}"
                    f".{_near(given, context['expected'])}")  # fmt: skip
    if kind in ("greater_than_equal", "greater_than"):
        return Flaw(loc, f"{path} is {given}, but must be {_number(context)} or more.")
    if kind in ("less_than_equal", "less_than"):
        return Flaw(loc, f"{path} is {given}, but must be {_number(context)} or less.")
    return Flaw(loc, f"{path}: {found['msg']}.")


def _number(context: Mapping[str, Any]) -> str:
    return f"{next(context[name] for name in ('ge', 'gt', 'le', 'lt') if name in context):,}"


def _near(given: object, expected: str) -> str:
    choices = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    return did_you_mean(given, choices) if isinstance(given, str) else ""


def _is_plain(given: object) -> bool:
    return isinstance(given, int | float)


def _kind_of(given: object) -> str:
    match given:
        case bool():
            return "true" if given else "false"
        case int() | float():
            return f"the number {given}"
        case str():
            return f"the text {shown(given, 60)}"
        case list():
            return "a list"
        case dict():
            return "a map"
    return "nothing"


def refuse_other_than_map(value: object, loc: Loc = ()) -> None:
    if not isinstance(value, dict):
        raise Flaw(loc, f"A spec is a map of fields, not {_kind_of(value)}.")
