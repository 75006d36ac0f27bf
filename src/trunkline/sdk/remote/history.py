"""Commits, through a server."""

from __future__ import annotations

from trunkline.sdk.history import History
from trunkline.sdk.remote.base import RemoteBase


class RemoteHistory(RemoteBase, History):
    """To be written."""
