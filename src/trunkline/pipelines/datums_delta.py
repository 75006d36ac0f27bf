"""Which datums a few changed files can touch, without listing all the others.

This works where every datum is one match: then what becomes of a datum is decided by the
files at or below one path. `delta` of an expression patches the datums of an old commit into
those of a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trunkline.model.inputs import Cron, Input, Leaf, Pfs, Union, leaves
from trunkline.pipelines.datums_identity import SEPARATOR, Datum, cut_key, leaf_text
from trunkline.pipelines.datums_match import Listing, match_at, matcher

__all__ = ["affected", "delta", "is_local", "match_at"]

Change = tuple[bytes, Datum | None]


def is_local(expression: Input) -> bool:
    """Whether every datum depends on one match only."""
    if isinstance(expression, Union):
        return all(map(is_local, expression.members))
    return isinstance(expression, Pfs | Cron)


def affected(leaf: Leaf, number: int, changed_paths: Iterable[bytes]) -> set[bytes]:
    """Files, and folders with their slash, that may match anew, otherwise or no longer."""
    taking = matcher(leaf, number)
    glob = taking.glob
    paths = set(changed_paths)
    if glob.is_literal and glob.prefix == "/":
        return {b"/"} if paths else set()
    folders: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    found = {path.encode() for path in taking.select([path.decode() for path in paths])}
    return found | {f"{path}/".encode() for path in taking.select([f.decode() for f in folders])}


def delta(
    expression: Input, listings: Sequence[Listing], changed: Sequence[Iterable[bytes]]
) -> Iterator[Change]:
    """What became of each datum that changed paths touch, by ascending key; None: it is gone.

    `listings` are the new commits' and `changed` the paths that differ from the old ones', for
    each leaf of an expression that is local.
    """
    found: dict[bytes, Datum | None] = {}
    for number, leaf in enumerate(leaves(expression)):
        head = leaf_text(leaf) + SEPARATOR
        for text in sorted(affected(leaf, number, changed[number])):
            key = cut_key(head + text)
            # Members of a union may have a datum in common: it is the first one's.
            if found.get(key) is None:
                match = match_at(leaf, number, listings[number], text)
                found[key] = Datum(key, match.hash, (match,)) if match else None
    for key in sorted(found):
        yield key, found[key]
