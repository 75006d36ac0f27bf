"""What every part of the remote interface stands on: the client and how refs are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from trunkline.errors import Precondition
from trunkline.model.commits import RepoName
from trunkline.model.refs import Ref
from trunkline.sdk.base import LakeBase
from trunkline.sdk.remote.client import Client
from trunkline.settings import Settings


class RemoteBase(LakeBase):
    """A lake behind a server. There is no core: what is here goes over HTTP."""

    def __init__(self, client: Client, found: Settings) -> None:
        self._client = client
        self._settings = found
        self._folder = Path()
        self.location = self.server = client.url
        self.project = found.text("project")
        self.author = found.text("author")

    @property
    def is_served(self) -> bool:
        return True

    def close(self) -> None:
        self._client.close()

    @property
    def _core(self) -> NoReturn:  # type: ignore[override]
        raise Precondition(
            "This needs the lake itself, not a server's.", hint="Run it where the lake is."
        )

    def _repo_path(self, name: str | RepoName) -> str:
        """`/repos/project/repo`"""
        found = self._repo(name) if isinstance(name, str) else name
        return f"/repos/{found.project}/{found.repo}"

    def _whole(self, ref: Ref | str, **options: Any) -> str:
        """A ref as the server reads it: with its project."""
        found = self._ref(ref, **options) if isinstance(ref, str) else ref
        path = f":{found.path}" if found.path is not None else ""
        return f"{found.repo.project}/{found.repo.repo}@{found.ref}{path}"
