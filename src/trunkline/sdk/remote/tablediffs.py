"""Comparing tables, through a server."""

from __future__ import annotations

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.tablediff import TableDiffs


class RemoteTableDiffs(RemoteBase, TableDiffs):
    """To be written."""
