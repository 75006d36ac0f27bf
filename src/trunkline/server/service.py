"""What all requests share: the open lake, its settings, and who its callers are."""

from __future__ import annotations

from fastapi import Request

from trunkline.model.access import LAKE, Grant, Principal, Role
from trunkline.sdk.lake import Lake
from trunkline.settings import Settings


class Service:
    """A lake that is being served.

    Without `authenticated` everybody who reaches it is its owner: only for 127.0.0.1.
    """

    def __init__(self, lake: Lake, settings: Settings, *, authenticated: bool = False) -> None:
        self.lake = lake
        self.settings = settings
        self.authenticated = authenticated
        self._owner = Principal(lake.author, "local", (Grant(lake.author, LAKE, Role.ADMIN),))

    async def identify(self, request: Request) -> Principal | None:
        """Who sent a request; None if it does not say, `NotAuthenticated` if it lies."""
        return self._owner

    def lake_of(self, principal: Principal | None) -> Lake:
        """The lake in somebody's name."""
        if principal is None or principal.name == self.lake.author:
            return self.lake
        return self.lake.bound(author=principal.name)
