"""Writing: a commit in the making, and several under one id."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from trunkline.errors import Usage
from trunkline.lake.core import Core, resolve, resolve_commit
from trunkline.lake.drafts import Draft
from trunkline.lake.files import copied
from trunkline.lake.manifests import Tree
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import DEFAULT_BRANCH, Commit
from trunkline.model.entries import Entry, line_hash, line_path, line_size
from trunkline.model.paths import ROOT, normalize_path
from trunkline.model.refs import Need, Ref, parse_branch, parse_ref, parse_repo
from trunkline.storage.catalog import erasures
from trunkline.storage.catalog.erasures import place_of
from trunkline.storage.objects.intake import Files

if TYPE_CHECKING:
    from trunkline.lake.versions import Declared
    from trunkline.sdk.specs import Thing

Data = bytes | str | os.PathLike[str] | BinaryIO | Iterable[bytes]
Progress = Callable[[int, int], None]

_CHUNK = 1 << 20
# From here on it is cheaper to read the whole folder's listing than to look each path up.
_MANY = 200


class CommitWriter:
    """The changes of one commit. Nothing is visible before it ends well.

    As a context manager it commits on a clean exit and leaves nothing on an exception;
    then `result` is the finished commit.
    """

    def __init__(self, transaction: Transaction, draft: Draft, project: str, owned: bool) -> None:
        self._transaction = transaction
        self._draft = draft
        self._project = project
        self._owned = owned

    @property
    def id(self) -> str:
        """The id that the commit will have."""
        return self._transaction.id

    @property
    def result(self) -> Commit:
        if self._draft.result is None:
            raise Usage("This commit is not finished yet.", hint="Leave its with block first.")
        return self._draft.result

    def put(self, path: str, data: Data, *, append: bool = False) -> None:
        """Put a file: bytes, the path of a local file (str or Path), an open file, or chunks."""
        self._transaction.refuse_ended()
        name = file_path(path)
        intake = self._transaction.intake
        if isinstance(data, bytes | bytearray | memoryview):
            line = intake.add_bytes(name, bytes(data))
        elif isinstance(data, str | os.PathLike):
            line = intake.add_file(name, data)
        else:
            read = getattr(data, "read", None)
            line = intake.add_stream(name, iter(partial(read, _CHUNK), b"") if read else data)
        if append:
            self._draft.changes.append(line)
        else:
            self._draft.changes.put_all([line])

    def put_files(
        self, files: Iterable[tuple[str, str | os.PathLike[str]]], progress: Progress | None = None
    ) -> None:
        """Put many local files, on all cores. Files that have not changed are not copied."""
        self._put_placed([(file_path(path), local) for path, local in files], progress)

    def _put_placed(self, pairs: Files, progress: Progress | None = None) -> None:
        """As `put_files`, for paths that have been checked already."""
        self._transaction.refuse_ended()
        known = self._known(pairs)
        sizes = {path: (line_hash(line), line_size(line)) for path, line in known.items()}
        stored = self._transaction.intake.add_files(pairs, sizes, progress)
        # What is there already is put again as it is: another commit may remove it meanwhile.
        self._draft.changes.put_all(known.values())
        self._draft.changes.put_all(stored)

    def reference(self, path: str, url: str) -> int:
        """List an object, or with a trailing "/" all below it, by its address; how many.

        Nothing is copied or read. Who keeps them promises never to change them.
        """
        return self._refer(url, path, recursive=True, into=False)

    def _refer(self, url: str, target: str, *, recursive: bool, into: bool) -> int:
        from trunkline.ingests.references import reference_lines
        from trunkline.storage.objects.outside import outside_of

        self._transaction.refuse_ended()
        core = self._transaction.core
        with outside_of(core.objects).known.gathering():
            lines = list(reference_lines(core, url, target, recursive=recursive, into=into))
        self._draft.changes.put_all(lines)
        return len(lines)

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with all below it. What is not there is no error."""
        self._transaction.refuse_ended()
        self._draft.changes.remove(normalize_path(path).encode())

    def copy(self, source: str, path: str) -> None:
        """Copy a file or folder from any commit by reference: no bytes move."""
        self._transaction.refuse_ended()
        ref = parse_ref(source, project=self._project, path=Need.REQUIRED)
        core = self._transaction.core
        with core.database.read() as session:
            found, commit = resolve_commit(session, ref)
        where = f"{ref.repo}@{ref.ref}"
        lines = copied(core.tree(commit), ref.path or ROOT, normalize_path(path), where)
        self._draft.changes.put_all(lines)
        self._draft.requires.add((found.name, commit.id))

    def __enter__(self) -> Self:
        if self._owned:
            self._transaction.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._owned:
            self._transaction.__exit__(kind, error, trace)

    def _known(self, pairs: Files) -> dict[bytes, bytes]:
        """The lines that the branch already has for the paths of these files."""
        core, target = self._transaction.core, self._draft.target
        base = self._draft.base
        if self._draft.follow and target.repo not in self._transaction.new_repos:
            with core.database.read() as session:
                base = resolve(session, target).commit
        if base is None or base.finished is None or not base.files:
            return {}
        self._draft.requires.add((base.repo, base.id))
        return lines_at(core, base, [path.encode() for path, _ in pairs])


class LakeTransaction:
    """Repos, branches and commits in several repos: one id, all or nothing."""

    def __init__(self, transaction: Transaction, project: str) -> None:
        self._transaction = transaction
        self._project = project
        self._writers: list[CommitWriter] = []
        self._declared: list[Declared] = []

    @property
    def id(self) -> str:
        """The id that all its commits will share."""
        return self._transaction.id

    @property
    def commits(self) -> list[Commit]:
        return [writer.result for writer in self._writers]

    def create_repo(self, name: str, description: str = "") -> None:
        self._transaction.create_repo(parse_repo(name, project=self._project), description)

    def create_branch(self, ref: str, from_: str | None = None) -> None:
        """A new branch at a commit, by default where `main` is."""
        target = parse_branch(ref, project=self._project)
        start = from_ or DEFAULT_BRANCH
        source = Ref(target.repo, start)
        if "@" in start:
            source = parse_ref(start, project=self._project, path=Need.FORBIDDEN)
        self._transaction.create_branch(target, source)

    def apply(self, *things: Thing, args: Mapping[str, str] | None = None) -> None:
        """Make or change pipelines: their first job is of the same set as all else here."""
        from trunkline.sdk.specs import gather

        self._declare(gather(things, self._project, args or {}).declared)

    def _declare(self, fresh: Sequence[Declared]) -> None:
        from trunkline.lake.declarations import check
        from trunkline.lake.pipelines import declare
        from trunkline.lake.versions import Reprocess

        core = self._transaction.core
        self._declared += fresh
        with core.database.read() as session:
            checked = check(session, self._declared, self._transaction.new_repos)
        added = [one for one in checked if one in fresh]
        declare(core, self._transaction, added, Reprocess.CHANGED)

    def commit(
        self, ref: str, message: str = "", *, if_head: str | None = None, key: str | None = None
    ) -> CommitWriter:
        """A commit that becomes visible together with all others of this transaction."""
        return self._commit(ref, message, if_head, key)

    def _commit(
        self, ref: str, message: str, if_head: str | None, key: str | None, follow: bool = False
    ) -> CommitWriter:
        target = parse_ref(ref, project=self._project, path=Need.FORBIDDEN)
        draft = self._transaction.draft(
            target, message, if_head=if_head, request=key, follow=follow
        )
        writer = CommitWriter(self._transaction, draft, self._project, owned=False)
        self._writers.append(writer)
        return writer

    def __enter__(self) -> Self:
        self._transaction.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._transaction.__exit__(kind, error, trace)


def lines_at(core: Core, commit: Commit, paths: Sequence[bytes]) -> dict[bytes, bytes]:
    """The lines that a commit has for these paths, less those whose bytes were erased."""
    with core.database.read() as session:
        erased = erasures.places(session)
    found = _listed(core.tree(commit), paths)
    if not erased:
        return found
    return {p: line for p, line in found.items() if place_of(Entry.decode(line)) not in erased}


def _listed(tree: Tree, paths: Sequence[bytes]) -> dict[bytes, bytes]:
    if len(paths) < _MANY:
        return {path: line for path in paths if (line := tree.find(path))}
    wanted = set(paths)
    prefix = _common_folder(min(paths), max(paths))
    found = {}
    for lines in tree.chunks(prefix):
        for line in lines:
            path = line_path(line)
            if path in wanted:
                found[path] = line
    return found


def _common_folder(first: bytes, last: bytes) -> bytes:
    """The innermost folder that holds both, and so everything that sorts between them."""
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[: first.rindex(b"/", 0, same) + 1]


def file_path(path: str) -> str:
    """The path of a file, as it is listed."""
    name = normalize_path(path)
    if name == ROOT:
        raise Usage("A file cannot be put at /.", hint="Name a path, as in /day=1/a.csv.")
    return name
