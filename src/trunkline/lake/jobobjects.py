"""What jobs keep in the object store: indexes, results, parts and logs. For gc and fsck.

A part is a list of JSON lines (`engine.runner.task`), of which only the outputs matter here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import zstandard

from trunkline.errors import CorruptObject
from trunkline.lake.changes import Changes, apply_unchecked
from trunkline.lake.core import Core
from trunkline.lake.lease import Lease
from trunkline.lake.manifests import Lines, Tree, decompress
from trunkline.lake.named import Named
from trunkline.model.entries import objects_of
from trunkline.model.ids import id_millis, new_id
from trunkline.pipelines.datums_lines import IndexLine, ResultLine, index_part, result_part
from trunkline.storage.catalog import Session, jobs, pipelines
from trunkline.storage.catalog.pipelines import PipelineRow
from trunkline.storage.objects.keys import JOBS, KeyMaker

PART, LOG = ".part", ".log"
KEEP_LOGS = 30 * 86_400.0
_PART_OF = {"index": index_part, "results": result_part}


def prune_results(core: Core, keep_seconds: float) -> int:
    """Forget results that were computed longer ago than that; how many.

    Nothing that is visible changes: should such a datum come back, it is computed again. What
    the head of a branch was made of stays: concatenated outputs are made from it once more.
    """
    with core.database.write() as session:
        oldest = session.now() - int(keep_seconds * 1_000_000)
        # From here on no job that commits has taken anything over from those.
        jobs.stop_lending(session, oldest)
        rows = pipelines.with_results(session)
        heads = {row.repo: jobs.head_indexes(session, row.repo) for row in rows}
    gone = 0
    for row in rows:
        try:
            tree = core.manifests.read(row.results, row.results_hash)
            indexes = [core.manifests.read(*stored) for stored in heads[row.repo]]
            old = {
                one.key
                for one in map(ResultLine.decode, tree.scan(b""))
                if id_millis(one.job) * 1000 <= oldest  # when the set of its job began
                and not any(_has(index, one) for index in indexes)
            }
        except CorruptObject:
            if _is_named(core, row.results or ""):
                raise
            continue  # a job has added to them, and another gc removed these
        if old and replace_results(core, row, tree, old):
            gone += len(old)
    return gone


def _has(index: Tree, result: ResultLine) -> bool:
    """Whether a datum of an index still is what this result says."""
    found = index.find(result.datum)
    return found is not None and IndexLine.decode(found).pointer == result.pointer


def replace_results(core: Core, row: PipelineRow, tree: Tree, old: set[bytes]) -> bool:
    """Forget some results of a pipeline; False if a job added to them meanwhile."""
    keys = KeyMaker(new_id())
    lease = Lease(core, keys.txn, "gc")
    lease.take()
    try:
        changes = Changes()
        changes.removed_files = old
        key, digest, _ = core.manifests.write(apply_unchecked(tree, changes), keys.manifest)
        with core.database.write() as session:
            if pipelines.results(session, row.repo) != row.results:
                return False  # next time
            lease.check_in(session)
            pipelines.set_results(session, row.repo, key, digest)
        lease.forget()
        return True
    finally:
        lease.give_back()


def used_by_jobs(
    core: Core, keep_logs_seconds: float = KEEP_LOGS, named: Named | None = None
) -> set[str]:
    """The keys of all objects that a job, its results or its logs need."""
    named = named or Named()
    name_running(core, name_kept(core, keep_logs_seconds, named), named)
    return named.keys


def name_kept(core: Core, keep_logs_seconds: float, named: Named) -> set[str]:
    """Name what jobs, results and logs keep; the parts of jobs that run, to be named last."""
    with core.database.read() as session:
        since = session.now() - int(keep_logs_seconds * 1_000_000)
        trees = _trees(session)
        open_places = [*jobs.unfinished_places(session), *jobs.lenders(session)]
        going = {f"{JOBS}{job_id}-{repo}/" for repo, job_id in open_places}
        known = {f"{JOBS}{job_id}-{repo}/" for repo, job_id in jobs.places_since(session, since)}
    seen: set[str] = set()
    parts: dict[str, set[str]] = {"index": set(), "results": set()}
    waiting = list(trees)
    while waiting:
        stored, kind = waiting.pop()
        if not _note_parts(core, stored, kind, seen, named, parts[kind]):
            # Replaced since it was listed, and removed by another gc: what took its place names
            # parts that it named.
            with core.database.read() as session:
                now = _trees(session)
            waiting += now - trees
            trees |= now
    named.others(parts["index"])
    kept = parts["results"]
    passing: set[str] = set()
    running: set[str] = set()
    for info in core.objects.list(JOBS):
        prefix = info.key.rpartition("/")[0] + "/"
        if info.key.endswith(PART) and prefix in going:
            running.add(info.key)
            passing.add(info.key)
        elif info.key.endswith(LOG) and prefix in known:
            passing.add(info.key)
    for part in kept:
        if part.endswith(PART):
            named.files(_outputs(core, part))
    named.passing |= passing - named.keys
    named.others(kept | passing)
    return running - kept


def name_running(core: Core, parts: set[str], named: Named) -> None:
    """Name what jobs that run have written so far. It comes last: what nothing else names may be
    younger than a listing that was made before, or gone a moment later.
    """
    for part in parts:
        lines = _outputs(core, part)
        named.passing |= objects_of(lines) - named.keys
        named.files(lines)


def _trees(session: Session) -> set[tuple[tuple[str, str], str]]:
    """The trees that name parts, of jobs and pipelines: each with its kind."""
    rows = pipelines.with_results(session)
    results = [(row.results or "", row.results_hash or "") for row in rows]
    indexes = jobs.every_index(session)
    return {*((one, "index") for one in indexes), *((one, "results") for one in results)}


def _note_parts(
    core: Core, stored: tuple[str, str], kind: str, seen: set[str], named: Named, parts: set[str]
) -> bool:
    """Add the parts that the lines of a tree name, and note its own objects; False if it is gone.

    What was read of it until then is noted, since it is not read again.
    """
    part_of = _PART_OF[kind]
    try:
        tree = core.manifests.read(*stored)
        for lines in _new_lines(tree, seen):
            parts |= {name.decode() for name in set(map(part_of, lines))}
    except CorruptObject:
        if _is_named(core, stored[0]):
            raise
        return False
    named.tree(*stored, tree)
    return True


def _is_named(core: Core, key: str) -> bool:
    """Whether a job or a pipeline still has this tree."""
    with core.database.read() as session:
        named = {row.results for row in pipelines.with_results(session)}
        return key in named | {index for index, _ in jobs.every_index(session)}


def _new_lines(tree: Tree, seen: set[str]) -> Iterator[list[bytes]]:
    for held in tree.ranges:
        if held.id not in seen:
            yield tree.lines(held)
            seen.add(held.id)


def _outputs(core: Core, part: str) -> Lines:
    """The files that the datums of a part wrote."""
    lines = part_lines(core, part)
    return [output.encode() for line in lines for output in json.loads(line)["outputs"]]


def part_lines(core: Core, part: str) -> list[bytes]:
    """The lines of a part, or of a log; none if it is gone."""
    try:
        return decompress(core.objects.get(part)).splitlines()
    except FileNotFoundError:
        return []
    except zstandard.ZstdError:
        raise CorruptObject(f"The results {part} of a job are damaged.") from None
