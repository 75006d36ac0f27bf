"""The lake at a glance, through a server."""

from __future__ import annotations

from trunkline.model.overview import Found, Overview, SetSummary, SettingInfo
from trunkline.sdk.overview import Overviews
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.client import PAGE
from trunkline.sdk.wire.values import Page


class RemoteOverviews(RemoteBase, Overviews):
    def overview(self, project: str | None = None, at: str | None = None) -> Overview:
        found: Overview = self._client.get(Overview, "/overview", project=project, at=at)
        return found

    def sets(self, project: str | None = None, *, limit: int | None = 100) -> list[SetSummary]:
        return list(self._client.pages(SetSummary, "/sets", project=project, limit=limit))

    def search(self, text: str, *, limit: int = 20) -> Found:
        most = min(max(limit, 1), PAGE)
        found: Found = self._client.get(Found, "/search", q=text, limit=most)
        return found

    def settings(self) -> list[SettingInfo]:
        found: Page[SettingInfo] = self._client.get(Page[SettingInfo], "/settings")
        return found.items
