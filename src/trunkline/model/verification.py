"""What a run from scratch says about a commit that a pipeline published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from trunkline.model.commits import RepoName


class Verdict(StrEnum):
    """Whether a result is the one that its inputs and code give."""

    EQUAL = "equal"
    DIFFERENT = "different"
    FAILED = "failed"
    """The run from scratch failed where the job had succeeded."""
    SKIPPED = "skipped"
    """It cannot be computed again beside the lake: the reason says why."""

    @property
    def is_good(self) -> bool:
        return self in (Verdict.EQUAL, Verdict.SKIPPED)


@dataclass(frozen=True, slots=True)
class Difference:
    """A table or a file that is not the same: how many rows only one side has, and some of them.

    `where` is a path of the output. Of a file, `published` and `scratch` count 0 or 1.
    """

    where: str
    published: int
    """Rows that only the commit has."""
    scratch: int
    """Rows that only a run from scratch gives."""
    samples: tuple[tuple[str, str], ...] = ()
    """Such rows as text, after "-" where only the commit has them, and "+" where it lacks them."""


@dataclass(frozen=True, slots=True)
class Verification:
    """One commit of a pipeline, compared with a run from scratch on the same inputs and code."""

    pipeline: RepoName
    commit: str
    verdict: Verdict
    reason: str = ""
    """Why it differs, as far as that can be told, or why it was skipped or failed."""
    datums: int = 0
    rows: int | None = None
    """Rows that were compared; None for a pipeline that makes files."""
    files: int = 0
    differences: tuple[Difference, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was verified, and with what: the versions of Trunkline, Spark, Java and Python."""

    results: tuple[Verification, ...]
    versions: Mapping[str, str]
    good: bool = field(init=False)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "good", all(one.verdict.is_good for one in self.results))
