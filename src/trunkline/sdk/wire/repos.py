"""Bodies of requests about projects, repos, branches and tags."""

from __future__ import annotations

from dataclasses import dataclass

from trunkline.model.inputs import Trigger


@dataclass(frozen=True, slots=True)
class NewProject:
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class NewRepo:
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class NewBranch:
    """`start` is a revision of the same repo, or a whole ref."""

    name: str
    start: str | None = None
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True)
class BranchMove:
    to: str
    if_head: str | None = None


@dataclass(frozen=True, slots=True)
class Follows:
    trigger: Trigger | None


@dataclass(frozen=True, slots=True)
class NewTag:
    name: str
    start: str
    message: str = ""
