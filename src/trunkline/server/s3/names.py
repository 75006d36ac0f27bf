"""Buckets and keys as they stand for repos, refs and paths.

    orders            the repo orders of the project default
    shop--orders      the repo orders of the project shop

A repo of the default project that is itself named `shop--orders` comes first, for who may see it.
Names with more than one `--` are read with the shortest project that makes a repo of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trunkline.errors import InvalidName, InvalidPath
from trunkline.model.commits import DEFAULT_PROJECT, RepoName
from trunkline.model.paths import normalize_path, validate_name
from trunkline.model.refs import Ref, Revision

BETWEEN = "--"


def bucket_of(repo: RepoName) -> str:
    return repo.repo if repo.project == DEFAULT_PROJECT else f"{repo.project}{BETWEEN}{repo.repo}"


def readings(bucket: str) -> Iterator[RepoName]:
    """The repos that a bucket may stand for, the one that counts first."""
    names = [(DEFAULT_PROJECT, bucket)]
    at = bucket.find(BETWEEN, 1)
    while at != -1:
        names.append((bucket[:at], bucket[at + len(BETWEEN) :]))
        at = bucket.find(BETWEEN, at + 1)
    for project, repo in names:
        try:
            yield RepoName(validate_name("project", project), validate_name("repo", repo))
        except InvalidName:
            continue


def reading(bucket: str, is_there: Callable[[RepoName], bool]) -> RepoName | None:
    """The repo that a bucket stands for, of those that who asks may see: None if there is none.

    One that is hidden must not shadow another, nor tell by it that it is there.
    """
    return next(filter(is_there, readings(bucket)), None)


@dataclass(frozen=True, slots=True)
class Key:
    """A key taken apart. A folder's ends with a slash; its path does not."""

    text: str
    ref: Ref
    path: str
    is_folder: bool

    @property
    def name(self) -> bytes:
        return self.path.encode()


def parse_key(repo: RepoName, text: str) -> Key:
    """What a key names, or `InvalidPath`, `InvalidRef`."""
    revision, slash, rest = text.partition("/")
    if not slash or not revision:
        raise InvalidPath(
            f"The key {text!r} names no file.", hint="Write <branch>/<path>, as in main/a.csv."
        )
    Revision(revision)
    path = normalize_path("/" + rest) if rest else "/"
    return Key(text, Ref(repo, revision), path, not rest or rest.endswith("/"))
