"""Commits, through a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from trunkline.lake.core import unknown_set
from trunkline.lake.history import CommitSet
from trunkline.model.commits import Branch, Commit
from trunkline.model.ids import is_id_prefix
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Need, parse_branch
from trunkline.sdk.history import History
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.wire.history import (
    CherryPickRequest,
    MergeRequest,
    PruneRequest,
    RevertRequest,
)
from trunkline.sdk.wire.values import Page

if TYPE_CHECKING:
    from trunkline.lake.merge import MergeReport


class RemoteHistory(RemoteBase, History):
    def log(
        self, ref: str, *, limit: int | None = None, path: str | None = None
    ) -> Iterator[Commit]:
        parsed = self._ref(ref)
        wanted = replace(parsed, path=normalize_path(path)) if path else parsed
        place = f"{self._repo_path(wanted.repo)}/log"
        return self._client.pages(Commit, place, at=wanted.ref, path=wanted.path, limit=limit)

    def commits(self, ref: str, *, limit: int | None = None) -> list[Commit]:
        wanted = self._ref(ref, path=Need.FORBIDDEN)
        place = f"{self._repo_path(wanted.repo)}/commits"
        return list(self._client.pages(Commit, place, at=wanted.ref, limit=limit))

    def history(self, repo: str, *, limit: int | None = None) -> list[Commit]:
        place = f"{self._repo_path(self._ref(repo).repo)}/history"
        return list(self._client.pages(Commit, place, limit=limit))

    def commit_info(self, ref: str) -> Commit:
        wanted = self._ref(ref, path=Need.FORBIDDEN)
        place = f"{self._repo_path(wanted.repo)}/commits/{quote(wanted.ref, safe='')}"
        found: Commit = self._client.get(Commit, place)
        return found

    def show(self, commit_id: str) -> CommitSet:
        if not is_id_prefix(commit_id):
            raise unknown_set(commit_id)
        found: CommitSet = self._client.get(CommitSet, f"/sets/{commit_id}")
        return found

    def merge(
        self,
        source: str,
        target: str,
        *,
        strategy: str | None = None,
        choose: Mapping[str, str] | None = None,
        dry_run: bool = False,
        message: str = "",
    ) -> MergeReport:
        from trunkline.lake.merge import MergeReport

        body = MergeRequest(
            self._whole(source, path=Need.FORBIDDEN),
            self._target(target),
            strategy,
            choose or {},
            dry_run,
            message,
        )
        done: MergeReport = self._client.send("POST", "/merge", body, kind=MergeReport)
        return done

    def revert(
        self,
        ref: str,
        branch: str | None = None,
        *,
        strategy: str | None = None,
        choose: Mapping[str, str] | None = None,
        message: str = "",
    ) -> Commit:
        body = RevertRequest(
            self._whole(ref, path=Need.FORBIDDEN),
            None if branch is None else self._target(branch),
            strategy,
            choose or {},
            message,
        )
        done: Commit = self._client.send("POST", "/revert", body, kind=Commit)
        return done

    def cherry_pick(
        self,
        ref: str,
        target: str,
        *,
        strategy: str | None = None,
        choose: Mapping[str, str] | None = None,
        message: str = "",
    ) -> Commit:
        body = CherryPickRequest(
            self._whole(ref, path=Need.FORBIDDEN),
            self._target(target),
            strategy,
            choose or {},
            message,
        )
        done: Commit = self._client.send("POST", "/cherry-pick", body, kind=Commit)
        return done

    def squash(self, ref: str, recursive: bool = False) -> None:
        body = PruneRequest(self._whole(ref, path=Need.FORBIDDEN), recursive)
        self._client.send("POST", "/squash", body)

    def drop(self, ref: str, recursive: bool = False) -> list[Branch]:
        body = PruneRequest(self._whole(ref, path=Need.FORBIDDEN), recursive)
        left: Page[Branch] = self._client.send("POST", "/drop", body, kind=Page[Branch])
        return left.items

    def _target(self, ref: str) -> str:
        """A branch to write to, with its project."""
        return self._whole(parse_branch(ref, project=self.project, revision=Need.OPTIONAL))
