"""Lineage, through a server."""

from __future__ import annotations

from trunkline.sdk.lineage import Tracing
from trunkline.sdk.remote.base import RemoteBase


class RemoteTracing(RemoteBase, Tracing):
    """To be written."""
