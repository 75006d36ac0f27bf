"""Input expressions: which files of which repos make up the units of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.streams import StreamInput


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a branch follows another. Sizes in bytes; cron texts as a schedule takes them."""

    branch: str
    size: int | None = None
    commits: int | None = None
    rate_limit: str | None = None
    cron: str | None = None
    all: bool = False
    timezone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Pfs:
    """A leaf: one datum for each file or folder of a branch that the glob matches."""

    name: str
    repo: RepoName
    glob: str
    branch: str = DEFAULT_BRANCH
    join_on: str = ""
    group_by: str = ""
    outer_join: bool = False
    lazy: bool = False
    empty_files: bool = False
    reference: bool = False
    propagation: bool = True
    trigger: Trigger | None = None
    stream: StreamInput = field(default_factory=StreamInput)
    """How a stream pipeline reads it; means nothing to others."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A leaf whose repo gets an empty file, named by its time, at each tick."""

    name: str
    repo: RepoName
    cron: str
    timezone: str = "UTC"
    start: str | None = None
    overwrite: bool = False
    catch_up: str = "latest"

    glob = "/*"
    branch = DEFAULT_BRANCH
    join_on = group_by = ""
    outer_join = lazy = empty_files = reference = False
    propagation = True
    trigger = None
    stream = StreamInput()


@dataclass(frozen=True, slots=True)
class Cross:
    """Every combination of the members' datums."""

    members: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """The members' datums together."""

    members: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class Join:
    """Files whose `join_on` agrees, in every combination."""

    members: tuple[Input, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """All files whose `group_by` agrees, together."""

    members: tuple[Input, ...]


Leaf = Pfs | Cron
Input = Pfs | Cron | Cross | Union | Join | Group


def leaves(expression: Input) -> Iterator[Leaf]:
    """The leaves from left to right; a leaf's number is its place here."""
    if isinstance(expression, Pfs | Cron):
        yield expression
        return
    for member in expression.members:
        yield from leaves(member)
