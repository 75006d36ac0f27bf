"""Streams and ingests, through a server."""

from __future__ import annotations

from trunkline.sdk.flows import Flows
from trunkline.sdk.remote.base import RemoteBase


class RemoteFlows(RemoteBase, Flows):
    """To be written."""
