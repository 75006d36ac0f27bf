"""What a record's line holds is known to the module that writes it, and to no other."""

from __future__ import annotations

import ast
from pathlib import Path

import trunkline

SRC = Path(trunkline.__file__).parent
OWNERS = {
    "model/entries.py",  # files
    "pipelines/datums_lines.py",  # datums, and their results
    "lake/manifests.py",  # ranges of a tree
    "lake/backups/places.py",  # objects of a backup
    "server/uploads/receipts.py",
}
CUTS = ("split", "rsplit", "partition", "rpartition", "index", "find")


def is_cut_at_tabs(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return False
    at = node.args[0]
    is_tab = isinstance(at, ast.Constant) and at.value in ("\t", b"\t")
    return node.func.attr in CUTS and (is_tab or ast.unparse(at) == "TAB")


def test_lines_are_taken_apart_by_their_owners_alone():
    found = {
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if any(map(is_cut_at_tabs, ast.walk(ast.parse(path.read_text()))))
    }
    assert found == OWNERS
