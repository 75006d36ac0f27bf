"""The whole lake at a glance, now and then; what happened; finding things; how it is set up."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query

from trunkline.lake.overview import overview
from trunkline.lake.search import search
from trunkline.lake.sets import sets_page
from trunkline.model.overview import Found, Overview, SetSummary, SettingInfo
from trunkline.sdk.settings import shown_settings
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ADMIN_LAKE, ANYBODY, Caller, Routes
from trunkline.server.hidden_inputs import shown_cause, shown_nodes
from trunkline.server.paging import Cursor, Limit, decoded, encoded

routes = Routes(tags=["overview"])

Project = Annotated[str | None, Query(description="One project; without it, all of them.")]
At = Annotated[str | None, Query(description="The id of a commit set, or its first digits.")]
Text = Annotated[str, Query(min_length=1, max_length=200, description="A part of a name.")]


@routes.GET("/overview", ANYBODY)
def get_overview(call: Caller, project: Project = None, at: At = None) -> Overview:
    """Every repo and pipeline that the caller may read, and how it is; or was, at a commit set."""
    if project is not None:
        call.require_project_seen(project)
    sees = call.sees
    found = overview(call.lake._core, project, at, sees)
    if sees is None:
        return found
    edges = (one for one in found.edges if sees(one.source) and sees(one.target))
    nodes = shown_nodes(call, (one for one in found.nodes if sees(one.name)))
    return replace(found, nodes=tuple(nodes), edges=tuple(edges))


@routes.GET("/sets", ANYBODY)
def list_sets(
    call: Caller, project: Project = None, limit: Limit = 50, cursor: Cursor = None
) -> Page[SetSummary]:
    """The changes of the lake with all that each caused, newest first: what the caller may read."""
    if project is not None:
        call.require_project_seen(project)
    shown = shown_cause(call)
    page = sets_page(call.lake._core, project, limit, decoded(cursor), call.sees, shown)
    return Page(page.items, encoded(page.rest) if page.rest else None)


@routes.GET("/search", ANYBODY)
def search_lake(call: Caller, q: Text, limit: Limit = 20) -> Found:
    """Repos, pipelines, branches, tags, commits, jobs, tables, columns and files by name.

    Of files, and of the columns of tables, those at the head of `main`; `partial` tells that
    there were too many to look at all of them.
    """
    return search(call.lake._core, q, limit, call.sees)


@routes.GET("/settings", ADMIN_LAKE)
def list_settings(call: Caller) -> Page[SettingInfo]:
    """The settings that the server runs with, and where each came from; secrets are hidden."""
    return Page(shown_settings(call.service.settings))
