"""Projects, repos, branches and tags."""

from __future__ import annotations

from trunkline.errors import AlreadyExists, NotFound
from trunkline.lake.core import repo_key
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Project, Repo, RepoKind, Tag
from trunkline.model.inputs import Trigger
from trunkline.model.paths import validate_name
from trunkline.model.refs import parse_branch
from trunkline.model.time import to_rfc3339
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import refs, repos, timing


class Repos(LakeBase):
    """Names, and where they point."""

    def projects(self) -> list[Project]:
        with self._core.database.read() as session:
            return repos.projects(session)

    def create_project(self, name: str, description: str = "") -> Project:
        validate_name("project", name)
        with self._core.database.write() as session:
            if repos.has_project(session, name):
                raise AlreadyExists(f'The project "{name}" exists already.')
            repos.add_project(session, name, description)
            return next(p for p in repos.projects(session) if p.name == name)

    def delete_project(self, name: str) -> None:
        from trunkline.lake import branches

        branches.delete_project(self._core, name)

    def repos(self, all_projects: bool = False, system: bool = False) -> list[Repo]:
        """The repos of this project, or of all; with `system` those that keep code, too."""
        with self._core.database.read() as session:
            if not all_projects and not repos.has_project(session, self.project):
                raise NotFound(f'There is no project "{self.project}".')
            found = repos.all_repos(session, None if all_projects else self.project)
        return [repo for repo in found if system or repo.kind is not RepoKind.SYSTEM]

    def repo(self, name: str) -> Repo:
        parsed = self._repo(name)
        with self._core.database.read() as session:
            repo_key(session, parsed)
            found = repos.find(session, parsed)
        assert found is not None
        return found

    def create_repo(self, name: str, description: str = "") -> Repo:
        """Make a repo with an empty branch `main`."""
        from trunkline.lake.transaction import Transaction

        transaction = Transaction(self._core, self.author)
        with transaction:
            transaction.create_repo(self._repo(name), description)
        return self.repo(name)

    def delete_repo(self, name: str, force: bool = False) -> None:
        """Remove a repo and its history. Refused while others derive from it, unless forced."""
        from trunkline.lake import branches

        branches.delete_repo(self._core, self._repo(name), force, self.author)

    def branches(self, repo: str) -> list[Branch]:
        with self._core.database.read() as session:
            return refs.branches(session, repo_key(session, self._repo(repo)))

    def create_branch(
        self, ref: str, from_: str | None = None, trigger: Trigger | None = None
    ) -> Branch:
        """A new branch at a commit, by default where `main` is. No data is copied.

        With a `trigger` it starts empty, unless `from_` says where, and follows another branch.
        """
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project)
        start = from_ or (None if trigger else DEFAULT_BRANCH)
        source = self._revision_of(target, start) if start else None
        with self._core.database.write() as session:
            made = branches.add_branch(session, target, source, self.author)
            if trigger is not None:
                branches.follow_branch(session, target, trigger, self.author)
            branches.started(session, target, self.author)
        return next(one for one in self.branches(str(target.repo)) if one.name == made.name)

    def follow_branch(self, ref: str, trigger: Trigger | None) -> Branch:
        """Let a branch that is there follow another from now on; with None, no longer."""
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project)
        with self._core.database.write() as session:
            if trigger is None:
                branches.unfollow_branch(session, target)
            else:
                branches.refollow_branch(session, target, trigger, self.author)
        return next(one for one in self.branches(str(target.repo)) if one.name == target.ref)

    def triggers(self, repo: str) -> list[dict[str, object]]:
        """The branches of a repo that follow others: by what, and what was last found."""
        with self._core.database.read() as session:
            rows = timing.triggers(session, repo_key(session, self._repo(repo)))
        return [
            {
                "branch": row.branch,
                "on": row.trigger.branch,
                "size": row.trigger.size,
                "commits": row.trigger.commits,
                "rate_limit": row.trigger.rate_limit,
                "cron": row.trigger.cron,
                "timezone": row.trigger.timezone,
                "all": row.trigger.all,
                "verdict": row.verdict,
                "evaluated": to_rfc3339(row.evaluated) if row.evaluated is not None else None,
            }
            for row in rows
        ]

    def move_branch(self, ref: str, to: str, if_head: str | None = None) -> Branch:
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project)
        source = self._revision_of(target, to)
        return branches.move_branch(self._core, target, source, if_head, self.author)

    def delete_branch(self, ref: str, force: bool = False) -> None:
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project)
        branches.delete_branch(self._core, target, force, self.author)

    def tags(self, repo: str) -> list[Tag]:
        with self._core.database.read() as session:
            return refs.tags(session, repo_key(session, self._repo(repo)))

    def create_tag(self, ref: str, from_: str, message: str = "") -> Tag:
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project, kind="tag")
        source = self._revision_of(target, from_)
        return branches.create_tag(self._core, target, source, message, self.author)

    def delete_tag(self, ref: str) -> None:
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project, kind="tag")
        branches.delete_tag(self._core, target, self.author)
