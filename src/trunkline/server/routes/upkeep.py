"""The lake as a whole: status, gc, fsck, erasure, secrets, lineage and graph."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["upkeep"])
