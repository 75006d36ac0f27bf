"""Streams and ingests."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["flows"])
