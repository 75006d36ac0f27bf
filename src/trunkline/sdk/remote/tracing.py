"""Lineage, through a server."""

from __future__ import annotations

from trunkline.model.columns import ColumnLineage
from trunkline.model.lineage import Graph, Lineage
from trunkline.sdk.lineage import Tracing
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.remote.client import PAGE


class RemoteTracing(RemoteBase, Tracing):
    def lineage(self, ref: str, *, limit: int = 20) -> Lineage:
        most = min(max(limit, 1), PAGE)
        found: Lineage = self._client.get(Lineage, "/lineage", ref=self._whole(ref), limit=most)
        return found

    def column_lineage(self, ref: str, column: str | None = None) -> ColumnLineage:
        found: ColumnLineage = self._client.get(
            ColumnLineage, "/lineage/columns", ref=self._whole(ref), column=column
        )
        return found

    def graph(self, env: str | None = None) -> Graph:
        found: Graph = self._client.get(Graph, "/graph", project=self.project, env=env)
        return found
