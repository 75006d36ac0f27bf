"""Where data comes from and what became of it; the graph of pipelines."""

from __future__ import annotations

from dataclasses import replace

from trunkline.lake.graph import graph
from trunkline.model.access import Permission
from trunkline.model.columns import ColumnLineage
from trunkline.model.commits import RepoName
from trunkline.model.lineage import Graph, Lineage
from trunkline.model.refs import parse_repo
from trunkline.server.calls import ANYBODY, Call, Caller, Needs, On, Routes
from trunkline.server.hidden_inputs import shown_job
from trunkline.server.hiding import Sees, visible_columns, visible_lineage
from trunkline.server.paging import Limit

routes = Routes(tags=["lineage"])

READ_REF = Needs(On.REFS)


@routes.GET("/lineage", READ_REF)
def get_lineage(call: Caller, ref: str, limit: Limit = 20) -> Lineage:
    """What a commit, file or folder was made from, up to its sources, and all made from it.

    At most `limit` places are followed at each step. Of what the caller may not read nothing is
    told but that it is there.
    """
    found, sees = call.lake.lineage(ref, limit=limit), _sees(call)
    return replace(
        found, up=visible_lineage(found.up, sees), down=visible_lineage(found.down, sees)
    )


@routes.GET("/lineage/columns", READ_REF)
def get_column_lineage(call: Caller, ref: str, column: str | None = None) -> ColumnLineage:
    """What the columns of a table, or one of them, were made from, and what is made from them."""
    found, sees = call.lake.column_lineage(ref, column), _sees(call)
    return replace(
        found,
        columns=visible_columns(found.columns, sees),
        down=visible_columns(found.down, sees),
    )


@routes.GET("/graph", ANYBODY)
def get_graph(call: Caller, project: str, env: str | None = None) -> Graph:
    """Which pipelines read which repos, and how they are: those that the caller may read.

    With `env` as they are in an environment, for who may read the project.
    """
    call.require_project_seen(project)
    if env is not None:
        call.require_project(Permission.READ, project)
    found = graph(call.lake._core, project, env, lambda job: shown_job(call, job))
    nodes = call.visible(found.nodes, lambda one: parse_repo(one.name))
    names = {one.name for one in nodes}
    kept = tuple(edge for edge in found.edges if {edge.source, edge.target} <= names)
    return Graph(tuple(nodes), kept)


def _sees(call: Call) -> Sees:
    known: dict[RepoName, bool] = {}

    def sees(repo: RepoName) -> bool:
        if repo not in known:
            known[repo] = call.may(Permission.READ, repo)
        return known[repo]

    return sees
