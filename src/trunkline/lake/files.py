"""Reading a tree: one file, one folder, everything that matches a pattern."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain

from blake3 import blake3

from trunkline.errors import CorruptObject, Erased, NotFound, Usage
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree, prefix_end
from trunkline.model.entries import IN_FOLDERS, Entry, line_hash, line_path, line_size
from trunkline.model.files import FileInfo, FileType
from trunkline.model.hidden import hidden, shown
from trunkline.model.suggest import did_you_mean
from trunkline.model.time import to_rfc3339
from trunkline.pipelines.globs import Glob
from trunkline.storage.catalog import erasures
from trunkline.storage.objects.reading import read_entry, read_range


def stat(tree: Tree, path: str, where: str) -> FileInfo:
    """The file or folder at `path`; the root is always there."""
    name = path.encode()
    if line := tree.find(name):
        return _file(line)
    prefix = name.rstrip(b"/") + b"/"
    files, size = tree.totals(prefix)
    if not files and path != "/":
        raise _missing(tree, path, where)
    return FileInfo(path, FileType.FOLDER, size, folder_hash(tree, prefix))


def find(tree: Tree, path: str, where: str) -> Entry:
    """The file at `path`, or a clear word on what is there instead."""
    name = path.encode()
    if line := tree.find(name):
        return Entry.decode(line)
    if path == "/" or tree.has_below(name):
        raise Usage(f'"{path}" in {where} is a folder.', hint="Name a file in it, or use get -r.")
    raise _missing(tree, path, where)


def children(
    tree: Tree,
    path: str,
    where: str,
    hashes: bool = True,
    after: str | None = None,
    *,
    hidden_too: bool = False,
) -> Iterator[FileInfo]:
    """What lies directly in a folder, in path order; a file alone lists itself.

    With `after`, what follows that file or folder; what comes before costs nothing. Hidden names
    come up with `hidden_too` alone.
    """
    name = path.encode()
    if line := tree.find(name):
        if after is None:
            yield _file(line)
        return
    prefix = name.rstrip(b"/") + b"/"
    cursor = prefix if after is None else max(prefix, _following(tree, after.encode()))
    found = after is not None
    while line := _first_at(tree, cursor, prefix):
        found = True
        rest = line[len(prefix) :]
        head, slash, _ = line_path(rest).partition(b"/")
        veiled = not hidden_too and hidden((prefix + head).decode(), path)
        if not slash:
            if not veiled:
                yield _file(line)
            cursor = prefix + head + b"\t\xff"
            continue
        cursor = prefix + head + b"0"  # the byte after "/": skip the whole folder
        if veiled:
            continue
        folder = prefix + head + b"/"
        _, size = tree.totals(folder)
        digest = folder_hash(tree, folder) if hashes else ""
        yield FileInfo(folder[:-1].decode(), FileType.FOLDER, size, digest)
    if not found and path != "/":
        raise _missing(tree, path, where)


def everything(
    tree: Tree, path: str, where: str, after: str | None = None, *, hidden_too: bool = False
) -> Iterator[FileInfo]:
    """Every file at or below `path`, in path order; with `after`, those that follow that one.

    Hidden ones come up with `hidden_too` alone.
    """
    name = path.encode()
    if line := tree.find(name):
        if after is None:
            yield _file(line)
        return
    found = after is not None
    for lines in tree.chunks(name.rstrip(b"/") + b"/", _past(after)):
        found = True
        yield from map(_file, lines if hidden_too else shown(lines, path))
    if not found and path != "/":
        raise _missing(tree, path, where)


def matching(tree: Tree, pattern: str, after: str | None = None) -> Iterator[FileInfo]:
    """Files and folders whose whole path matches a glob, in path order.

    With `after`, what follows that one: a folder comes before all that is in it. Hidden ones match
    a pattern that names them.
    """
    glob = Glob(pattern)
    if glob.is_literal:
        name = glob.prefix
        if (
            after is None
            and tree.files
            and (tree.find(name.encode()) or name == "/" or tree.has_below(name.encode()))
        ):
            yield stat(tree, name, pattern)
        return
    prefix = glob.prefix.rstrip("/").encode() + b"/"
    seen: set[str] = set()
    start = b""
    if after is not None:
        # Those above it have come up already; of a folder, all that is in it is still to come.
        is_file = tree.find(after.encode()) is not None
        list(_new_folders(after if is_file else f"{after.rstrip('/')}/x", seen))
        start = _past(after) if is_file else after.rstrip("/").encode() + b"/"
    for line in chain.from_iterable(shown(ls, pattern) for ls in tree.chunks(prefix, start)):
        info = _file(line)
        for folder in _new_folders(info.path, seen):
            if glob.matches(folder):
                yield stat(tree, folder, pattern)
        if glob.matches(info.path):
            yield info


def lines_below(tree: Tree, path: str) -> list[bytes]:
    """The lines of a file, or of all files in a folder."""
    name = path.encode()
    if line := tree.find(name):
        return [line]
    return list(tree.scan(name.rstrip(b"/") + b"/"))


def shown_below(tree: Tree, path: str) -> list[bytes]:
    """The lines of a file, or of those in a folder that are not hidden."""
    return shown(lines_below(tree, path), path)


def copied(tree: Tree, source: str, target: str, where: str) -> Iterator[bytes]:
    """The lines of a file or folder of `tree`, as they are listed at another path."""
    old, new = source.encode(), target.encode()
    line = tree.find(old)
    if line is not None:
        yield _copied(line, new)
        return
    folder, into = old.rstrip(b"/") + b"/", new.rstrip(b"/") + b"/"
    found = False
    for line in tree.scan(folder):
        found = True
        yield _copied(line, into + line_path(line)[len(folder) :])
    if not found:
        raise _missing(tree, source, where)


def _copied(line: bytes, path: bytes) -> bytes:
    if IN_FOLDERS.encode() in line:
        return Entry.decode(line).copied(path.decode()).encode()
    return path + line[len(line_path(line)) :]


def read(core: Core, entry: Entry, start: int = 0, length: int | None = None) -> Iterator[bytes]:
    """The bytes of a file, checked against its hash; an erased one says so."""
    try:
        if start == 0 and length is None:
            yield from read_entry(core.objects, entry)
        else:
            yield from read_range(core.objects, entry, start, length)
    except CorruptObject:
        explain_erasure(core, entry)
        raise


def explain_erasure(core: Core, entry: Entry) -> None:
    """Bytes that are not what they should be may have been erased on purpose."""
    with core.database.read() as session:
        found = erasures.find(session, entry)
    if found is not None:
        reason = f": {found['reason']}" if found["reason"] else ""
        day = to_rfc3339(found["at"])[:10]
        raise Erased(f"{entry.path} was erased on {day} by {found['author']}{reason}.")


def folder_hash(tree: Tree, prefix: bytes) -> str:
    """What a folder holds: the names below it with their hashes, wherever the folder lies."""
    hasher = blake3()
    start = len(prefix)
    for lines in tree.chunks(prefix):
        rows = [(line_path(line)[start:], line_hash(line)) for line in lines]
        hasher.update(b"".join([b"%b\t%b\n" % row for row in rows]))
    return hasher.hexdigest()


def _first_at(tree: Tree, cursor: bytes, prefix: bytes) -> bytes | None:
    """The first line at or after `cursor` that lies below `prefix`."""
    for held in tree.overlapping(cursor, prefix_end(prefix))[:2]:
        lines = tree.lines(held)
        index = bisect_left(lines, cursor)
        if index < len(lines):
            return lines[index] if lines[index].startswith(prefix) else None
    return None


def _past(after: str | None) -> bytes:
    """What sorts after the line of a file, and before all others that follow it."""
    return b"" if after is None else after.encode() + b"\t\xff"


def _following(tree: Tree, after: bytes) -> bytes:
    """Where to go on after a file, or after a folder with all that is in it."""
    return after + (b"0" if tree.find(after) is None and tree.has_below(after) else b"\t\xff")


def _new_folders(path: str, seen: set[str]) -> Iterator[str]:
    """The folders above a file that have not come up yet, outermost first."""
    fresh = []
    folder = path.rpartition("/")[0]
    while (folder or "/") not in seen:
        seen.add(folder or "/")
        fresh.append(folder or "/")
        folder = folder.rpartition("/")[0]
    return reversed(fresh)


def _file(line: bytes) -> FileInfo:
    path, digest = line_path(line).decode(), line_hash(line).decode()
    return FileInfo(path, FileType.FILE, line_size(line), digest)


def _missing(tree: Tree, path: str, where: str) -> NotFound:
    """Say what is missing, and which neighbour may have been meant."""
    folder = path.rstrip("/").rpartition("/")[0]
    near: list[str] = []
    cursor = prefix = folder.encode() + b"/"
    while len(near) < 200 and (line := _first_at(tree, cursor, prefix)):
        head, slash, _ = line_path(line[len(prefix) :]).partition(b"/")
        near.append((prefix + head).decode())
        cursor = prefix + head + (b"0" if slash else b"\t\xff")
    return NotFound(
        f'There is no "{path}" in {where}.{did_you_mean(path, near)}',
        hint=f"trunkline ls {where} shows what is there.",
    )
