"""Where data comes from, what became of it, and the graph of all pipelines."""

from __future__ import annotations

from trunkline.model.columns import ColumnLineage, ColumnNode
from trunkline.model.lineage import Graph, GraphEdge, GraphNode, Lineage, LineageNode
from trunkline.sdk.base import LakeBase

__all__ = [
    "ColumnLineage", "ColumnNode", "Graph", "GraphEdge", "GraphNode", "Lineage", "LineageNode",
    "Tracing",
]  # fmt: skip


class Tracing(LakeBase):
    """Who made this, from what, and what else was made from it."""

    def lineage(self, ref: str, *, limit: int = 20) -> Lineage:
        """What a commit, file or folder was made from, up to its sources, and all made from it.

        At most `limit` places are followed at each step; how many there are more is told.
        """
        from trunkline.jobs.lineage import lineage

        return lineage(self._core, self._ref(ref), max(limit, 1))

    def column_lineage(self, ref: str, column: str | None = None) -> ColumnLineage:
        """What the columns of a table, or one of them, were made from, up to their sources; and
        `down`, what is made from them now.

        Followed through `sql` and `spark` pipelines; of a SQL pipeline also before it has run.
        """
        from trunkline.jobs.columns import column_lineage

        return column_lineage(self._core, self._ref(ref), column)

    def graph(self, env: str | None = None) -> Graph:
        """Which pipelines read which repos, and how they are; with `env`, in an environment."""
        from trunkline.lake.graph import graph

        return graph(self._core, self.project, env)
