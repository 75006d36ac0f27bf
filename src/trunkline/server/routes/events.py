"""What happens, as it happens."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["events"])
