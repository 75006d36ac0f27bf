"""Keeping a flow's repo in order: few files, and a history that can be read.

Done at the start of a job, or between two commits of an ingest: whoever does it holds the flow,
so nobody else writes to its branch meanwhile. Rows stay what they are, so nobody is told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from trunkline.errors import TrunklineError
from trunkline.lake import checkpoints
from trunkline.lake.core import Core
from trunkline.lake.history import squash
from trunkline.lake.identity import check_store
from trunkline.model.commits import Commit, RepoKind, RepoName
from trunkline.model.entries import Entry
from trunkline.model.refs import Ref
from trunkline.model.streams import Flow, History
from trunkline.storage.catalog import commits, flows, jobs, leases, refs
from trunkline.tables.changing.compacting import compact
from trunkline.tables.layout import is_data

log = logging.getLogger(__name__)
EVERY = 20
"""It is looked after once in so many batches."""
_AUTHOR = "upkeep"
_SMALL = 8 << 20
_WINDOW = 500
_MICROS = 1_000_000
_looked_at: dict[tuple[str, int], int] = {}
"""The batch at which this process looked last: those without a commit do not count."""


def look_after(core: Core, flow: Flow, branch: str, history: History, folder: str = "/") -> bool:
    """Compact and squash, if it is time to; whether it was. What fails is only logged."""
    seen = (core.database.url, flow.repo)
    if not flow.number or flow.number % EVERY or _looked_at.get(seen) == flow.number:
        return False
    _looked_at[seen] = flow.number
    acts: list[Callable[[], None]] = [
        partial(_compact, core, flow.name, branch, folder, history.compact),
        partial(_squash, core, flow.repo, flow.name, branch, history),
    ]
    for act in acts:
        _try(flow, act)
    return True


def forget_state(core: Core, flow: Flow, retain: int) -> int:
    """Remove the state of all but the newest commits, once in so many of Spark's batches: there
    are more of those than commits. The batch at which it was done last.
    """
    state, done = flow.facts.get("state"), int(flow.facts.get("pruned", 0))
    if not state or state["batch"] - done < EVERY:
        return done
    _try(flow, partial(_forget_state, core, flow, retain))
    return int(state["batch"])


def _try(flow: Flow, act: Callable[[], None]) -> None:
    try:
        act()
    except TrunklineError as error:
        log.warning("%s could not be looked after: %s", flow.name, error)


def _compact(core: Core, name: RepoName, branch: str, folder: str, most: int) -> None:
    """Join small files, if one of the table's folders has many."""
    if not most:
        return
    tree = core.tree_of(Ref(name, branch))
    start, below = len(folder.rstrip("/")) + 1, folder.rstrip("/") + "/"
    counts: dict[str, int] = {}
    for line in tree.scan(below.encode()):
        entry = Entry.decode(line)
        rest = entry.path[start:]
        if is_data(rest) and entry.size < _SMALL:
            place = rest.rpartition("/")[0]
            counts[place] = counts.get(place, 0) + 1
    crowded = [place for place, count in counts.items() if count >= most]
    if crowded:
        target = Ref(name, branch, folder)
        compact(core, target, author=_AUTHOR, partitions=crowded, kind=RepoKind.OUTPUT)


def _squash(core: Core, repo: int, name: RepoName, branch: str, history: History) -> None:
    """Of commits that are no longer among the newest, keep one for each span of time."""
    if not history.keep:
        return
    with core.database.read() as session:
        at = refs.branch(session, repo, branch)
        found = (
            commits.chain(session, repo, at.head, history.keep + _WINDOW) if at and at.head else []
        )
    for commit in _superfluous(found[history.keep :], int(history.every * _MICROS)):
        try:
            target = Ref(name, commit.id)
            squash(core, target, recursive=False, author=_AUTHOR, keep_deleted=True)
        except TrunklineError:
            continue  # it is tagged, or was until now, read just now, or something was made from it
        with core.database.write(durable=False) as session:
            jobs.forget(session, repo, commit.id)


def _superfluous(older: Sequence[Commit], span: int) -> Iterator[Commit]:
    """All but the newest of each span. The first of all stays: it is where the rest begins."""
    kept: int | None = None
    for commit in older[:-1]:
        slot = (commit.finished or 0) // span if span else 0
        if slot == kept:
            yield commit
        kept = slot


def _forget_state(core: Core, flow: Flow, retain: int) -> None:
    with core.database.read() as session:
        if leases.backing_up(session):
            return  # it needs what was there when it began: another time
        newest = flows.batches(session, flow.repo, limit=retain)
    states = [dict(batch.state) for batch in newest] + [dict(flow.facts["state"])]
    keep = {(one["checkpoint"], int(one["batch"])) for one in states if one}
    check_store(core)  # another lake that took the store has repos of the same keys
    checkpoints.prune(core.objects, f"streams/{flow.repo}/", keep)
