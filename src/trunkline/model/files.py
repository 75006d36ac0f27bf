"""Files as a commit lists them, and the changes between two listings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FileType(StrEnum):
    FILE = "file"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file or folder at a commit. A folder's size is the sum of what is below it."""

    path: str
    type: FileType
    size: int
    hash: str = ""

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rsplit("/", 1)[-1]


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two commits."""

    path: str
    change: ChangeKind
    old_size: int | None
    new_size: int | None
    old_hash: str | None = None
    new_hash: str | None = None
