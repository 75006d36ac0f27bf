"""Files that are read with other types than their own: since other files need them, or a record.

Types that nobody recorded are found by looking at all files, and recorded ones are widened. So
what a file is read as may change, and with that a result, though the file does not.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache

from blake3 import blake3

from trunkline.errors import Precondition, TrunklineError
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.inputs import Cron, Leaf
from trunkline.model.pipelines import Mode, Transform
from trunkline.pipelines.datums import Datum
from trunkline.tables.describe import EVERY_FILE, retyped, tables_in

Retyped = Mapping[bytes, str]
"""By the path of a file, in order: which of its columns are read as what; see `retyped`."""

_NOTHING: Retyped = {}


def retyped_inputs(
    core: Core, transform: Transform, leaves: Sequence[Leaf], trees: Sequence[Tree]
) -> tuple[Retyped, ...]:
    """For each leaf; nothing where one datum has all of the table, and so what decides it."""
    if not transform.makes_tables:
        return (_NOTHING,) * len(trees)
    whole = transform.mode is Mode.WHOLE
    return tuple(
        _retyped(core, leaf, tree, whole) for leaf, tree in zip(leaves, trees, strict=True)
    )


def _retyped(core: Core, leaf: Leaf, tree: Tree, whole: bool) -> Retyped:
    if isinstance(leaf, Cron) or leaf.reference or (whole and leaf.glob == "/"):
        return _NOTHING
    try:
        folder = table_folder(tree, leaf.glob, str(leaf.repo))
        if whole and f"{folder}/".startswith(f"{leaf.glob.rstrip('/')}/"):
            return _NOTHING
        return retyped(core, tree, folder, str(leaf.repo))
    except TrunklineError:  # whoever reads the table says so, in better words
        return _NOTHING


def same_types(
    before: Sequence[Retyped],
    trees_before: Sequence[Tree],
    now: Sequence[Retyped],
    trees: Sequence[Tree],
) -> bool:
    """Whether all files that were there and still are, are read as they were."""
    for was, old, own, new in zip(before, trees_before, now, trees, strict=True):
        if was.get(EVERY_FILE) != own.get(EVERY_FILE):
            return False
        if any(
            was.get(path) != own.get(path)
            and old.find(path) is not None
            and new.find(path) is not None
            for path in {*was, *own} - {EVERY_FILE}
        ):
            return False
    return True


def typed(datum: Datum, inputs: Sequence[Retyped]) -> Datum:
    """The datum, with the types that its files are read with as part of its content."""
    texts: list[bytes] = []
    for match in datum.matches:
        files = inputs[match.leaf]
        if not files:
            continue
        if EVERY_FILE in files:
            texts.append(files[EVERY_FILE].encode())
        paths = list(files)
        for place in range(bisect_left(paths, match.path), len(paths)):
            path = paths[place]
            if path != match.path and not (
                match.path.endswith(b"/") and path.startswith(match.path)
            ):
                break
            texts.append(b"%b\t%b" % (path, files[path].encode()))
    if not texts:
        return datum
    digest = blake3(b"\n".join(texts)).hexdigest()[:16]
    return datum._replace(content=b"%b@%b" % (datum.content, digest.encode()))


def table_folder(tree: Tree, glob: str, repo: str) -> str:
    """The table that a glob looks into: the only one at or around its fixed part."""
    fixed = "/" + "/".join(_fixed_parts(glob))
    inside, around = [], []
    for path in tables_in(tree):
        if path == fixed or path.startswith(fixed.rstrip("/") + "/"):
            inside.append(path)
        elif fixed.startswith(path.rstrip("/") + "/"):
            around.append(path)
    if fixed in inside:
        return fixed
    if len(inside) > 1:
        names = ", ".join(path.lstrip("/") for path in inside[:5])
        raise Precondition(
            f"{repo} holds several tables ({names}), and {glob} takes them all.",
            hint=f"Read one of them: glob: {inside[0]}/",
        )
    # A folder of one table's: /2026/ of a table at the root.
    return (inside or sorted(around, key=len, reverse=True) or [fixed])[0]


@lru_cache(maxsize=256)
def _fixed_parts(glob: str) -> tuple[str, ...]:
    """The folders that a glob names as they are, up to the first of key=value."""
    fixed = []
    for part in glob.strip("/").split("/"):
        if not part or "=" in part or re.search(r"[*?\[\]{}()!+@\\|]", part):
            break
        fixed.append(part)
    return tuple(fixed)
