"""Where data comes from, what became of it, and the graph of all pipelines."""

from __future__ import annotations

from trunkline.model.lineage import Graph, GraphEdge, GraphNode, Lineage, LineageNode
from trunkline.sdk.base import LakeBase

__all__ = ["Graph", "GraphEdge", "GraphNode", "Lineage", "LineageNode", "Tracing"]


class Tracing(LakeBase):
    """Who made this, from what, and what else was made from it."""

    def lineage(self, ref: str, *, limit: int = 20) -> Lineage:
        """What a commit, file or folder was made from, up to its sources, and all made from it.

        At most `limit` places are followed at each step; how many there are more is told.
        """
        from trunkline.jobs.lineage import lineage

        return lineage(self._core, self._ref(ref), max(limit, 1))

    def graph(self) -> Graph:
        """Which pipelines read which repos, and how they are."""
        from trunkline.lake.graph import graph

        return graph(self._core, self.project)
