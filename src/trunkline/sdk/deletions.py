"""What deleting would take, what was deleted, and having it back."""

from __future__ import annotations

from trunkline.errors import Usage
from trunkline.model.commits import RepoName
from trunkline.model.deletions import KINDS, Deleted, Deletion, Undeleted
from trunkline.model.refs import Need, parse_branch
from trunkline.sdk.base import LakeBase


class Deletions(LakeBase):
    """Deleting with open eyes."""

    def deletion(
        self, kind: str, name: str, force: bool = False, keep_repo: bool = False
    ) -> Deletion:
        """What deleting a repo, branch, tag, pipeline, env or project, or forgetting a commit,
        would take, who reads it and whether it would be refused. Nothing is deleted.
        """
        from trunkline.lake import deletionplan as plan

        core = self._core
        if kind == "repo":
            return plan.of_repo(core, self._repo(name), force)
        if kind == "branch":
            return plan.of_branch(core, parse_branch(name, project=self.project), force)
        if kind == "tag":
            return plan.of_tag(core, parse_branch(name, project=self.project, kind="tag"))
        if kind == "pipeline":
            return plan.of_pipeline(core, self._repo(name), force, keep_repo)
        if kind == "env":
            return plan.of_environment(core, self.project, name, force)
        if kind == "project":
            return plan.of_project(core, name)
        if kind == "commit":
            return plan.of_commit(core, self._ref(name, path=Need.FORBIDDEN))
        raise Usage(f'"{kind}" is nothing that is deleted.', hint=f"One of {', '.join(KINDS)}.")

    def deleted(self, all_projects: bool = False) -> list[Deleted]:
        """Branches, tags, repos and pipelines that can be had back, the newest first."""
        from trunkline.lake import deletions

        return deletions.listed(self._core, None if all_projects else self.project)

    def undelete(self, name: str, as_: str | None = None, id: int | None = None) -> Undeleted:
        """Have back a repo, a pipeline, or REPO@NAME, a branch or tag, that was deleted last.

        With `as_` under another name; `id` is that of an earlier deletion.
        """
        from trunkline.lake.undelete import undelete

        repo, ref = self._deleted_name(name)
        return undelete(self._core, repo, ref, self.author, as_=as_, deletion=id)

    def _deleted_name(self, name: str) -> tuple[RepoName, str]:
        if "@" not in name:
            return self._repo(name), ""
        target = parse_branch(name, project=self.project)
        return target.repo, target.ref
