"""Pipelines, through a server."""

from __future__ import annotations

from trunkline.sdk.pipelines import Pipelines
from trunkline.sdk.remote.base import RemoteBase


class RemotePipelines(RemoteBase, Pipelines):
    """To be written."""
