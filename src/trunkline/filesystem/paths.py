"""Paths as fsspec has them: `[project/]repo@revision/path`, or `repo/path` for main."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.commits import DEFAULT_BRANCH
from trunkline.model.paths import ROOT


@dataclass(frozen=True, slots=True)
class LakePath:
    """A path in a repo at a revision. `prefix` is the repo as it was typed."""

    prefix: str
    repo: str
    revision: str
    path: str = ROOT

    @property
    def place(self) -> str:
        """The ref without the path."""
        return f"{self.repo}@{self.revision}"

    @property
    def ref(self) -> str:
        return f"{self.place}:{self.path}"

    @property
    def may_be_project(self) -> bool:
        """Whether it is one name alone, as that of a project is."""
        return self.path == ROOT and self.prefix == self.repo and "/" not in self.repo

    def at(self, revision: str) -> LakePath:
        return LakePath(self.prefix, self.repo, revision, self.path)

    def named(self, path: str) -> str:
        """Another path of the same repo, as it would be typed."""
        return self.prefix if path == ROOT else self.prefix + path


def parse(text: str) -> LakePath | None:
    """What a path without its protocol names; None for the lake itself."""
    parts = text.strip("/").split("/")
    if not parts[0]:
        return None
    length = 2 if "@" not in parts[0] and len(parts) > 1 and "@" in parts[1] else 1
    prefix = "/".join(parts[:length])
    repo, _, revision = prefix.partition("@")
    path = ROOT + "/".join(parts[length:])
    return LakePath(prefix, repo, revision or DEFAULT_BRANCH, path)
