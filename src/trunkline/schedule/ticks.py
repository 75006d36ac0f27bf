"""What a tick is: a commit of one empty file, named by its time."""

from __future__ import annotations

from trunkline.errors import NotFound, Precondition
from trunkline.lake.core import Core
from trunkline.lake.drafts import Draft
from trunkline.lake.pipelines import require
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import DEFAULT_BRANCH, Commit, Origin, RepoKind, RepoName
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.model.told import Kind, Told
from trunkline.pipelines.cron import SECOND, slot_name
from trunkline.storage.catalog import Session, commits, pipelines, refs, timing
from trunkline.storage.catalog.timing import CronRow


def draft_tick(
    transaction: Transaction, row: CronRow, name: str, request: str | None = None
) -> Draft:
    """Put a tick into a transaction; `overwrite` lets it remove those before it."""
    draft = transaction.draft(
        Ref(row.name, DEFAULT_BRANCH),
        request=request,
        follow=True,
        origin=Origin.SCHEDULE,
        kind=RepoKind.CRON,
    )
    if row.ticks.overwrite:
        draft.changes.remove(b"/")
    draft.changes.put_all([transaction.intake.add_bytes(f"/{name}", b"")])
    return draft


def tick(core: Core, pipeline: RepoName, name: str | None, author: str) -> list[Commit]:
    """Tick by hand, now: every schedule of a pipeline, or the one of that name, as one set.

    The slots of the schedule stay as they are: what is due later still comes.
    """
    with core.database.read() as session:
        found = schedules(session, pipeline)
        chosen = [found[name]] if name in found else list(found.values())
        now = session.now()
        heads = [_head(session, row) for row in chosen]
    if not found:
        raise Precondition(
            f"{pipeline} has no cron input and no schedule, so it does not tick.",
            hint=f"To run it now: trunkline pipeline run {pipeline}",
        )
    if name is not None and name not in found:
        raise NotFound(
            f'{pipeline} has no schedule "{name}".{did_you_mean(name, list(found))}',
            hint=f"It has {', '.join(found)}.",
        )
    transaction = Transaction(core, author, "Tick by hand")
    transaction.cause = Told(Kind.TICK)
    with transaction:
        drafts = [
            draft_tick(transaction, row, _free_name(core, head, now))
            for row, head in zip(chosen, heads, strict=True)
        ]
    return [draft.result for draft in drafts if draft.result is not None]


def schedules(session: Session, pipeline: RepoName) -> dict[str, CronRow]:
    """A pipeline's schedules by the name of the input that they tick for."""
    repo = require(session, pipeline).repo
    rows = {row.repo: row for row in timing.crons(session, repo)}
    edges = pipelines.reads(session, repo)
    return {edge.name: rows[edge.source] for edge in edges if edge.source in rows}


def _head(session: Session, row: CronRow) -> Commit | None:
    branch = refs.branch(session, row.repo, DEFAULT_BRANCH)
    return commits.find(session, row.repo, branch.head) if branch and branch.head else None


def _free_name(core: Core, head: Commit | None, now: int) -> str:
    """Now; or the next second that has no tick, as the same file again would start nothing."""
    tree = core.tree(head)
    while tree.find(f"/{slot_name(now)}".encode()) is not None:
        now += SECOND
    return slot_name(now)
