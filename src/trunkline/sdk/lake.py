"""The lake as people use it: refs as text in, values of the model out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from trunkline import settings as configuration
from trunkline.errors import AlreadyExists, NotFound, Usage
from trunkline.lake import create, files, history
from trunkline.lake.core import Core, Options, repo_key, resolve, resolve_commit, resolve_set
from trunkline.lake.create import Addresses, MigrationReport
from trunkline.lake.differences import differences
from trunkline.lake.history import CommitSet
from trunkline.model.commits import DEFAULT_BRANCH, Branch, Commit, Project, Repo, RepoName, Tag
from trunkline.model.display import fields, table
from trunkline.model.files import Change, FileInfo
from trunkline.model.paths import normalize_path, validate_name
from trunkline.model.refs import Need, Ref, parse_branch, parse_ref, parse_repo
from trunkline.sdk.results import Diff, GetReport, OpenCommit, Status
from trunkline.settings import LAKE_FOLDER, Settings
from trunkline.storage.catalog import refs, repos

# Verbs that write, join or keep house are imported in the methods that need them: a command
# that only looks at metadata starts in half the time without them.
if TYPE_CHECKING:
    from trunkline.ingest.urls import UrlPolicy
    from trunkline.lake.erase import ErasureReport
    from trunkline.lake.fsck import FsckReport
    from trunkline.lake.gc import GcReport
    from trunkline.lake.merge import MergeReport
    from trunkline.sdk.writer import CommitWriter, LakeTransaction, Progress

Location = str | os.PathLike[str]


def open(
    lake: Location | None = None, project: str | None = None, *, author: str | None = None
) -> Lake:
    """Open the nearest lake, or the one in a folder."""
    folder = configuration.find_lake(explicit=None if lake is None else os.fspath(lake))
    found = configuration.load(folder, {"project": project, "author": author})
    core = create.open_lake(folder, _options(found), store_options(found))
    return Lake(core, folder, found)


def init(path: Location = ".", *, catalog: str | None = None, store: str | None = None) -> Lake:
    """Make a lake in a folder: embedded, or on a database server and an object store."""
    folder = Path(path).expanduser().absolute() / LAKE_FOLDER
    found = configuration.load(folder, {})
    addresses = Addresses(catalog or create.CATALOG_FILE, store or create.OBJECTS_FOLDER)
    options = create.store_options_for(addresses, store_options(found))
    return Lake(create.create_lake(folder, addresses, _options(found), options), folder, found)


def migrate(lake: Location | None = None) -> MigrationReport:
    """Bring an older lake to the format of this version."""
    folder = configuration.find_lake(explicit=None if lake is None else os.fspath(lake))
    return create.migrate_lake(folder)


class Lake:
    """Repos of files with commits, branches and provenance.

    A ref is `[project/]repo[@revision][:/path]`; without a revision it means `main`.
    Methods raise subclasses of `TrunklineError`, and then nothing has changed.
    """

    def __init__(self, core: Core, folder: Path, found: Settings) -> None:
        self._core = core
        self._settings = found
        self._folder = folder
        self.location = str(folder.parent)
        self.project = found.text("project")
        self.author = found.text("author")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._core.close()

    def __repr__(self) -> str:
        return f"Lake({self.location!r})"

    def _repr_html_(self) -> str:
        return fields(f"Lake {self.location}", self.status().to_dict()) + table(
            "Repos", (repo.to_dict() for repo in self.repos())
        )

    # -- projects and repos ------------------------------------------------------------------

    def projects(self) -> list[Project]:
        with self._core.database.read() as session:
            return repos.projects(session)

    def create_project(self, name: str, description: str = "") -> Project:
        validate_name("project", name)
        with self._core.database.write() as session:
            if repos.has_project(session, name):
                raise AlreadyExists(f'the project "{name}" exists already')
            repos.add_project(session, name, description)
            return next(p for p in repos.projects(session) if p.name == name)

    def delete_project(self, name: str) -> None:
        from trunkline.lake import branches

        branches.delete_project(self._core, name)

    def repos(self, all_projects: bool = False) -> list[Repo]:
        with self._core.database.read() as session:
            if not all_projects and not repos.has_project(session, self.project):
                raise NotFound(f'there is no project "{self.project}"')
            return repos.all_repos(session, None if all_projects else self.project)

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

        branches.delete_repo(self._core, self._repo(name), force)

    # -- writing -----------------------------------------------------------------------------

    def commit(
        self,
        ref: str,
        message: str = "",
        *,
        author: str | None = None,
        if_head: str | None = None,
        key: str | None = None,
    ) -> CommitWriter:
        """A commit on a branch, as a context manager: visible on a clean exit, else nothing.

        If the branch moves meanwhile the commit goes on top, unless both changed the same path:
        then `BranchMoved`. With `if_head` any move is refused. A second commit with the same
        `key` changes nothing and answers with the first.
        """
        from trunkline.lake.transaction import Transaction
        from trunkline.sdk.writer import CommitWriter

        transaction = Transaction(self._core, author or self.author)
        target = self._ref(ref, path=Need.FORBIDDEN)
        draft = transaction.draft(target, message, if_head=if_head, request=key)
        return CommitWriter(transaction, draft, self.project, owned=True)

    def transaction(self, message: str = "", *, author: str | None = None) -> LakeTransaction:
        """Commits in several repos that share one id and take effect together."""
        from trunkline.sdk.writer import LakeTransaction

        return LakeTransaction(self._core, author or self.author, message, self.project)

    def put(
        self,
        ref: str,
        sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        recursive: bool = False,
        append: bool = False,
        untar: bool = False,
        message: str = "",
        if_head: str | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> Commit:
        """Put files, folders, URLs or standard input ("-") into a branch, as one commit."""
        from trunkline.sdk.transfer import Putter

        several = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
        target = self._ref(ref)
        typed = ref.partition(":")[2] or None
        with self._following(target, message, if_head, key) as writer:
            Putter(
                writer,
                self._url_policy(),
                store_options(self._settings),
                append=append,
                untar=untar,
                recursive=recursive,
                progress=progress,
            ).put([os.fspath(source) for source in several], typed)
        return writer.result

    def rm(
        self, ref: str, *, recursive: bool = False, message: str = "", if_head: str | None = None
    ) -> Commit:
        """Remove a file, or a folder if `recursive`. What is not there is no error."""
        target = self._ref(ref, path=Need.REQUIRED)
        path = target.path or "/"
        if not recursive:
            with self._core.database.read() as session:
                found = resolve(session, Ref(target.repo, target.ref))
                if found.commit and found.commit.finished is None:
                    found = resolve(session, Ref(target.repo, found.commit.branch))
            tree = self._core.tree(found.commit)
            if tree.find(path.encode()) is None and (path == "/" or tree.has_below(path.encode())):
                raise Usage(f'"{path}" is a folder', hint="add -r to remove all of it")
        with self._following(target, message, if_head, None) as writer:
            writer.delete(path)
        return writer.result

    def cp(self, source: str, target: str, *, message: str = "") -> Commit:
        """Copy a file or folder by reference, across repos too: no bytes move."""
        to = self._ref(target, path=Need.REQUIRED)
        path = to.path or "/"
        if target.endswith("/"):
            name = (self._ref(source, path=Need.REQUIRED).path or "/").rpartition("/")[2]
            path = f"{path.rstrip('/')}/{name}"
        with self._following(to, message, None, None) as writer:
            writer.copy(source, path)
        return writer.result

    def start_commit(self, ref: str, message: str = "") -> Commit:
        """Open a commit that gathers many calls until `finish_commit`."""
        from trunkline.lake import opened

        target = self._ref(ref, path=Need.FORBIDDEN)
        return opened.start_commit(self._core, target, message, self.author)

    def finish_commit(self, ref: str, message: str | None = None) -> Commit:
        from trunkline.lake import opened

        target = self._ref(ref, path=Need.FORBIDDEN)
        return opened.finish_commit(self._core, target, message, self.author)

    # -- reading -----------------------------------------------------------------------------

    def ls(self, ref: str, *, recursive: bool = False, hashes: bool = True) -> Iterator[FileInfo]:
        """What is in a folder, or every file below it. Folders' hashes cost a look at all files."""
        parsed = self._ref(ref)
        tree, where, path = (
            self._core.tree_of(parsed),
            str(Ref(parsed.repo, parsed.ref)),
            parsed.path,
        )
        if recursive:
            return files.everything(tree, path or "/", where)
        return files.children(tree, path or "/", where, hashes)

    def stat(self, ref: str) -> FileInfo:
        parsed = self._ref(ref)
        where = str(Ref(parsed.repo, parsed.ref))
        return files.stat(self._core.tree_of(parsed), parsed.path or "/", where)

    def glob(self, ref: str) -> Iterator[FileInfo]:
        """Files and folders whose whole path matches the pattern in the ref's path."""
        parsed = self._ref(ref, path=Need.REQUIRED, pattern=True)
        return files.matching(self._core.tree_of(parsed), parsed.path or "/")

    def cat(self, ref: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """The bytes of a file, or a part of them, in pieces."""
        if start < 0 or (length is not None and length < 0):
            raise Usage("a part of a file starts at 0 or later and is not shorter than nothing")
        parsed = self._ref(ref, path=Need.REQUIRED)
        where = str(Ref(parsed.repo, parsed.ref))
        entry = files.find(self._core.tree_of(parsed), parsed.path or "/", where)
        return files.read(self._core, entry, start, length)

    def read(self, ref: str) -> bytes:
        """A whole file at once."""
        return b"".join(self.cat(ref))

    def get(
        self,
        ref: str,
        dest: Location | BinaryIO,
        *,
        recursive: bool = False,
        tar: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> GetReport:
        """Write a file, a folder or what a pattern matches to this computer."""
        from trunkline.lake.lease import pinned
        from trunkline.sdk.transfer import Getter

        parsed = self._ref(ref, pattern=True)
        with self._core.database.read() as session:
            found = resolve(session, parsed)
        with pinned(self._core, found):
            getter = Getter(self._core, found, parsed, progress)
            if tar:
                return getter.tar(dest, force)
            if not isinstance(dest, str | os.PathLike):
                raise Usage("only an archive can be written to a stream", hint="use tar=True")
            return getter.get(dest, force)

    def diff(self, old: str, new: str) -> Diff:
        """What differs between two commits, below the path of the refs if they have one."""
        before, after = self._ref(old), self._ref(new)
        if (before.path or "/") != (after.path or "/"):
            raise Usage(
                "the two refs name different paths", hint="diff compares one path at two commits"
            )
        trees = self._core.tree_of(before), self._core.tree_of(after)
        path = (before.path or "/").encode()

        def compute() -> Iterator[Change]:
            # Neighbours such as /a.csv start with /a too, but lie outside of it.
            for difference in differences(*trees, path):
                if difference.path == path or difference.path.startswith(path.rstrip(b"/") + b"/"):
                    yield difference.to_change()

        return Diff(old, new, compute)

    def changes(self, commit: Commit) -> Iterator[Change]:
        """What a commit changed, compared with its first parent."""
        here = f"{commit.repo.project}/{commit.repo.repo}@{commit.id}"
        if commit.parent is None:
            return (
                d.to_change() for d in differences(self._core.tree(None), self._core.tree(commit))
            )
        return self.diff(f"{here}^", here).changes

    # -- history -----------------------------------------------------------------------------

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
        with self._core.database.read() as session:
            return history.commit_set(session, resolve_set(session, commit_id))

    def squash(self, ref: str, recursive: bool = False) -> None:
        """Remove a commit whose child keeps the data."""
        history.squash(self._core, self._ref(ref, path=Need.FORBIDDEN), recursive)

    def drop(self, ref: str, recursive: bool = False) -> list[Branch]:
        """Remove a head with its data; its branches fall back to the parent."""
        return history.drop(self._core, self._ref(ref, path=Need.FORBIDDEN), recursive, self.author)

    # -- branches and tags -------------------------------------------------------------------

    def branches(self, repo: str) -> list[Branch]:
        with self._core.database.read() as session:
            return refs.branches(session, repo_key(session, self._repo(repo)))

    def create_branch(self, ref: str, from_: str | None = None) -> Branch:
        """A new branch at a commit, by default where `main` is. No data is copied."""
        from trunkline.lake import branches

        target = parse_branch(ref, project=self.project)
        source = self._revision_of(target, from_ or DEFAULT_BRANCH)
        with self._core.database.write() as session:
            return branches.add_branch(session, target, source, self.author)

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

    # -- joining -----------------------------------------------------------------------------

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

        return merge.merge(
            self._core,
            self._ref(source, path=Need.FORBIDDEN),
            parse_branch(target, project=self.project, revision=Need.OPTIONAL),
            merge.Resolver(strategy, choose or {}),
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

        undone = self._ref(ref, path=Need.FORBIDDEN)
        if branch is None:
            target = Ref(undone.repo, self.commit_info(ref).branch)
        else:
            target = parse_branch(branch, project=self.project, revision=Need.OPTIONAL)
        return merge.revert(
            self._core,
            undone,
            target,
            merge.Resolver(strategy, choose or {}),
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

        return merge.cherry_pick(
            self._core,
            self._ref(ref, path=Need.FORBIDDEN),
            parse_branch(target, project=self.project, revision=Need.OPTIONAL),
            merge.Resolver(strategy, choose or {}),
            message=message,
            author=self.author,
        )

    # -- housekeeping ------------------------------------------------------------------------

    def forget(self, ref: str) -> Commit:
        """Throw away an old commit's data; keep its record and lineage."""
        from trunkline.lake import erase

        return erase.forget(self._core, self._ref(ref, path=Need.FORBIDDEN))

    def erase(self, ref: str, reason: str = "") -> ErasureReport:
        """Destroy a path's bytes in every commit of a repo, and say who held them."""
        from trunkline.lake import erase

        return erase.erase(self._core, self._ref(ref, path=Need.REQUIRED), reason, self.author)

    def gc(self, dry_run: bool = False, grace: float | None = None) -> GcReport:
        """Remove what nothing needs. Safe while others work. `grace` is in seconds."""
        from trunkline.lake import gc

        seconds = self._core.options.gc_grace_seconds if grace is None else grace
        return gc.collect(self._core, seconds, dry_run)

    def fsck(self, deep: bool = False) -> FsckReport:
        """Check every promise the lake makes; `deep` hashes every byte."""
        from trunkline.lake import fsck

        return fsck.check(self._core, deep)

    def status(self) -> Status:
        with self._core.database.read() as session:
            held = repos.all_repos(session)
            open_commits = [
                OpenCommit(str(branch.repo), branch.name, branch.open)
                for repo in held
                for branch in refs.branches(session, repo.key)
                if branch.open
            ]
            count = session.one("SELECT count(*) AS n FROM commits")
            projects = len(repos.projects(session))
        return Status(
            self.location,
            self._core.database.url,
            self._core.objects.uri(""),
            self.project,
            projects,
            len(held),
            count["n"] if count else 0,
            sum(r.files for r in held),
            sum(r.size for r in held),
            tuple(open_commits),
        )

    # -- parsing -----------------------------------------------------------------------------

    def _ref(self, text: str, path: Need = Need.OPTIONAL, pattern: bool = False) -> Ref:
        return parse_ref(text, project=self.project, path=path, pattern=pattern)

    def _repo(self, text: str) -> RepoName:
        return parse_repo(text, project=self.project)

    def _revision_of(self, target: Ref, text: str) -> Ref:
        """A ref where the repo may be left out: then it is the target's own."""
        return self._ref(text, path=Need.FORBIDDEN) if "@" in text else Ref(target.repo, text)

    def _following(
        self, target: Ref, message: str, if_head: str | None, key: str | None
    ) -> CommitWriter:
        """A one-call commit: it goes on top of whatever the head is when it is ready."""
        from trunkline.lake.transaction import Transaction
        from trunkline.sdk.writer import CommitWriter

        transaction = Transaction(self._core, self.author)
        draft = transaction.draft(
            Ref(target.repo, target.ref), message, if_head=if_head, request=key, follow=True
        )
        return CommitWriter(transaction, draft, self.project, owned=True)

    def _url_policy(self) -> UrlPolicy:
        from trunkline.ingest.urls import UrlPolicy

        found = self._settings
        return UrlPolicy(
            allow_private=found.flag("url.allow_private"),
            allow_http=found.flag("url.allow_http"),
            max_bytes=found.number("url.max_bytes"),
            timeout=found.seconds("url.timeout"),
        )


def store_options(found: Settings) -> dict[str, str]:
    """The settings of the object store that were set, as its backend names them."""
    options = {
        "endpoint": found.text("s3.endpoint"),
        "region": found.text("s3.region"),
        "virtual_hosted_style_request": "" if found.flag("s3.path_style") else "true",
        "allow_http": "true" if found.flag("s3.allow_http") else "",
    }
    return {name: value for name, value in options.items() if value}


def _options(found: Settings) -> Options:
    return Options(
        author=found.text("author"),
        pack_limit=found.number("pack.limit"),
        pack_size=found.number("pack.size"),
        workers=found.number("put.workers") or None,
        gc_grace_seconds=found.seconds("gc.grace"),
    )
