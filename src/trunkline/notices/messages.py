"""What people are told of: something failed, is late, or is well again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from trunkline.errors import Usage
from trunkline.model.commits import RepoName
from trunkline.model.shape import INTERNAL
from trunkline.model.suggest import did_you_mean
from trunkline.model.time import Moment


class Kind(StrEnum):
    FAILED = "failed"
    LATE = "late"
    RECOVERED = "recovered"
    CHECK_FAILED = "check_failed"

    @classmethod
    def several(cls, text: str) -> frozenset[Kind]:
        """Those named in a text, by commas."""
        names = [one.strip() for one in text.split(",") if one.strip()]
        known = [str(one) for one in cls]
        for name in names:
            if name not in known:
                raise Usage(
                    f"notify.on: {name!r} is nothing to tell of.{did_you_mean(name, known)}",
                    hint=f"Some of {', '.join(known)}.",
                )
        return frozenset(map(cls, names))


@dataclass(frozen=True, slots=True)
class Message:
    """One thing to tell. `position` is the event behind it; 0 if there is none.

    `more` are others like it that came within the same minute.
    """

    kind: Kind
    pipeline: RepoName
    text: str
    at: Moment
    job: str = ""
    reason: str = ""
    checks: tuple[str, ...] = ()
    more: int = 0
    position: int = field(default=0, compare=False, metadata=INTERNAL)

    @property
    def title(self) -> str:
        more = f" (and {self.more} more)" if self.more else ""
        return f"{self.pipeline} {self.text}{more}"

    def and_more(self, others: int) -> Message:
        return replace(self, more=others)
