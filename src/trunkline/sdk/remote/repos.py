"""Projects, repos, branches and tags, through a server."""

from __future__ import annotations

from trunkline.model.commits import DEFAULT_BRANCH, Branch, Project, Repo, Tag
from trunkline.model.inputs import Trigger
from trunkline.model.paths import validate_name
from trunkline.model.refs import Ref, parse_branch
from trunkline.sdk.remote.base import RemoteBase
from trunkline.sdk.repos import Repos
from trunkline.sdk.wire.repos import BranchMove, Follows, NewBranch, NewProject, NewRepo, NewTag


class RemoteRepos(RemoteBase, Repos):
    def projects(self) -> list[Project]:
        return list(self._client.pages(Project, "/projects"))

    def create_project(self, name: str, description: str = "") -> Project:
        body = NewProject(name, description)
        made: Project = self._client.send("POST", "/projects", body, kind=Project)
        return made

    def delete_project(self, name: str) -> None:
        self._client.send("DELETE", f"/projects/{validate_name('project', name)}")

    def repos(self, all_projects: bool = False, system: bool = False) -> list[Repo]:
        project = None if all_projects else self.project
        return list(self._client.pages(Repo, "/repos", project=project, system=system))

    def repo(self, name: str) -> Repo:
        found: Repo = self._client.get(Repo, self._repo_path(name))
        return found

    def create_repo(self, name: str, description: str = "") -> Repo:
        repo = self._repo(name)
        body = NewRepo(repo.repo, description)
        made: Repo = self._client.send("POST", f"/projects/{repo.project}/repos", body, kind=Repo)
        return made

    def delete_repo(self, name: str, force: bool = False) -> None:
        self._client.send("DELETE", self._repo_path(name), force=force)

    def branches(self, repo: str) -> list[Branch]:
        return list(self._client.pages(Branch, f"{self._repo_path(repo)}/branches"))

    def create_branch(
        self, ref: str, from_: str | None = None, trigger: Trigger | None = None
    ) -> Branch:
        target = parse_branch(ref, project=self.project)
        start = self._start(target, from_ or (None if trigger else DEFAULT_BRANCH))
        body = NewBranch(target.ref, start, trigger)
        place = f"{self._repo_path(target.repo)}/branches"
        made: Branch = self._client.send("POST", place, body, kind=Branch)
        return made

    def follow_branch(self, ref: str, trigger: Trigger | None) -> Branch:
        target = parse_branch(ref, project=self.project)
        place = f"{self._repo_path(target.repo)}/branches/{target.ref}/trigger"
        found: Branch = self._client.send("PUT", place, Follows(trigger), kind=Branch)
        return found

    def triggers(self, repo: str) -> list[dict[str, object]]:
        return list(self._client.pages(dict[str, object], f"{self._repo_path(repo)}/triggers"))

    def move_branch(self, ref: str, to: str, if_head: str | None = None) -> Branch:
        target = parse_branch(ref, project=self.project)
        body = BranchMove(self._start(target, to) or to, if_head)
        place = f"{self._repo_path(target.repo)}/branches/{target.ref}"
        moved: Branch = self._client.send("PATCH", place, body, kind=Branch)
        return moved

    def delete_branch(self, ref: str, force: bool = False) -> None:
        target = parse_branch(ref, project=self.project)
        place = f"{self._repo_path(target.repo)}/branches/{target.ref}"
        self._client.send("DELETE", place, force=force)

    def tags(self, repo: str) -> list[Tag]:
        return list(self._client.pages(Tag, f"{self._repo_path(repo)}/tags"))

    def create_tag(self, ref: str, from_: str, message: str = "") -> Tag:
        target = parse_branch(ref, project=self.project, kind="tag")
        body = NewTag(target.ref, self._start(target, from_) or from_, message)
        made: Tag = self._client.send(
            "POST", f"{self._repo_path(target.repo)}/tags", body, kind=Tag
        )
        return made

    def delete_tag(self, ref: str) -> None:
        target = parse_branch(ref, project=self.project, kind="tag")
        self._client.send("DELETE", f"{self._repo_path(target.repo)}/tags/{target.ref}")

    def _start(self, target: Ref, text: str | None) -> str | None:
        """Where a branch or tag is to point; another repo's revision with its project."""
        if text is None:
            return None
        return self._whole(self._revision_of(target, text))
