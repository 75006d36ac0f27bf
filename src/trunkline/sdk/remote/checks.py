"""Checks, through a server."""

from __future__ import annotations

from trunkline.sdk.checks import Checks
from trunkline.sdk.remote.base import RemoteBase


class RemoteChecks(RemoteBase, Checks):
    """To be written."""
