"""Running jobs, through a server."""

from __future__ import annotations

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.running import Running


class RemoteRunning(RemoteBase, Running):
    """To be written."""
