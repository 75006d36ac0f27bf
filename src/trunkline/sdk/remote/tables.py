"""Tables, through a server."""

from __future__ import annotations

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.tables import Tables


class RemoteTables(RemoteBase, Tables):
    """To be written."""
