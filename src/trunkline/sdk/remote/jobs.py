"""Jobs, through a server."""

from __future__ import annotations

from trunkline.sdk.jobs import Jobs
from trunkline.sdk.remote.base import RemoteBase


class RemoteJobs(RemoteBase, Jobs):
    """To be written."""
