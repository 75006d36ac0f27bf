"""Files, through a server."""

from __future__ import annotations

from trunkline.sdk.contents import Contents
from trunkline.sdk.remote.base import RemoteBase


class RemoteContents(RemoteBase, Contents):
    """To be written."""
