"""Secrets, through a server."""

from __future__ import annotations

from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.secrets import Secrets


class RemoteSecrets(RemoteBase, Secrets):
    """To be written."""
