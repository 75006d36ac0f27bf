"""The changes of the lake, newest first, each with all that it caused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from trunkline.errors import NotFound
from trunkline.lake.core import Core, Sees
from trunkline.model.commits import Origin, RepoName
from trunkline.model.overview import SetSummary
from trunkline.model.told import Kind, Told
from trunkline.storage.catalog import overview as catalog
from trunkline.storage.catalog import repos, sets
from trunkline.storage.catalog.sets import CommitRow, JobRow

PAGE = 500
"""So many are read at once at most, of those who want all."""
Shown = Callable[[RepoName, Told], Told]
"""The cause of a pipeline's job as it may be known."""
NAMED = 3
"""So many pipelines are named of those that were applied together."""
Member = TypeVar("Member", CommitRow, JobRow)


class SetPage(NamedTuple):
    """Some sets; `rest` is where the next page goes on, None after the last."""

    items: list[SetSummary]
    rest: str | None


def sets_page(
    core: Core,
    project: str | None,
    limit: int,
    before: str | None = None,
    sees: Sees | None = None,
    shown: Shown = lambda _, cause: cause,
) -> SetPage:
    """The newest sets before one, of which anything is in the project and is seen.

    Ids tell when a change began, so they are the order.
    """
    with core.database.read() as session:
        if project is not None and not repos.has_project(session, project):
            raise NotFound(f'There is no project "{project}".')
        among = None
        if project is not None or sees is not None:
            among = [
                node.key
                for node in catalog.nodes(session)
                if project in (None, node.name.project) and (sees is None or sees(node.name))
            ]
        found = sets.ids(session, among, before, limit + 1)
        ids = found[:limit]
        commits = _seen(sets.commits(session, ids), sees)
        jobs = _seen(sets.jobs(session, ids), sees)
    items = [_summary(one, commits.get(one, []), jobs.get(one, []), shown) for one in ids]
    return SetPage(items, ids[-1] if len(found) > limit else None)


def _seen(rows: Iterable[Member], sees: Sees | None) -> dict[str, list[Member]]:
    by_set: dict[str, list[Member]] = {}
    for row in rows:
        if sees is None or sees(row.repo):
            by_set.setdefault(row.set_id, []).append(row)
    return by_set


def _summary(set_id: str, commits: list[CommitRow], jobs: list[JobRow], shown: Shown) -> SetSummary:
    begun = [one for one in commits if one.is_code or one.origin is not Origin.PIPELINE]
    # Of a rerun or a stream nobody but the pipeline itself began it.
    begun = begun or [one for one in commits if not one.is_derived]
    first = next((one for one in begun if not one.is_code), begun[0] if begun else None)
    members: list[CommitRow | JobRow] = [*commits, *jobs]
    ends = [one.finished for one in members]
    done = [end for end in ends if end is not None]
    began = [one.started for one in commits] or [one.created for one in jobs]
    finished = [one.finished for one in commits if one.finished is not None]
    return SetSummary(
        set_id,
        min(finished or began),
        tuple(dict.fromkeys(one.repo for one in begun or jobs)),
        tuple(dict.fromkeys(one.repo for one in members)),
        _message(first, begun, jobs, shown),
        first.author if first else "",
        dict(Counter(one.state for one in jobs)),
        max(done) if len(done) == len(ends) else None,
    )


def _message(
    first: CommitRow | None, begun: list[CommitRow], jobs: list[JobRow], shown: Shown
) -> str:
    if first is None:
        return str(shown(jobs[0].repo, jobs[0].cause))
    if first.is_code:
        names = sorted({str(one.repo) for one in begun})
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return f"applied {', '.join(names[:NAMED])}{more}"
    if first.origin is not Origin.PIPELINE:
        return first.message
    # Of a job that is gone, or of another lake's, there is the sentence alone.
    gone = Told(Kind.TEXT, text=first.message)
    return str(shown(first.repo, next((one.cause for one in jobs if one.repo == first.repo), gone)))
