"""What deleting would take, what was deleted, and having it back; through a server."""

from __future__ import annotations

from trunkline.model.deletions import Deleted, Deletion, Undeleted
from trunkline.sdk.deletions import Deletions
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.deletions import Undelete


class RemoteDeletions(RemoteBase, Deletions):
    def deletion(
        self, kind: str, name: str, force: bool = False, keep_repo: bool = False
    ) -> Deletion:
        found: Deletion = self._client.get(
            Deletion,
            "/deletion",
            kind=kind,
            name=name,
            project=self.project,
            force=force,
            keep_repo=keep_repo,
        )
        return found

    def deleted(self, all_projects: bool = False) -> list[Deleted]:
        project = None if all_projects else self.project
        return list(self._client.pages(Deleted, "/deleted", project=project))

    def undelete(self, name: str, as_: str | None = None, id: int | None = None) -> Undeleted:
        repo, ref = self._deleted_name(name)
        place = f"{self._repo_path(repo)}/undelete"
        done: Undeleted = self._client.send("POST", place, Undelete(ref, as_, id), kind=Undeleted)
        return done
