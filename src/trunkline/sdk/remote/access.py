"""Users, roles and tokens, through a server."""

from __future__ import annotations

from trunkline.sdk.access import Access
from trunkline.sdk.remote.base import RemoteBase


class RemoteAccess(RemoteBase, Access):
    """To be written."""
