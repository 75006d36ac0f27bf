"""Housekeeping: what is there, what may go, what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trunkline.model.commits import Commit, RepoKind
from trunkline.model.refs import Need
from trunkline.sdk.base import LakeBase
from trunkline.sdk.results import OpenCommit, Status
from trunkline.storage.catalog import commits, deliveries, flows, identity, jobs, refs, repos

if TYPE_CHECKING:
    from trunkline.lake.erase import ErasureReport
    from trunkline.lake.fsck import FsckReport
    from trunkline.lake.gc import GcReport


class Upkeep(LakeBase):
    """Keeping a lake in order."""

    def status(self) -> Status:
        with self._core.database.read() as session:
            every = repos.all_repos(session)
            held = [repo for repo in every if repo.kind is not RepoKind.SYSTEM]
            open_commits = [
                OpenCommit(str(branch.repo), branch.name, branch.open)
                for repo in held
                for branch in refs.branches(session, repo.key)
                if branch.open
            ]
            count = commits.count(session)
            projects = len(repos.projects(session))
            counts: dict[str, Any] = jobs.overview(session)
            flowing = bool(flows.listed(session))
            failing = [str(one.shown.pipeline) for one in deliveries.failing(session)]
            counts["undelivered"] = tuple(dict.fromkeys(failing))
            counts["held"] = identity.fact(session, identity.HELD) or ""
        if flowing:
            from trunkline.jobs.streaming.status import overview

            counts |= overview(self._core)
        return Status(
            self.location,
            self._core.database.url,
            self._core.objects.uri(""),
            self.project,
            projects,
            len(held),
            count,
            sum(r.files for r in held),
            sum(r.size for r in held),
            tuple(open_commits),
            **counts,
        )

    def check(self) -> None:
        """Try the object store: write, read back, list, delete. Raises what does not hold."""
        self._core.objects.check()

    def gc(self, dry_run: bool = False, grace: float | None = None) -> GcReport:
        """Remove what nothing needs. Safe while others work. `grace` is in seconds."""
        from trunkline.lake import gc

        seconds = self._core.options.gc_grace_seconds if grace is None else grace
        return gc.collect(self._core, seconds, dry_run)

    def fsck(self, deep: bool = False) -> FsckReport:
        """Check every promise the lake makes; `deep` hashes every byte."""
        from trunkline.lake import fsck

        return fsck.check(self._core, deep)

    def forget(self, ref: str) -> Commit:
        """Throw away an old commit's data; keep its record and lineage."""
        from trunkline.lake import erase

        return erase.forget(self._core, self._ref(ref, path=Need.FORBIDDEN))

    def erase(self, ref: str, reason: str = "") -> ErasureReport:
        """Destroy a path's bytes in every commit of a repo, and say who held them."""
        from trunkline.lake import erase
        from trunkline.query.answer_files import forget_answers
        from trunkline.tables.discovery.facts import FactCache

        found = erase.erase(self._core, self._ref(ref, path=Need.REQUIRED), reason, self.author)
        FactCache().forget()  # it has bounds of columns too
        forget_answers(self._folder)
        return found
