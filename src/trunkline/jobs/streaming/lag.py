"""How far a stream is behind its inputs, for the price of a few look-ups."""

from __future__ import annotations

from trunkline.jobs.streaming.positions import Place
from trunkline.lake.core import Core, repo_key
from trunkline.model.inputs import Pfs
from trunkline.storage.catalog import commits


def behind(core: Core, leaf: Pfs, since: str | None, until: str | None) -> tuple[int, int | None]:
    """How many commits a stream has not read, and when the oldest of them was finished."""
    if until is None:
        return 0, None
    with core.database.read() as session:
        repo = repo_key(session, leaf.repo)
        end = commits.find(session, repo, until)
        place = Place.parse(since) if since else None
        start = commits.find(session, repo, place.commit) if place else None
        if end is None or (place is not None and place.commit == until and not place.taken):
            return 0, None
        if start is not None and commits.at_depth(session, repo, until, start.depth) != start.id:
            return 1, end.finished  # the branch was moved: one step leads there
        depth = start.depth if start else 0
        if place is not None and place.taken and start is not None:
            return end.depth - depth + 1, start.finished
        first = commits.at_depth(session, repo, until, depth + 1)
        oldest = commits.find(session, repo, first) if first else None
    return end.depth - depth, oldest.finished if oldest else None
