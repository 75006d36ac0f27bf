"""Forgetting and erasing: the only two ways data leaves a commit, each on the record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from trunkline.errors import CorruptObject, InUse, NotFound, Precondition
from trunkline.lake.branches import refuse_open, refuse_read
from trunkline.lake.core import Core, repo_key, resolve_commit
from trunkline.lake.files import lines_below
from trunkline.lake.identity import check_store
from trunkline.lake.lease import Lease
from trunkline.lake.reach import new_ranges, with_roots
from trunkline.lake.redact import redact
from trunkline.lake.remains import destroy_unnamed, unnamed_copies
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, RepoCommit, RepoKind, RepoName
from trunkline.model.entries import Entry, line_object
from trunkline.model.ids import id_millis, new_id
from trunkline.model.refs import Ref
from trunkline.storage.catalog import (
    Row,
    Session,
    checks,
    commits,
    deletions,
    erasures,
    events,
    leases,
    refs,
    repos,
    requests,
)
from trunkline.storage.catalog.erasures import Place, place_of
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.outside import is_outside, outside_of, outside_url
from trunkline.storage.objects.reading import reference


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """What was erased: versions of the path, the commits that held them, and who else did."""

    path: str
    versions: int
    bytes: int
    commits: tuple[str, ...]
    also_at: tuple[str, ...]
    derived: tuple[RepoCommit, ...]
    removed_from: tuple[str, ...]
    logs: int = 0
    """Of so many datums that read or wrote it, what they printed or failed with is gone too."""


def forget(core: Core, ref: Ref) -> Commit:
    """Throw away the data of an old commit; its record and lineage stay. gc frees the bytes."""
    with core.database.write() as session:
        return forget_in(session, ref)


def forget_in(session: Session, ref: Ref) -> Commit:
    found, commit = resolve_commit(session, ref)
    if commit.finished is None:
        raise Precondition(f"{commit.short_id} is not finished.", hint="Finish it, or drop it.")
    heads = [b.name for b in refs.branches(session, found.repo) if b.head == commit.id]
    heads += [t.name for t in refs.tags(session, found.repo) if t.commit == commit.id]
    if heads:
        raise Precondition(
            f"{commit.short_id} is what {', '.join(heads)} points at, and is still read.",
            hint="Forget older commits, or move the branch first.",
        )
    refuse_read(session, found.repo, commit)
    if commit.forgotten is None:
        commits.mark_forgotten(session, found.repo, commit.id, session.now())
        # A deleted branch or tag that pointed at it would come back without its data.
        deletions.remove_commit(session, found.repo, commit.id)
        checks.forget_samples(session, repo=found.repo, job=commit.id)
        events.emit(session, "forget", commit.repo, {"id": commit.id})
    done = commits.find(session, found.repo, commit.id)
    assert done is not None
    return done


def erase(core: Core, ref: Ref, reason: str, author: str) -> ErasureReport:
    """Remove a path's bytes from every commit of a repo, whoever else points at them."""
    lease = Lease(core, new_id(), author, kind=leases.ERASE)
    # No backup begins before it is on the record: heads that have lost the path are not.
    lease.take(_refuse_backup)
    try:
        return _erase(core, ref, reason, author)
    finally:
        lease.give_back()


def _erase(core: Core, ref: Ref, reason: str, author: str) -> ErasureReport:
    path = ref.path or "/"
    repo, deleted = _repos(core, ref.repo)
    keys = [*([repo] if repo is not None else []), *deleted]
    first = [entry for key in keys for entry in _held(core, key, path)[0].values()]
    if not first:
        raise NotFound(f'No commit of {ref.repo} has ever held "{path}".')
    _refuse_outside(core, first)
    removed_from = _remove_from_heads(core, ref, path, author) if repo is not None else ()
    # Once more: a version that was put meanwhile is gone from the heads, and goes with the others.
    found = {key: _held(core, key, path) for key in keys}
    held = {place: entry for places, _ in found.values() for place, entry in places.items()}
    holders = [commit_id for _, some in found.values() for commit_id in some]
    also_at = _other_places(core, keys, path, set(held))
    with core.database.write() as session:
        _refuse_backup(session)
        for key in deleted:
            _drop_staged(session, key)
        for key, (places, _) in found.items():
            erasures.record(session, key, places.values(), author, reason)
        derived = _derived(
            session, [(key, one) for key, (_, some) in found.items() for one in some]
        )
        # Rows that broke a rule are kept as examples, whatever file they came from.
        for key in keys:
            checks.forget_samples(session, repo=key)
        for key, commit_id in derived:
            checks.forget_samples(session, repo=key, job=commit_id)
        requests.forget_answers(session)
        events.emit(session, "erase", ref.repo, {"path": path, "versions": len(held)})
    crashpoint("erase.after_record")
    logs = finish_erasures(core)
    return ErasureReport(
        path,
        len(held),
        sum(entry.size for entry in held.values()),
        tuple(sorted(holders, key=id_millis)),
        also_at,
        tuple(sorted(derived.values(), key=lambda edge: (edge.repo, edge.id))),
        removed_from,
        logs,
    )


def _repos(core: Core, name: RepoName) -> tuple[int | None, list[int]]:
    """The repo of a name, and deleted ones that had it and may be had back: what is in them is
    meant as well, and must not come back.
    """
    with core.database.read() as session:
        deleted = deletions.hidden(session, name)
        repo = repos.key_of(session, name) if deleted else repo_key(session, name)
        for branch in refs.branches(session, repo) if repo is not None else ():
            refuse_open(branch)
        return repo, deleted


def _drop_staged(session: Session, repo: int) -> None:
    """What is staged in an open commit would come back when it is finished."""
    for branch in refs.branches(session, repo):
        if branch.open:
            refs.set_open(session, repo, branch.name, None)
            commits.remove(session, repo, [branch.open])


def _held(core: Core, repo: int, path: str) -> tuple[dict[Place, Entry], list[str]]:
    """Every version of a path, and the commits of the repo that have one."""
    return with_roots(core, partial(_held_by, core, repo, path))


def _held_by(
    core: Core, repo: int, path: str, roots: list[Row]
) -> tuple[dict[Place, Entry], list[str]]:
    held: dict[Place, Entry] = {}
    holders: list[str] = []
    for row in (one for one in roots if one["repo"] == repo):
        lines = lines_below(core.manifests.read(row["root"], row["root_hash"]), path)
        entries = [Entry.decode(line) for line in lines]
        held.update((place_of(entry), entry) for entry in entries)
        if entries:
            holders.append(row["id"])
    return held, holders


def _refuse_outside(core: Core, entries: Iterable[Entry]) -> None:
    """What a file refers to is not the lake's to destroy. Once it is gone there, so it is here."""
    outside = outside_of(core.objects)
    for entry in entries:
        if not is_outside(entry.key):
            continue
        try:
            outside.check(reference(entry))
        except CorruptObject:
            continue  # these bytes are no longer there
        raise Precondition(
            f"{entry.path} is by reference: its bytes are at {outside_url(entry.key)}, "
            "and not the lake's to erase.",
            hint="Delete them there, then run this again: it notes that they are gone.",
        )


def _refuse_backup(session: Session) -> None:
    """A backup that knows nothing of an erasure would be damaged by it. One that begins after it
    was recorded repeats it when it is restored.
    """
    if leases.backing_up(session):
        raise InUse(
            "A backup is being taken, and would hold half of what is erased.",
            hint="Erase it when the backup is done.",
        )


def finish_erasures(core: Core) -> int:
    """Destroy the bytes of every recorded erasure, and what was noted of them. Can be repeated,
    and is after a crash. The number of datums of which a log or a message went.
    """
    check_store(core)
    with core.database.read() as session:
        pending = erasures.pending(session)
    of_key: dict[str, list[Row]] = defaultdict(list)
    for row in pending:
        of_key[row["key"]].append(row)
    if copies := unnamed_copies(core, of_key):
        with core.database.read() as session:
            _refuse_backup(session)
        destroy_unnamed(core, copies)
    crashpoint("erase.copies_gone")
    for key, rows in of_key.items():
        if spans := [(row["start"], row["size"]) for row in rows if row["start"] is not None]:
            _blank(core, key, spans)
        elif not is_outside(key):
            core.objects.delete([key])
        crashpoint("erase.half_done")
        with core.database.write() as session:
            erasures.complete(session, rows)
    return redact(core)


def _blank(core: Core, key: str, spans: list[tuple[int, int]]) -> None:
    """Overwrite parts of a pack with zeros; every other file in it keeps its place."""

    def blanked(data: bytes) -> bytearray:
        changed = bytearray(data)
        for start, size in spans:
            changed[start : start + size] = bytes(len(changed[start : start + size]))
        return changed

    with suppress(FileNotFoundError):  # gc removed the pack, with all that was in it
        core.objects.edit(key, blanked)


def _remove_from_heads(core: Core, ref: Ref, path: str, author: str) -> tuple[str, ...]:
    """Take the path out of every branch, so that nobody stumbles over what is gone."""
    removed = []
    with core.database.read() as session:
        repo = repo_key(session, ref.repo)
        found = repos.find(session, ref.repo)
        branches = refs.branches(session, repo)
    for branch in branches:
        target = Ref(ref.repo, branch.name)
        if branch.head is None or not lines_below(core.tree_of(target), path):
            continue
        if found is None or found.kind is not RepoKind.USER:
            continue
        with Transaction(core, author) as transaction:
            draft = transaction.draft(target, f"Erase {path}", follow=True)
            draft.changes.remove(path.encode())
        removed.append(branch.name)
    return tuple(removed)


def _other_places(
    core: Core, repos: Collection[int], path: str, held: set[Place]
) -> tuple[str, ...]:
    """Where else in the lake the same bytes are listed: copies by reference lose them too."""
    return with_roots(core, partial(_places_in, core, repos, path, held))


def _places_in(
    core: Core, repos: Collection[int], path: str, held: set[Place], roots: list[Row]
) -> tuple[str, ...]:
    keys = {key.encode() for key, _, _ in held}
    folder = path.rstrip("/") + "/"
    places: set[str] = set()
    seen: set[str] = set()
    for row in roots:
        owner = RepoName(row["project"], row["name"])
        for lines in new_ranges(core.manifests.read(row["root"], row["root_hash"]), seen):
            for line in lines:
                if line_object(line) not in keys:
                    continue
                entry = Entry.decode(line)
                own = row["repo"] in repos and (entry.path == path or entry.path.startswith(folder))
                if not own and place_of(entry) in held:
                    places.add(f"{owner}:{entry.path}")
    return tuple(sorted(places))


def _derived(session: Session, holders: list[tuple[int, str]]) -> dict[tuple[int, str], RepoCommit]:
    """Every commit computed, at any distance, from one that held the data; by repo and id."""
    waiting = list(holders)
    found: dict[tuple[int, str], RepoCommit] = {}
    while waiting:
        for key, below in commits.derived_places(session, *waiting.pop()):
            if (key, below.id) not in found:
                found[key, below.id] = below
                waiting.append((key, below.id))
    return found
