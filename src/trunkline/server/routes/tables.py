"""Tables: described, read, written, compared; checks."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["tables"])
