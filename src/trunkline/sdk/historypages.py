"""History as the server asks for it: a page at a time, and what hangs on a commit."""

from __future__ import annotations

from trunkline.lake import history, historypages
from trunkline.lake.historypages import CommitPage, Cursor
from trunkline.model.commits import RepoName
from trunkline.model.refs import Need
from trunkline.sdk.history import History


def log_page(lake: History, ref: str, limit: int, after: str | None) -> CommitPage:
    return historypages.log_page(lake._core, lake._ref(ref), limit, _cursor(after))


def commits_page(lake: History, ref: str, limit: int, after: str | None) -> CommitPage:
    parsed = lake._ref(ref, path=Need.FORBIDDEN)
    return historypages.first_parents_page(lake._core, parsed, limit, _cursor(after))


def history_page(lake: History, repo: str, limit: int, after: str | None) -> CommitPage:
    return historypages.whole_page(lake._core, lake._ref(repo), limit, _cursor(after))


def derived_repos(lake: History, ref: str) -> set[RepoName]:
    """The other repos with commits that were made from this one, at any distance."""
    return history.derived_repos(lake._core, lake._ref(ref, path=Need.FORBIDDEN))


def _cursor(text: str | None) -> Cursor | None:
    return Cursor.parse(text) if text is not None else None
