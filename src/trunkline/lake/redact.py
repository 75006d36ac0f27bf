"""What an erasure must not leave behind beside the bytes: bounds of columns, logs, messages.

The least and the greatest value of each column are kept with the line of a file: in every tree
that lists it, and in the results of the datum that wrote it. The trees of commits are written
anew without them; a commit then has another root, and is the same commit. Who was at work
meanwhile may still use, and even publish, ranges of the old trees. So gc keeps them as long as
anybody lives who might, and looks once more. What jobs keep is cleaned in `jobredaction`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from trunkline.lake.changes import Changes, apply_unchecked
from trunkline.lake.core import Core
from trunkline.lake.jobredaction import redact_jobs
from trunkline.lake.lease import Lease
from trunkline.lake.manifests import INLINE_KEY, Lines, Range, Tree, range_id
from trunkline.lake.reach import with_roots
from trunkline.model.entries import Entry, line_object
from trunkline.model.ids import new_id
from trunkline.storage.catalog import Row, Session, commits, erasures, leases
from trunkline.storage.catalog.erasures import Place, place_of
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import KeyMaker


def redact(core: Core) -> int:
    """Remove what is noted of what was erased, wherever it is. Can be repeated.

    The number of datums of which a log or a message was removed.
    """
    with core.database.read() as session:
        gone = erasures.unsettled(session)
        at_work = _at_work(session)
    if not gone:
        return 0
    datums, is_done = redact_jobs(core, gone)
    while _redact_trees(core, gone):
        with core.database.read() as session:
            at_work = at_work or _at_work(session)
    if is_done and not at_work:
        with core.database.write() as session:
            erasures.settle(session, gone)
    return datums


def _at_work(session: Session) -> bool:
    """Whether somebody may still bring back what was there. To be asked before anything is listed:
    whoever begins later finds it clean.
    """
    return leases.live_before(session, erasures.changed(session))


def _redact_trees(core: Core, gone: Collection[Place]) -> bool:
    """Write each tree anew that has bounds of erased files; whether there was one."""
    keys = KeyMaker(new_id())
    lease = Lease(core, keys.txn, "erase")
    lease.take()
    try:
        replaced = with_roots(core, partial(_written_anew, core, gone, keys))
        if not replaced:
            return False
        crashpoint("erase.trees_written")
        with core.database.write() as session:
            lease.check_in(session)
            for root, (key, digest) in replaced.items():
                commits.replace_root(session, root, key, digest)
            erasures.note_redaction(session)
        lease.forget()
        return True
    finally:
        lease.give_back()


def _written_anew(
    core: Core, gone: Collection[Place], keys: KeyMaker, roots: list[Row]
) -> dict[str, tuple[str, str]]:
    """By root, what takes its place."""
    clean = _Clean(gone)
    replaced: dict[str, tuple[str, str]] = {}
    for root, root_hash in {row["root"]: row["root_hash"] for row in roots}.items():
        tree = core.manifests.read(root, root_hash)
        if changes := clean.changes(tree):
            pieces = clean.known(apply_unchecked(tree, changes))
            key, digest, made = core.manifests.write(pieces, keys.manifest)
            clean.keep(made)
            replaced[root] = key, digest
    return replaced


class _Clean:
    """The lines of trees without bounds; a range that several trees share is made once."""

    def __init__(self, gone: Collection[Place]) -> None:
        self._gone = gone
        self._keys = {key.encode() for key, _, _ in gone}
        self._lines: dict[str, Lines] = {}
        self._ranges: dict[str, Range] = {}

    def changes(self, tree: Tree) -> Changes:
        changes = Changes()
        for held in tree.ranges:
            if held.id not in self._lines:
                self._lines[held.id] = list(self._cleaned(tree.lines(held)))
            changes.put_all(self._lines[held.id])
        return changes

    def _cleaned(self, lines: Lines) -> Iterator[bytes]:
        for line in lines:
            if line_object(line) in self._keys:
                entry = Entry.decode(line)
                if place_of(entry) in self._gone and (plain := entry.without_bounds()) != entry:
                    yield plain.encode()

    def known(self, pieces: Iterable[Range | Lines]) -> Iterator[Range | Lines]:
        for piece in pieces:
            if isinstance(piece, Range):
                yield piece
            else:
                yield self._ranges.get(range_id(piece), piece)

    def keep(self, tree: Tree) -> None:
        self._ranges |= {held.id: held for held in tree.ranges if held.key != INLINE_KEY}
