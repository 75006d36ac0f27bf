"""Rows that broke a rule and were set aside: files in `_quarantine/<rule>/` of their table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.lake.pipelines import require
from trunkline.lake.propagation import output_branch
from trunkline.lake.publish import Change, spread
from trunkline.model.commits import RepoName
from trunkline.model.entries import Entry, line_path
from trunkline.model.ids import new_id
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import QUARANTINE
from trunkline.model.told import Kind, Told
from trunkline.storage.catalog import commits, refs

EVERY_RULE = "*"
_FOLDER = f"/{QUARANTINE}/"


def quarantined(tree: Tree) -> Iterator[tuple[str, Entry]]:
    """The files of quarantined rows, each with its rule."""
    for line in tree.scan():
        path = line_path(line).decode()
        _, folder, below = path.partition(_FOLDER)
        if folder:
            yield below.partition("/")[0], Entry.decode(line)


def owners_of_quarantined(tree: Tree, rule: str = EVERY_RULE) -> frozenset[str]:
    """The datums whose rows are there."""
    return frozenset(
        entry.owner for name, entry in quarantined(tree) if rule in (EVERY_RULE, name)
    ) - {""}


def replay(core: Core, name: RepoName, rule: str | None, author: str) -> str:
    """A job that computes again the datums with quarantined rows, and no others; its set."""
    with core.database.read() as session:
        row = require(session, name)
        at = refs.branch(session, row.repo, output_branch(session, row))
        head = commits.find(session, row.repo, at.head) if at and at.head else None
    rows: Counter[str] = Counter()
    for found, entry in quarantined(core.tree(head)):
        rows[found] += entry.rows or 0
    if not rows or (rule is not None and rule not in rows):
        of = f" by {rule}" if rule and rows else ""
        near = did_you_mean(rule or "", rows) if rows else ""
        hint = f"Rules that set rows aside: {', '.join(sorted(rows))}." if rows else ""
        raise Precondition(f"No rows of {name} are quarantined{of}.{near}", hint=hint)
    if row.paused:
        raise Precondition(
            f"{name} is paused.", hint=f"Resume it first: trunkline pipeline resume {name}"
        )
    cause = Told(Kind.REPLAY, what=rule or "")
    change = Change(cause, author, forced=(row.repo,), replay=rule or EVERY_RULE)
    with core.database.write() as session:
        started = spread(session, new_id(), change)
    if started is None:
        raise Precondition(f"The inputs of {name} have no commits any more.")
    return started
