"""History: walking it, joining it, pruning it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trunkline.lake import history
from trunkline.lake.core import Sees, resolve_commit, resolve_set
from trunkline.lake.history import CommitSet
from trunkline.model.commits import Branch, Commit
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Need, Ref, parse_branch
from trunkline.sdk.base import LakeBase

if TYPE_CHECKING:
    from trunkline.lake.merge import MergeReport


class History(LakeBase):
    """Commits and what leads from one to the other."""

    def log(
        self, ref: str, *, limit: int | None = None, path: str | None = None
    ) -> Iterator[Commit]:
        """All commits that led here, newest first; with a path, those that changed it."""
        parsed = self._ref(ref)
        wanted = normalize_path(path) if path else parsed.path
        return history.log(self._core, parsed, limit, wanted)

    def commits(self, ref: str, *, limit: int | None = None) -> list[Commit]:
        """A branch's own commits, along first parents, newest first, an unfinished one too."""
        return history.first_parents(self._core, self._ref(ref, path=Need.FORBIDDEN), limit)

    def history(self, repo: str, *, limit: int | None = None) -> list[Commit]:
        """The commits of all branches and tags of a repo, newest first."""
        return history.whole_history(self._core, self._ref(repo), limit)

    def commit_info(self, ref: str) -> Commit:
        with self._core.database.read() as session:
            return resolve_commit(session, self._ref(ref, path=Need.FORBIDDEN))[1]

    def show(self, commit_id: str) -> CommitSet:
        """Every commit that shares an id, with what each was made from."""
        return self._shown(commit_id)

    def _shown(self, commit_id: str, sees: Sees | None = None) -> CommitSet:
        """As `show`. With `sees` the id is looked for among the commits of those repos."""
        with self._core.database.read() as session:
            return history.commit_set(session, resolve_set(session, commit_id, sees))

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
        """Bring a branch's changes into another. Conflicts raise `MergeConflict`, changing nothing.

        `strategy` decides every conflict, `choose` those whose path matches a glob.
        """
        from trunkline.lake import merge
        from trunkline.lake.threeway import Resolver

        return merge.merge(
            self._core,
            self._ref(source, path=Need.FORBIDDEN),
            parse_branch(target, project=self.project, revision=Need.OPTIONAL),
            Resolver(strategy, choose or {}),
            message=message,
            author=self.author,
            dry_run=dry_run,
        )

    def revert(
        self,
        ref: str,
        branch: str | None = None,
        *,
        strategy: str | None = None,
        choose: Mapping[str, str] | None = None,
        message: str = "",
    ) -> Commit:
        """Undo one commit with a new one, on its own branch or another."""
        from trunkline.lake import merge
        from trunkline.lake.threeway import Resolver

        undone = self._ref(ref, path=Need.FORBIDDEN)
        if branch is None:
            target = Ref(undone.repo, self.commit_info(ref).branch)
        else:
            target = parse_branch(branch, project=self.project, revision=Need.OPTIONAL)
        return merge.revert(
            self._core,
            undone,
            target,
            Resolver(strategy, choose or {}),
            message=message,
            author=self.author,
        )

    def cherry_pick(
        self,
        ref: str,
        target: str,
        *,
        strategy: str | None = None,
        choose: Mapping[str, str] | None = None,
        message: str = "",
    ) -> Commit:
        """Repeat on a branch what one commit did elsewhere."""
        from trunkline.lake import merge
        from trunkline.lake.threeway import Resolver

        return merge.cherry_pick(
            self._core,
            self._ref(ref, path=Need.FORBIDDEN),
            parse_branch(target, project=self.project, revision=Need.OPTIONAL),
            Resolver(strategy, choose or {}),
            message=message,
            author=self.author,
        )

    def squash(self, ref: str, recursive: bool = False) -> None:
        """Remove a commit whose child keeps the data."""
        history.squash(self._core, self._ref(ref, path=Need.FORBIDDEN), recursive, self.author)

    def drop(self, ref: str, recursive: bool = False) -> list[Branch]:
        """Remove a head with its data; its branches fall back to the parent."""
        target = self._ref(ref, path=Need.FORBIDDEN)
        return history.drop(self._core, target, recursive, self.author)
