"""SQL, through a server."""

from __future__ import annotations

from trunkline.sdk.query import Queries
from trunkline.sdk.remote.base import RemoteBase


class RemoteQueries(RemoteBase, Queries):
    """To be written."""
