"""Descriptions of tables that both sides of a merge changed: united if both only widened them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trunkline.lake.core import Core
from trunkline.lake.files import read
from trunkline.lake.manifests import Tree
from trunkline.lake.threeway import UNDECIDED, PathConflict
from trunkline.model.entries import Entry
from trunkline.model.evolution import united_specs
from trunkline.model.paths import base_name
from trunkline.model.tables import TABLE_FILE, TableSpec

UNITED = "united"


def unite_tables(
    core: Core, base: Tree, ours: Tree, theirs: Tree, conflicts: Sequence[PathConflict]
) -> tuple[dict[str, bytes], list[PathConflict]]:
    """What to put where, and the conflicts, with those decided that this settles."""
    puts: dict[str, bytes] = {}
    left = []
    for conflict in conflicts:
        if conflict.chosen is None and base_name(conflict.path) == TABLE_FILE:
            mine, other = (_spec(core, tree, conflict.path) for tree in (ours, theirs))
            if mine and other:
                both = united_specs(_spec(core, base, conflict.path), mine, other)
                if both is not None:
                    puts[conflict.path] = both.encode()
                    conflict = replace(conflict, chosen=UNITED)
        left.append(conflict)
    return puts, left


def _spec(core: Core, tree: Tree, path: str) -> TableSpec | None:
    line = tree.find(path.encode())
    if line is None or line.endswith(UNDECIDED):
        return None
    try:
        return TableSpec.decode(b"".join(read(core, Entry.decode(line))))
    except ValueError:
        return None
