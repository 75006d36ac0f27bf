"""Whether streams and ingests add up: each commit starts where the one before ended.

A gap would be rows that nobody read, an overlap rows that were read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from trunkline.model.streams import Batch, Flow
from trunkline.storage.catalog import Session, flows


class FlowFacts(NamedTuple):
    """What the catalog says of one flow: all of its batches, and which of their commits are
    missing.
    """

    flow: Flow
    batches: Sequence[Batch]
    missing: frozenset[str]


class Finding(NamedTuple):
    where: str
    message: str


def flow_facts(session: Session) -> list[FlowFacts]:
    found = []
    for flow in flows.listed(session):
        batches = flows.batches(session, flow.repo)[::-1]
        # A batch has the moment of its commit, if that is there and finished.
        missing = frozenset(one.commit for one in batches if one.at is None)
        found.append(FlowFacts(flow, batches, missing))
    return found


def check_flow(known: FlowFacts) -> Iterator[Finding]:
    flow = known.flow
    for batch in known.batches:
        if batch.commit in known.missing:
            yield Finding(_where(flow, batch), "its commit is not there, or not finished")
        if batch.first > batch.number or batch.first < 1:
            yield Finding(
                _where(flow, batch), f"says that it is of batches {batch.first} to {batch.number}"
            )
    for _, some in groupby(known.batches, key=lambda one: one.epoch):
        for before, batch in pairwise(some):
            yield from _check_pair(flow, before, batch)
    yield from _check_present(flow, [one for one in known.batches if one.epoch == flow.epoch])
    later = [one for one in known.batches if one.epoch > flow.epoch]
    if later:
        text = f"has epoch {later[-1].epoch}, but the flow is at {flow.epoch}"
        yield Finding(_where(flow, later[-1]), text)


def _check_pair(flow: Flow, before: Batch, batch: Batch) -> Iterator[Finding]:
    where = _where(flow, batch)
    if batch.first > before.number + 1:
        missing = f"{before.number + 1} to {batch.first - 1}"
        yield Finding(where, f"comes after batch {before.number}: {missing} are missing")
    elif batch.first <= before.number:
        yield Finding(where, f"begins with {batch.first}, which batch {before.number} holds too")
    if not batch.passed and dict(batch.start) != dict(before.end):
        yield Finding(
            where,
            f"starts at {_shown(batch.start)}, but batch {before.number} ended at "
            f"{_shown(before.end)}",
        )


def _check_present(flow: Flow, batches: Sequence[Batch]) -> Iterator[Finding]:
    """Where the flow is, against its newest batch. Without one it is where the epoch began."""
    if not batches:
        return
    newest = batches[-1]
    if flow.number != newest.number:
        yield Finding(
            str(flow.name), f"counts {flow.number} batches, but its newest is {newest.number}"
        )
    elif not flow.facts.get(flows.PASSED) and dict(flow.position) != dict(newest.end):
        yield Finding(
            str(flow.name),
            f"is at {_shown(flow.position)}, but batch {newest.number} ended at "
            f"{_shown(newest.end)}",
        )


def _where(flow: Flow, batch: Batch) -> str:
    return f"{flow.name}@{batch.commit[:12]} (batch {batch.number})"


def _shown(position: Mapping[str, object]) -> str:
    """`orders 01a1dd29b6a6`; what is no commit as it is, shortened."""
    said = ", ".join(f"{name} {str(at)[:40]}" for name, at in sorted(position.items()))
    return said or "the beginning"
