"""Files and folders on this computer, and where each lands in a repo.

As `cp` does it: one file put to a path takes that path; several, or a target that ends in
"/", go below it by their own names. A folder's contents go below the target.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Sequence

from trunkline.errors import (
    InvalidPath,
    NotAllowed,
    NotFound,
    PathClash,
    SourceUnreadable,
    Usage,
)
from trunkline.ingests.walk import kind_of, walk
from trunkline.lake.own_folders import refuse_own
from trunkline.model.paths import ROOT, normalize_path
from trunkline.model.suggest import did_you_mean, shown

# A file to put: its path relative to the target ('' if it becomes the target), and where it
# is. Plain tuples, because there may be a million.
LocalFile = tuple[str, str]


def expand(sources: Sequence[str], *, recursive: bool, into: bool) -> list[LocalFile]:
    """The files that `sources` mean. `into` says that the target can only be a folder."""
    named = [path for source in sources for path in _unglob(source)]
    if not named:
        raise Usage("There is nothing to put.", hint="Name a file, a folder with -r, or - .")
    files: list[LocalFile] = []
    for local in named:
        found = _stat(local)
        refuse_own(local)
        if stat.S_ISDIR(found.st_mode):
            if not recursive:
                raise Usage(f"{shown(local)} is a folder.", hint="Add -r to put what is in it.")
            files.extend(walk(local))
        elif not stat.S_ISREG(found.st_mode):
            raise NotAllowed(
                f"{shown(local)} is {kind_of(found.st_mode)}, not a file.",
                hint="Put files and folders; use - to read from a pipe.",
            )
        else:
            alone = len(named) == 1 and not into
            files.append(("" if alone else _own_name(local), local))
    return files


def place(files: Iterable[LocalFile], target: str) -> list[tuple[str, str]]:
    """(repo path, local path) for each file, sorted by the bytes of the repo path."""
    base = normalize_path(target)
    below = "/" if base == ROOT else base + "/"
    placed: dict[str, str] = {}
    for relative, local in files:
        try:
            path = normalize_path(below + relative) if relative else base
        except InvalidPath as error:
            raise InvalidPath(
                f"{shown(local)} cannot be put: {error.message}", hint="Rename the file."
            ) from None
        if path == ROOT:
            raise Usage("A file cannot be put at /.", hint="Name a path, as in orders:/a.csv.")
        if path in placed:
            raise PathClash(
                f"{shown(placed[path])} and {shown(local)} would both become {shown(path)}.",
                hint="Put them one by one, each with a path of its own.",
            )
        placed[path] = local
    # Code points and UTF-8 bytes sort alike.
    return [(path, placed[path]) for path in sorted(placed)]


def local_files(
    sources: Sequence[str], target: str | None, *, recursive: bool = False
) -> list[tuple[str, str]]:
    """(repo path, local path) for all that `sources` mean when put to `target`."""
    into = target is None or target.endswith("/")
    return place(expand(sources, recursive=recursive, into=into), target or ROOT)


def _unglob(source: str) -> list[str]:
    """A pattern that the shell left alone, as the files it means; else the source itself."""
    if not source:
        raise Usage("A source is empty.", hint="Name a file or folder.")
    if os.path.lexists(source) or not glob.has_magic(source):
        return [source]
    found = sorted(glob.glob(source, recursive=True))
    if not found:
        raise NotFound(f"No file matches {shown(source)}.", hint="Check the pattern and folder.")
    return found


def _stat(local: str) -> os.stat_result:
    try:
        return os.stat(local)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(
            f"There is no file {shown(local)}.{_near(local)}", hint="Check the name and folder."
        ) from None
    except ValueError:
        raise Usage(f"{shown(local)} cannot be the name of a file.", hint="") from None
    except OSError as error:
        raise SourceUnreadable(
            f"{shown(local)} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from None


def _near(local: str) -> str:
    folder, name = os.path.split(local)
    try:
        return did_you_mean(name, os.listdir(folder or "."))
    except OSError:
        return ""


def _own_name(local: str) -> str:
    return os.path.basename(os.path.abspath(local))
