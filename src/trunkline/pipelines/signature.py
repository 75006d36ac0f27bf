"""Functions of DataFrames: their parameters are the inputs, by name, and `ctx` if they want it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import did_you_mean, shown

CONTEXT = "ctx"
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)


@dataclass(frozen=True, slots=True)
class Signature:
    """`needed` parameters have no default; `rest` says that there is a `**` one."""

    function: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    rest: bool = False

    @classmethod
    def of(cls, function: Callable[..., Any], where: str) -> Signature:
        needed: list[str] = []
        optional: list[str] = []
        rest = False
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in _BY_PLACE:
                raise _by_place(where, function.__name__)
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                rest = True
            else:
                bare = parameter.default is inspect.Parameter.empty
                (needed if bare else optional).append(name)
        return cls(function.__name__, tuple(needed), tuple(optional), rest)

    def check(self, inputs: Sequence[str], where: str) -> None:
        """Refuse parameters that are no input, and inputs that no parameter takes."""
        hint = f"Its inputs: {', '.join(inputs)}."
        for name in self.needed:
            if name not in inputs and name != CONTEXT:
                raise InvalidSpec(
                    f"{where}: the parameter {shown(name)} of {self.function} is no input."
                    f"{did_you_mean(name, inputs)}",
                    hint=hint,
                )
        taken = {*self.needed, *self.optional}
        for name in inputs:
            if name in taken or self.rest:
                continue
            if name.isidentifier():
                hint = f"Write def {self.function}({', '.join([*self.needed, name])})."
            else:
                hint = "Give the input a name that Python can say, or take **inputs."
            raise InvalidSpec(
                f"{where}: {self.function} has no parameter for the input {shown(name)}.", hint=hint
            )


def in_source(text: str, function: str, where: str) -> Signature | None:
    """The signature of a function in a file that is not loaded; None where it is not plain."""
    found = [
        statement
        for statement in ast.parse(text).body
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        and statement.name == function
    ]
    if not found or found[-1].decorator_list:
        return None
    if isinstance(found[-1], ast.AsyncFunctionDef):
        raise not_plain(where)
    args = found[-1].args
    if args.posonlyargs or args.vararg:
        raise _by_place(where, function)
    named = [arg.arg for arg in args.args]
    bare = len(named) - len(args.defaults)
    needed, optional = named[:bare], named[bare:]
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        (needed if default is None else optional).append(arg.arg)
    return Signature(function, tuple(needed), tuple(optional), args.kwarg is not None)


def not_plain(where: str) -> InvalidSpec:
    return InvalidSpec(
        f"{where}: a pipeline's function must be a plain one, without yield or async."
    )


def _by_place(where: str, function: str) -> InvalidSpec:
    return InvalidSpec(
        f"{where}: a pipeline's function is given its inputs by name.",
        hint=f"Write def {function}(orders, customers), with the names of its inputs.",
    )
