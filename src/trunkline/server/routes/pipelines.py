"""Pipelines: applied, planned, listed, steered; schedules, backfills, pools."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["pipelines"])
