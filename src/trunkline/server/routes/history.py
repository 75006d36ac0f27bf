"""Commits: log, sets, merges, reverts; open commits; diffs."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["history"])
