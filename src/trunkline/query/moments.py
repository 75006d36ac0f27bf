"""The lake as of a commit set: for each repo, the commit that belongs to it or was in force."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.errors import NotFound
from trunkline.lake.core import Core, repo_key, resolve, resolve_commit, resolve_set
from trunkline.model.commits import DEFAULT_BRANCH, Commit, RepoName
from trunkline.model.refs import Need, Ref, parse_ref
from trunkline.model.time import to_rfc3339
from trunkline.query.rights import Allowed, everything, missing_repo
from trunkline.storage.catalog import Session, commits, refs


@dataclass(frozen=True, slots=True)
class Moment:
    """A commit set, and when the change that caused it was made."""

    core: Core
    set_id: str
    at: int

    @classmethod
    def of(cls, core: Core, text: str, project: str, allowed: Allowed = everything) -> Moment:
        """From the set's id, some digits of it, or a ref to one of its commits."""
        ref = parse_ref(text, project=project, path=Need.FORBIDDEN) if "@" in text else None
        if ref is not None and not allowed(ref.repo):
            raise missing_repo(core, ref.repo, allowed)
        with core.database.read() as session:
            if ref is not None:
                set_id = resolve_commit(session, ref)[1].id
            else:
                set_id = resolve_set(session, text, None if allowed is everything else allowed)
            members = commits.in_set(session, set_id)
        if not any(allowed(one.repo) for one in members):
            raise NotFound(
                f'No commit has the id "{text}".', hint="An id is 32 hex digits; 8 of them suffice."
            )
        finished = [one.finished for one in members if one.finished is not None]
        return cls(core, set_id, min(finished or [one.started for one in members]))

    def commit(self, repo: RepoName) -> tuple[Commit, str]:
        """The repo's commit, and a note if the set itself does not say which."""
        with self.core.database.read() as session:
            key = repo_key(session, repo)
            try:
                found = resolve(session, Ref(repo, self.set_id)).commit
            except NotFound:
                found = None
            if found is not None:
                return found, ""
            found = self._in_force(session, key)
        when = to_rfc3339(self.at)
        if found is None:
            raise NotFound(
                f"{repo} had no commit on {DEFAULT_BRANCH} at {when}, the time of "
                f"{self.set_id[:12]}.",
                hint=f"trunkline log {repo} shows its history.",
            )
        return found, f"not in {self.set_id[:12]}: its head at {when}"

    def _in_force(self, session: Session, repo: int) -> Commit | None:
        head = refs.head_at(session, repo, DEFAULT_BRANCH, self.at)
        found = commits.find(session, repo, head) if head else None
        if found is not None or head is None:
            return found
        # It was dropped or squashed since: what is left of the branch tells.
        branch = refs.branch(session, repo, DEFAULT_BRANCH)
        now = branch.head if branch else None
        for one in commits.chain(session, repo, now, 1 << 30) if now else ():
            if one.finished is not None and one.finished <= self.at:
                return one
        return None
