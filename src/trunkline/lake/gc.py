"""Removing what nothing needs, while others go on working.

The order makes it safe. Commits that nothing leads to go first, in one transaction: a writer
that reuses their files checks in its own transaction that they are still there. Then objects are
listed, then the leases of living writers are read, and only then is everything marked that any
commit names. An object that was listed either belongs to a writer still alive, or its commit
is seen by the marking, or nobody will ever name it. The state of a stream is no such object: it
is the stream's own to remove (`checkpoints.prune`), and goes here when the stream's repo is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from trunkline.errors import InUse
from trunkline.lake.checkpoints import of_nobody
from trunkline.lake.core import Core
from trunkline.lake.deletions import expired, forget
from trunkline.lake.erase import finish_erasures
from trunkline.lake.identity import check_store
from trunkline.lake.jobobjects import prune_results
from trunkline.lake.reach import Unreachable, unreachable_commits, used_objects
from trunkline.storage.catalog import Session, checks, commits, erasures, leases, repos
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.keys import DATA, JOBS, MANIFESTS, PACKS, txn_of
from trunkline.storage.objects.loose import loose
from trunkline.storage.objects.port import ObjectInfo

PREFIXES = (DATA, PACKS, MANIFESTS, JOBS)


@dataclass(frozen=True, slots=True)
class GcReport:
    """What gc removed, or would remove."""

    commits: int
    objects: int
    bytes: int
    kept_objects: int
    waiting_commits: int
    dry_run: bool
    deletions: int = 0
    """So many branches, tags, repos and pipelines that were deleted cannot be had back now."""


def collect(core: Core, grace_seconds: float, dry_run: bool) -> GcReport:
    grace = int(grace_seconds * 1_000_000)
    check_store(core)
    if not dry_run:
        finish_erasures(core)
        prune_results(core, core.options.keep_results_seconds)
        _forget_samples(core, core.options.keep_logs_seconds)
    forgotten, gone, waiting = _prune_commits(core, grace, dry_run)
    crashpoint("gc.after_commits")
    with core.database.read() as session:
        cutoff = session.now() - grace
    found = [info for prefix in PREFIXES for info in core.objects.list(prefix)]
    found += core.objects.abandoned()
    with core.database.read() as session:
        living = leases.live(session)
        # Who was at work when trees were written anew may yet commit ranges of the old ones.
        old_trees = leases.live_before(session, erasures.redacted(session))
    # A dry run has removed no commits, so it leaves out what only those would have freed.
    used = used_objects(core)
    doomed = [
        info
        for info in found
        if info.key not in used
        and info.modified <= cutoff
        and txn_of(info.key) not in living
        and not (old_trees and info.key.startswith(MANIFESTS))
    ]
    lost = of_nobody(core.objects, partial(_repos, core))
    states = [info for info in lost if info.modified <= cutoff]
    if not dry_run:
        _refuse_backup(core)
        check_store(core)
        _delete(core, doomed)
        loose(core.objects).delete(info.key for info in states)
    kept = len(found) - len(doomed)
    doomed += states
    return GcReport(
        len(gone),
        len(doomed),
        sum(info.size for info in doomed),
        kept,
        waiting,
        dry_run,
        forgotten,
    )


def _refuse_backup(core: Core) -> None:
    """Asked last: a backup that begins after this sees a catalog that needs none of the doomed."""
    with core.database.read() as session:
        if leases.backing_up(session):
            raise InUse(
                "A backup is being taken, and needs what gc would remove.",
                hint="Run gc again when it is done.",
            )


def _prune_commits(core: Core, grace: int, dry_run: bool) -> tuple[int, list[Unreachable], int]:
    """Forget what was deleted, and commits that were lost, longer ago than the grace; note when
    others were. How many deletions, which commits, and how many wait.
    """
    if dry_run:
        with core.database.read() as session:
            now = session.now()
            deleted = expired(session, now - grace)
            gone, _ = _split(unreachable_commits(session), now, grace)
            return len(deleted), gone, _waiting(session, gone)
    with core.database.write() as session:
        leases.reap(session)
        now = session.now()
        deleted = expired(session, now - grace)
        forget(session, deleted)
        gone, waiting = _split(unreachable_commits(session), now, grace)
        for lost in gone:
            commits.remove(session, lost.repo, [lost.id])
        for lost in waiting:
            if lost.since is None:
                commits.mark_unreferenced(session, lost.repo, lost.id, now)
    with core.database.read() as session:
        return len(deleted), gone, _waiting(session, [])


def _waiting(session: Session, gone: list[Unreachable]) -> int:
    """The number of commits that will go when the grace is over, also of what was deleted."""
    return len(unreachable_commits(session, deleted=False)) - len(gone)


def _split(
    lost: Sequence[Unreachable], now: int, grace: int
) -> tuple[list[Unreachable], list[Unreachable]]:
    gone: list[Unreachable] = []
    waiting: list[Unreachable] = []
    for one in lost:
        since = now if one.since is None else one.since
        (gone if since <= now - grace else waiting).append(one)
    return gone, waiting


def _repos(core: Core) -> set[int]:
    with core.database.read() as session:
        return set(repos.every(session))


def _forget_samples(core: Core, keep_seconds: float) -> None:
    """Rows that broke a rule long ago are no longer shown; that they did is."""
    with core.database.write() as session:
        checks.forget_samples(session, before=session.now() - int(keep_seconds * 1_000_000))


def _delete(core: Core, doomed: Sequence[ObjectInfo]) -> None:
    keys = [info.key for info in doomed]
    half = len(keys) // 2
    core.objects.delete(keys[:half])
    crashpoint("gc.half_deleted")
    core.objects.delete(keys[half:])
    crashpoint("gc.after_deletes")
