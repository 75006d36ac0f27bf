"""SQL: asked, waited for, paged, cancelled."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["sql"])
