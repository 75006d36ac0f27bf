"""Writing tables, through a server."""

from __future__ import annotations

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.tablewriting import TableWriting


class RemoteTableWriting(RemoteBase, TableWriting):
    """To be written."""
