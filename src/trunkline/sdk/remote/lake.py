"""The whole remote lake, put together."""

from __future__ import annotations

from pathlib import Path

from trunkline.sdk.lake import Lake
from trunkline.sdk.remote.access import RemoteAccess
from trunkline.sdk.remote.checks import RemoteChecks
from trunkline.sdk.remote.client import Client
from trunkline.sdk.remote.contents import RemoteContents
from trunkline.sdk.remote.deletions import RemoteDeletions
from trunkline.sdk.remote.egress import RemoteEgress
from trunkline.sdk.remote.environments import RemoteEnvironments
from trunkline.sdk.remote.events import RemoteEvents
from trunkline.sdk.remote.flows import RemoteFlows
from trunkline.sdk.remote.history import RemoteHistory
from trunkline.sdk.remote.jobs import RemoteJobs
from trunkline.sdk.remote.overview import RemoteOverviews
from trunkline.sdk.remote.pipelines import RemotePipelines
from trunkline.sdk.remote.queries import RemoteQueries
from trunkline.sdk.remote.repos import RemoteRepos
from trunkline.sdk.remote.running import RemoteRunning
from trunkline.sdk.remote.secrets import RemoteSecrets
from trunkline.sdk.remote.tablediffs import RemoteTableDiffs
from trunkline.sdk.remote.tables import RemoteTables
from trunkline.sdk.remote.tablewriting import RemoteTableWriting
from trunkline.sdk.remote.tracing import RemoteTracing
from trunkline.sdk.remote.upkeep import RemoteUpkeep
from trunkline.settings import Settings


class RemoteLake(
    RemoteRepos,
    RemoteDeletions,
    RemoteContents,
    RemoteHistory,
    RemoteUpkeep,
    RemoteTracing,
    RemoteOverviews,
    RemoteSecrets,
    RemotePipelines,
    RemoteEnvironments,
    RemoteJobs,
    RemoteFlows,
    RemoteEgress,
    RemoteRunning,
    RemoteQueries,
    RemoteChecks,
    RemoteTables,
    RemoteTableWriting,
    RemoteTableDiffs,
    RemoteAccess,
    RemoteEvents,
    Lake,
):
    """A lake behind a server, with the interface of a local one."""


def connect(url: str, token: str, found: Settings, folder: Path | None = None) -> RemoteLake:
    """The lake that a server serves. Nothing is asked of it yet.

    `folder` is the lake's, where the server is one of this computer.
    """
    lake = RemoteLake(Client(url, token, found.text("author")), found)
    if folder is not None:
        lake._folder = folder
        lake.location = str(folder.parent)
    return lake
