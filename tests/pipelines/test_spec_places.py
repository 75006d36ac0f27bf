"""A version's JSON is read by the codec of specs and by nobody else: others take its view."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import trunkline

SRC = Path(trunkline.__file__).parent
CODEC = SRC / "pipelines" / "spec"
OTHERS = (SRC / "server" / "iceberg",)
"""Where `spec` is Iceberg's word for how a table is partitioned."""


def is_spec(node: ast.expr) -> bool:
    return getattr(node, "attr", getattr(node, "id", "")) == "spec"


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def raw_reads(tree: ast.Module) -> Iterator[int]:
    """Lines with `spec["…"]`, `spec.get("…")` and `"…" in spec`."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=of, slice=key) if is_spec(of) and is_text(key):
                yield node.lineno
            case ast.Call(func=ast.Attribute(value=of, attr="get")) if is_spec(of):
                yield node.lineno
            case ast.Compare(left=key, comparators=[of]) if is_spec(of) and is_text(key):
                yield node.lineno


def test_only_the_codec_reads_the_json_of_specs():
    found = [
        f"{path.relative_to(SRC)}:{line}"
        for path in sorted(SRC.rglob("*.py"))
        if not {CODEC, *OTHERS, SRC / "cli" / "examples"} & {*path.parents}
        for line in raw_reads(ast.parse(path.read_text()))
    ]
    assert found == []


def test_what_is_looked_for_is_found():
    text = 'row.spec["a"]; spec.get("b"); "c" in version.spec; spec.a; spec == row.spec'
    assert len(list(raw_reads(ast.parse(text)))) == 3
