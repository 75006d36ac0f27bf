"""Files: read, listed, uploaded and committed."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["files"])
