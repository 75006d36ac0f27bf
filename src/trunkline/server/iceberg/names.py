"""What tables are called in a catalog, where names are made of parts.

    default.orders              the table that the repo orders is, as a whole
    shop.orders                 the same in the project shop
    default.lake.raw.clicks     the table in the folder /raw/clicks of the repo lake

The last part is the table, those before it are its namespace. So no two tables have one name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trunkline.errors import InvalidName, InvalidPath
from trunkline.model.commits import RepoName
from trunkline.model.paths import normalize_path, validate_name

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of a repo that may be a table; `/` is the repo itself."""

    repo: RepoName
    path: str

    @property
    def parts(self) -> tuple[str, ...]:
        """All of its name, the table's own part last."""
        folders = self.path.strip("/")
        return (self.repo.project, self.repo.repo, *(folders.split("/") if folders else ()))

    def __str__(self) -> str:
        return ".".join(self.parts)


def place_of(parts: Namespace) -> Place | None:
    """The place of a whole name; None for one that nothing can have."""
    if len(parts) < 2:
        return None
    try:
        repo = RepoName(validate_name("project", parts[0]), validate_name("repo", parts[1]))
        return Place(repo, _path(parts[2:]))
    except (InvalidName, InvalidPath):
        return None


def below(places: Iterable[Place], namespace: Namespace) -> tuple[list[Namespace], list[Place]]:
    """What is directly in a namespace: further namespaces, and tables."""
    depth = len(namespace)
    inner: dict[Namespace, None] = {}
    tables = []
    for place in places:
        parts = place.parts
        if parts[:depth] != namespace:
            continue
        if len(parts) == depth + 1:
            tables.append(place)
        else:
            inner[parts[: depth + 1]] = None
    return list(inner), tables


def _path(folders: tuple[str, ...]) -> str:
    if not folders:
        return "/"
    if any("/" in one or not one for one in folders):
        raise InvalidPath("A folder has a name, and no slash in it.")
    return normalize_path("/" + "/".join(folders))
