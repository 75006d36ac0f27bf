"""Housekeeping, through a server."""

from __future__ import annotations

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.upkeep import Upkeep


class RemoteUpkeep(RemoteBase, Upkeep):
    """To be written."""
