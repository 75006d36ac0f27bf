"""Users, roles, tokens, logins, the audit log."""

from __future__ import annotations

from trunkline.server.calls import Routes

routes = Routes(tags=["access"])
