"""SQL is written in `storage/catalog` alone, and `lake/publish` alone moves branches by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

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


PUBLISHING = {"refs.swap_head", "commits.finish", "deliveries.enqueue", "checks.record"}


@pytest.mark.slow
def test_a_branch_is_moved_and_a_commit_ended_in_one_place():
    found = {
        (str(path.relative_to(SRC)), name)
        for path in SRC.rglob("*.py")
        if CATALOG not in path.parents
        for node in ast.walk(ast.parse(path.read_text()))
        for name in named(node) & PUBLISHING
    }
    assert found == {("lake/publish.py", name) for name in PUBLISHING}


def named(node: ast.AST) -> set[str]:
    """`refs.swap_head`, however it is imported."""
    if isinstance(node, ast.Attribute):
        return {ast.unparse(node)}
    if isinstance(node, ast.ImportFrom):
        return {f"{(node.module or '').rpartition('.')[2]}.{alias.name}" for alias in node.names}
    return set()


def test_the_catalog_moves_a_head_with_one_statement():
    texts = [(path.name, path.read_text()) for path in CATALOG.glob("*.py")]
    assert [(name, text.count("SET head")) for name, text in texts if "SET head" in text] == [
        ("refs.py", 1)
    ]
