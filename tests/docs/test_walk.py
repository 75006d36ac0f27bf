"""The walk through the code names places that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/design/walk.md").read_text()
PLACES = sorted(set(re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", PAGE)))


def test_there_are_places():
    assert len(PLACES) > 40


@pytest.mark.parametrize(("file", "name"), PLACES)
def test_a_place_is_where_the_walk_says(file: str, name: str):
    root = ROOT if file.startswith("tests/") else ROOT / "src/trunkline"
    body = ast.parse((root / file).read_text()).body
    for word in filter(None, name.split(".")):
        (found,) = (
            node
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == word
        )
        body = found.body
