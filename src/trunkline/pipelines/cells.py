"""The code of a function that was written in a notebook, where no file has it.

What travels is a module of the function and of what it reaches by name: imports, functions,
classes and plain values of all cells, the newest of each. What a cell computed does not travel:
the function would find something else where it runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trunkline.errors import InvalidSpec
from trunkline.pipelines.source import Loading, binds

FILE = "notebook_cells.py"
"""What the module is called. A kernel gives each cell another name each time."""


def is_in_cell(function: Callable[..., Any]) -> bool:
    return function.__module__ == "__main__" and _cells() is not None


def cells_source(function: str, where: str) -> str:
    """The module of a function in the cells that were run so far."""
    newest: dict[str, list[ast.stmt]] = {}
    order: list[ast.stmt] = []
    for cell in _cells() or ():
        try:
            body = ast.parse(cell).body
        except SyntaxError:
            continue  # it did not run either
        order += body
        for statement in body:
            for name in binds(statement):
                newest[name] = _with(newest.get(name, []), statement, name)
    if function not in newest:
        raise InvalidSpec(f"{where}: no cell defines {function}.", hint="Run its cell again.")
    loading = Loading(order)
    loading.drop_own_decorator(newest[function])
    kept = _reached(order, newest, newest[function])
    for statement in kept:
        if not loading.is_inert(statement):
            names = ", ".join(sorted(binds(statement)))
            raise InvalidSpec(
                f"{where}: {function} uses {names}, which a cell computes.",
                hint="Compute it inside the function, or give it in params.",
            )
    return "\n".join(map(ast.unparse, kept)) + "\n"


def _with(before: list[ast.stmt], statement: ast.stmt, name: str) -> list[ast.stmt]:
    """What binds a name from now on. Modules of one package add to each other."""
    if not before or not all(_is_package(one, name) for one in (*before, statement)):
        return [statement]
    known = {ast.unparse(one) for one in before}
    return before if ast.unparse(statement) in known else [*before, statement]


def _is_package(statement: ast.stmt, name: str) -> bool:
    """Whether it is `import NAME` or `import NAME.module`."""
    return isinstance(statement, ast.Import) and any(
        one.asname is None and one.name.partition(".")[0] == name for one in statement.names
    )


def _reached(
    order: Sequence[ast.stmt], newest: Mapping[str, list[ast.stmt]], first: Sequence[ast.stmt]
) -> list[ast.stmt]:
    """Only by names in the code: words in quotes are mostly columns, and cells bind many names."""
    kept: set[int] = set()
    todo = list(first)
    while todo:
        statement = todo.pop()
        if id(statement) not in kept:
            kept.add(id(statement))
            names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            todo += [one for name in names for one in newest.get(name, ())]
    return [statement for statement in order if id(statement) in kept]


def _cells() -> Sequence[str] | None:
    """The cells of IPython; None where there is none, or where a file is run."""
    module = sys.modules.get("__main__")
    if module is None or getattr(module, "__file__", None):
        return None
    found = getattr(module, "In", None)
    return found if isinstance(found, list) else None
