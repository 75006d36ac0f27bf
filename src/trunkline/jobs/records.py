"""What lineage looks things up in: commits, trees, jobs and versions, each read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from trunkline.jobs.assembly import owner_of
from trunkline.jobs.context import declared, index_of
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.commits import Commit, RepoCommit, RepoKind, RepoName
from trunkline.model.entries import line_path, line_size
from trunkline.model.jobs import Job
from trunkline.model.pipelines import PipelineVersion
from trunkline.storage.catalog import commits, jobs, pipelines, repos


class Place(NamedTuple):
    """A commit, or a file in it, or a folder: then the path ends in a slash."""

    repo: RepoName
    commit: str
    path: str = ""


class Links(NamedTuple):
    """Where the trail leads on from a place, and how many more places are left out.

    `unread` are commits that read the place's, but which nobody looked into.
    """

    places: tuple[Place, ...] = ()
    more: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """What made a place. `job` computed it; later commits may have kept the result."""

    pipeline: RepoName
    version: int | None
    code: str | None
    job: str
    datum: str = ""
    datums: int = 1


@dataclass(frozen=True, slots=True)
class Fact:
    size: int | None = None
    files: int | None = None
    note: str = ""


class Records:
    """Look-ups of one question, and what was learnt about places on the way."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.facts: dict[Place, Fact] = {}
        self.made: dict[Place, Made] = {}
        self._keys: dict[RepoName, int | None] = {}
        self._commits: dict[tuple[RepoName, str], Commit | None] = {}
        self._jobs: dict[tuple[RepoName, str], Job | None] = {}
        self._versions: dict[tuple[RepoName, int], PipelineVersion | None] = {}
        self._worked: dict[RepoName, bool] = {}

    def key(self, name: RepoName) -> int | None:
        if name not in self._keys:
            with self.core.database.read() as session:
                self._keys[name] = repos.key_of(session, name)
        return self._keys[name]

    def commit(self, repo: RepoName, commit_id: str) -> Commit | None:
        place, key = (repo, commit_id), self.key(repo)
        if place not in self._commits:
            with self.core.database.read() as session:
                found = commits.find(session, key, commit_id) if key is not None else None
            self._commits[place] = found
        return self._commits[place]

    def tree(self, commit: Commit) -> Tree | None:
        """What the commit holds; None if that cannot be read (any more, or yet)."""
        if commit.finished is None or commit.forgotten is not None:
            return None
        return self.core.tree(commit)

    def job(self, pipeline: RepoName, job_id: str) -> Job | None:
        place, key = (pipeline, job_id), self.key(pipeline)
        if place not in self._jobs:
            with self.core.database.read() as session:
                found = jobs.find(session, key, job_id) if key is not None else None
            self._jobs[place] = found
        return self._jobs[place]

    def version(self, job: Job) -> PipelineVersion | None:
        place, key = (job.pipeline, job.version), self.key(job.pipeline)
        if place not in self._versions:
            with self.core.database.read() as session:
                row = pipelines.version(session, key, job.version) if key is not None else None
            self._versions[place] = declared(job.pipeline, row) if row else None
        return self._versions[place]

    def index(self, job: Job) -> Tree:
        return index_of(self.core, job)

    def making(self, pipeline: RepoName, job_id: str, datum: str = "", datums: int = 1) -> Made:
        job = self.job(pipeline, job_id)
        version = self.version(job) if job else None
        number = job.version if job else None
        return Made(pipeline, number, version.code if version else None, job_id, datum, datums)

    def maker(self, commit: Commit, line: bytes) -> Job | None:
        """The job whose index tells which datum wrote a file of a commit."""
        job = self._good_job(commit)
        # Where a job failed, or people committed beside it, files are those of an older commit.
        found: Commit | None = commit
        while job is None and found is not None:
            if found.error is None and not (owner_of(line) and self._had_jobs(found.repo)):
                return None
            found = self.commit(found.repo, found.parent) if found.parent else None
            tree = self.tree(found) if found else None
            if found is None or tree is None or tree.find(line_path(line)) != line:
                return None
            job = self._good_job(found)
        return job

    def _good_job(self, commit: Commit) -> Job | None:
        return self.job(commit.repo, commit.id) if commit.error is None else None

    def _had_jobs(self, repo: RepoName) -> bool:
        if repo not in self._worked:
            with self.core.database.read() as session:
                self._worked[repo] = bool(jobs.listed(session, repo=self.key(repo), limit=1))
        return self._worked[repo]

    def sources(self, commit: Commit) -> list[RepoCommit]:
        """What the commit was computed from, without code."""
        with self.core.database.read() as session:
            found = commits.sources(session, self.key(commit.repo) or -1, commit.id)
            kinds = {one.repo: repos.find(session, one.repo) for one in found}
        system = {name for name, repo in kinds.items() if repo and repo.kind is RepoKind.SYSTEM}
        return [one for one in found if one.repo not in system]

    def derived(self, commit: Commit) -> list[RepoCommit]:
        """What was computed from the commit, newest first."""
        repo = self.key(commit.repo) or -1
        with self.core.database.read() as session:
            found = commits.derived(session, repo, commit.id)
            waited: list[RepoCommit] = []
            for child in commits.children(session, repo, commit.id):
                below = commits.find(session, repo, child)
                if below is not None and below.error is not None:
                    waited += commits.derived(session, repo, child)
        # Who waited for a commit that then failed, and ran all the same, has read this one.
        found += [one for one in waited if self._reads(one, commit)]
        return sorted(dict.fromkeys(found), key=lambda one: one.id, reverse=True)

    def _reads(self, one: RepoCommit, commit: Commit) -> bool:
        job = self.job(one.repo, one.id)
        inputs = job.inputs if job else ()
        return any((read.repo, read.commit) == (commit.repo, commit.id) for read in inputs)

    def look(
        self, commit: Commit, paths: Sequence[str], limit: int
    ) -> tuple[dict[str, bytes], dict[str, Links]]:
        """The lines of the files among `paths`, and what is in the folders; notes the rest."""
        files: dict[str, bytes] = {}
        folders: dict[str, Links] = {}
        tree = self.tree(commit)
        for path in paths:
            place = Place(commit.repo, commit.id, path)
            if tree is None:
                note = "not finished" if commit.finished is None else "its data was forgotten"
                self.facts[place] = Fact(note=note)
            elif path.endswith("/"):
                count, size = tree.totals(path.encode())
                self.facts[place] = Fact(size, count)
                inside = islice(tree.scan(path.encode()), limit)
                names = [place._replace(path=line_path(line).decode()) for line in inside]
                folders[path] = Links(tuple(names), count - len(names))
            elif line := tree.find(path.encode()):
                self.facts[place] = Fact(line_size(line))
                files[path] = line
            else:
                self.facts[place] = Fact(note="no longer there")
        return files, folders

    def look_at_commit(self, commit: Commit) -> None:
        place = Place(commit.repo, commit.id)
        job = self.job(commit.repo, commit.id)
        note = "not finished" if commit.finished is None else ""
        if commit.error is not None:
            # Not the error itself, which names what was read: not all who see this may know it.
            note = str(job.state) if job else "without data"
        if commit.forgotten is not None:
            note = "its data was forgotten"
        if commit.finished is None:
            self.facts[place] = Fact(note=note)
        else:
            self.facts[place] = Fact(commit.size, commit.files, note)
        if job is not None:
            self.made[place] = self.making(commit.repo, commit.id)
