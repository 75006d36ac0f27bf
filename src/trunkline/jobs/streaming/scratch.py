"""All that a commit of a stream stands for, as one batch.

A query without state gives the same rows however commits fall into batches, so the rows from
where the stream began to where the commit ends can be computed at once. Where the published ones
depend on more than these, why is said instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trunkline.jobs.context import Context
from trunkline.jobs.streaming.positions import Place, commit_of
from trunkline.lake.core import Core
from trunkline.lake.streams import batch_at
from trunkline.model.commits import Commit
from trunkline.model.inputs import Leaf, Pfs
from trunkline.model.streams import Batch, BatchLimit, Flow, OnChangedRows, Static
from trunkline.storage.catalog import Session, commits, flows, jobs


class NotAtOnce(Exception):
    """Why a commit of a stream cannot be computed as one batch."""


def at_once(core: Core, context: Context, commit: Commit) -> tuple[Context, Flow]:
    """The context and the flow of a stream that has read nothing yet, and reads all of it."""
    streaming = context.spec.transform.streaming
    assert streaming is not None
    if streaming.key:
        raise NotAtOnce("of rows with the same key the last one stays, and batches tell which")
    with core.database.read() as session:
        flow = flows.find(session, context.repo)
        assert flow is not None
        _refuse_changes(context, flow)
        batches = list(_batches(session, context.repo, batch_at(session, context.repo, commit)))
        _refuse_versions(session, context, batches)
        last, first = batches[0], batches[-1]
        begun = commits.find(session, context.repo, first.commit)
        before = (
            commits.find(session, context.repo, begun.parent) if begun and begun.parent else None
        )
        fixed = _fixed(session, context, batches)
    if before is not None and _keeps(core, before, commit):
        raise NotAtOnce("it kept its output when it was restarted")
    for name, place in last.end.items():
        if Place.parse(place).taken:
            raise NotAtOnce(f"it ends in the middle of a commit of {name}")
    ends = {name: commit_of(place) for name, place in last.end.items()}
    inputs = tuple(
        replace(one, commit=fixed.get(one.name, ends.get(one.name))) for one in context.inputs
    )
    leaves = tuple(map(_unlimited, context.leaves))
    position = {**first.start, **{name: fixed[name] for name in fixed}}
    return (
        replace(context, inputs=inputs, leaves=leaves),
        replace(flow, position=position, facts={}),
    )


def _unlimited(leaf: Leaf) -> Leaf:
    if not isinstance(leaf, Pfs):
        return leaf
    static = Static.PINNED if leaf.stream.static else ""
    return replace(leaf, stream=replace(leaf.stream, limit=BatchLimit(), static=static))


def _refuse_changes(context: Context, flow: Flow) -> None:
    for leaf in context.leaves:
        if leaf.stream.changes is OnChangedRows.ROWS:
            raise NotAtOnce(f"it gets changes of rows as the commits of {leaf.name} brought them")
    if flow.facts.get("skipped"):
        raise NotAtOnce("it skipped changes of rows that it had read")


def _batches(session: Session, repo: int, last: Batch) -> Iterator[Batch]:
    """Those that a commit builds on, the newest first. A rewind goes on from an older epoch."""
    known = flows.batches(session, repo)
    at: Batch | None = last
    while at is not None:
        yield at
        if at.first <= 1:
            return
        wanted, epoch = at.first - 1, at.epoch
        at = next((one for one in known if one.number == wanted and one.epoch <= epoch), None)
    raise NotAtOnce("where it began is no longer known")


def _refuse_versions(session: Session, context: Context, batches: list[Batch]) -> None:
    for batch in batches:
        job = jobs.find(session, context.repo, batch.commit)
        if job is not None and job.digest != context.version.digest:
            raise NotAtOnce("its query changed on the way, and rows of before stay as they were")


def _fixed(session: Session, context: Context, batches: list[Batch]) -> dict[str, str]:
    """The commits of the tables that it looks things up in: one each for all batches."""
    static = {leaf.name for leaf in context.leaves if leaf.stream.static}
    found: dict[str, set[str]] = {}
    for batch in batches:
        job = jobs.find(session, context.repo, batch.commit)
        for one in job.inputs if job else ():
            if one.name in static and one.commit:
                found.setdefault(one.name, set()).add(one.commit)
    for name, several in found.items():
        if len(several) > 1:
            raise NotAtOnce(f"{name} changed on the way, and rows met what it held at their time")
    return {name: only for name, (only,) in found.items()}


def _keeps(core: Core, before: Commit, commit: Commit) -> bool:
    """Whether a commit still has files of one before the stream began."""
    old = set(core.tree(before).scan(b"/"))
    return any(line in old for line in core.tree(commit).scan(b"/") if b"_table.json" not in line)
