"""From names in a query to tables of the lake, each at one commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.errors import Conflict, NotFound, Precondition, Usage
from trunkline.lake.core import Core, resolve
from trunkline.lake.manifests import Tree
from trunkline.model.commits import DEFAULT_BRANCH, Commit, RepoKind, RepoName
from trunkline.model.paths import normalize_path
from trunkline.model.refs import Ref, Revision, parse_ref
from trunkline.model.suggest import did_you_mean
from trunkline.query.kept import Kept
from trunkline.query.moments import Moment
from trunkline.query.names import Named
from trunkline.query.rights import Allowed, everything, missing_repo
from trunkline.storage.catalog import repos
from trunkline.tables.describe import Table, describe, tables_in
from trunkline.tables.physical import check_references

_SHOW = "SHOW TABLES lists all of them."


@dataclass(frozen=True, slots=True)
class Source:
    """A table that a query reads. `view` is its name in there, `commit` the version.

    `note` says why it is that version where nobody asked for it.
    """

    view: str
    repo: RepoName
    path: str
    commit: Commit
    note: str = ""

    def __str__(self) -> str:
        place = f"{self.repo}@{self.commit.short_id}"
        return place if self.path == "/" else f"{place}:{self.path}"


class Lookup:
    """Finds tables by the names that people use in SQL; un-pinned ones at `main` or at a moment."""

    def __init__(
        self,
        core: Core,
        kept: Kept,
        project: str,
        at: str | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        self._core = core
        self._kept = kept
        self._project = project
        self._allowed = allowed or everything
        self._moment = Moment.of(core, at, project, self._allowed) if at else None
        self._trees: dict[str, Tree] = {}
        self._names: dict[str, list[str]] = {}

    def find(self, named: Named) -> Source:
        ref, pinned = self._meant(named)
        commit, note = self._commit(ref, pinned)
        view = ".".join(named.parts)
        if named.revision is not None:
            view = f"{ref.repo}@{ref.ref}" + ("" if ref.path in (None, "/") else f":{ref.path}")
        return Source(view, ref.repo, ref.path or "/", commit, note)

    def table(self, source: Source) -> Table:
        commit = source.commit
        if commit.root_hash is None or commit.finished is None or commit.forgotten is not None:
            return self._described(source)
        key = (commit.root_hash, source.path, source.view)
        return self._kept.tables.get(key, lambda: self._described(source))

    def check(self, table: Table) -> None:
        """That what it refers to outside the lake is still what it was, each time it is read."""
        check_references(self._core, table.entries)

    def _described(self, source: Source) -> Table:
        tree = self._tree(source.commit)
        try:
            return describe(self._core, tree, source.path, source.view)
        except (NotFound, Precondition) as error:
            inside = [_sql_name(source.repo.repo, one) for one in tables_in(tree) if one != "/"]
            if source.path != "/" or "/" in tables_in(tree) or not inside:
                raise
            several = ", ".join(inside[:5]) + (" …" if len(inside) > 5 else "")
            raise type(error)(
                f"{source.repo} is a repo of several tables: {several}.", hint="Name one of them."
            ) from None

    def every_table(self) -> Iterator[tuple[str, str]]:
        """Names as SQL has them, and what they stand for."""
        with self._core.database.read() as session:
            found = repos.all_repos(session, self._project)
        for repo in found:
            if repo.kind is RepoKind.SYSTEM or not self._allowed(repo.name):
                continue
            try:
                commit, _ = self._commit(Ref(repo.name), pinned=False)
            except NotFound:
                continue
            for path in self._folders(commit):
                shown = f"{repo.name.repo}@{DEFAULT_BRANCH}" + ("" if path == "/" else f":{path}")
                yield _sql_name(repo.name.repo, path), shown

    def _meant(self, named: Named) -> tuple[Ref, bool]:
        """The repo, revision and folder, and whether the query says the revision."""
        first = named.parts[0]
        if named.revision is not None:
            Revision(named.revision)
        if len(named.parts) == 1 and not {"@", ":", "/"}.isdisjoint(first):
            ref = parse_ref(first, project=self._project)
            pinned = "@" in first.partition(":")[0]
            if named.revision is not None and pinned:
                raise Usage(f"{named} has two revisions.", hint="Write one of them.")
            repo, path, own = self._existing(ref.repo), ref.path, ref.ref
        else:
            (repo, path), pinned, own = self._by_parts(named), False, DEFAULT_BRANCH
        return Ref(repo, named.revision or own, path), pinned or named.revision is not None

    def _by_parts(self, named: Named) -> tuple[RepoName, str]:
        """The one reading of `a`, `a.b` or `a.b.c` that is there."""
        parts = named.parts
        found: list[tuple[RepoName, str]] = []
        if whole := self._repo(self._project, ".".join(parts)):
            found.append((whole, "/"))
        for project, names in ((self._project, parts), (parts[0], parts[1:])):
            repo = self._repo(project, names[0]) if names else None
            if repo is None or (repo, "/") in found:
                continue
            path = normalize_path("/".join(names[1:])) if names[1:] else "/"
            if path == "/":
                found.append((repo, path))
            elif folder := self._folder(repo, path, named.revision):
                found.append((repo, folder))
        if len(found) == 1:
            return found[0]
        if found:
            several = " or ".join(_quoted_name(repo, path) for repo, path in found)
            raise Conflict(f"{'.'.join(parts)} may be {several}.", hint="Write which one is meant.")
        raise self._unknown(parts)

    def _repo(self, project: str, name: str) -> RepoName | None:
        """The repo of that name; upper and lower case are the same if no other fits better."""
        if project not in self._names:
            with self._core.database.read() as session:
                known = repos.names(session, project)
            self._names[project] = [one for one in known if self._allowed(RepoName(project, one))]
        names = self._names[project]
        if name in names:
            return RepoName(project, name)
        alike = [one for one in names if one.casefold() == name.casefold()]
        if len(alike) > 1:
            raise Conflict(
                f"{name} may be {' or '.join(alike)}.",
                hint=f'Write which one is meant, as "{alike[0]}".',
            )
        return RepoName(project, alike[0]) if alike else None

    def _existing(self, name: RepoName) -> RepoName:
        if found := self._repo(name.project, name.repo):
            return found
        raise missing_repo(self._core, name, self._allowed)

    def _folder(self, repo: RepoName, path: str, revision: str | None) -> str | None:
        try:
            commit, _ = self._commit(Ref(repo, revision or DEFAULT_BRANCH), revision is not None)
        except NotFound:
            return None
        folders = self._folders(commit)
        if path in folders:
            return path
        alike = [one for one in folders if one.casefold() == path.casefold()]
        return alike[0] if len(alike) == 1 else None

    def _commit(self, ref: Ref, pinned: bool) -> tuple[Commit, str]:
        if self._moment is not None and not pinned:
            return self._moment.commit(ref.repo)
        with self._core.database.read() as session:
            found = resolve(session, ref)
        if found.commit is None:
            raise NotFound(
                f"{ref.repo}@{ref.ref} has no commits yet, so it has no table.", hint=_SHOW
            )
        return found.commit, ""

    def _tree(self, commit: Commit) -> Tree:
        key = f"{commit.repo}@{commit.id}"
        if key not in self._trees:
            self._trees[key] = self._core.tree(commit)
        return self._trees[key]

    def _folders(self, commit: Commit) -> list[str]:
        return tables_in(self._tree(commit)) if commit.finished is not None else []

    def _unknown(self, parts: tuple[str, ...]) -> NotFound:
        name = ".".join(parts)
        known = [one for one, _ in self.every_table()]
        repo = self._repo(self._project, parts[0])
        if repo is not None and len(parts) > 1:
            inside = [one for one in known if one.startswith(f"{repo.repo}.")]
            text = f'The repo {repo} has no table "{".".join(parts[1:])}".'
            return NotFound(text + did_you_mean(name, inside), hint=_SHOW)
        return NotFound(f'There is no table "{name}".{did_you_mean(name, known)}', hint=_SHOW)


def _sql_name(repo: str, path: str) -> str:
    return repo if path == "/" else ".".join((repo, *path.strip("/").split("/")))


def _quoted_name(repo: RepoName, path: str) -> str:
    return f'"{repo}"' if path == "/" else f'"{repo}@{DEFAULT_BRANCH}:{path}"'
