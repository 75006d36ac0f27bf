"""The whole lake at a glance: what there is, what happened, and where to find something."""

from __future__ import annotations

from trunkline.model.overview import Found, Overview, SetSummary, SettingInfo
from trunkline.sdk.base import LakeBase


class Overviews(LakeBase):
    """All of the lake at once."""

    def overview(self, project: str | None = None, at: str | None = None) -> Overview:
        """Every repo and pipeline, of a project or of all, and how it is.

        With `at`, an id of a commit set or its first digits, as it was then.
        """
        from trunkline.lake.overview import overview

        return overview(self._core, project, at)

    def sets(self, project: str | None = None, *, limit: int | None = 100) -> list[SetSummary]:
        """The changes of the lake, or those that touch a project, newest first."""
        from trunkline.lake.sets import PAGE, sets_page

        found: list[SetSummary] = []
        before = None
        while limit is None or len(found) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            page = sets_page(self._core, project, size, before)
            found += page.items
            before = page.rest
            if before is None:
                break
        return found

    def search(self, text: str, *, limit: int = 20) -> Found:
        """Repos, pipelines, branches, tags, commits, jobs, tables, columns and files by a part of
        their name; the best come first.
        """
        from trunkline.lake.search import search

        return search(self._core, text, max(limit, 1))

    def settings(self) -> list[SettingInfo]:
        """The settings in force, and where each came from. Secrets are not told."""
        from trunkline.sdk.settings import shown_settings

        return shown_settings(self._settings)
