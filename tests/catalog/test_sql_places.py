"""SQL for the catalog is written in `storage/catalog` and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import trunkline

SRC = Path(trunkline.__file__).parent
CATALOG = SRC / "storage" / "catalog"


def statements(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls of a catalog session's methods that take SQL."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("execute", "one", "all")
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "session"
        ):
            yield node


def test_only_the_catalog_speaks_sql_to_the_database():
    found = [
        f"{path.relative_to(SRC)}:{call.lineno}"
        for path in sorted(SRC.rglob("*.py"))
        if CATALOG not in path.parents
        for call in statements(ast.parse(path.read_text()))
    ]
    assert found == []


def test_the_catalog_itself_is_found():
    paths = CATALOG.glob("*.py")
    assert sum(1 for path in paths for _ in statements(ast.parse(path.read_text()))) > 100
