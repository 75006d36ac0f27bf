"""Where the columns of a table come from."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.commits import RepoName
from trunkline.model.lineage import HIDDEN


@dataclass(frozen=True, slots=True)
class ColumnNode:
    """A column of a table, and those that its values were made from; or that are made from it.

    `commit` is empty where nothing has run yet, and the text of a pipeline tells. `table` is the
    folder in the repo, "" for the whole. `note` says why nothing is below, if that needs saying;
    what was `seen` is told in full elsewhere in the same answer. Of what is `hidden` from who asks
    nothing is told.
    """

    repo: RepoName
    commit: str
    table: str
    column: str
    below: tuple[ColumnNode, ...] = ()
    pipeline: str = ""
    note: str = ""
    seen: bool = False
    hidden: bool = False

    @property
    def text(self) -> str:
        if self.hidden:
            return HIDDEN
        place = f"{self.repo}@{self.commit[:12]}" if self.commit else str(self.repo)
        return f"{place}{':/' + self.table if self.table else ''}.{self.column}"

    @property
    def detail(self) -> str:
        made = f"by {self.pipeline}" if self.pipeline else ""
        return ", ".join(filter(None, (made, self.note, "shown above" if self.seen else "")))


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """The columns of a table, each with what it was made from up to its sources.

    `down` has the same columns, each with what is made from it by pipelines of now.
    """

    ref: str
    columns: tuple[ColumnNode, ...]
    down: tuple[ColumnNode, ...] = ()
